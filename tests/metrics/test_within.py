"""mAP@R and R-Precision among the captions of one level, or of one fifth by descriptiveness."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from workbench.metrics.evaluation import Columns, Evidence, walk
from workbench.metrics.map_at_r import map_at_r, r_precision
from workbench.metrics.ranks import rank
from workbench.records import Judgements

BOTH = ("within_map_at_r", "within_r_precision")


def judged(relevant, name="exact"):
    images, captions = np.nonzero(relevant)
    return Judgements(name, "x", relevant.shape, images, captions, np.ones(len(images), np.float32))


def measured(scores, relevant, own, **columns):
    """Numbers and values by query, by key."""
    makers = {name: lambda values=values: np.array(values) for name, values in columns.items()}
    evidence = Evidence(scores, judged(relevant), own, columns=Columns(makers))
    return {m.label: (m, values) for m, values in walk(evidence, BOTH, rounds=20)}


def test_two_levels_by_hand():
    # level 1 are captions 0 and 1, level 2 the others
    scores = np.array([[0.9, 0.8, 0.3, 0.2], [0.9, 0.7, 0.1, 0.4]])
    relevant = np.array([[1, 1, 0, 1], [0, 1, 0, 1]], dtype=bool)
    found = measured(scores, relevant, np.array([0, 1, 0, 1]), level=[1, 1, 2, 2])
    values = {key: column.tolist() for key, (_, column) in found.items() if "map_at_r" in key}
    # image 0: both, and the second of two; image 1: the second of two, and the first
    assert values["exact:i2t/within_map_at_r[level 1]"] == [1.0, 0.0]
    assert values["exact:i2t/within_map_at_r[level 2]"] == [0.0, 1.0]
    assert values["exact:i2t/within_map_at_r"] == [0.5, 0.5]
    # caption 0 ties: its image is ranked behind the equal one
    assert_allclose(values["exact:t2i/within_map_at_r[level 1]"], [0, 1, np.nan, np.nan])
    assert_allclose(values["exact:t2i/within_map_at_r[level 2]"], [np.nan, np.nan, np.nan, 1])
    assert "exact:t2i/within_map_at_r" not in found
    contract = found["exact:i2t/within_map_at_r[level 2]"][0]
    assert (contract.gallery, contract.queries, contract.chance) == (2, 2, pytest.approx(0.5))
    assert found["exact:t2i/within_map_at_r[level 2]"][0].queries == 1


@pytest.fixture
def world(rng):
    """Scores with ties, 12 images, 60 captions of five levels, and what is relevant."""
    scores = rng.integers(-4, 5, (12, 60)).astype(np.float64)
    level = np.arange(60) % 5 + 1
    relevant = rng.random((12, 60)) < 0.6 / level
    own = np.arange(60) // 5
    relevant[own, np.arange(60)] = True
    return scores, relevant, own, level


@pytest.mark.parametrize(("name", "of"), [("map_at_r", map_at_r), ("r_precision", r_precision)])
def test_each_level_is_a_gallery_of_its_own(world, name, of):
    scores, relevant, own, level = world
    found = measured(scores, relevant, own, level=level)
    parts = []
    for number in range(1, 6):
        inside = np.flatnonzero(level == number)
        of_images = of(rank(scores[:, inside], relevant[:, inside]))
        parts.append(of_images)
        assert_allclose(found[f"exact:i2t/within_{name}[level {number}]"][1], of_images)
        of_captions = of(rank(scores.T[inside], relevant.T[inside]))
        assert_allclose(found[f"exact:t2i/within_{name}[level {number}]"][1][inside], of_captions)
    assert_allclose(found[f"exact:i2t/within_{name}"][1], np.nanmean(parts, axis=0))


def test_what_is_added_to_all_captions_of_a_level_changes_nothing_from_image_to_text(world):
    scores, relevant, own, level = world
    before, after = (measured(s, relevant, own, level=level) for s in (scores, scores + 10.0 * level))
    for key, (_, values) in before.items():
        if "i2t" in key:
            assert_allclose(after[key][1], values)


def test_without_levels_there_are_fifths_by_descriptiveness(world, rng):
    scores, relevant, own, _ = world
    values = rng.permutation(60) / 7
    found = measured(scores, relevant, own, words=np.ones(60), descriptiveness=values)
    for number in range(1, 6):
        inside = np.flatnonzero((values >= 12 * (number - 1) / 7) & (values < 12 * number / 7))
        assert len(inside) == 12
        expected = map_at_r(rank(scores[:, inside], relevant[:, inside]))
        assert_allclose(found[f"exact:i2t/within_map_at_r[fifth {number}]"][1], expected)
        assert found[f"exact:i2t/within_map_at_r[fifth {number}]"][0].gallery == 12


def test_captions_of_one_kind_have_no_groups(world):
    scores, relevant, own, _ = world
    assert measured(scores, relevant, own, descriptiveness=np.ones(60)) == {}
    assert measured(scores, relevant, own) == {}
