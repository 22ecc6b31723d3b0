"""Features of a frozen image backbone, extracted once and read from disk.

The file's name says what it was made from: the backbone's weights and preparation, the ids of the images, and
the pixels of a few of them. It appears under that name when it is complete, never before. Where images are
exchanged under the same ids, the cache must be emptied by hand.
"""

import hashlib
import os
import re
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.lib.format import open_memmap
from numpy.typing import NDArray
from torch import Tensor
from tqdm.auto import tqdm

from workbench.encoders import backbones
from workbench.encoders.backbones import Backbone
from workbench.records import Split
from workbench.records.writing import replacing

VARIABLE, PROBES, THREADS, AHEAD = "WORKBENCH_CACHE", 8, 2, 4
Features = NDArray[np.float16]


def cache_folder() -> Path:
    """Where features go: ``WORKBENCH_CACHE``, or a folder in the user's cache."""
    return Path(os.environ.get(VARIABLE) or Path.home() / ".cache" / "itm-workbench")


def extract(
    split: Split,
    backbone: str,
    *,
    cache: str | Path | None = None,
    batch_size: int = 32,
    device: str = "auto",
    progress: bool = True,
) -> Features:
    """Features of a split's images, from the cache where they lie there.

    Args:
        split: its images are opened only when they are needed.
        backbone: a name as in ``_backbones``, e.g. ``"efficientnet_lite0"``.
        cache: folder of the feature files; ``None`` = ``cache_folder()``.
        batch_size: images a forward pass.
        device: where the backbone runs; ``"auto"`` takes a GPU where there is one.
        progress: show a bar where somebody can see it.

    Returns:
        ``(I, K, D)`` float16, memory-mapped from the file.

    Raises:
        ValueError: an image cannot be read, or a feature does not fit into half precision.
    """
    model = backbones.load(backbone)
    folder = cache_folder() if cache is None else Path(cache)
    file = folder / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', backbone)[-60:]}-{key(split, model)}.npy"
    if not file.exists():
        model.network.to(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
        with replacing(file) as temporary:
            _write(temporary, split, model, batch_size, progress)
    features: Features = np.load(file, mmap_mode="r")
    return features


def key(split: Split, backbone: Backbone) -> str:
    """What tells these features from others: 24 hexadecimal digits."""
    digest = hashlib.sha256(backbone.identity().encode())
    for image_id in split.image_ids:
        digest.update(f"{len(image_id)}:{image_id}".encode())
    for row in np.unique(np.linspace(0, len(split.image_ids) - 1, PROBES).astype(int)):
        digest.update(backbone.preparation(split.open_image(int(row))).numpy().tobytes())
    return digest.hexdigest()[:24]


def _write(file: Path, split: Split, backbone: Backbone, batch_size: int, progress: bool) -> None:
    out: Any = None
    name = f"{backbone.name} on {split.name}"
    bar = tqdm(total=len(split.image_ids), desc=name, unit=" images", disable=None if progress else True)
    with bar, torch.inference_mode():
        for start, pixels in _pixels(split, backbone, batch_size):
            made = backbone.features(pixels).to(torch.float16).cpu().numpy()
            if not np.isfinite(made).all():
                raise ValueError(
                    f"{backbone.name}: features of images {start}..{start + len(made) - 1} overflow half "
                    "precision"
                )
            if out is None:
                out = open_memmap(
                    file, mode="w+", dtype=np.float16, shape=(len(split.image_ids), *made.shape[1:])
                )
            out[start : start + len(made)] = made
            bar.update(len(made))
    out.flush()


def _pixels(split: Split, backbone: Backbone, batch_size: int) -> Iterator[tuple[int, Tensor]]:
    """Batches of prepared pixels with their first row; threads decode a few batches ahead of the network."""

    def read(start: int) -> Tensor:
        rows = range(start, min(start + batch_size, len(split.image_ids)))
        return torch.stack([backbone.preparation(split.open_image(row)) for row in rows])

    waiting: deque[tuple[int, Future[Tensor]]] = deque()
    with ThreadPoolExecutor(THREADS) as threads:
        for start in range(0, len(split.image_ids), batch_size):
            waiting.append((start, threads.submit(read, start)))
            if len(waiting) > AHEAD:
                first, future = waiting.popleft()
                yield first, future.result()
        yield from ((first, future.result()) for first, future in waiting)
