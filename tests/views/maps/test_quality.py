"""What a map keeps of its space."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.views.maps import measures


def unit(rng, size, width):
    vectors = rng.normal(size=(size, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_a_map_that_is_the_space_is_perfect():
    rng = np.random.default_rng(3)
    circle = unit(rng, 30, 2)
    found = measures.map_quality(circle, circle, measures.nearest_in_space(circle, 5))
    assert (found["trustworthiness"], found["overlap"]) == (1, 1)
    assert found["chance"] == pytest.approx(5 / 29)


def test_a_sample_is_measured_as_a_map_of_its_own():
    rng = np.random.default_rng(4)
    vectors, points = unit(rng, 400, 6), rng.normal(size=(400, 2))
    near = measures.nearest_in_space(vectors, 5)
    whole, part = (
        measures.map_quality(vectors, points, near),
        measures.map_quality(vectors, points, near, sample=200),
    )
    assert part["trustworthiness"] == pytest.approx(whole["trustworthiness"], abs=0.05)
    assert part["overlap"] == whole["overlap"]


def test_a_map_of_few_points_is_measured_by_fewer_neighbours() -> None:
    vectors = np.eye(12, dtype=np.float32)
    points = np.random.default_rng(0).normal(size=(12, 2))
    measured = measures.map_quality(vectors, points, measures.nearest_in_space(vectors, 10))
    assert 0 <= measured["trustworthiness"] <= 1
