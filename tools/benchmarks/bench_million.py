"""A million pairs from shards to rankings: ``python -m tools.benchmarks.bench_million [PAIRS] [FOLDER]``.

Writes tar shards of small images with five captions each, a million pairs unless told otherwise. Then, with
the workbench's own functions: the data path of one epoch (every image decoded, in shuffled order); frozen
features of all images, cached; one epoch of small heads on them; and one evaluation of all images against
all captions, with the ten best of every query in both directions. Each part states its seconds, its rate and
the most memory that was resident till then, the pages of mapped files included. The bar: 6 GiB.

Parts that ended in an earlier process are not made again, and what they took is not in the later parts.

FOLDER keeps shards, features and weights, so that a run that was cut off goes on.
"""

from __future__ import annotations

import io
import json
import os
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from tests.data.fixtures import tar
from tools.benchmarks.bench_shards import tensor
from tools.benchmarks.recorded import record
from workbench import data
from workbench.records import Split
from workbench.runs import Config, prepare
from workbench.runs.kinds import Training
from workbench.runs.measure import measure, validate
from workbench.runs.result import Result
from workbench.training import fit
from workbench.training.batches import Pixels, Source
from workbench.training.samplers import epoch_batches

CAPTIONS, SHARD, SIDE, BATCH = 5, 2_000, 32, 256
COLOURS = {
    "red": (200, 30, 30), "green": (30, 160, 60), "blue": (40, 60, 200), "yellow": (230, 210, 40),
    "white": (240, 240, 240), "black": (15, 15, 15), "orange": (240, 140, 20), "violet": (140, 50, 180),
}  # fmt: skip
PLACES = ("top left", "top right", "bottom left", "bottom right")
MODEL = {
    "features": "scenes_backbone", "image_encoder": {"name": "regions", "embed_dim": 64},
    "text_encoder": {"name": "sequence", "embed_dim": 64}, "objective": "infonce",
    "batch_size": BATCH, "epochs": 1, "captions_per_image": 1, "lr_warmup_steps": 30, "lr": 2e-3,
    "device": "cpu", "seed": 0,
}  # fmt: skip


def sample(key: str, rng: np.random.Generator) -> list[tuple[str, bytes]]:
    """An image of four colours, and captions that each name two of them."""
    chosen = rng.choice(list(COLOURS), 4)
    cells = np.array([COLOURS[name] for name in chosen], dtype=np.uint8).reshape(2, 2, 3)
    file = io.BytesIO()
    Image.fromarray(cells).resize((SIDE, SIDE), Image.Resampling.NEAREST).save(file, "JPEG")
    captions = []
    for _ in range(CAPTIONS):
        one, other = rng.choice(4, 2, replace=False)
        captions.append(f"{chosen[one]} at the {PLACES[one]}, {chosen[other]} at the {PLACES[other]}")
    return [(f"{key}.jpg", file.getvalue()), (f"{key}.json", json.dumps({"captions": captions}).encode())]


def write(folder: Path, images: int) -> None:
    """Shards of ``SHARD`` images, and a small one to validate on."""
    folder.mkdir(parents=True, exist_ok=True)
    firsts = {f"train-{first // SHARD:05d}": first for first in range(0, images, SHARD)}
    for name, first in {**firsts, "val-00000": images, "test-00000": images + 100}.items():
        if not (folder / f"{name}.tar").exists():
            until = min(first + SHARD, images) if name in firsts else first + 100
            rng = np.random.default_rng(first)
            members = [member for n in range(first, until) for member in sample(f"{n:07d}", rng)]
            tar(folder / "begun", members)
            (folder / "begun").rename(folder / f"{name}.tar")


def read(split: Split) -> None:
    """Every image of an epoch with its captions, in shuffled order."""
    source = Source(split, {"pixels": Pixels(split, tensor)}, {})
    for captions in epoch_batches(split.own, size=BATCH, captions_per_image=1, seed=0, number=0):
        source.batch(captions)


class Parts:
    """The figures of each part, told and written as soon as it has ended.

    Args:
        file: keeps them, so that a run that was cut off adds to them. A part that ended is measured once:
            what it left on the disk would make it look fast the second time. Delete the file to measure all
            anew, and the folder ``cache`` with it.
    """

    def __init__(self, file: Path) -> None:
        self.file = file
        self.figures: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}

    def timed(self, part: str, count: int, work: Callable[[], Any]) -> Any:
        """What the work returns; its seconds, its rate, and the peak of memory till its end."""
        began = time.perf_counter()
        made = work()
        if f"{part}_seconds" in self.figures:
            return made
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        for name, value in {"a_second": count / seconds, "peak_gib": peak, "seconds": seconds}.items():
            self.note(f"{part}_{name}", value)
        sys.stdout.write(f"{part}: {seconds:.0f} s, {count / seconds:.0f} a second, {peak:.2f} GiB\n")
        sys.stdout.flush()
        return made

    def note(self, name: str, value: float) -> None:
        """Keep a figure."""
        self.figures[name] = value
        self.file.write_text(json.dumps(self.figures))


def main(pairs: int = 1_000_000, place: str = "") -> None:
    """Measure and record."""
    root, images = Path(place or tempfile.mkdtemp()), pairs // CAPTIONS
    root.mkdir(parents=True, exist_ok=True)
    parts, weights = Parts(root / "figures.json"), root / "trained.pt"
    os.environ["WORKBENCH_CACHE"] = str(root / "cache")
    write(root / "shards", images)
    given = {"data": {"name": "shards", "root": str(root / "shards")}}
    split = parts.timed("index", pairs, lambda: data.load("shards", split="train", root=str(root / "shards")))
    if not weights.exists():
        parts.timed("data_path", pairs, partial(read, split))
    # what follows reads the index itself
    del split
    ready = parts.timed("features", images, lambda: prepare(Config(**given, **MODEL), progress=False))
    model, train = ready.model, ready.train
    assert train is not None

    def learn() -> None:
        choose = partial(validate, model, ready.val, "rsum")
        fit(model.pair, model.objective, train, choose, ready.config, progress=False)
        torch.save(model.pair.state_dict(), weights)

    def evaluate() -> tuple[Any, ...]:
        image, text = model.embed(train)
        return *measure(model, train.split, image, text), image, text

    if weights.exists():
        model.pair.load_state_dict(torch.load(weights, weights_only=True))
    else:
        parts.timed("training", pairs, learn)
    if "evaluation_seconds" not in parts.figures:
        found, _, best, image, text = parts.timed("evaluation", pairs, evaluate)
        parts.note("rsum", next(one.value for one in found if one.label == "rsum"))
        run = Training(ready.config.as_dict())
        opened = Result("infonce", train.split, lambda: (model, image, text), run=run, best=best)
        parts.note("rows", len(opened.rankings()))
    record("million", {"pairs": pairs, **parts.figures})


if __name__ == "__main__":
    main(*(int(argument) if argument.isdigit() else argument for argument in sys.argv[1:]))
