"""Models of this library's own encoders, as they are or trained for an objective.

A trained one scores by its objective's own ``scores``, so that the score of training is the score of
evaluation.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from workbench import devices
from workbench.data.images import read_image
from workbench.encoders import backbones
from workbench.encoders.base import Pair
from workbench.formatting import format_cost
from workbench.io.ahead import read_ahead
from workbench.metrics.blocks import image_by_image
from workbench.objectives.base import Objective
from workbench.objectives.parts.attention import Scorer
from workbench.progress import Task
from workbench.records import Array, Batch, Embedding, Rows, Split, require
from workbench.registry import require_list
from workbench.runs.config import Config
from workbench.runs.model import Model, Say, silent
from workbench.runs.weights import NOTE
from workbench.text.signal import SignalMaker
from workbench.training import batches
from workbench.training.batches import Pixels, Reader, Source

# items that are encoded at a time
BATCH = 256
# items that are encoded at a time from pixels on a processor, where so many take a second or two
SLOWLY = 32


@dataclass
class EncoderModel(Model):
    """An image encoder and a text encoder of this library, compared by the cosine, as those of open_clip are.

    Args:
        pair: image and text encoder.
        makers: fitted signal makers by name; those of the encoders and those of an objective.
        reads: names of the signals that the text encoder reads.
        name, origin, precision: see ``Model``.
        features: frozen backbone whose features the image encoder reads; empty = none.
        scorer: see ``Model``; it compares patch tokens and word tokens in the joint space.
    """

    pair: Pair
    makers: Mapping[str, SignalMaker] = field()
    reads: tuple[str, ...] = field()
    name: str = ""
    origin: Mapping[str, Any] = field(default_factory=dict)
    precision: str = ""
    features: str = ""
    scorer: Scorer | None = None

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move the weights, and choose the precision; the model is then in evaluation mode."""
        self.pair.to(devices.find_device(device)).eval()
        self.precision = precision
        return self

    @property
    def compares(self) -> Sequence[str]:  # type: ignore[override]
        """What scores compare beside the pooled vectors."""
        return self.scorer.reads if self.scorer else ()

    extras = compares

    def source(self, split: Split, *, every_signal: bool = False) -> Source:
        """Make a split ready for batches: its inputs, and its signals computed.

        Args:
            split: any split with what the image encoder reads (images, or region features).
            every_signal: also compute the objective's signals; evaluation needs those of the encoder only.
        """
        kinds = (self.pair.image.image_input or "").split("+")
        if "regions" in kinds and split.regions is None and self.features:
            split = replace(split, regions=backbones.extract(split, self.features))
        inputs = dict[str, Reader]()
        if "pixels" in kinds:
            inputs["pixels"] = Pixels(split, self.pair.image.transform)
        if "regions" in kinds:
            inputs["regions"] = batches.region_reader(split)
        names = list(self.makers if every_signal else self.reads)
        signals = {}
        with Task(f"reading captions of {split.name}", len(names), "signals", even=False) as task:
            for name in names:
                task.update(0, name)
                signals[name] = self.makers[name].transform(split.captions)
                task.update()
        return Source(split, inputs, signals)

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split, on the model's device, as float32 on the CPU."""
        captions = len(source.split.captions)
        image = self.embed_images_of(source)
        return image, self._embed(self.pair.text.encode_texts, source.caption_batch, captions, "captions")

    def embed_images_of(self, source: Source, *, parts: bool | None = None) -> Embedding:
        """Embed all images of a split.

        Args:
            source: what ``source()`` made.
            parts: keep token-level parts, which need far more memory than the pooled vectors; ``None`` =
                where ``scores`` reads them.
        """
        images, pixels = len(source.split.image_ids), source.inputs.get("pixels")
        kept = pixels if isinstance(pixels, Pixels) else None
        return self._embed(self.pair.image.encode_images, source.image_batch, images, "images", parts, kept)

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts."""
        require_list("texts", texts)
        signals = {name: self.makers[name].transform(texts) for name in self.reads}

        def batch(rows: Rows) -> Batch:
            taken = {name: signal.take(rows) for name, signal in signals.items()}
            return Batch([], [str(row) for row in rows], torch.from_numpy(rows), signals=taken)

        return self._embed(self.pair.text.encode_texts, batch, len(texts), "captions")

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """Facts of the weights worth printing, in words."""
        random = (NOTE,) if self.origin.get("random_weights") else ()
        return tuple(dict.fromkeys((*random, *self.pair.image.notes, *self.pair.text.notes)))

    @property
    def embed_dim(self) -> int:  # type: ignore[override]
        """Width of the vectors."""
        return self.pair.image.embed_dim

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count the captions that are longer than the text encoder reads, and its most ids of a caption."""
        maker, signal = self.makers[self.reads[0]], source.signals[self.reads[0]]
        return maker.count_truncated(source.split.captions, signal), maker.context_length

    def token_texts(self, captions: Sequence[str]) -> list[list[str]]:
        """Split captions into the words or tokens that the text encoder reads."""
        return self.makers[self.reads[0]].token_texts(captions)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images.

        Args:
            images: any sizes.
            features: the frozen backbone whose features the image encoder reads; empty = its own.

        Raises:
            ValueError: the encoder reads features, and no backbone makes them.
        """
        require_list("images", images)
        none, kinds = torch.empty(0, dtype=torch.long), (self.pair.image.image_input or "").split("+")
        require(
            (features := features or self.features) or "regions" not in kinds,
            "this model reads region features that came with its data and cannot encode a new image; "
            "train with features='efficientnet_lite0' or another backbone",
        )

        def batch(rows: Rows) -> Batch:
            upright = [read_image(images[row], "a loose image") for row in rows]
            inputs = dict[str, Tensor]()
            if "pixels" in kinds:
                inputs["pixels"] = torch.stack(list(map(self.pair.image.transform, upright)))
            if "regions" in kinds:
                inputs["regions"] = backbones.image_features(upright, features)
            return Batch([str(row) for row in rows], [], none, inputs)

        return self._embed(self.pair.image.encode_images, batch, len(images), "images")

    @property
    def device(self) -> torch.device:
        """Where the encoders' weights are."""
        return next(self.pair.parameters()).device

    @torch.no_grad()
    def _embed(
        self,
        encode: Callable[[Batch], Embedding],
        batch: Callable[[Rows], Batch],
        count: int,
        unit: str,
        parts: bool | None = None,
        pixels: Pixels | None = None,
    ) -> Embedding:
        """Embed items, some at a time; ``pixels`` = what processes read beside the device is kept there."""
        was_training = self.pair.training
        parts = "parts" in self.compares if parts is None else parts
        self.pair.eval()
        chunks, slow = [], self.device.type == "cpu" and "pixels" in (self.pair.image.image_input or "")
        step = SLOWLY if slow else BATCH
        with Task(f"encoding with {self.name}" if self.name else "encoding", count, unit) as task:
            rows = np.split(np.arange(count), range(step, count, step))
            processes = pixels.processes(self.device, count, step) if pixels else 0
            for part, read in zip(rows, read_ahead(batch, rows, processes=processes), strict=True):
                if pixels and processes:
                    pixels.keep(part, read.inputs["pixels"])
                with devices.in_precision(self.device, self.precision):
                    embedded = encode(batches.move_batch(read, self.device))
                if not parts:
                    embedded = replace(embedded, parts=None, mask=None)
                chunks.append(embedded.in_float32(torch.device("cpu")))
                task.update(len(embedded))
        self.pair.train(was_training)
        return Embedding.join(chunks)


@dataclass(kw_only=True)
class TrainedModel(EncoderModel):
    """Encoders and the objective that scores them: what a checkpoint holds.

    Args:
        objective: gives ``scores``.
        config: that it was built from.
        weight: of a scorer that re-ranks, see ``Model``.
    """

    objective: Objective
    config: Config = field(default_factory=Config)
    weight: float | None = None

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move the weights of encoders and objective, see ``EncoderModel``."""
        self.objective.to(devices.find_device(device)).eval()
        return super().to(device, precision)

    @property
    def extras(self) -> Sequence[str]:  # type: ignore[override]
        """What the objective reads beside the pooled vectors."""
        return self.objective.reads

    @property
    def compares(self) -> Sequence[str]:  # type: ignore[override]
        """What evaluation compares beside the pooled vectors."""
        return self.objective.compares

    @torch.no_grad()
    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of embeddings, by the objective."""
        device, was_training = self.device, self.objective.training
        # An objective that scores samples draws them anew in training, and always the same ones here.
        self.objective.eval()
        scores: Tensor = self.objective.scores(image.in_float32(device), text.in_float32(device))
        self.objective.train(was_training)
        return scores.float().cpu().numpy()

    @property
    def reranks(self) -> int:  # type: ignore[override]
        """How many best items of every query the scorer that the configuration names scores again."""
        return self.config.rerank if self.objective.reranker else 0

    @torch.no_grad()
    def pair_scores(
        self, image: Embedding, text: Embedding, rows: Rows, items: Rows, *, say: Say = silent
    ) -> Array:
        """Score pairs by the scorer that re-ranks, where there is one, image by image, see ``Model``."""
        began, scorer = time.perf_counter(), self.objective.reranker
        if scorer is None:
            return super().pair_scores(image, text, rows, items, say=say)
        image, text = image.in_float32(self.device), text.in_float32(self.device)

        def score(row: Rows, texts: Rows) -> Array:
            scores: Tensor = scorer.scores(image.take(row), text.take(texts))
            return scores[0].float().cpu().numpy()

        values = image_by_image(score, rows, items)
        say(format_cost(len(rows), len(image) * len(text), scorer.name, time.perf_counter() - began))
        return values
