"""Effects of slices: by hand, against a slow double loop and the bootstrap, and on equal models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import false_discovery_control
from slice_search.contrasts import adjust, contrast

from workbench.metrics.comparison import holm
from workbench.metrics.intervals import Draws

OWN = np.repeat(np.arange(40), 5)


def example(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Values with a part that images share, and three slices: of captions, of images, and a small one."""
    rng = np.random.default_rng(seed)
    ease = rng.normal(0.5, 0.2, 40)[OWN]
    values = (rng.random(200) < ease).astype(float)
    masks = np.stack([rng.random(200) < 0.4, (np.arange(40) < 15)[OWN], rng.random(200) < 0.1])
    return values, masks


def test_an_effect_by_hand() -> None:
    # images 0, 1 | 2, 3; slice = image 0 and the first caption of image 1
    own, values = np.array([0, 0, 1, 1, 2, 3]), np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    mask = np.array([[True, True, True, False, False, False]])
    parts = contrast(values, own, mask)
    assert parts.mean[0] == pytest.approx(2 / 3)
    assert parts.rest[0] == 0
    assert parts.effect[0] == pytest.approx(2 / 3)
    assert (parts.queries[0], parts.images[0], parts.others[0]) == (3, 2, 3)
    # shares of the images in the slice: (1 - 2 * 2 / 3) / 3 and (1 - 2 / 3) / 3; two images, so twice the sum
    variance = 2 * ((-1 / 9) ** 2 + (1 / 9) ** 2)
    half = parts.high[0] - parts.effect[0]
    # the rest has no variance, and 9 / 5 images in effect make less than one degree of freedom, which is one
    assert half == pytest.approx(12.706204736 * variance**0.5, rel=1e-6)


def test_errors_equal_a_slow_double_loop_over_images() -> None:
    values, masks = example()
    parts = contrast(values, OWN, masks)
    for mask, effect, low, high in zip(masks, parts.effect, parts.low, parts.high, strict=True):
        sides = []
        for side in (mask, ~mask):
            mean = values[side].mean()
            shares = [(values[side & (i == OWN)] - mean).sum() / side.sum() for i in range(40)]
            images = len(np.unique(OWN[side]))
            counts = np.bincount(OWN[side], minlength=40)
            free = side.sum() ** 2 / (counts**2).sum() - 1
            sides.append((np.array(shares), images / (images - 1), free))
        (first, scale, free), (second, other_scale, other_free) = sides
        parts_of = (first**2).sum() * scale, (second**2).sum() * other_scale
        variance = sum(parts_of) - 2 * (first * second).sum()
        freedom = sum(parts_of) ** 2 / (parts_of[0] ** 2 / free + parts_of[1] ** 2 / other_free)
        from scipy.stats import t

        half = t.ppf(0.975, freedom) * variance**0.5
        assert effect == pytest.approx(values[mask].mean() - values[~mask].mean())
        assert (low, high) == (pytest.approx(effect - half), pytest.approx(effect + half))


def test_the_standard_error_is_that_of_the_bootstrap() -> None:
    values, masks = example(3)
    parts = contrast(values, OWN, masks[:2])
    draws = Draws(OWN, 40, rounds=4000)
    for mask, low, high in zip(masks, parts.low, parts.high, strict=False):
        drawn = [draws.resample(np.where(side, values, np.nan), "t2i") for side in (mask, ~mask)]
        assert (high - low) / 4 == pytest.approx(np.std(drawn[0] - drawn[1]), rel=0.12)


def test_queries_that_do_not_count_are_left_out() -> None:
    values, masks = example()
    gone = np.zeros(200, dtype=bool)
    gone[::7] = True
    parts = contrast(np.where(gone, np.nan, values), OWN, masks)
    alone = contrast(values[~gone], OWN[~gone], masks[:, ~gone])
    np.testing.assert_allclose(parts.effect, alone.effect)
    np.testing.assert_allclose(parts.p, alone.p)
    assert np.isnan(contrast(np.full(200, np.nan), OWN, masks).effect).all()


def test_a_few_queries_that_all_fail_are_no_discovery() -> None:
    values = np.ones(200)
    values[::3] = 0
    mask = np.zeros((1, 200), dtype=bool)
    mask[0, [0, 15, 30]] = True  # three images, all wrong, as a third of all queries are
    assert contrast(values, OWN, mask).p[0] > 0.02


def test_adjusted_p_values_are_holm_s_and_scipy_s() -> None:
    p = np.random.default_rng(0).random(50) ** 3
    np.testing.assert_allclose(adjust(p, "bh"), false_discovery_control(p))
    np.testing.assert_allclose(adjust(p, "holm"), holm(p.tolist()))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_equal_models_report_a_slice_in_at_most_five_percent_of_two_hundred_simulations(share: float) -> None:
    rng = np.random.default_rng(5)
    own = np.repeat(np.arange(150), 5)
    of_images = [(rng.random(150) < size)[own] for size in rng.uniform(0.15, 0.5, 40)]
    of_captions = [rng.random(750) < size for size in rng.uniform(0.04, 0.5, 60)]
    masks = np.array([*of_images, *of_captions])
    reported, covered = 0, []
    for _ in range(200):
        ease = np.clip(rng.normal(share, 0.1, 150), 0, 1)[own]
        values = (rng.random(750) < ease).astype(float) - (rng.random(750) < ease)
        parts = contrast(values, own, masks)
        reported += bool((adjust(parts.p, "holm") <= 0.05).any())
        covered.append(((parts.low <= 0) & (parts.high >= 0)).mean())
    assert reported <= 10
    assert 0.93 <= np.mean(covered) <= 0.97
