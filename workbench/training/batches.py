"""From a split and its signals to rectangular batches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.records import Batch, Rows, Signal, Split

Reader = Callable[[Rows], Tensor]


class Pixels:
    """Reads a split's images as uint8 tensors and, where memory allows, keeps what it has read.

    Args:
        split: the split whose images are opened.
        transform: ``PIL.Image`` -> ``(3, H, W)`` uint8, deterministic.
        keep: keep every image once it has been read (``3 H W`` bytes each).
    """

    def __init__(self, split: Split, transform: Callable[[Any], Tensor], *, keep: bool = True) -> None:
        self.split, self.transform, self.keep = split, transform, keep
        self.store: NDArray[np.uint8] | None = None
        self.filled = np.zeros(len(split.image_ids), dtype=bool)

    def __call__(self, rows: Rows) -> Tensor:
        """``(n, 3, H, W)`` uint8 pixels of these image rows."""
        if not self.keep:
            return torch.stack([self.transform(self.split.open_image(int(row))) for row in rows])
        for row in rows:
            if not self.filled[row]:
                pixels = self.transform(self.split.open_image(int(row))).numpy()
                if self.store is None:
                    self.store = np.empty((len(self.filled), *pixels.shape), dtype=np.uint8)
                self.store[row], self.filled[row] = pixels, True
        return torch.from_numpy(self.store[rows]) if self.store is not None else torch.empty(0)


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
