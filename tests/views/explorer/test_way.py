from __future__ import annotations

import numpy as np
import pytest
from caption_graphs.panels.way import point_between

from tests.oracles.explorer import on_the_circle
from workbench.views.explorer.engine import unit_vector


def test_half_of_a_right_angle_is_forty_five_degrees():
    # cos 45 = sin 45 = 0.7071
    assert np.allclose(
        point_between(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5), [0.70710678, 0.70710678]
    )


def test_the_way_begins_and_ends_where_it_should_and_stays_on_the_sphere():
    start, end = (unit_vector(np.random.default_rng(seed).normal(size=8)) for seed in (0, 1))
    way = [point_between(start, end, share) for share in np.linspace(0, 1, 6)]
    assert np.allclose(way[0], start, atol=1e-6)
    assert np.allclose(way[-1], end, atol=1e-6)
    assert np.allclose([np.linalg.norm(point) for point in way], 1, atol=1e-6)


@pytest.mark.parametrize("share", [0.1, 0.37, 0.9])
def test_a_step_turns_by_its_share_of_the_angle(share: float):
    start, end = (unit_vector(np.random.default_rng(seed).normal(size=5)) for seed in (2, 3))
    assert np.allclose(
        point_between(start, end, share), on_the_circle(start.tolist(), end.tolist(), share), atol=1e-6
    )


def test_equal_and_opposite_ends_give_a_point_too():
    point = np.array([1.0, 0.0])
    assert np.allclose(point_between(point, point, 0.5), point)
    assert np.allclose(point_between(point, -point, 0.25), point)
