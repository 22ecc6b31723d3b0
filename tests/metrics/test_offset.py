"""mAP@R after the best offset of captions that does not look at the image."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from tests.metrics.test_within import judged
from workbench.metrics.evaluation import Columns, Evidence, walk
from workbench.metrics.map_at_r import map_at_r
from workbench.metrics.offset import _refine, best_coefficient
from workbench.metrics.ranks import Relevant, rank

OWN = np.arange(150) // 5
LEVEL = np.arange(150) % 5 + 1


@pytest.fixture
def world(rng):
    """Scores of 30 images with 150 captions, and what is relevant; generic captions are true of many."""
    relevant = rng.random((30, 150)) < 0.8 / LEVEL**2
    relevant[OWN, np.arange(150)] = True
    return relevant + 0.4 * rng.standard_normal((30, 150)), relevant


def values(scores, relevant, **columns):
    """Values by image, by what the offset is found by."""
    makers = {name: lambda column=column: np.array(column) for name, column in columns.items()}
    evidence = Evidence(scores, judged(relevant), OWN, columns=Columns(makers))
    return {m.key.subset: column for m, column in walk(evidence, ["offset_map_at_r"], rounds=0)}


def test_any_constant_of_a_caption_changes_nothing(world, rng):
    scores, relevant = world
    columns = {"level": LEVEL, "words": rng.integers(1, 9, 150)}
    before = values(scores, relevant, **columns)
    assert list(before) == ["by level", "by words"]
    for constant in (rng.standard_normal(150), 100 * rng.random(150), -3.0 * LEVEL):
        after = values(scores + constant, relevant, **columns)
        for key, column in before.items():
            assert_allclose(after[key], column, atol=1e-9, rtol=0)


def test_a_model_that_dislikes_generic_captions_is_restored(world):
    scores, relevant = world
    plain = np.nanmean(map_at_r(rank(scores, relevant)))
    worse = scores + 2.0 * LEVEL
    assert np.nanmean(map_at_r(rank(worse, relevant))) < plain - 0.2
    assert np.nanmean(values(worse, relevant, level=LEVEL)["by level"]) > plain - 0.05


def test_a_multiple_is_added_to_scores_that_keep_what_they_know(world):
    scores, relevant = world
    makers = {"level": lambda: LEVEL}
    evidence = Evidence(scores + 2.0 * LEVEL, judged(relevant), OWN, columns=Columns(makers))
    ((number, found),) = walk(evidence, ["added_map_at_r"], rounds=0)
    assert str(number.key) == "exact:i2t/added_map_at_r[by level]"
    # at least what the scores had before, and more where level says more than they do
    assert np.nanmean(found) > np.nanmean(map_at_r(rank(scores, relevant))) - 0.01
    # a constant of a caption that its level does not tell stays
    other = 5.0 * (np.arange(150) % 7 == 0)
    moved = Evidence(scores + other, judged(relevant), OWN, columns=Columns(makers))
    assert np.nanmean(next(walk(moved, ["added_map_at_r"], rounds=0))[1]) < np.nanmean(found) - 0.1


def test_what_says_nothing_of_captions_leaves_the_scores_without_their_means(world):
    scores, relevant = world
    found = values(scores, relevant, words=np.ones(150))["by words"]
    expected = np.empty(30)
    for half in (0, 1):
        rows = np.arange(30) % 2 == half
        centred = scores[rows] - scores[~rows].mean(axis=0)
        expected[rows] = map_at_r(rank(centred, relevant[rows]))
    assert_allclose(found, expected)


def test_an_image_is_measured_with_an_offset_that_other_images_made(world, rng):
    scores, relevant = world
    before = values(scores, relevant, level=LEVEL)["by level"]
    scores[4] = rng.standard_normal(150)
    changed = values(scores, relevant, level=LEVEL)["by level"] != before
    assert changed[4]
    # the others of its half never met it
    assert not changed[[0, 2, 6, 8, 28]].any()


def test_the_coefficient_is_the_best_of_those_around_it(world):
    scores, relevant = world
    known, column = Relevant.from_pairs(relevant), -(LEVEL - 3.0)
    best = best_coefficient(scores, known, column)
    around = [np.nanmean(map_at_r(rank(scores + a * column, known))) for a in np.linspace(-3, 3, 61)]
    assert np.nanmean(map_at_r(rank(scores + best * column, known))) >= max(around) - 0.01


def test_the_best_value_is_refined_between_its_neighbours():
    found = _refine(lambda value: -abs(value - 1.3), [0.0, 1.0, 2.0])
    assert found == pytest.approx(1.3, abs=1 / 16)


def test_one_image_has_no_other_to_learn_from():
    scores, relevant = np.ones((1, 5)), np.ones((1, 5), dtype=bool)
    makers = {"level": lambda: np.arange(5)}
    evidence = Evidence(scores, judged(relevant), np.zeros(5, dtype=int), columns=Columns(makers))
    assert list(walk(evidence, ["offset_map_at_r"], rounds=0)) == []
