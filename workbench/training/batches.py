"""From a split and its signals to rectangular batches."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from mmap import mmap
from multiprocessing import Lock
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.records import Batch, Rows, Signal, Split, require

Reader = Callable[[Rows], Tensor]


VARIABLE, GIGABYTES = "WORKBENCH_PIXELS_GB", "2"


class Pixels:
    """Reads a split's images as uint8 tensors and keeps those that were used last, within a bound.

    The memory is shared with the loader's workers, which are forked: an image that one of them has decoded is
    decoded for all, and the bound holds for all of them together. Each split has a memory of its own, which
    is taken from the system as it fills.

    Args:
        split: the split whose images are opened.
        transform: ``PIL.Image`` -> ``(3, H, W)`` uint8, all of one size, deterministic.
        memory: bytes of pixels that are kept, ``3 H W`` an image; beyond them the image that was unused
            longest leaves. ``None`` = as many GB as ``WORKBENCH_PIXELS_GB`` says, or 2.

    Raises:
        ValueError: ``WORKBENCH_PIXELS_GB`` is no number of gigabytes.
    """

    def __init__(
        self, split: Split, transform: Callable[[Any], Tensor], *, memory: int | None = None
    ) -> None:
        images = len(split.image_ids)
        self.split, self.transform = split, transform
        self.memory = _memory() if memory is None else memory
        self._lock, self._bytes = Lock(), mmap(-1, max(1, self.memory))
        book = np.frombuffer(mmap(-1, 8 * (3 * images + 4)), dtype=np.int64)
        # the slot of each image and the image of each slot, both from 1 on, 0 = none; when a slot was used
        self._slot, self._image, self._used = book[:-4].reshape(3, images)
        self._shape, self._time = book[-4:-1], book[-1:]

    def __call__(self, rows: Rows) -> Tensor:
        """``(n, 3, H, W)`` uint8 pixels of these image rows."""
        return torch.stack([self._one(int(row)) for row in rows])

    def _one(self, row: int) -> Tensor:
        with self._lock:
            if slot := int(self._slot[row]):
                self._use(slot - 1)
                return torch.from_numpy(self._kept()[slot - 1].copy())
        made = self.transform(self.split.open_image(row))
        with self._lock:
            if not self._slot[row]:  # else another worker has decoded it meanwhile
                self._keep(row, made.numpy())
        return made

    def _keep(self, row: int, pixels: NDArray[np.uint8]) -> None:
        if not self._shape.any():
            self._shape[:] = pixels.shape
        if len(kept := self._kept()):
            slot = int(self._used[: len(kept)].argmin())
            if before := self._image[slot]:
                self._slot[before - 1] = 0
            kept[slot], self._image[slot], self._slot[row] = pixels, row + 1, slot + 1
            self._use(slot)

    def _kept(self) -> NDArray[np.uint8]:
        """``(slots, 3, H, W)``: as many as there is memory for."""
        each = int(self._shape.prod())
        slots = min(len(self._slot), self.memory // each)
        return np.frombuffer(self._bytes, np.uint8, slots * each).reshape(slots, *self._shape)

    def _use(self, slot: int) -> None:
        self._time += 1
        self._used[slot] = self._time[0]


def _memory() -> int:
    """Bytes of pixels that are kept of a split where the caller says nothing."""
    said = os.environ.get(VARIABLE) or GIGABYTES
    try:
        found = int(float(said) * 1e9)
    except (ValueError, OverflowError):
        found = -1
    require(found >= 0, f"{VARIABLE} is {said!r}; give a number of gigabytes, such as 2 or 0.5")
    return found


def regions(split: Split) -> Reader:
    """Reads a split's region features as float32.

    Raises:
        ValueError: the split has none.
    """
    features = split.regions
    if features is None:
        raise ValueError(
            f"{split.name} has no region features; "
            f"set features='efficientnet_lite0' (or another backbone) in the config"
        )
    return lambda rows: torch.from_numpy(np.asarray(features[rows], dtype=np.float32))


class Relevant(Protocol):
    """Graded relevance of any image to any caption of a split."""

    def take(self, images: Rows, captions: Rows) -> Any:
        """``(n, m)`` grades of these image rows and caption rows."""


@dataclass(frozen=True)
class Source:
    """All that a batch of a split is made from.

    Args:
        split: ids and whose caption is whose.
        inputs: model inputs by name, each a reader of image rows.
        signals: signals by name, each over all captions of the split.
        relevance: graded relevance by name, over all pairs of the split.
        clusters: ``(I,)`` cluster of each image, where batches hold neighbours.
        positives: which pairs are right beside those that belong together, as truth values; ``None`` = no
            other.
    """

    split: Split
    inputs: Mapping[str, Reader]
    signals: Mapping[str, Signal]
    relevance: Mapping[str, Relevant] = field(default_factory=dict)
    clusters: Rows | None = None
    positives: Relevant | None = None

    def batch(self, captions: Rows, *, inputs: bool = True) -> Batch:
        """The batch of these caption rows; each image stands in it once, however many of its captions do.

        Args:
            captions: caption rows.
            inputs: read the images; without, the batch serves an objective whose embeddings come from
                elsewhere.
        """
        (images, own), texts = self.images_of(captions), self.of_captions(captions)
        relevance = {
            name: torch.as_tensor(one.take(images, captions)) for name, one in self.relevance.items()
        }
        return Batch(
            [self.split.image_ids[row] for row in images],
            texts.caption_ids,
            torch.from_numpy(own),
            self.of_images(images).inputs if inputs else {},
            texts.signals,
            relevance,
            also=None if self.positives is None else torch.as_tensor(self.positives.take(images, captions)),
        )

    def images_of(self, captions: Rows) -> tuple[Rows, Rows]:
        """The distinct images of these captions in order of first occurrence, and where each caption's image
        stands there.
        """
        distinct, first, inverse = np.unique(self.split.own[captions], return_index=True, return_inverse=True)
        order = np.argsort(first)
        return distinct[order], np.argsort(order)[inverse]

    def of_images(self, rows: Rows) -> Batch:
        """A batch of images without captions, for evaluation."""
        inputs = {name: read(rows) for name, read in self.inputs.items()}
        return Batch(
            [self.split.image_ids[row] for row in rows], [], torch.empty(0, dtype=torch.long), inputs
        )

    def of_captions(self, rows: Rows) -> Batch:
        """A batch of captions without images, for evaluation; ``own`` keeps the rows of the split."""
        ids = [self.split.caption_ids[row] for row in rows]
        taken = {name: signal.take(rows) for name, signal in self.signals.items()}
        return Batch([], ids, torch.from_numpy(self.split.own[rows]), signals=taken)


def to(batch: Batch, device: torch.device) -> Batch:
    """The batch with all its tensors on a device."""
    moved = ("own", "inputs", "signals", "relevance", "labels", "also")
    return replace(batch, **{name: _move(getattr(batch, name), device) for name in moved})


def _move(value: Any, device: torch.device) -> Any:
    if isinstance(value, Mapping):
        return {name: _move(inner, device) for name, inner in value.items()}
    return value.to(device) if hasattr(value, "to") else value
