"""What one training step of each objective costs on one core, with padding and without it:
``python -m tools.benchmarks.bench_step [rounds] [objective ...]``.

A step is reading, encoding, loss, backward pass, clipping and AdamW, at 128 images x 5 captions of the
embedded world, from the frozen features of ``scenes_backbone`` to 256 dimensions: ``regions`` and
``sequence``, for CORA ``graph``, for AAHR ``multigrain`` with its momentum copies and banks, for PCME and
PCME++ with variances; and InfoNCE on ``towers``. Both forms take turns, batch by batch, so that they meet the
same machine; what counts is processor time, the least of the rounds. The padded form is that which PyTorch
offers and which still runs on a GPU. First the losses of both are compared on one batch without dropout.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from tools.benchmarks.recorded import record
from workbench import objectives
from workbench.encoders import packed
from workbench.runs import Config
from workbench.runs.build import prepare
from workbench.training.batches import BatchShard, Shards, loader
from workbench.training.loop import Training

IMAGES, WIDTH, ROUNDS = 512, 256, 5
SMALL = {"val_images": 16, "test_images": 16, "epochs": 1, "batch_size": 128, "captions_per_image": 5}
REGIONS = {"image_encoder": {"name": "regions", "embed_dim": WIDTH}}
WORDS = {"text_encoder": {"name": "sequence", "embed_dim": WIDTH}}
GRAPH = {"text_encoder": {"name": "graph", "embed_dim": WIDTH, "concepts": {"kind": "gru"}}}
GRAINS = {
    "text_encoder": "multigrain",
    "image_encoder": {
        "name": "multigrain",
        "base": "regions",
        "base_options": {"embed_dim": WIDTH},
        "text_base": "sequence",
        "text_base_options": {"embed_dim": WIDTH, "features": "minilm-package", "word_dim": 384},
    },
}
OTHERS: dict[str, dict[str, Any]] = {
    "cora": REGIONS | GRAPH,
    "aahr": GRAINS,
    "dias": REGIONS | WORDS | {"sampler": "clusters"},
}


def main(rounds: int, names: Sequence[str]) -> None:
    """Say the table, row by row, and record it.

    Args:
        rounds: steps of each form; of these the fastest counts.
        names: objectives, and ``"towers"`` for InfoNCE on towers.
    """
    torch.set_num_threads(1)
    figures: dict[str, Any] = {"images": 128, "captions": 640, "width": WIDTH, "rounds": rounds}
    say(f"{'objective':<12}{'padded ms':>12}{'ms':>10}{'x faster':>10}{'losses differ by':>20}")
    for name in names:
        given = OTHERS.get(name, REGIONS | WORDS)
        config = {"objective": name, "features": "scenes_backbone", **given}
        if name == "towers":
            config = {"objective": "infonce"}
        padded, now, apart = measured(Config(**config, **SMALL, train_images=IMAGES, device="cpu"), rounds)
        figures |= {f"{name}_padded_ms": padded, f"{name}_ms": now, f"{name}_difference": apart}
        say(f"{name:<12}{padded:>12.0f}{now:>10.0f}{padded / now:>10.1f}{apart:>20.1e}")
    record("step", figures | {"torch": torch.__version__})


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def measured(config: Config, rounds: int) -> tuple[float, float, float]:
    """Milliseconds of a step with padding and without, and the relative difference of their losses."""
    ready = prepare(config, progress=False)
    assert ready.train is not None
    run = Training(ready.model.pair, ready.model.objective, ready.train, ready.config, None)
    order = run.epoch_order(0)
    choose(padded=False)
    shards = Shards(ready.train)
    first = next(loader(shards, order[:1]))
    losses = [loss(run, first, padded=padded) for padded in (True, False)]
    run.model.train()
    found: dict[bool, list[float]] = {True: [], False: []}
    for number in range(1 + rounds):
        for padded in (True, False):
            choose(padded=padded)
            start = time.process_time()
            run.train_step(next(loader(shards, [order[number % len(order)]])))
            found[padded].append(1000 * (time.process_time() - start))
    return min(found[True][1:]), min(found[False][1:]), abs(losses[0] - losses[1]) / abs(losses[0])


def loss(run: Training, shard: BatchShard, *, padded: bool) -> float:
    """The loss of a batch, without dropout in the encoders and with the same draws in the objective."""
    choose(padded=padded)
    torch.manual_seed(0)
    run.model.eval()
    batch = shard.batch
    if run.momentum:
        batch = replace(batch, momentum=run.encode(run.momentum.pair, shard)[:2])
    terms = run.objective(*run.encode(run.model, shard)[:2], batch)
    return float(torch.stack(list(terms.values())).sum().detach())


def choose(*, padded: bool) -> None:
    """Which form runs from here on."""
    packed.uses_padded_form = partial(_says, padded)


def _says(padded: bool, _: torch.Tensor) -> bool:
    return padded


if __name__ == "__main__":
    asked = sys.argv[2:] or [*objectives.names(), "towers"]
    main(int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS, asked)
