"""What reading the images costs beside the encoder alone: ``python -m tools.benchmarks.bench_decoding
[IMAGES]``.

Photographs of noise, 640 x 480 JPEG files, by ViT-B/32 with random weights, embedded twice by one model: from
their files, and from memory. The clock and the seconds of the processor stand beside each other, since a busy
machine changes the latter less. Then they are read while nothing computes, by threads of one process and by
two processes, as beside a GPU. The bar on two idle cores: 1.1 times the encoder alone.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from tools.benchmarks.recorded import record
from workbench import data
from workbench.io.ahead import read_ahead
from workbench.runs.encoder_model import SLOWLY
from workbench.runs.models import open_model
from workbench.training.batches import Source

KINDS = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def spent() -> float:
    """Seconds of the processor so far, with those of children that have ended."""
    uses = [resource.getrusage(kind) for kind in KINDS]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def measured(compute: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the clock and of the processor."""
    before, start = spent(), time.perf_counter()
    compute()
    return time.perf_counter() - start, spent() - before


def photographs(folder: Path, images: int) -> Path:
    """Write images with captions."""
    rows = ["image,caption"]
    for row in range(images):
        coarse = np.random.default_rng(row).integers(0, 255, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(coarse).resize((640, 480), Image.Resampling.BICUBIC).save(folder / f"{row}.jpg")
        rows.append(f"{row}.jpg,photograph {row}")
    (folder / "captions.csv").write_text("\n".join(rows))
    return folder


def read_all(source: Source, processes: int) -> None:
    """Read all images of a split."""
    images = len(source.split.image_ids)
    parts = np.split(np.arange(images), range(SLOWLY, images, SLOWLY))
    for _ in read_ahead(source.image_batch, parts, processes=processes):
        pass


def main(images: int = 256) -> None:
    """Write the figures."""
    figures: dict[str, float] = {"images": images}
    with tempfile.TemporaryDirectory() as name:
        split = data.load(photographs(Path(name), images))
        model = open_model("ViT-B-32", random_weights=True, device="cpu")
        # what is loaded once
        model.embed_images_of(model.source(split.first(SLOWLY)))
        source = model.source(split)
        cases = {kind: partial(model.embed_images_of, source) for kind in ("files", "memory")}
        cases |= {f"reading_{count}": partial(read_all, model.source(split), count) for count in (0, 2)}
        for case, compute in cases.items():
            seconds, processor = measured(compute)
            figures |= {f"{case}_seconds": seconds, f"{case}_processor": processor}
    sys.stdout.write(f"{figures}\n")
    record("decoding", figures)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
