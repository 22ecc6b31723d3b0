"""Ensembles: the mean of two score matrices, of one split only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.objectives.worlds import source
from workbench import objectives
from workbench.evaluation import ensemble, measure


class Fixed:
    """A model whose scores are given."""

    def __init__(self, scores):
        self.given = np.asarray(scores, dtype=np.float32)

    def embed(self, source):
        return None, None

    def scores(self, image, text):
        return self.given


@pytest.fixture(scope="module")
def world():
    return source(objectives.load("vsepp"))


def test_the_scores_of_an_ensemble_are_the_mean_of_its_members(world):
    # (.2 + .6) / 2 and (.9 - .1) / 2
    members = [(Fixed([[0.2, 0.9]]), world), (Fixed([[0.6, -0.1]]), world)]
    np.testing.assert_allclose(ensemble(members), [[0.4, 0.4]], rtol=1e-6)
    np.testing.assert_array_equal(ensemble(members[:1]), members[0][0].given)


def test_an_ensemble_of_two_halves_of_the_truth_is_right(world):
    own = world.split.judgements["own"].dense()
    halves = [np.where(np.arange(own.shape[1]) % 2 == half, own, 0.5) for half in (0, 1)]
    rsum = {m.key: m.value for m in measure(ensemble([(Fixed(half), world) for half in halves]), world.split, rounds=0)}["rsum"]
    assert rsum == 6
    assert {m.key: m.value for m in measure(halves[0], world.split, rounds=0)}["rsum"] < 6


def test_models_of_different_splits_are_refused(world):
    other = replace(world, split=replace(world.split, name="other", caption_ids=world.split.caption_ids[::-1]))
    with pytest.raises(ValueError, match="an ensemble scores one split: other and toy differ"):
        ensemble([(Fixed([[0.0]]), world), (Fixed([[0.0]]), other)])
    with pytest.raises(ValueError, match="at least one model"):
        ensemble([])
