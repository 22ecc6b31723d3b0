"""The loss of every step, for every objective with its default encoders: of several processes, whole or chunk
by chunk, stopped and gone on with, beside one process that trains straight on, in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from workbench.encoders.base import Pair
from workbench.records import Embedding
from workbench.runs import Config
from workbench.runs.build import Experiment, prepare
from workbench.training import checkpoint, fit, seed_everything

# images or captions of a batch, which neither 2 nor 3 divides; steps
SIZE, STEPS = 7, 5
# steps between checkpoints
EVERY = 3
SETTINGS = {
    "train_images": 36, "val_images": 4, "test_images": 4, "device": "cpu", "batch_size": SIZE, "epochs": 2,
    "checkpoint_every": EVERY, "clusters": 9, "clusters_per_batch": 7, "lr": 1e-4, "select": "rsum",
}  # fmt: skip


class EnoughError(Exception):
    """So many steps are done."""


@contextmanager
def doubled() -> Iterator[None]:
    """Embeddings are left in double precision, and the encoders stay in evaluation: shards and chunks would
    draw other numbers, and batch norms that train are refused there.
    """

    def train(self: Pair, mode: bool = True) -> Pair:
        for module in self.modules():
            module.training = False
        return self

    torch.set_default_dtype(torch.float64)
    try:
        with (
            patch.object(Embedding, "in_float32", lambda self, device: self),
            patch.object(Pair, "train", train),
        ):
            yield
    finally:
        torch.set_default_dtype(torch.float32)


def ready(name: str, **changes: Any) -> Experiment:
    """An experiment in double precision."""
    made = prepare(Config(**{"objective": name, **SETTINGS, **changes}), progress=False)
    made.model.pair.double(), made.model.objective.double()
    inputs = {name: lambda rows, read=read: read(rows).double() for name, read in made.train.inputs.items()}
    return replace(made, train=replace(made.train, inputs=inputs))


def _stop(losses: list[float], last: int, *_: Any) -> None:
    if len(losses) == last:
        raise EnoughError


def _note(losses: list[float], _: Any, __: Any, terms: dict[str, torch.Tensor]) -> None:
    losses.append(sum(terms.values()).item())


def curve(made: Experiment, *, chunk: int = 0, folder: Path | None = None) -> list[float]:
    """The loss of every step; with a folder the run is stopped on its way and gone on with."""
    settings = made.config.model_copy(update={"chunk_size": chunk})
    losses: list[float] = []
    stopped = STEPS // 2 + 1
    for last in (stopped, STEPS) if folder else (STEPS,):
        pair, objective = deepcopy(made.model.pair), deepcopy(made.model.objective)
        del losses[stopped - stopped % EVERY :]
        objective.register_forward_pre_hook(partial(_stop, losses, last))
        objective.register_forward_hook(partial(_note, losses))
        seed_everything(settings.seed)
        position = checkpoint.TrainingPosition(folder, {}) if folder else None
        with suppress(EnoughError):
            fit(
                pair,
                objective,
                made.train,
                lambda: {"rsum": 0.0},
                settings,
                position=position,
                progress=False,
            )
    return losses
