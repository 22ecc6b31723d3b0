"""Two maps laid on one another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import procrustes as of_scipy

from workbench.views.maps.coordinates import most_moved_rows, procrustes

SQUARE = np.array([[0.0, 0], [2, 0], [2, 2], [0, 2]])


def test_a_map_that_was_turned_mirrored_moved_and_scaled_comes_back():
    turned = 3 * SQUARE[:, ::-1] * [1, -1] + [7, -5]
    found = procrustes(SQUARE, turned)
    np.testing.assert_allclose(found.points, SQUARE, atol=1e-12)
    np.testing.assert_allclose(found.moved, 0, atol=1e-12)
    assert found.disparity == pytest.approx(0, abs=1e-12)


def test_what_is_left_of_a_stretched_square_by_hand():
    # Centred squares: corners (+-1, +-1), and (+-2, +-1) after stretching. No turning helps; the best scale
    # is the inner product 4 * (2 + 1) = 12 by the second's square 4 * (4 + 1) = 20, so 0.6: corners (+-1.2,
    # +-0.6), each sqrt(0.04 + 0.16) away. The disparity is 4 * 0.2 of 4 * 2, 0.1.
    found = procrustes(SQUARE, SQUARE * [2, 1])
    np.testing.assert_allclose(found.moved, np.sqrt(0.2))
    assert found.disparity == pytest.approx(0.1)


@pytest.mark.parametrize("width", [2, 5])
def test_the_disparity_is_that_of_scipy(width):
    rng = np.random.default_rng(width)
    first, second = rng.normal(size=(30, width)), rng.normal(size=(30, width))
    assert procrustes(first, second).disparity == pytest.approx(of_scipy(first, second)[2])


def test_the_one_item_that_moved_comes_first():
    rng = np.random.default_rng(1)
    first = rng.normal(size=(40, 2))
    second = first.copy()
    second[17] += 3
    assert most_moved_rows(procrustes(first, second).moved, 3)[0] == 17


@pytest.mark.parametrize(("points", "says"), [(SQUARE[:3], "shapes"), (np.ones((4, 2)), "coincide")])
def test_what_cannot_be_compared_is_refused(points, says):
    with pytest.raises(ValueError, match=says):
        procrustes(SQUARE, points)
