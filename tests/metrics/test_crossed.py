"""The interval for other seeds and other images."""

import numpy as np
import pytest
from scipy.special import stdtrit

from workbench.metrics.crossed import Crossed, crossed_interval, crossed_variance
from workbench.metrics.seeds import t_interval
from workbench.records import Values

# worlds with planted standard deviations of seeds, of images and of the rest
PLANTED = {
    "seeds scatter": (0.02, 0.1, 0.1),
    "images scatter": (0.001, 0.4, 0.1),
    "both alike": (0.03, 0.2, 0.3),
}
WORLDS, SEEDS, IMAGES = 2000, 5, 200


def worlds(of_seeds: float, of_images: float, rest: float) -> Values:
    """``(worlds, seeds, images)`` values around 0."""
    rng = np.random.default_rng(0)
    values = of_seeds * rng.standard_normal((WORLDS, SEEDS, 1))
    values = values + of_images * rng.standard_normal((WORLDS, 1, IMAGES))
    return values + rest * rng.standard_normal((WORLDS, SEEDS, IMAGES))


def test_by_hand():
    values = np.array([[1.0, 2.0, 6.0], [3.0, 6.0, 6.0]])
    parts = crossed_variance(values)
    # seeds have means 3 and 5: variance 2, by 2 seeds; images 2, 4, 6: variance 4, by 3 images
    assert (parts.seeds, parts.images) == pytest.approx((1.0, 4 / 3))
    # what is left of the first row: 0, -1, 1; the second has the opposite: 4 / (1 * 2) = 2, by 6
    assert parts.rest == pytest.approx(2 / 6)
    assert parts.variance == pytest.approx(2 / 3 + 1 + 1 / 3)
    assert parts.freedom == pytest.approx(4 / (1 / 1 + (16 / 9) / 2 + (1 / 9) / 2))
    half = stdtrit(parts.freedom, 0.975) * 2**0.5
    assert crossed_interval(values) == pytest.approx((4 - half, 4 + half))


def test_where_images_are_alike_it_is_students_interval_over_seeds():
    by_seed = np.array([0.4, 0.5, 0.7, 0.65])
    values = np.repeat(by_seed[:, None], 50, axis=1)
    assert crossed_interval(values) == pytest.approx(t_interval(by_seed))


def test_where_seeds_are_alike_it_is_students_interval_over_images():
    by_image = np.random.default_rng(0).random(50)
    assert crossed_interval(np.tile(by_image, (5, 1))) == pytest.approx(t_interval(by_image))


def test_a_part_that_would_be_negative_is_none():
    assert Crossed(0.1, 1.0, 0.5, (5, 10)).variance == pytest.approx(0.5 + 0.5)


@pytest.mark.parametrize("planted", PLANTED)
def test_it_covers_the_truth_as_often_as_it_says(planted):
    values = worlds(*PLANTED[planted])
    covered = [low <= 0 <= high for low, high in map(crossed_interval, values)]
    assert 0.93 <= np.mean(covered) <= 0.97


def test_where_only_the_rest_scatters_it_is_a_little_too_wide_and_never_too_narrow():
    covered = [low <= 0 <= high for low, high in map(crossed_interval, worlds(0.0, 0.0, 0.3))]
    assert 0.95 <= np.mean(covered) <= 0.99


def test_intervals_of_one_scatter_alone_cover_too_little_where_both_scatter():
    values = worlds(*PLANTED["both alike"])
    sides = [t_interval(one.mean(axis=0)) for one in values]
    assert np.mean([low <= 0 <= high for low, high in sides]) < 0.93


@pytest.mark.parametrize("values", [np.zeros((1, 5)), np.zeros((5, 1)), np.zeros(5), np.full((3, 3), np.nan)])
def test_what_has_no_such_interval_is_refused(values):
    with pytest.raises(ValueError, match="values by seed and image"):
        crossed_variance(values)
