"""A model that can be asked: two encoders, the objective that scores them, and the signal makers that read
captions.

This is what a checkpoint holds and what evaluation, notebooks and the explorer use. It embeds a split, loose
captions or loose images, and it scores them with the objective's own ``scores``, so that the score of
training is the score of evaluation: whole where they fit into memory, by blocks of rows where they do not.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from workbench import devices
from workbench.data.images import read_image
from workbench.encoders import backbones
from workbench.encoders.base import Pair
from workbench.formatting import format_number
from workbench.io.ahead import ahead, in_threads
from workbench.losses import similarity
from workbench.metrics.blocks import RowScores, reranked
from workbench.objectives.base import Objective
from workbench.objectives.parts.attention import Scorer
from workbench.progress import Task
from workbench.records import Array, Batch, Embedding, Rows, Split, require
from workbench.runs.config import Config
from workbench.runs.outputs import unit_vectors
from workbench.runs.weights import NOTE
from workbench.text.signal import SignalMaker
from workbench.training import batches
from workbench.training.batches import Pixels, Reader, Source

# items of a model of ours, and of an external one, that are encoded at a time
BATCH, AT_ONCE = 256, 64
# items of a model of ours that reads pixels on a processor, where so many take a second or two
SLOWLY = 32
# scores that are made at once and kept: 1 GiB of float32, more than 5,000 x 25,000
WHOLE = 2**28


@dataclass
class Model:
    """Encoders, objective and signal makers.

    Args:
        pair: image and text encoder.
        objective: gives ``scores``.
        makers: fitted signal makers by name; those of the encoders and those of the objective.
        reads: names of the signals that the text encoder reads.
        config: that it was built from.
        name: how tables call it.
        named: ``model``, ``pretrained`` and maybe ``random_weights``, by which ``open_model`` opens it again;
            empty = it lies nowhere.
        precision: in which encoders compute, see ``devices``; empty = as chosen there.
    """

    pair: Pair
    objective: Objective
    makers: dict[str, SignalMaker]
    reads: tuple[str, ...]
    config: Config = field(default_factory=Config)
    name: str = ""
    named: Mapping[str, Any] = field(default_factory=dict)
    precision: str = ""

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move the weights, and choose the precision; the model is then in evaluation mode.

        Raises:
            ValueError: no such precision, or no such device on this machine.
        """
        for module in (self.pair, self.objective):
            module.to(devices.find(device)).eval()
        self.precision = precision
        return self

    def source(self, split: Split, *, every_signal: bool = True) -> Source:
        """The split ready for batches: its inputs, and its signals computed.

        Args:
            split: any split with what the image encoder reads (images, or region features).
            every_signal: also compute the objective's signals; evaluation needs those of the encoder only.
        """
        reads, features = (self.pair.image.image_input or "").split("+"), self.config.model.features
        if "regions" in reads and split.regions is None and features:
            split = replace(split, regions=backbones.extract(split, features))
        readers: dict[str, Callable[[], Reader]] = {
            "pixels": lambda: Pixels(split, self.pair.image.transform),
            "regions": lambda: batches.regions(split),
        }
        inputs = {kind: readers[kind]() for kind in reads}
        names = list(self.makers if every_signal else self.reads)
        signals = {}
        with Task(f"reading captions of {split.name}", len(names), "signals", even=False) as task:
            for name in names:
                task.update(0, name)
                signals[name] = self.makers[name].of(split.captions)
                task.update()
        return Source(split, inputs, signals)

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split, on the model's device; the result is on the CPU in
        float32.

        Args:
            source: what ``source()`` made.
        """
        image, captions = self.embed_images_of(source), len(source.split.captions)
        return image, self._embed(self.pair.text.texts, source.of_captions, captions, "captions")

    def embed_images_of(self, source: Source, *, parts: bool | None = None) -> Embedding:
        """Embed all images of a split.

        Args:
            source: what ``source()`` made.
            parts: keep token-level parts, which need far more memory than the pooled vectors; ``None`` =
                where ``scores`` reads them.
        """
        images = len(source.split.image_ids)
        return self._embed(self.pair.image.images, source.of_images, images, "images", parts)

    def embed_texts(self, captions: Sequence[str]) -> Embedding:
        """Embed loose captions; the empty string is allowed (it is the root of the hierarchy)."""
        signals = {name: self.makers[name].of(captions) for name in self.reads}

        def batch(rows: Rows) -> Batch:
            taken = {name: signal.take(rows) for name, signal in signals.items()}
            return Batch([], [str(row) for row in rows], torch.from_numpy(rows), signals=taken)

        return self._embed(self.pair.text.texts, batch, len(captions), "captions")

    @property
    def notes(self) -> tuple[str, ...]:
        """Facts of the weights worth printing, in words."""
        random = (NOTE,) if self.named.get("random_weights") else ()
        return tuple(dict.fromkeys((*random, *self.pair.image.notes, *self.pair.text.notes)))

    def cut(self, source: Source) -> tuple[int, int]:
        """How many captions are longer than the text encoder reads, and its most ids of a caption; ``(0, 0)``
        where there is no limit.

        Args:
            source: what ``source()`` made.
        """
        maker, signal = self.makers[self.reads[0]], source.signals[self.reads[0]]
        return maker.cut(source.split.captions, signal), maker.context_length

    def spelt(self, captions: Sequence[str]) -> list[list[str]]:
        """The words or tokens that the text encoder reads of each caption, as texts."""
        return self.makers[self.reads[0]].spelt(captions)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images.

        Args:
            images: any sizes.
            features: the frozen backbone whose features the image encoder reads; empty = that of its config.

        Raises:
            ValueError: the encoder reads features, and no backbone makes them.
        """
        features = features or self.config.model.features
        none, reads = torch.empty(0, dtype=torch.long), (self.pair.image.image_input or "").split("+")
        require(
            features or "regions" not in reads,
            "this model reads region features that came with its data and cannot encode a new picture; "
            "train with features='efficientnet_lite0' or another backbone",
        )

        def batch(rows: Rows) -> Batch:
            given, inputs = [_loose(images[row]) for row in rows], dict[str, Tensor]()
            if "pixels" in reads:
                inputs["pixels"] = torch.stack(list(map(self.pair.image.transform, given)))
            if "regions" in reads:
                inputs["regions"] = backbones.of_images(given, features)
            return Batch([str(row) for row in rows], [], none, inputs)

        return self._embed(self.pair.image.images, batch, len(images), "images")

    @torch.no_grad()
    def scores(self, image: Embedding, text: Embedding) -> Array:
        """``(I, T)`` scores of embeddings, by the objective."""
        device, was_training = self.device, self.objective.training
        # An objective that scores samples draws them anew in training, and always the same ones here.
        self.objective.eval()
        scores: Tensor = self.objective.scores(image.in_float32(device), text.in_float32(device))
        self.objective.train(was_training)
        return scores.float().cpu().numpy()

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
    ) -> Embedding:
        was_training = self.pair.training
        parts = "parts" in self.objective.compares if parts is None else parts
        self.pair.eval()
        chunks, slow = [], self.device.type == "cpu" and "pixels" in (self.pair.image.image_input or "")
        step = SLOWLY if slow else BATCH
        with Task(f"encoding with {self.name}" if self.name else "encoding", count, unit) as task:
            for read in ahead(batch, np.split(np.arange(count), range(step, count, step))):
                with devices.precise(self.device, self.precision):
                    made = encode(batches.to(read, self.device))
                made = made if parts else replace(made, parts=None, mask=None)
                chunks.append(made.in_float32(torch.device("cpu")))
                task.update(len(made))
        self.pair.train(was_training)
        return Embedding.joined(chunks)


def scored(
    model: "AnyModel",
    image: Embedding,
    text: Embedding,
    *,
    say: Callable[[str], None] = lambda line: None,
) -> Array | RowScores:
    """``(I, T)`` scores of embeddings: a matrix where it has at most 2 ** 28 entries, else by blocks of rows;
    where the configuration asks for it, re-ranked.

    An objective scores pair by pair, so that slices give what the whole gives, up to rounding of the matrix
    product.

    Args:
        model: scores embeddings.
        image: embeddings of images.
        text: embeddings of captions.
        say: is told what re-ranking costs.
    """
    scorer = model.objective.reranker if isinstance(model, Model) else None
    whole = model.scores(image, text) if len(image) * len(text) <= WHOLE else None
    if whole is not None and scorer is None:
        return whole
    images, texts = (one.in_float32(model.device) for one in (image, text))
    lazy = RowScores(
        lambda rows, items: model.scores(images.take(rows), texts.take(items)), (len(images), len(texts))
    )
    if scorer is None:
        return lazy
    score = partial(_again, scorer, images, texts, say)
    return reranked(lazy if whole is None else whole, model.config.model.rerank, score)


@torch.no_grad()
def _again(
    scorer: Scorer, images: Embedding, texts: Embedding, say: Callable[[str], None], rows: Rows, items: Rows
) -> Array:
    """``(N,)`` scores of the pairs of these images, ascending, and these captions, image by image."""
    began, found = time.perf_counter(), []
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for row, some in zip(rows[starts], np.split(items, starts[1:]), strict=True):
        made: Tensor = scorer.scores(images.take(np.array([row])), texts.take(some))
        found.append(made[0].float().cpu().numpy())
    took = format_number(time.perf_counter() - began, 1)
    counts = (format_number(count, 0) for count in (len(rows), len(images) * len(texts)))
    say(f"re-ranked {' of '.join(counts)} pairs by {scorer.form} in {took} s")
    return np.concatenate(found)


class Encodes(Protocol):
    """What a model of one's own must offer."""

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """``(N, D)`` tensor or array for images in RGB, of any size, or a list of ``N`` vectors."""

    def encode_text(self, texts: Sequence[str]) -> Any:
        """``(N, D)`` tensor or array for texts, the empty one among them."""


class Adapter(nn.Module):
    """A model of another library that encodes images and texts, and knows where it cuts a text.

    ``longest`` is the most tokens of a text, 0 where that is not known.
    """

    longest: int = 0

    def cut(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        return 0


class ExternalModel:
    """A model of one's own that answers as a trained one does; its score is the cosine.

    Args:
        encoder: any object with ``encode_image`` and ``encode_text``.
        name: how tables call it; empty = its class.
        named: see ``Model``.

    Raises:
        TypeError: it lacks one of them.
    """

    def __init__(self, encoder: Encodes, name: str = "", named: Mapping[str, str] | None = None) -> None:
        for method in ("encode_image", "encode_text"):
            require(
                callable(getattr(encoder, method, None)),
                f"{type(encoder).__name__} has no {method}(); a model has encode_image and encode_text",
                TypeError,
            )
        self.encoder, self.name, self.named = encoder, name or type(encoder).__name__, dict(named or {})
        self.makers: dict[str, Any] = {}
        self.notes: tuple[str, ...] = ()
        self.config, self.precision = Config(), ""
        # where scores are computed, and the vectors lie; the encoder may have another place
        self.device = self._place = torch.device("cpu")

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move the encoder where it is a module of PyTorch; an object of another kind stays where it is.

        Raises:
            ValueError: no such precision, or no such device on this machine.
        """
        self.precision, self._place = precision, devices.find(device)
        if isinstance(self.encoder, nn.Module):
            self.encoder.to(self._place).eval()
        return self

    def source(self, split: Split, *, every_signal: bool = False) -> Source:
        """The split as ``embed`` reads it."""
        return Source(split, {}, {})

    def cut(self, source: Source) -> tuple[int, int]:
        """How many captions the encoder cuts, and its most tokens of a caption; ``(0, 0)`` where it does not
        say so, as an object of one's own.
        """
        if not isinstance(self.encoder, Adapter):
            return 0, 0
        return self.encoder.cut(source.split.captions), self.encoder.longest

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """All images and captions of a split as unit vectors."""
        return self.embed_images_of(source), self.embed_texts(source.split.captions)

    def embed_images_of(self, source: Source) -> Embedding:
        """All images of a split, opened as they are encoded."""
        rows = range(len(source.split.image_ids))
        return self._embedded("encode_image", rows, source.split.open_image)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Loose images as unit vectors; ``features`` is not read."""
        return self._embedded("encode_image", images, _loose)

    def embed_texts(self, captions: Sequence[str]) -> Embedding:
        """Loose texts as unit vectors; texts of like length go together, since they are padded."""
        order = sorted(range(len(captions)), key=lambda row: len(captions[row]))
        made = self._embedded("encode_text", [captions[row] for row in order], rows=order).mean
        return Embedding(made[torch.tensor(order).argsort()])

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """``(I, T)`` cosines."""
        return similarity.cosine(image.mean, text.mean).numpy()

    @torch.no_grad()
    def _embedded(
        self,
        name: str,
        given: Sequence[Any],
        opened: Callable[[Any], Any] | None = None,
        rows: Sequence[int] = (),
    ) -> Embedding:
        """Unit vectors of what is given, some at a time; ``rows`` = their numbers where sorted."""
        parts = list[Tensor]()

        def read(start: int) -> tuple[list[str], list[Any]]:
            part, numbers = given[start : start + AT_ONCE], rows[start : start + AT_ONCE]
            numbers = numbers or range(start, start + len(part))
            return [f"row {row}" for row in numbers], in_threads(opened, part) if opened else list(part)

        with Task(f"encoding with {self.name}", len(given), "images" if opened else "captions") as task:
            for items, part in ahead(read, range(0, len(given), AT_ONCE)):
                parts.append(unit_vectors(self._encoded(name, part), name, items))
                task.update(len(part))
        widths = sorted({part.shape[1] for part in parts})
        require(len(widths) < 2, f"{name}() gave vectors of {' and '.join(map(str, widths))} numbers")
        return Embedding(torch.cat(parts))

    def _encoded(self, name: str, part: list[Any]) -> Any:
        """What a method of the encoder returns for some images or texts."""
        try:
            with devices.precise(self._place, self.precision):
                return getattr(self.encoder, name)(part)
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"{self.name}.{name}() fails on a list of {type(part[0]).__name__}: {error!s:.80}; wrap "
                "it in an object that prepares PIL images and splits texts into tokens"
            ) from error


def _loose(image: Image.Image) -> Image.Image:
    """An image as those of data are read: in RGB and upright."""
    return read_image(image, "a loose image")


class KeptVectors(ExternalModel):
    """Stands where vectors were made elsewhere, and what made them is not there.

    Args:
        vectors: of the images and the texts that were measured; ``None`` where nobody reads them again.
    """

    def __init__(self, vectors: tuple[Embedding, Embedding] | None = None) -> None:
        super().__init__(self, "vectors")  # it stands for itself
        self.vectors = vectors

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Return the vectors, which belong to the images and captions that were measured.

        Raises:
            ValueError: there are none.
        """
        return self.vectors or super().embed(source)

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """Refuse.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "these vectors come without their model, so new images and texts cannot be encoded; "
            "evaluate the model itself"
        )

    def encode_text(self, texts: Sequence[str]) -> Any:
        """Refuse, as ``encode_image``."""
        self.encode_image(())


AnyModel = Model | ExternalModel
