import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from tests.metrics.families import order
from tests.oracles import metrics as oracle
from workbench.metrics.ranks import Relevant, rank
from workbench.records import Judgements


def test_a_tie_with_an_irrelevant_item_costs_a_rank_and_a_tie_with_a_relevant_one_does_not():
    scores = np.array([[0.5, 0.9, 0.5, 0.5, 0.1]])
    relevant = np.array([[True, False, False, True, True]])
    # .9 is above all; at .5 one irrelevant item precedes the two relevant ones: 3, 4; then .1 at 5
    assert rank(scores, relevant).rank.tolist() == [3, 4, 5]


def test_negative_scores_rank_like_any_others():
    assert rank(np.array([[-0.1, -0.3, -0.5]]), np.array([[True, False, False]])).rank.tolist() == [1]


def test_minus_infinity_puts_an_item_last():
    assert rank(np.array([[-np.inf, -5.0, -7.0]]), np.array([[True, False, False]])).rank.tolist() == [3]


def test_float32_scores_are_compared_as_they_are():
    near = np.float32(1) - np.finfo(np.float32).epsneg
    assert rank(np.array([[near, 1.0]], dtype=np.float32), np.array([[True, False]])).rank.tolist() == [2]
    assert rank(np.array([[near, near]], dtype=np.float32), np.array([[True, False]])).rank.tolist() == [2]
    assert rank(np.array([[1.0, near]], dtype=np.float32), np.array([[True, False]])).rank.tolist() == [1]


def test_a_query_with_nothing_relevant_has_no_rank():
    ranks = rank(np.eye(2), np.array([[True, False], [False, False]]))
    assert ranks.counts.tolist() == [1, 0]
    assert_array_equal(ranks.first, [1, np.nan])


def test_a_nan_score_is_refused_with_its_place():
    with pytest.raises(ValueError, match="1 scores are NaN among queries 0 to 1"):
        rank(np.array([[0.0, np.nan], [0.0, 1.0]]), np.eye(2, dtype=bool))


def test_scores_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"scores are \(2, 3\), the judgements .* are \(2, 2\)"):
        rank(np.zeros((2, 3)), np.eye(2, dtype=bool))


@given(st.data())
def test_ranks_equal_those_of_an_insertion_sort(data):
    queries, gallery = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 9))
    few = st.lists(st.integers(-2, 2), min_size=gallery, max_size=gallery)
    scores = np.array(data.draw(st.lists(few, min_size=queries, max_size=queries)), dtype=np.float32) / 3
    flags = st.lists(st.booleans(), min_size=gallery, max_size=gallery)
    relevant = np.array(data.draw(st.lists(flags, min_size=queries, max_size=queries)))
    ranks = rank(scores, relevant, block=2)
    expected = [oracle.ranks(s, r) for s, r in zip(scores, relevant, strict=True)]
    assert [ranks.rank[ranks.query == q].tolist() for q in range(queries)] == expected


def test_sparse_judgements_and_their_matrix_give_the_same_pairs_in_both_directions(rng):
    grades = rng.integers(0, 4, (6, 9)).astype(np.float32)
    images, captions = np.nonzero(grades)
    judged = Judgements("some", "grade", (6, 9), images, captions, grades[images, captions], relevant_from=2)
    for pairs, matrix in (
        (Relevant.from_pairs(judged), grades >= 2),
        (Relevant.from_pairs(judged).T, (grades >= 2).T),
    ):
        assert_array_equal(pairs.query, np.nonzero(matrix)[0])
        assert_array_equal(pairs.item, np.nonzero(matrix)[1])
        assert pairs.shape == matrix.shape


def test_pairs_that_are_not_listed_may_be_relevant():
    judged = Judgements(
        "all but one", "grade", (1, 3), np.array([0]), np.array([1]), np.zeros(1, np.float32), unlisted=1.0
    )
    assert Relevant.from_pairs(judged).item.tolist() == [0, 2]


def test_unjudged_items_stand_at_the_end_of_a_graded_order():
    ranked = order(np.array([[0.9, 0.8, -np.inf, 0.1]]), np.array([[np.nan, 2.0, 1.0, np.nan]]))
    assert ranked.tolist() == [[2.0, 1.0, 0.0, 0.0]]


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(0, 3)), min_size=1, max_size=12))
def test_a_graded_order_equals_that_of_an_insertion_sort(pairs):
    scores, grades = (np.array(column, dtype=np.float32) for column in zip(*pairs, strict=True))
    assert_array_equal(order(scores[None], grades[None])[0], grades[oracle.worst_order(scores, grades)])
