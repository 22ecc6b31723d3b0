"""The losses and weights of towers whose blocks are cut over processes; run as a program it is one process,
started by torchrun's variables."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from accelerate import Accelerator
from torch import Tensor, distributed

from tests.runs.test_experiment import TINY
from tests.training import curves
from workbench.training import checkpoint, fit, processes, seed_everything
from workbench.training.sharding import Shards, is_cut

# images of a batch; 4 steps an epoch, of 2; the run is stopped in the second
IMAGES, SIZE, STOPPED = 68, 17, 7
CASES: dict[str, dict[str, Any]] = {
    # its tower of images stands still for an epoch
    "infonce": {"warmup_epochs": 1, "layer_decay": 0.5},
    "ditm": {"chunk_size": 8, "optimizer": "adam", "swa_from": 1},
}


def trained(name: str, place: Path, *, shard: bool) -> tuple[list[float], dict[str, Tensor], list[float]]:
    """A run that is stopped on its way and gone on with.

    Args:
        name: of the objective.
        place: folder of its checkpoints.
        shard: whether several processes cut the towers.

    Returns:
        Losses of all steps, weights in the end, and the share of every cut parameter that this process held.
    """
    losses: list[float] = []
    shares: list[float] = []
    cut = Shards.__init__

    def watched(self: Shards, model: Any, world: int, device: torch.device) -> None:
        cut(self, model, world, device)
        for one in filter(is_cut, model.parameters()):
            shares.append(one.to_local().numel() / one.numel())

    tiny = place.parent / "tiny.json"
    tiny.write_text(json.dumps(TINY), encoding="utf-8")
    with (
        curves.doubled(),
        patch.object(Shards, "__init__", watched),
        # it would end the group of processes with the first of several runs
        patch.object(Accelerator, "end_training", lambda self: None),
    ):
        made = curves.ready(
            name, **CASES[name], image_encoder="towers", text_encoder="towers", features="",
            image_options={"model": str(tiny), "pretrained": ""},
            train_images=IMAGES, batch_size=SIZE, epochs=2, shard=shard,
        )  # fmt: skip
        for last in (STOPPED, 1000):
            pair, objective = deepcopy(made.model.pair), deepcopy(made.model.objective)
            del losses[STOPPED - STOPPED % curves.EVERY :]
            objective.register_forward_pre_hook(partial(curves._stop, losses, last))
            objective.register_forward_hook(partial(curves._note, losses))
            seed_everything(0)
            with suppress(curves.EnoughError):
                fit(
                    pair, objective, made.train, lambda: {"rsum": float(len(losses))}, made.config,
                    place=checkpoint.Place(place), progress=False,
                )  # fmt: skip
    return losses, checkpoint.weights(pair, objective), shares


if __name__ == "__main__":
    torch.set_num_threads(1)
    os.environ["LOCAL_RANK"] = os.environ["RANK"]
    distributed.init_process_group("gloo")
    out = Path(sys.argv[1])
    found = {name: trained(name, out.parent / name, shard=True) for name in CASES}
    if processes.rank() == processes.world() - 1:
        torch.save(found, out)
    distributed.destroy_process_group()
