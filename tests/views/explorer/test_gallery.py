from __future__ import annotations

import numpy as np
import pytest

from tests.oracles import explorer as oracle
from workbench.views.explorer.gallery import ranking


@pytest.mark.parametrize("seed", range(5))
def test_as_a_slow_sort_has_it(seed: int):
    scores = np.random.default_rng(seed).integers(0, 6, 40).astype(np.float32)
    scores[::7] = np.nan
    order, ranks = ranking(scores)
    slow = oracle.ranking(scores.tolist())
    assert order.tolist() == slow
    assert ranks.tolist() == [slow.index(row) + 1 if row in slow else 0 for row in range(40)]
