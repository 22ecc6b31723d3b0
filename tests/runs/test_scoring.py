"""Scores by blocks are those of the whole, for every objective."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from tests.metrics.families import recall
from tests.objectives.worlds import random_embedding
from workbench import objectives
from workbench.metrics.blocks import RowScores, blocks
from workbench.records import Judgements
from workbench.runs import model as scoring
from workbench.runs.scoring import score_split


def model(objective):
    """What scores embeddings, without encoders."""
    objective.setup(6)
    objective.eval()

    def scores(image, text):
        with torch.no_grad():
            return objective.scores(image, text).float().numpy()

    return SimpleNamespace(scores=scores, device=torch.device("cpu"))


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr("workbench.metrics.blocks.COMPUTED", 30)
    monkeypatch.setattr(scoring, "WHOLE", 0)


CASES = [(name, {}) for name in objectives.names()] + [("dias", {"scorer": "cross"}), ("cora", {"beta": 0.5})]


@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_scores_by_rows_equal_the_whole_matrix_in_both_directions(name, options, small_blocks):
    asked = model(objectives.load(name, **options))
    image, text = (
        random_embedding(7, seed=1, dtype=torch.float32),
        random_embedding(11, seed=2, dtype=torch.float32),
    )
    whole, lazy = asked.scores(image, text), score_split(asked, image, text)
    assert lazy.step == 2
    for given, expected in ((lazy, whole), (lazy.T, whole.T)):
        assert given.shape == expected.shape
        found = np.concatenate([rows for _, rows in blocks(given, given.shape)])
        assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    rows, columns = np.array([4, 0, 5]), np.array([9, 1])
    assert_allclose(
        lazy.select(rows, columns).rows(slice(0, 3)), whole[np.ix_(rows, columns)], rtol=1e-5, atol=1e-5
    )
    assert_allclose(
        lazy.T.select(columns, rows).rows(slice(0, 2)), whole.T[np.ix_(columns, rows)], rtol=1e-5, atol=1e-5
    )


def test_a_small_matrix_is_made_whole_and_a_large_one_by_rows(monkeypatch):
    asked = model(objectives.load("vsepp"))
    image, text = (
        random_embedding(6, seed=1, dtype=torch.float32),
        random_embedding(12, seed=2, dtype=torch.float32),
    )
    judged = Judgements.from_own(np.arange(12) // 2, 6)
    whole = score_split(asked, image, text)
    assert isinstance(whole, np.ndarray)
    monkeypatch.setattr(scoring, "WHOLE", 71)
    lazy = score_split(asked, image, text)
    assert isinstance(lazy, RowScores)
    assert recall(lazy, judged) == recall(whole, judged)
    assert recall(lazy, judged, own=judged.images, folds=3) == recall(
        whole, judged, own=judged.images, folds=3
    )
