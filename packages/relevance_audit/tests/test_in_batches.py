from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from relevance_audit import false_negatives_in_batches

from workbench.records import Judgements


def by_key(table, size):
    return table[table["size"] == size].set_index("key")


def test_shares_of_one_whole_batch_are_those_counted_by_hand(split, scores):
    # all six captions in one batch: 12 negative pairs, of which (a, b0) is truly positive
    table = by_key(
        false_negatives_in_batches(
            split.own, split.judgements["exact"], [6], scores=scores, batches=1, rounds=0
        ),
        6,
    )
    assert_allclose(table.loc["pairs", "value"], 1 / 12)
    assert_allclose(table.loc["t2i/any", "value"], 1 / 6)
    assert_allclose(table.loc["i2t/any", "value"], 1 / 3)
    # hardest: caption b0 finds image a (true of it); image a finds caption b0 among those of others (true);
    # nobody else
    assert_allclose(table.loc["t2i/hardest", "value"], 1 / 6)
    assert_allclose(table.loc["i2t/hardest", "value"], 1 / 3)
    assert_allclose(table.loc[["pairs", "t2i/any"], "expected"], [1 / 12, 1 / 6])


def test_the_expected_share_of_captions_equals_the_mean_over_all_batches(split):
    # every batch of 3 of the 6 captions, by brute force
    truth = split.judgements["exact"].relevant()
    shares = []
    for batch in combinations(range(6), 3):
        images = {int(split.own[t]) for t in batch}
        for t in batch:
            others = images - {split.own[t]}
            shares.append(any(truth[i, t] for i in others))
    table = by_key(
        false_negatives_in_batches(split.own, split.judgements["exact"], [3], batches=2, rounds=0), 3
    )
    assert_allclose(table.loc["t2i/any", "expected"], np.mean(shares))


def test_sampled_shares_agree_with_the_expected_ones_within_their_intervals():
    rng = np.random.default_rng(3)
    own = np.repeat(np.arange(40), 5)
    dense = rng.random((40, 200)) < 0.1
    dense[own, np.arange(200)] = True
    images, captions = np.nonzero(dense)
    truth = Judgements("exact", "toy", (40, 200), images, captions, np.ones(len(images), dtype=np.float32))
    table = false_negatives_in_batches(own, truth, [4, 16, 64], batches=60, rounds=500)
    known = table[table["expected"].notna()]
    assert set(known["key"]) == {"pairs", "t2i/any"}
    # some slack beyond 95 %: six intervals are looked at
    slack = 0.5 * (known["high"] - known["low"])
    assert ((known["low"] - slack <= known["expected"]) & (known["expected"] <= known["high"] + slack)).all()
    any_of = [by_key(table, size).loc["t2i/any", "value"] for size in (4, 16, 64)]
    assert any_of == sorted(any_of)


def test_the_same_seed_gives_the_same_table(split, scores):
    tables = [
        false_negatives_in_batches(split.own, split.judgements["exact"], [2, 3], scores=scores, seed=5)
        for _ in range(2)
    ]
    assert tables[0].equals(tables[1])


def test_batches_of_another_sampler_have_no_expected_value(split):
    table = false_negatives_in_batches(
        split.own,
        split.judgements["exact"],
        [2],
        draw=lambda number, size: [np.array([0, 2])],
        batches=3,
        rounds=0,
    )
    # captions a0 and b0: image a is true of b0, image b is not of a0
    assert_allclose(by_key(table, 2).loc[["pairs", "t2i/any"], "value"], [0.5, 0.5])
    assert table["expected"].isna().all()
    assert set(table["batches"]) == {3}


def test_a_batch_that_cannot_be_drawn_is_refused(split):
    with pytest.raises(ValueError, match="batches of 7 captions cannot be drawn from 6"):
        false_negatives_in_batches(split.own, split.judgements["exact"], [7])
