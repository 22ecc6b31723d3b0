from __future__ import annotations

import numpy as np
import pytest

from tests.oracles.explorer import ranking
from workbench.views.explorer.gallery import first, places


def test_equal_scores_are_shown_in_the_order_of_their_rows():
    assert first(np.array([0.5, 0.9, 0.5, 0.9]), 3).tolist() == [1, 3, 0]


def test_fewer_items_than_asked_are_all_shown():
    assert first(np.array([0.5, 0.9]), 5).tolist() == [1, 0]


def test_a_filter_hides_items_and_moves_no_rank():
    scores = np.array([0.9, 0.8, 0.7])
    assert first(scores, 2, np.array([False, True, True])).tolist() == [1, 2]
    assert places(scores, [1, 2]) == [2, 3]


@pytest.mark.parametrize("seed", range(5))
def test_as_a_slow_sort_has_it(seed: int):
    scores = np.random.default_rng(seed).integers(0, 6, 40).astype(np.float32)
    scores[::7] = np.nan
    passes = np.random.default_rng(seed + 100).random(40) < 0.7
    slow = ranking(scores.tolist())
    assert first(scores, 9, passes).tolist() == [row for row in slow if passes[row]][:9]
    assert places(scores, range(40)) == [slow.index(row) + 1 if row in slow else None for row in range(40)]
