"""Corrections of scores after training, held against double loops written from their papers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.metrics.test_within import judged
from workbench.metrics import load
from workbench.metrics.corrections import dual_softmax, inverted_softmax, qb_norm
from workbench.metrics.evaluation import Evidence, walk
from workbench.metrics.map_at_r import map_at_r
from workbench.metrics.ranks import rank
from workbench.records import Judgements


@pytest.fixture
def world(rng):
    """Scores of 5 queries and 8 of a bank with 7 items, one of which is liked by all."""
    scores, bank = rng.random((5, 7)), rng.random((8, 7))
    scores[:, 2] += 0.5
    bank[:, 2] += 0.5
    return scores, bank


def test_the_inverted_softmax_equals_a_double_loop(world):
    scores, bank = world
    found = inverted_softmax(scores, bank, beta=4.0)
    for q in range(5):
        for t in range(7):
            total = sum(math.exp(4 * bank[b, t]) for b in range(8))
            assert math.exp(found[q, t]) == pytest.approx(math.exp(4 * scores[q, t]) / total)


def test_the_dual_softmax_equals_a_double_loop(world):
    scores, bank = world
    found = dual_softmax(scores, bank, beta=4.0)
    for q in range(5):
        for t in range(7):
            above = math.exp(4 * scores[q, t])
            over_items = above / sum(math.exp(4 * scores[q, u]) for u in range(7))
            over_bank = above / sum(math.exp(4 * bank[b, t]) for b in range(8))
            assert math.exp(found[q, t]) == pytest.approx(over_items * over_bank)


@pytest.mark.parametrize("k", [1, 3])
def test_qb_norm_equals_a_double_loop(world, k):
    scores, bank = world
    scores[3, 5] = 2.0
    bank[:, 5] -= 0.9
    found = qb_norm(scores, bank, beta=4.0, k=k)
    hubs = set()
    for b in range(8):
        order = sorted(range(7), key=lambda t: -bank[b, t])
        hubs |= set(order[:k])
    plain = 0
    for q in range(5):
        best = max(range(7), key=lambda t: scores[q, t])
        plain += best not in hubs
        for t in range(7):
            if best in hubs:
                total = sum(math.exp(4 * bank[b, t]) for b in range(8))
                assert math.exp(found[q, t]) == pytest.approx(math.exp(4 * scores[q, t]) / total)
            else:
                assert found[q, t] == scores[q, t]
    # both kinds of queries were met
    assert 0 < plain < 5


def test_the_dual_softmax_of_all_queries_ranks_alike_in_both_directions(rng):
    scores = rng.random((6, 9))
    assert_allclose(dual_softmax(scores, scores), dual_softmax(scores.T, scores.T).T)


@pytest.mark.parametrize(
    ("name", "correct"),
    [("inverted_softmax", inverted_softmax), ("dual_softmax", dual_softmax), ("qb_norm", qb_norm)],
)
def test_a_corrected_metric_is_the_metric_of_corrected_scores_in_both_directions(name, correct, rng):
    own = np.arange(24) // 3
    scores = rng.random((8, 24)) + (own == np.arange(8)[:, None]) + 2.0 * (np.arange(24) == 5)
    relevant = (rng.random((8, 24)) < 0.3) | (own == np.arange(8)[:, None])
    evidence = Evidence(scores, judged(relevant), own)
    found = {m.label: values for m, values in walk(evidence, [load(f"{name}_map_at_r", beta=3.0)], rounds=0)}
    i2t = map_at_r(rank(correct(scores, scores, beta=3.0), relevant))
    t2i = map_at_r(rank(correct(scores.T, scores.T, beta=3.0), relevant.T))
    assert_allclose(found[f"exact:i2t/{name}_map_at_r"], i2t)
    assert_allclose(found[f"exact:t2i/{name}_map_at_r"], t2i)
    by_pairs = Evidence(scores, Judgements.from_own(own, 8), own)
    numbers = [f"{name}_R", f"{name}_rsum"]
    plain = {m.label: m.value for m, _ in walk(by_pairs, ["R", "rsum"], rounds=0)}
    corrected = {m.label: m for m, _ in walk(by_pairs, numbers, rounds=0)}
    # the hub stands first for all images but its own
    assert plain["i2t/R@1"] == 1 / 8
    assert corrected[f"i2t/{name}_R@1"].value >= 1 / 2
    parts = [corrected[f"{way}/{name}_R@{k}"].value for way in ("i2t", "t2i") for k in (1, 5, 10)]
    assert corrected[f"{name}_rsum"].value == pytest.approx(sum(parts))
    assert "bank is all queries of the split" in corrected[f"{name}_rsum"].hit
