"""What every model offers, whoever made it, and models of this library's own encoders.

A model embeds a split, loose images or loose texts, and scores images by texts. A trained one scores by its
objective's own ``scores``, so that the score of training is the score of evaluation. Scores are made at once
where they fit into memory, by blocks of rows where they do not.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
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
from workbench.losses import similarity
from workbench.metrics.blocks import AnyScores, RowScores, by_rows, image_by_image, reranked
from workbench.objectives.base import Objective
from workbench.objectives.parts.attention import Scorer
from workbench.progress import Task
from workbench.records import Array, Batch, Embedding, Rows, Split, require
from workbench.registry import require_list
from workbench.runs.config import Config
from workbench.runs.protocol import ModelProtocol
from workbench.runs.ways import WAYS, TwoWays, one_way, view_for_way
from workbench.runs.weights import NOTE, name_with_note
from workbench.text.signal import SignalMaker
from workbench.training import batches
from workbench.training.batches import Pixels, Reader, Source

# items that are encoded at a time
BATCH = 256
# items that are encoded at a time from pixels on a processor, where so many take a second or two
SLOWLY = 32
# scores that are made at once and kept: 1 GiB of float32, more than 5,000 x 25,000
WHOLE = 2**28
Say = Callable[[str], None]


def silent(line: str) -> None:
    """Take a line of progress, and show it to nobody."""


class Model:
    """A model of ``open_model``: what the protocol says, and how a whole split is read and scored.

    Attributes:
        name: how tables call it.
        origin: ``model``, ``pretrained`` and maybe ``random_weights``, by which ``open_model`` opens it
            again; empty = it has no name.
        notes: facts of the weights worth printing, in words.
        precision: in which it computes, see ``devices``; empty = as chosen there.
        encodes: whether it takes images and texts that are not of the data.
        of_unit_length: whether ``Embedding.mean`` holds vectors whose products are cosines.
        scorer: how several vectors an item are compared; ``None`` = the vectors are one an item, or the model
            scores in its own way.
        scores_itself: whether it has scores of its own, which no scorer replaces.
        makers: fitted signal makers by name, of what it reads of texts.
        extras: what of an embedding beside the mean it was trained for; ``compares`` = what its scores read.
        embed_dim: width of its vectors; ``None`` = it does not say so before it embeds.
        ways: the directions in which it scores.
        directed: whether each direction has scores of its own, which one matrix may not hold.
        floor: score of the pairs that it leaves open; all others lie above.
        config: that it was trained with here; ``None`` = it was not.
        reranks: how many best items of every query it scores again, by ``pair_scores``; 0 = none.
        weight: of these scores, which are added to those of the first stage; ``None`` = they replace them.
    """

    name: str = ""
    origin: Mapping[str, Any] = {}
    notes: Sequence[str] = ()
    precision: str = ""
    encodes: bool = True
    of_unit_length: bool = True
    scorer: Scorer | None = None
    scores_itself: bool = False
    makers: Mapping[str, SignalMaker] = {}
    extras: Sequence[str] = ()
    compares: Sequence[str] = ()
    embed_dim: int | None = None
    ways: Sequence[str] = WAYS
    directed: bool = False
    floor: float = -np.inf
    config: Config | None = None
    reranks: int = 0
    weight: float | None = None

    def to(self, device: str = "", precision: str = "") -> Self:
        """Choose where it computes, and in which precision.

        Raises:
            ValueError: no such precision, or no such device on this machine.
        """
        devices.find_device(device)
        self.precision = precision
        return self

    def write(self, folder: Path) -> None:
        """Write into the folder of an evaluation what the model is, where nothing else keeps it."""

    @property
    def device(self) -> torch.device:
        """Where scores are computed."""
        return torch.device("cpu")

    def source(self, split: Split, *, every_signal: bool = False) -> Source:
        """Make a split ready for ``embed``.

        Args:
            split: any with what the model reads.
            every_signal: also compute what training alone reads.
        """
        return Source(split, {}, {})

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split; the result is on the CPU in float32.

        Args:
            source: what ``source()`` made.
        """
        return self.embed_images_of(source), self.embed_texts(source.split.captions)

    def completed(self, split: Split, image: Embedding, text: Embedding) -> tuple[Embedding, Embedding]:
        """Return vectors of a split that were kept, with what the model reads beside them."""
        return image, text

    def embed_images_of(self, source: Source) -> Embedding:
        """Embed all images of a split."""
        raise NotImplementedError(f"{type(self).__name__} embeds no split")

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images; ``features`` names the frozen backbone of a model that reads some."""
        raise NotImplementedError(f"{type(self).__name__} embeds no images")

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts; the empty one is allowed (it is the root of the hierarchy)."""
        raise NotImplementedError(f"{type(self).__name__} embeds no texts")

    @torch.no_grad()
    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of embeddings: cosines, or those of a scorer or of the model itself."""
        image, text = one_way(image, text)
        images, texts = image.in_float32(self.device), text.in_float32(self.device)
        scores = (
            self.scorer.scores(images, texts) if self.scorer else similarity.cosine(images.mean, texts.mean)
        )
        matrix: Array = scores.cpu().numpy()
        return matrix

    def with_prompts(self, prompts: Mapping[str, str]) -> "Model":
        """Return the model with prompts for its queries.

        Raises:
            ValueError: it takes none.
        """
        raise ValueError(f"prompts: {self.name} encodes no texts; leave prompts out")

    def scored_by(self, scorer: Scorer) -> Self:
        """Return the model with several vectors an item compared by a scorer.

        Args:
            scorer: takes the place of the cosine.

        Raises:
            ValueError: the model has scores of its own.
        """
        own = f"scorer={scorer.name!r}: {self.name} makes its scores itself; leave scorer out"
        require(not self.scores_itself, own)
        changed = copy(self)
        changed.scorer = scorer
        return changed

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of a whole split, see ``scores_in_blocks``, maybe re-ranked.

        Args:
            image: embeddings of all its images.
            text: embeddings of all its captions.
            say: is told what scores of pairs cost.
        """
        image, text = image.in_float32(self.device), text.in_float32(self.device)
        first = scores_in_blocks(self, image, text)
        if not self.reranks:
            return first
        score = partial(self.pair_scores, image, text, say=say)
        return reranked(first, self.reranks, score, self.weight)

    def pair_scores(
        self, image: Embedding, text: Embedding, rows: Rows, items: Rows, *, say: Say = silent
    ) -> Array:
        """Return ``(N,)`` scores of pairs, image by image.

        Args:
            image: embeddings of images.
            text: embeddings of texts.
            rows: ``(N,)`` image of each pair, ascending.
            items: ``(N,)`` its text.
            say: is told what it costs.
        """

        def score(row: Rows, texts: Rows) -> Array:
            scores: Array = self.scores(image.take(row), text.take(texts))[0]
            return scores

        return image_by_image(score, rows, items)

    def matrix(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of a whole split, in one matrix.

        Raises:
            ValueError: each direction has scores of its own.
        """
        held = f"{self.name} scores pairs by direction, which one matrix cannot hold; read any_scores()"
        require(not self.directed, held)
        return by_rows(self.scores_of_split(image, text)).rows()

    def title(self, name: str = "") -> str:
        """Return its name for tables, which says so if the weights are random.

        Args:
            name: that was given; empty = its own.
        """
        name = name or self.name
        return name_with_note(name) if self.origin.get("random_weights") else name

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count the captions that are cut, and say after how many tokens; ``(0, 0)`` = not known."""
        return 0, 0


def scores_in_blocks(model: ModelProtocol, image: Embedding, text: Embedding) -> AnyScores:
    """Return ``(I, T)`` scores: a matrix where it has at most 2 ** 28 entries, else blocks of rows.

    Pairs are scored one by one, so that slices give what the whole gives, up to rounding of products.

    Args:
        model: scores embeddings.
        image: embeddings of images.
        text: embeddings of captions.
    """
    if isinstance(image, TwoWays) or isinstance(text, TwoWays):
        i2t, t2i = (
            by_rows(scores_in_blocks(model, view_for_way(image, way), view_for_way(text, way)))
            for way in WAYS
        )
        return replace(i2t, other=t2i.T)
    if len(image) * len(text) <= WHOLE:
        return model.scores(image, text)

    def block(rows: Any, items: Any) -> Array:
        return model.scores(image.take(rows), text.take(items))

    return RowScores(block, (len(image), len(text)))


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
        """Score pairs by the scorer that re-ranks, image by image, see ``Model``."""
        began, scorer = time.perf_counter(), self.objective.reranker
        image, text = image.in_float32(self.device), text.in_float32(self.device)

        def score(row: Rows, texts: Rows) -> Array:
            scores: Tensor = scorer.scores(image.take(row), text.take(texts))  # type: ignore[union-attr]
            return scores[0].float().cpu().numpy()

        values = image_by_image(score, rows, items)
        name = scorer.name if scorer else ""
        say(format_cost(len(rows), len(image) * len(text), name, time.perf_counter() - began))
        return values
