"""Trustworthiness by hand, against loops and against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.manifold import trustworthiness as of_sklearn

from tests.oracles import maps as oracle
from workbench.views.maps import measures


def unit(rng, size, width):
    vectors = rng.normal(size=(size, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_two_swapped_neighbours_cost_their_rank():
    # Angles 0, 10, 30, 70, 150 degrees. On the map each point's nearest is that of the space, but for the
    # last, whose nearest is the point at 0 degrees: rank 4 instead of 1, so a penalty of 3. 1 - 2 / (5 * 1 *
    # (10 - 3 - 1)) * 3 = 0.8.
    angles = np.radians([0, 10, 30, 70, 150])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    shown = np.array([[1], [0], [1], [2], [0]])
    assert measures.trustworthiness(vectors, shown) == pytest.approx(0.8)


@pytest.mark.parametrize(("size", "k"), [(20, 3), (41, 7)])
def test_it_is_that_of_loops_and_of_scikit_learn(size, k):
    rng = np.random.default_rng(size)
    vectors, points = unit(rng, size, 6), rng.normal(size=(size, 2))
    found = measures.trustworthiness(vectors, measures.nearest_on_map(points, k))
    assert found == pytest.approx(oracle.trustworthiness(vectors, points, k))
    assert found == pytest.approx(of_sklearn(vectors, points, n_neighbors=k, metric="cosine"))


def test_a_map_that_is_the_space_is_perfect():
    rng = np.random.default_rng(3)
    circle = unit(rng, 30, 2)
    found = measures.quality(circle, circle, measures.nearest_in_space(circle, 5))
    assert (found.trustworthiness, found.overlap) == (1, 1)
    assert found.chance == pytest.approx(5 / 29)


def test_a_sample_estimates_the_whole():
    rng = np.random.default_rng(4)
    vectors, points = unit(rng, 400, 6), rng.normal(size=(400, 2))
    near = measures.nearest_in_space(vectors, 5)
    whole, part = measures.quality(vectors, points, near), measures.quality(vectors, points, near, sample=200)
    assert part.trustworthiness == pytest.approx(whole.trustworthiness, abs=0.03)
    assert part.overlap == whole.overlap


def test_more_neighbours_than_the_formula_has_a_scale_for_are_refused():
    with pytest.raises(ValueError, match="needs more than 10 points, there are 9"):
        measures.trustworthiness(np.eye(9), np.zeros((9, 5), dtype=int))
