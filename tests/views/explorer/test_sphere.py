from __future__ import annotations

import numpy as np
import pytest
import torch

from workbench.views.explorer.engine import unit_vector
from workbench.views.explorer.gallery import cosines


def test_what_cancels_out_has_no_direction():
    with pytest.raises(ValueError, match="cancel out"):
        unit_vector(np.zeros(4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_blocks_of_any_precision_give_the_cosines_of_the_whole(
    dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("workbench.views.explorer.gallery.BLOCK", 7)
    points, gallery = (
        np.random.default_rng(4).normal(size=(3, 6)),
        np.random.default_rng(5).normal(size=(20, 6)),
    )
    found = cosines(points, torch.tensor(gallery).to(dtype))
    assert np.allclose(found, points @ gallery.T, atol=1e-5 if dtype == torch.float32 else 2e-2)
