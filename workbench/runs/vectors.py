"""Vectors that are known before a model is asked: what a frozen encoder says of a whole split, computed once
and read from disk.

An encoder that holds a frozen one (``Encoder.frozen_encoder``: the CLIP that guides AAHR's pooling) would ask
it the same at every step of every epoch, and again in the next run. Its vectors of images and captions are
constants, so that they come with the batch: ``inputs["vectors"]`` and ``signals["vectors"]``. The name of the
file says what they were made from: the frozen weights, the images or captions, and what the encoder reads of
a few of them.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from workbench import devices
from workbench.encoders.base import Encoder, Pair
from workbench.io import cache_folder, cached_file, new_memmap
from workbench.progress import Task
from workbench.records import Array, Batch, Embedding, Rows, Split
from workbench.training import batches
from workbench.training.batches import Source

Side = Literal["image", "text"]
PROBES, SIZE = 8, 128
UNITS: dict[Side, str] = {"image": "images", "text": "captions"}


@dataclass(frozen=True)
class Vectors:
    """``(N, D)`` vectors as a signal and as a reader of image rows.

    Args:
        values: usually memory-mapped.
    """

    values: Array

    def take(self, rows: Rows) -> Tensor:
        """Return ``(n, D)`` of these rows."""
        return torch.from_numpy(np.asarray(self.values[rows], dtype=np.float32))


def with_frozen_vectors(source: Source, pair: Pair, reads: Sequence[str]) -> Source:
    """Return the source with the vectors of the frozen encoders; itself where there are none.

    Args:
        source: of the split, with what the encoders read.
        pair: both encoders, with the weights that they train from.
        reads: names of the signals that the text encoder reads.

    Returns:
        A source whose batches bring ``vectors``; pixels that only the frozen encoder reads are left out.

    Raises:
        OSError: the disk is full.
    """
    split = source.split
    inputs, signals = dict(source.inputs), dict(source.signals)
    if (frozen := pair.image.frozen_encoder) is not None:
        inputs["vectors"] = frozen_vectors(frozen, "image", split, source.image_batch).take
        inputs = {name: read for name, read in inputs.items() if name not in pair.image.frozen_inputs}
    if (frozen := pair.text.frozen_encoder) is not None:
        read = replace(source, signals={name: signals[name] for name in reads}).caption_batch
        signals["vectors"] = frozen_vectors(frozen, "text", split, read)
    return replace(source, inputs=inputs, signals=signals)


def frozen_vectors(encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch]) -> Vectors:
    """Return what an encoder that does not learn says of a whole split: computed once, and then read."""
    file = cache_folder() / f"vectors-{side}-{_vectors_key(encoder, side, split, read)}.npy"
    cached_file(file, partial(_write_vectors, encoder, side, split, read))
    return Vectors(np.load(file, mmap_mode="r"))


@torch.inference_mode()
def _write_vectors(
    encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch], file: Path
) -> dict[str, Any]:
    count = len(split.image_ids if side == "image" else split.captions)
    encode: Callable[[Batch], Embedding] = encoder.encode_images if side == "image" else encoder.encode_texts
    home, was_training = next(encoder.parameters()).device, encoder.training
    device = devices.find_device()
    encoder.eval().to(device)
    shown = Task(f"frozen vectors of {split.name}", count, UNITS[side])
    with shown:
        out = new_memmap(file, (count, encoder.embed_dim), np.float32)
        for rows in np.split(np.arange(count), range(SIZE, count, SIZE)):
            out[rows] = encode(batches.move_batch(read(rows), device)).mean.float().cpu().numpy()
            shown.update(len(rows))
        out.flush()
    encoder.train(was_training).to(home)
    return {"split": split.name, "side": side}


def _vectors_key(encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch]) -> str:
    """Return what tells these vectors from others: 24 hexadecimal digits."""
    digest = hashlib.sha256(type(encoder).__name__.encode())
    _update_digest(digest, encoder.state_dict())
    ids = split.image_ids if side == "image" else split.captions
    for row, name in enumerate(ids):
        digest.update(f"{len(name)}:{name}".encode())
        if side == "image" and split.stamp:
            digest.update(f":{split.stamp(row)}".encode())
    batch = read(np.unique(np.linspace(0, len(ids) - 1, PROBES).astype(int)))
    _update_digest(digest, batch.inputs if side == "image" else batch.signals)
    return digest.hexdigest()[:24]


def _update_digest(digest: Any, values: Mapping[str, Any]) -> None:
    for name, value in sorted(values.items()):
        digest.update(name.encode())
        if isinstance(value, Mapping):
            _update_digest(digest, value)
        else:
            digest.update(f"{tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
