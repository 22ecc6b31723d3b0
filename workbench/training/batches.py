"""From a split and its signals to rectangular batches, and to the shard of each that a process encodes."""

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from accelerate.utils import send_to_device
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, get_worker_info

from workbench.io.ahead import in_threads, reading_processes
from workbench.records import Batch, Computed, Graded, Judgements, Rows, Signal, Split, require
from workbench.training.mixing import Mixture, draw_mixture
from workbench.training.negatives import Negatives
from workbench.training.processes import process_count, process_rank

Reader = Callable[[Rows], Tensor]

VARIABLE = "WORKBENCH_PIXELS_GB"
GIGABYTES = "2"


class Pixels:
    """Reads a split's images as uint8 tensors and keeps those that were used last: as many GB as
    ``WORKBENCH_PIXELS_GB`` says, or 2. Workers of a loader decode for themselves.

    Args:
        split: the split whose images are opened.
        transform: ``PIL.Image`` -> ``(3, H, W)`` uint8, all of one size, deterministic.

    Raises:
        ValueError: ``WORKBENCH_PIXELS_GB`` is no number of gigabytes.
    """

    def __init__(self, split: Split, transform: Callable[[Any], Tensor]) -> None:
        value = os.environ.get(VARIABLE) or GIGABYTES
        plain = re.fullmatch(r"\d*\.?\d+(e-?\d+)?", value)
        require(plain, f"{VARIABLE} is {value!r}; give a number of gigabytes, such as 2 or 0.5")
        self.split = split
        self.transform = transform
        self.memory = int(float(value) * 1e9)
        self._read_images: OrderedDict[int, Tensor] = OrderedDict()

    def __call__(self, rows: Rows) -> Tensor:
        """Return ``(n, 3, H, W)`` uint8 pixels of these image rows."""
        numbers = rows.tolist()
        read = (
            list(map(self._read_image, numbers))
            if get_worker_info()
            else in_threads(self._read_image, numbers)
        )
        return torch.stack(read)

    def processes(self, device: torch.device, count: int, at_once: int) -> int:
        """Return how many processes read the first so many images best, see ``reading_processes``; 0 = none,
        since the images are in memory or few, or the processor is busy with the model itself.

        Args:
            device: of the model.
            count: images.
            at_once: that a process reads at a time.
        """
        if device.type == "cpu" or count <= at_once or self._read_images.keys() >= set(range(count)):
            return 0
        return reading_processes(at_once * self._read_image(0).nbytes)

    def keep(self, rows: Rows, pixels: Tensor) -> None:
        """Keep what another process has read: ``(n, 3, H, W)`` of these image rows."""
        for row, image in zip(rows.tolist(), pixels, strict=True):
            # a copy, since the memory is shared with that process
            self._keep_image(row, image.clone())

    def _read_image(self, row: int) -> Tensor:
        pixels = self._read_images.pop(row, None)
        if pixels is None:
            pixels = self.transform(self.split.open_image(row))
        self._keep_image(row, pixels)
        return pixels

    def _keep_image(self, row: int, pixels: Tensor) -> None:
        self._read_images.pop(row, None)
        self._read_images[row] = pixels
        if len(self._read_images) * pixels.nbytes > self.memory:
            self._read_images.popitem(last=False)


def region_reader(split: Split) -> Reader:
    """Return a reader of a split's region features as float32.

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


@dataclass(frozen=True)
class Source:
    """All that a batch of a split is made from.

    Args:
        split: ids and whose caption is whose.
        inputs: model inputs by name, each a reader of image rows.
        signals: signals by name, each over all captions of the split.
        relevance: graded relevance by name, over all pairs of the split.
        clusters: ``(I,)`` cluster of each image, where batches hold neighbours.
        positives: judgements that say which pairs are right beside those that belong together; ``None`` = no
            other.
        negatives: further texts that are false of their images; ``None`` = none.
    """

    split: Split
    inputs: Mapping[str, Reader]
    signals: Mapping[str, Signal]
    relevance: Mapping[str, Graded] = field(default_factory=dict)
    clusters: Rows | None = None
    positives: Judgements | Computed | None = None
    negatives: Negatives | None = None

    def batch(self, captions: Rows, *, inputs: bool = True) -> Batch:
        """Return the batch of these caption rows; each image stands in it once, however many of its captions
        do.

        Args:
            captions: caption rows.
            inputs: read the images; without, the batch serves an objective whose embeddings come from
                elsewhere.
        """
        images, own = self.images_of(captions)
        texts = self.caption_batch(captions)
        relevance = {
            name: torch.as_tensor(graded.take(images, captions)) for name, graded in self.relevance.items()
        }
        also = None
        if self.positives is not None:  # a pair that nobody judged, NaN, is not right
            also = torch.as_tensor(self.positives.take(images, captions) >= self.positives.relevant_from)
        return Batch(
            [self.split.image_ids[row] for row in images],
            texts.caption_ids,
            torch.from_numpy(own),
            self.image_batch(images).inputs if inputs else {},
            texts.signals,
            relevance,
            also=also,
        )

    def images_of(self, captions: Rows) -> tuple[Rows, Rows]:
        """Return the distinct images of these captions in order of first occurrence, and where each caption's
        image stands there.
        """
        distinct, first, inverse = np.unique(self.split.own[captions], return_index=True, return_inverse=True)
        order = np.argsort(first)
        return distinct[order], np.argsort(order)[inverse]

    def image_batch(self, rows: Rows) -> Batch:
        """Return a batch of images without captions, for evaluation."""
        inputs = {name: read(rows) for name, read in self.inputs.items()}
        return Batch(
            [self.split.image_ids[row] for row in rows], [], torch.empty(0, dtype=torch.long), inputs
        )

    def caption_batch(self, rows: Rows) -> Batch:
        """Return a batch of captions without images, for evaluation; ``own`` keeps the rows of the split."""
        ids = [self.split.caption_ids[row] for row in rows]
        taken = {name: signal.take(rows) for name, signal in self.signals.items()}
        return Batch([], ids, torch.from_numpy(self.split.own[rows]), signals=taken)

    def text_batches(self, captions: Rows, *, seed: int) -> tuple[Rows, Callable[[Rows], Batch]]:
        """Return what a text encoder reads of a batch, and what makes batches of it.

        Args:
            captions: the batch's caption rows; further texts that are drawn for it follow them.
            seed: of the draw.
        """
        if self.negatives is None:
            return captions, self.caption_batch
        drawn = self.negatives.draw(captions, seed=seed)
        return np.concatenate([captions, drawn]), self.negatives.batch


def move_batch(batch: Batch, device: torch.device) -> Batch:
    """Return the batch with all its tensors on a device."""
    moved = ("own", "inputs", "signals", "relevance", "labels", "also")
    return replace(batch, **send_to_device({name: getattr(batch, name) for name in moved}, device))


@dataclass(frozen=True)
class BatchShard:
    """What one process encodes of a batch; with one process and no chunks all three are the same batch.

    Args:
        batch: the whole batch, for the objective; without image inputs where others hold them.
        images: the images that this process encodes, in chunks.
        captions: the captions that this process encodes, and behind them further texts, in chunks.
    """

    batch: Batch
    images: Sequence[Batch]
    captions: Sequence[Batch]

    def to(self, device: torch.device) -> Self:
        """Return the shard with all its tensors on a device."""
        moved = {id(batch): move_batch(batch, device) for batch in (self.batch, *self.images, *self.captions)}
        images = [moved[id(batch)] for batch in self.images]
        captions = [moved[id(batch)] for batch in self.captions]
        return type(self)(moved[id(self.batch)], images, captions)


class Shards(Dataset[BatchShard]):
    """The shard that falls to this process of the batch of any caption rows.

    Args:
        source: what batches are made from.
        mix: share of a batch's images that are mixed with another image of the batch.
        seed: of the mixing, and of the draw of further texts.
        chunk: images, and captions, that are encoded at a time; 0 = the whole shard.
    """

    def __init__(self, source: Source, *, mix: float = 0.0, seed: int = 0, chunk: int = 0) -> None:
        self.source = source
        self.mix = mix
        self.seed = seed
        self.chunk = chunk
        self.rank = process_rank()
        self.world = process_count()

    def __getitem__(self, rows: Rows) -> BatchShard:
        batch = self.source.batch(rows, inputs=False)
        texts, of_texts = self.source.text_batches(rows, seed=self.seed)
        images = self.source.images_of(rows)[0]
        mixture = draw_mixture(rows, len(images), share=self.mix, seed=self.seed) if self.mix else None
        if mixture:
            batch = replace(batch, labels=mixture.labels(batch.positives))
        parts = [self._read_images(images, places, mixture) for places in self._own_places(len(images))]
        if self.world == 1 and not self.chunk and len(texts) == len(rows):
            batch = replace(batch, inputs=parts[0].inputs)
            return BatchShard(batch, [batch], [batch])
        captions = [of_texts(texts[places]) for places in self._own_places(len(texts))]
        return BatchShard(batch, parts, captions)

    def _read_images(self, images: Rows, places: Rows, mixture: Mixture | None) -> Batch:
        """Return some of a batch's images; where they are mixed, their partners are read with them."""
        if mixture is None:
            return self.source.image_batch(images[places])
        needed = np.union1d(places, mixture.partner[places])
        batch = self.source.image_batch(images[needed])
        ids = [batch.image_ids[row] for row in np.searchsorted(needed, places)]
        inputs = {name: mixture.mix(value, needed, places) for name, value in batch.inputs.items()}
        return replace(batch, image_ids=ids, inputs=inputs)

    def _own_places(self, count: int) -> list[Rows]:
        """Return the places in the batch that this process encodes, chunk by chunk."""
        places = np.array_split(np.arange(count), self.world)[self.rank]
        return np.array_split(places, max(1, -(-len(places) // self.chunk))) if self.chunk else [places]


def loader(shards: Shards, batches: Sequence[Rows], *, workers: int = 0) -> Iterator[BatchShard]:
    """Yield the shard that falls to this process of every batch in the given order.

    Args:
        shards: makes them.
        batches: caption rows of each.
        workers: processes that read ahead of need.
    """
    # the seed of its workers comes from this generator; the global one is the model's
    draws = torch.Generator()
    return iter(DataLoader(shards, sampler=batches, batch_size=None, num_workers=workers, generator=draws))
