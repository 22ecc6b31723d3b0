"""Neighbours in the space and on the map."""

from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import maps as oracle
from workbench.views.maps import measures


def test_of_four_points_on_a_line_each_names_the_two_beside_it():
    # 0 and 1 are 1 apart, 1 and 3 are 2, 3 and 7 are 4: the nearest two of 0 are 1 and 3, of 7 are 3 and 1
    points = np.array([[0.0, 0], [1, 0], [3, 0], [7, 0]])
    assert measures.nearest_on_map(points, 2).tolist() == [[1, 2], [0, 2], [1, 0], [2, 1]]


def test_of_equal_vectors_none_names_itself():
    vectors = np.ones((5, 1), dtype=np.float32)
    found = measures.nearest_in_space(vectors, 2)
    assert all(row not in line for row, line in enumerate(found.tolist()))
    assert found.shape == (5, 2)


@pytest.mark.parametrize("seed", [0, 1])
def test_neighbours_are_those_of_a_double_loop(seed):
    rng = np.random.default_rng(seed)
    vectors, points = rng.normal(size=(17, 5)), rng.normal(size=(17, 2))
    assert measures.nearest_in_space(vectors, 4).tolist() == [
        oracle.nearest(vectors, row)[:4] for row in range(17)
    ]
    assert measures.nearest_on_map(points, 4).tolist() == [
        oracle.nearest_points(points, row)[:4] for row in range(17)
    ]


def test_too_many_neighbours_are_refused_by_name():
    with pytest.raises(ValueError, match=r"k = 4 neighbours of 4 points: k must lie in 1\.\.3"):
        measures.nearest_in_space(np.eye(4), 4)
