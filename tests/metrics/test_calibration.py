"""Whether one threshold tells right pairs from wrong ones, and whether a score is a probability."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from tests.metrics.test_within import judged
from workbench.metrics import load
from workbench.metrics.calibration import calibrations, logistic
from workbench.records import Judgements


def measured(scores, relevant, rounds=50):
    """The numbers by key, of judgements or of a matrix of truth values."""
    judgements = relevant if isinstance(relevant, Judgements) else judged(relevant)
    own = np.arange(scores.shape[1]) % scores.shape[0]
    rows = [load("auroc"), load("ece")]
    return {m.label: m for m in calibrations(scores, judgements, own, rows, rounds=rounds)}


def test_the_area_equals_a_double_loop_with_ties_counted_half(rng):
    scores = rng.integers(0, 6, (6, 9)).astype(np.float32)
    relevant = rng.random((6, 9)) < 0.3
    wins = []
    for right in scores[relevant]:
        for wrong in scores[~relevant]:
            wins.append(0.5 if right == wrong else float(right > wrong))
    found = measured(scores, relevant)["exact:auroc"]
    assert found.value == pytest.approx(np.mean(wins))
    assert found.low <= found.value <= found.high
    assert found.queries == 54


def test_a_calibrated_toy_has_no_error():
    # of 64 pairs of each score, as many are right as the logistic function says, to the pair
    shares = np.array([4, 16, 32, 48, 60]) / 64
    scores = np.repeat(np.log(shares / (1 - shares)), 64).reshape(5, 64)
    relevant = np.arange(64) < (64 * shares)[:, None]
    assert logistic(scores.ravel(), relevant.ravel().astype(float)) == pytest.approx((1, 0), abs=1e-9)
    assert measured(scores, relevant)["exact:ece"].value == pytest.approx(0, abs=1e-9)
    # and so it is on any scale
    assert measured(0.02 * scores - 7, relevant)["exact:ece"].value == pytest.approx(0, abs=1e-9)


def test_scores_that_no_logistic_function_fits_have_the_error_of_a_loop(rng):
    scores = rng.standard_normal((20, 30))
    relevant = rng.random((20, 30)) < np.where(scores > -1, 0.05 + 0.6 * (scores > 1), 0.5)
    slope, shift = logistic(scores.ravel(), relevant.ravel().astype(float))
    probability = expit(slope * scores + shift)
    expected = 0.0
    for number in range(15):
        inside = (probability >= number / 15) & (probability < (number + 1) / 15)
        if inside.any():
            expected += inside.mean() * abs(probability[inside].mean() - relevant[inside].mean())
    found = measured(scores, relevant)["exact:ece"]
    assert expected > 0.02
    assert found.value == pytest.approx(expected)
    assert found.low <= found.value <= found.high


def test_the_fit_is_that_of_the_largest_likelihood(rng):
    scores = rng.standard_normal(4000)
    right = (rng.random(4000) < expit(3 * scores - 2)).astype(float)
    slope, shift = logistic(scores, right)
    miss = right - expit(slope * scores + shift)
    assert abs(miss.sum()) < 1e-6
    assert abs((miss * scores).sum()) < 1e-6
    assert (slope, shift) == pytest.approx((3, -2), abs=0.3)


def test_pairs_that_a_threshold_tells_apart_are_calibrated_and_end():
    relevant = np.eye(6, dtype=bool)
    found = measured(relevant - 0.5, relevant)
    assert found["exact:auroc"].value == 1
    assert found["exact:ece"].value == pytest.approx(0, abs=1e-3)


def test_equal_scores_tell_nothing_and_are_the_share_of_right_pairs(rng):
    found = measured(np.zeros((5, 8)), rng.random((5, 8)) < 0.4)
    assert found["exact:auroc"].value == 0.5
    assert found["exact:ece"].value == pytest.approx(0, abs=1e-9)


def test_pairs_that_nobody_judged_are_not_read(rng):
    scores = rng.standard_normal((4, 6))
    images, captions = np.array([0, 1, 2, 3]), np.array([0, 1, 2, 3])
    grades = np.array([4.0, 1.0, 5.0, 0.0], np.float32)
    rated = Judgements("human", "x", (4, 6), images, captions, grades, relevant_from=3, unlisted=None)
    found = measured(scores, rated)
    own = scores[images, captions]
    expected = np.mean([own[a] > own[b] for a in (0, 2) for b in (1, 3)])
    assert found["human:auroc"].value == expected
    assert found["human:auroc"].queries == 4


def test_where_every_pair_is_right_nothing_is_measured():
    assert measured(np.zeros((2, 2)), np.ones((2, 2), dtype=bool)) == {}


def test_a_resample_is_the_area_of_the_images_that_were_drawn(rng):
    scores = rng.standard_normal((30, 60))
    relevant = rng.random((30, 60)) < 0.2
    scores[relevant] += 1
    found = measured(scores, relevant, rounds=400)["exact:auroc"]
    drawn = [rng.integers(30, size=30) for _ in range(200)]
    areas = [measured(scores[rows], relevant[rows], rounds=0)["exact:auroc"].value for rows in drawn]
    low, high = np.quantile(areas, [0.025, 0.975])
    assert found.low == pytest.approx(low, abs=0.02)
    assert found.high == pytest.approx(high, abs=0.02)
