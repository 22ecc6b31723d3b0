"""What is true of every metric of an order, beside what ``test_registry`` holds of the whole registry."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from tests.metrics.families import hit_at_k, map_at_r, r_precision, recall_at_k
from tests.metrics.test_ranking import kendall_tau, ndcg
from workbench.metrics.grades import Lists
from workbench.metrics.ranks import rank

BINARY = {
    "hit@1": lambda s, g: hit_at_k(rank(s, g >= 2), 1),
    "hit@5": lambda s, g: hit_at_k(rank(s, g >= 2), 5),
    "recall@5": lambda s, g: recall_at_k(rank(s, g >= 2), 5),
    "map_at_r": lambda s, g: map_at_r(rank(s, g >= 2)),
    "r_precision": lambda s, g: r_precision(rank(s, g >= 2)),
}
GRADED = {
    "ndcg": lambda s, g: ndcg(Lists(s, g)),
    "ndcg@5": lambda s, g: ndcg(Lists(s, g), 5),
    "kendall_tau": lambda s, g: kendall_tau(Lists(s, g)),
}
# a collapsed model gets the worst value that an order can have
WORST = dict.fromkeys(BINARY, 0.0) | {"ndcg@5": 0.0, "kendall_tau": -1.0}
METRICS = BINARY | GRADED
every_metric = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


@pytest.fixture
def case(rng):
    """Scores of both signs, with ties, and grades 0..3; relevant from 2 on, never more than half of the
    gallery."""
    grades = np.zeros((11, 40))
    for row in grades:
        row[rng.choice(40, 12, replace=False)] = np.tile([1.0, 2.0, 3.0], 4)
    return np.round(rng.standard_normal((11, 40)), 1), grades


@every_metric
def test_a_perfect_order_gives_one(metric, case):
    _, grades = case
    expected = np.minimum(5 / 8, 1.0) if metric is METRICS["recall@5"] else 1.0  # 8 relevant items, 5 places
    assert_allclose(metric(grades - 100, grades), expected)


@pytest.mark.parametrize("name", WORST)
def test_constant_scores_give_the_worst_value(name, case):
    scores, grades = case
    assert_allclose(METRICS[name](np.full_like(scores, -0.5), grades), WORST[name])
    assert_allclose(METRICS[name](-grades, grades), WORST[name])


@every_metric
def test_one_query_at_a_time_gives_what_all_give_together(metric, case):
    scores, grades = case
    single = [metric(scores[[row]], grades[[row]])[0] for row in range(len(scores))]
    assert_allclose(single, metric(scores, grades))


@pytest.mark.parametrize("name", BINARY)
def test_random_scores_give_chance(name):
    rng = np.random.default_rng(3)
    grades = np.zeros((4000, 20))
    grades[:, :4] = 2
    found = METRICS[name](rng.standard_normal((4000, 20)), grades).mean()
    # one of the five best: 1 - C(16,5)/C(20,5); AP@R: mean over k <= 4 of E[rel(k) precision(k)] = p (1 +
    # (k-1) 3/19) / k
    at_r = np.mean([0.2 * (1 + (k - 1) * 3 / 19) / k for k in (1, 2, 3, 4)])
    chance = {"hit@1": 0.2, "hit@5": 1 - 4368 / 15504, "recall@5": 0.25, "map_at_r": at_r, "r_precision": 0.2}
    assert_allclose(found, chance[name], atol=0.015)


@given(st.integers(0, 10_000))
def test_hits_and_recall_grow_with_k_and_a_hit_is_at_least_the_recall(seed):
    rng = np.random.default_rng(seed)
    scores, relevant = rng.integers(-3, 3, (4, 9)), rng.random((4, 9)) < 0.4
    relevant[:, 0] = True
    ranks = rank(scores, relevant)
    hits = np.stack([hit_at_k(ranks, k) for k in range(1, 10)])
    recalls = np.stack([recall_at_k(ranks, k) for k in range(1, 10)])
    assert (np.diff(hits, axis=0) >= 0).all()
    assert (np.diff(recalls, axis=0) >= 0).all()
    assert (hits >= recalls).all()
    assert (hits[-1] == 1).all()
    assert (map_at_r(ranks) <= r_precision(ranks) + 1e-12).all()


@every_metric
def test_a_query_without_an_answer_is_nan_and_changes_no_other(metric, case):
    scores, grades = case
    emptied = np.where(np.arange(11)[:, None] == 4, 0.0, grades)
    found, before = metric(scores, emptied), metric(scores, grades)
    assert np.isnan(found[4])
    assert_array_equal(np.delete(found, 4), np.delete(before, 4))
