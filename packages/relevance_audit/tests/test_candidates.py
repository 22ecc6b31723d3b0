from dataclasses import replace

import numpy as np
import pytest
from relevance_audit import candidates, select_candidates

from workbench.records import Judgements


def test_candidates_are_the_errors_among_the_best_with_what_others_say(split, scores):
    table = candidates(scores, split, {"exact": split.judgements["exact"]}, k=1)
    # captions b0 and c1 find another's image first; image a finds its own a0, image b its own b1, image c its
    # own c0
    assert table[["direction", "image", "caption", "rank", "own_rank"]].values.tolist() == [
        ["t2i", "a", "b0", 1, 2.0],
        ["t2i", "b", "c1", 1, 2.0],
    ]
    assert table["score"].tolist() == [0.7, 0.6]
    assert table["right_by"].tolist() == ["exact", ""]
    assert table["votes"].tolist() == [1, 0]
    assert table["exact"].tolist() == [1.0, 0.0]


def test_candidates_equal_a_double_loop(split):
    rng = np.random.default_rng(0)
    scores = rng.integers(-2, 3, (3, 6)).astype(float)
    errors = candidates(scores, split, {}, k=2)
    expected = set()
    for direction, rows in (("t2i", scores.T), ("i2t", scores)):
        for query, row in enumerate(rows):
            for rank, item in enumerate(sorted(range(len(row)), key=lambda j, row=row: (-row[j], j))[:2], 1):
                image, caption = (item, query) if direction == "t2i" else (query, item)
                if split.own[caption] != image:
                    expected.add((direction, split.image_ids[image], split.caption_ids[caption], rank))
    assert (
        set(errors[["direction", "image", "caption", "rank"]].itertuples(index=False, name=None)) == expected
    )


def test_what_nobody_judged_is_no_vote(split, scores):
    partly = Judgements(
        "part", "toy", (3, 6), np.array([1]), np.array([5]), np.array([0.0], dtype=np.float32), unlisted=None
    )
    table = candidates(scores, split, {"part": partly}, k=1, directions=["t2i"])
    assert np.isnan(table["part"][0])
    assert table["votes"].tolist() == [0, 0]


def test_judgements_that_ask_some_queries_say_nothing_of_the_others(split, scores):
    exact = split.judgements["exact"]
    few = replace(exact, image_queries=np.array([0]), caption_queries=np.array([], dtype=np.int64))
    table = candidates(scores, split, {"few": few}, k=1)
    # image a is asked and caption b0 is listed; neither image b nor caption c1 is asked
    np.testing.assert_array_equal(table["few"], [1.0, np.nan])
    errors = candidates(scores, split, {}, labels=replace(few, caption_queries=np.array([5])), k=2)
    assert set(errors["direction"] + errors["image"] + errors["caption"]) == {"t2ibc1"}


def test_filters_choose_by_judgement_rank_and_whether_the_error_costs_recall(split, scores):
    table = candidates(scores, split, {"exact": split.judgements["exact"]}, k=3)
    right = select_candidates(table, right_by=["exact"])
    assert set(right[["direction", "image", "caption"]].itertuples(index=False, name=None)) == {
        ("t2i", "a", "b0"),
        ("i2t", "a", "b0"),
    }
    assert select_candidates(table, right_by=["exact"], ahead=True)["direction"].tolist() == ["t2i"]
    assert select_candidates(table, votes=1, direction="i2t")["rank"].tolist() == [3]
    assert (select_candidates(table, rank=1)["rank"] == 1).all()
    assert len(select_candidates(table, sample=2, seed=1)) == 2
    assert select_candidates(table, sample=2, seed=1).equals(select_candidates(table, sample=2, seed=1))
    with pytest.raises(ValueError, match="no judgement 'eccv' in the table; it has exact"):
        select_candidates(table, right_by=["eccv"])


def test_bad_input_is_refused_where_it_enters(split, scores):
    with pytest.raises(ValueError, match=r"scores are \(2, 6\)"):
        candidates(scores[:2], split, {})
    with pytest.raises(ValueError, match="cannot be called 'rank'"):
        candidates(scores, split, {"rank": split.judgements["exact"]})
    with pytest.raises(ValueError, match="NaN"):
        candidates(np.full((3, 6), np.nan), split, {})
