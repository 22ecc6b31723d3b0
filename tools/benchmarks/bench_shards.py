"""Pairs in shards: ``python -m tools.benchmarks.bench_shards [PAIRS]`` (default a million).

Writes tar shards of small JPEGs with a caption each, then indexes them, opens the index again, and reads one
epoch of batches in shuffled order, each image from its place in its shard. Records seconds, pairs a second
and the peak of resident memory.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from tests.data.fixtures import tar
from tools.benchmarks.recorded import record
from workbench import data
from workbench.training.batches import Pixels, Source
from workbench.training.samplers import epoch_batches

SHARD, SIDE, BATCH = 10_000, 32, 256
WORDS = [
    "red",
    "green",
    "blue",
    "small",
    "large",
    "old",
    "cat",
    "dog",
    "bus",
    "tree",
    "lamp",
    "street",
    "near",
    "on",
]


def write(folder: Path, pairs: int) -> None:
    """Shards of ``SHARD`` pairs."""
    rng = np.random.default_rng(0)
    for first in range(0, pairs, SHARD):
        members = []
        for n in range(first, min(first + SHARD, pairs)):
            out = io.BytesIO()
            Image.fromarray(rng.integers(0, 255, (4, 4, 3), dtype=np.uint8)).resize((SIDE, SIDE)).save(
                out, "JPEG"
            )
            words = " ".join(rng.choice(WORDS, 8))
            members += [(f"{n:07d}.jpg", out.getvalue()), (f"{n:07d}.txt", words.encode())]
        tar(folder / f"train-{first // SHARD:05d}.tar", members)


def tensor(image: Image.Image) -> Any:
    """``(3, H, W)`` uint8."""
    return torch.from_numpy(np.array(image)).permute(2, 0, 1)


def main(pairs: int = 1_000_000) -> None:
    """Measure and record."""
    found: dict[str, Any] = {"pairs": pairs}
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryDirectory() as cache:
        os.environ["WORKBENCH_CACHE"] = cache
        began = time.perf_counter()
        write(Path(place), pairs)
        sys.stdout.write(f"written in {time.perf_counter() - began:.0f} s\n")
        for what in ("index", "open"):
            began = time.perf_counter()
            split = data.load("shards", split="train", root=place)
            found[f"{what}_seconds"] = time.perf_counter() - began
        source = Source(split, {"pixels": Pixels(split, tensor)}, {})
        began = time.perf_counter()
        for captions in epoch_batches(split.own, size=BATCH, captions_per_image=1, seed=0, number=0):
            source.batch(captions)
        found["epoch_seconds"] = time.perf_counter() - began
        found["pairs_a_second"] = pairs / found["epoch_seconds"]
        found["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    for name, value in found.items():
        sys.stdout.write(f"{name}: {value:.4g}\n")
    record("shards", found)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
