"""With its own defaults every objective learns the embedded world from random heads, and what learns nothing
is found out."""

from __future__ import annotations

import pytest
import torch

from workbench import objectives
from workbench.experiment import Config, run

KEY = "exact:t2i/map_at_r"
LEAST = 0.1


def gain(name: str, **changes: object) -> float:
    """What the kept epoch has more than epoch 0 on the validation split, in mAP@R by the exact truth."""
    sizes = {"train_images": 1500, "val_images": 200, "test_images": 50, "batch_size": 64}
    result = run(
        Config(objective=name, **{**sizes, "device": "cpu", "select": KEY, **changes}), progress=False
    )
    return result.validation[KEY] - result.history[0][f"val/{KEY}"]


@pytest.mark.slow
@pytest.mark.parametrize("name", objectives.names())
def test_every_objective_gains_ten_points_over_its_own_epoch_0_with_its_defaults(name):
    assert gain(name) >= LEAST


@pytest.mark.slow
@pytest.mark.parametrize("name", ["infonce", "vsepp"])
def test_an_optimiser_that_does_nothing_gains_nothing(name, monkeypatch):
    monkeypatch.setattr(torch.optim.AdamW, "step", lambda *_, **__: None)
    # running statistics of the towers move with the batches that they see, and nothing else does
    assert abs(gain(name, epochs=1, train_images=64)) < LEAST / 10
