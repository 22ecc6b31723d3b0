"""How the synthetic scenes is drawn."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from PIL import Image, ImageDraw
from scene_world.backdrops import backdrop
from scene_world.drawing import DRAWINGS, outline_margin, sprite
from scene_world.placement import VARIANTS
from scene_world.raster import fill_polygon, fill_rounded, mix_colours, smooth_polygon
from scene_world.vocabulary import BACKDROPS, COLOURS, NOUNS, PATTERNS


def inside(points: list[tuple[int, int]], x: float, y: float) -> bool:
    """Even-odd rule for one point, edge by edge."""
    odd = False
    for (x0, y0), (x1, y1) in zip(points, points[1:] + points[:1], strict=True):
        if (y0 <= y) != (y1 <= y) and x >= x0 + (y - y0) * (x1 - x0) / (y1 - y0):
            odd = not odd
    return odd


def test_a_rectangle_as_a_polygon_fills_the_pixels_whose_centres_it_holds():
    image = Image.new("L", (5, 4))
    fill_polygon(image, [(1, 1), (4, 1), (4, 3), (1, 3)], 9)
    assert np.asarray(image).tolist() == [[0] * 5, [0, 9, 9, 9, 0], [0, 9, 9, 9, 0], [0] * 5]


@pytest.mark.parametrize("seed", range(6))
def test_polygons_follow_the_even_odd_rule_also_where_they_cross_themselves_or_leave_the_image(seed):
    rng = np.random.default_rng(seed)
    points = [(int(x), int(y)) for x, y in rng.integers(-8, 33, size=(3 + seed, 2))]
    image = Image.new("L", (24, 20))
    fill_polygon(image, points, 255)
    expected = np.zeros((20, 24))
    for y, x in np.ndindex(20, 24):
        expected[y, x] = 255 * inside(points, x + 0.5, y + 0.5)
    np.testing.assert_array_equal(np.asarray(image), expected)


def test_a_polygon_outside_the_image_draws_nothing():
    image = Image.new("L", (4, 4))
    fill_polygon(image, [(9, 9), (12, 9), (12, 12)], 255)
    assert image.getextrema() == (0, 0)


def test_a_rounded_rectangle_keeps_its_edges_and_loses_its_corners():
    image = Image.new("L", (20, 12))
    fill_rounded(ImageDraw.Draw(image), (2, 1, 17, 10), 4, 1)
    pixels = np.asarray(image)
    assert pixels[5].tolist() == [0, 0] + [1] * 16 + [0, 0]
    assert (pixels[1, 2], pixels[10, 17], pixels[1, 9]) == (0, 0, 1)


def test_smoothing_cuts_a_square_to_an_octagon_first():
    cut = ((2, 0), (6, 0), (8, 2), (8, 6), (6, 8), (2, 8), (0, 6), (0, 2))
    assert smooth_polygon([(0, 0), (8, 0), (8, 8), (0, 8)], rounds=1) == list(cut)


def test_a_mixture_lies_between_its_colours():
    assert mix_colours((0, 100, 200), (100, 100, 0), 25) == (25, 100, 150)


def test_every_noun_has_a_drawing_that_fills_its_box():
    assert set(DRAWINGS) == set(NOUNS)
    for noun in NOUNS:
        alpha = np.asarray(sprite((noun, "red", "plain"), (60, 60), "all", False, 192).getchannel("A"))
        rows, columns = (np.flatnonzero(alpha.max(axis=axis) > 128) for axis in (1, 0))
        assert alpha.shape == (60 + 2 * outline_margin(192),) * 2
        assert rows[-1] >= 60, noun
        assert columns[-1] - columns[0] >= 52, noun


def test_things_that_hold_others_have_a_front_and_others_have_none():
    for noun, entry in NOUNS.items():
        assert ("front\n" in DRAWINGS[noun]) == (entry.holds is not None)


def test_colours_and_patterns_are_far_apart():
    for noun in ("ball", "cat", "bus"):
        looks = []
        for colour, pattern in product(COLOURS, PATTERNS):
            drawn = sprite((noun, colour, pattern), (40, 40), "all", False, 192).convert("RGB")
            looks.append(np.asarray(drawn, dtype=float))
        assert min(np.abs(a - b).mean() for a, b in combinations(looks, 2)) > 3


def test_a_flipped_pictogram_is_the_mirror_image():
    right, left = (
        np.asarray(sprite(("dog", "blue", "spotted"), (40, 40), "all", flipped, 192))
        for flipped in (False, True)
    )
    np.testing.assert_array_equal(left, right[:, ::-1])


def test_backdrops_differ_and_leave_no_pixel_unpainted():
    images = {}
    for name in BACKDROPS:
        images[name] = [np.asarray(backdrop(name, v, 96), dtype=float) for v in range(VARIANTS)]
    means = [np.mean(variants, axis=0) for variants in images.values()]
    assert min(np.abs(a - b).mean() for a, b in combinations(means, 2)) > 10
    for variants in images.values():
        assert all((image.sum(axis=2) > 0).all() for image in variants)
        assert all(np.abs(a - b).max() > 0 for a, b in combinations(variants, 2))
