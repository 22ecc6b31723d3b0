"""Models that this library did not build: objects of one's own, vectors without their model, and the mean of
several models.
"""

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from workbench import devices
from workbench.assets import text_models
from workbench.data.images import read_image
from workbench.formatting import format_count
from workbench.io.ahead import in_threads, read_ahead
from workbench.metrics.blocks import by_rows
from workbench.objectives.parts.attention import Scorer
from workbench.objectives.parts.maxsim import MaxSim
from workbench.progress import Task
from workbench.records import Array, Embedding, require
from workbench.registry import require_list
from workbench.runs.model import Model, Say, silent
from workbench.runs.outputs import (
    as_score_matrix,
    as_several_vectors,
    as_unit_vectors,
    as_vectors,
    checked_parts,
    is_several,
)
from workbench.runs.scoring import score_split
from workbench.runs.ways import WAYS, Instruction, SideBySide, TwoWays, Way, instructions, one_way
from workbench.training.batches import Source

# images or texts that are encoded at a time
AT_ONCE = 64
# methods that encode a side, the first that an object has
ENCODE = {"images": ("encode_image", "embed_images"), "texts": ("encode_text", "embed_texts")}
PAIRED = "score(images, texts)"
HAS = f"a model has encode_image and encode_text, or {PAIRED} or scores(images, texts) alone"


Own = TypeVar("Own", bound="OwnModel")
# what the scores of an object are given
OF_EMBEDDINGS = "two embeddings, whose vectors are image.mean and text.mean"


class Encodes(Protocol):
    """What a model of one's own offers.

    With ``scores(image, text)``, which takes two embeddings and gives ``(I, T)`` numbers, larger = more
    alike, it is scored by that and not by the cosine; its vectors then keep their length. Without it, several
    vectors an item are scored by ``MaxSim``.

    Either method may take, by these names, ``side`` (``"query"`` or ``"item"``), ``direction`` (``"i2t"`` or
    ``"t2i"``) and ``prompt`` (that of ``open_model`` for queries of the direction, else ``""``). Items are
    then encoded for each direction.
    """

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """Return ``(N, D)`` tensor or array for images in RGB, of any size, or a list of ``N`` vectors; for
        several vectors an image ``(N, P, D)``, a list of ``N`` times ``(P_i, D)``, or an ``Embedding`` with
        parts.
        """

    def encode_text(self, texts: Sequence[str]) -> Any:
        """Return ``(N, D)`` tensor or array for texts, the empty one among them; or as ``encode_image``."""


class Adapter(nn.Module):
    """A model of another library that encodes images and texts, and knows where it cuts a text.

    ``longest`` is the most tokens of a text, 0 where that is not known, and ``tokenizer`` that of
    transformers which counts them; ``scorer`` is how several vectors an item are compared, ``None`` where
    there is one.
    """

    longest: int = 0
    tokenizer: Any = None
    scorer: Scorer | None = None

    def encode_image(self, images: Sequence[Image.Image]) -> Any:
        """Encode images, see ``Encodes``."""
        raise NotImplementedError(f"{type(self).__name__} encodes no images")

    def encode_text(self, texts: Sequence[str]) -> Any:
        """Encode texts, see ``Encodes``."""
        raise NotImplementedError(f"{type(self).__name__} encodes no texts")

    def count_truncated(self, texts: Sequence[str]) -> int:
        """Count the texts that are longer than ``longest`` tokens."""
        counts = self.longest and self.tokenizer is not None
        return text_models.count_longer(self.tokenizer, texts, self.longest) if counts else 0


def is_object_model(value: Any) -> bool:
    """Return whether a value offers what a model of one's own does: it encodes, or scores pairs."""
    return bool(first_method(value, (*ENCODE["images"], *ENCODE["texts"], "scores", "score")))


def encoding_methods(encoder: Any) -> dict[str, str]:
    """Return the name of the method of an object that encodes each side; empty where it has none."""
    return {side: first_method(encoder, names) for side, names in ENCODE.items()}


def first_method(encoder: Any, names: Sequence[str]) -> str:
    """Return the first of these methods that an object has, and an adapter has itself; empty = none."""
    for name in names:
        inherited = getattr(type(encoder), name, None) is getattr(Adapter, name, encoder)
        if callable(getattr(encoder, name, None)) and not inherited:
            return name
    return ""


class OwnModel(Model):
    """A model around an object of one's own.

    Args:
        subject: the object.
        name: how tables call it.
        origin: see ``Model``.
    """

    def __init__(self, subject: Any, name: str, origin: Mapping[str, Any] | None = None) -> None:
        self.subject = subject
        self.name = name
        self.origin = dict(origin or {})
        # scores are computed on the processor, and vectors lie there; the object may have another place
        self._place = torch.device("cpu")

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move the object where it is a module of PyTorch; one of another kind stays where it is."""
        self.precision, self._place = precision, devices.find_device(device)
        if isinstance(self.subject, nn.Module):
            self.subject.to(self._place).eval()
        return self

    def seen_as(self, kind: type[Own]) -> Own:
        """Return the object as a model of another kind, which computes where this one does.

        Args:
            kind: of the model.
        """
        return kind(self.subject, self.name, self.origin).to(str(self._place), self.precision)

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count how many captions the encoder cuts, and say at which length, where it says so itself."""
        if not isinstance(self.subject, Adapter):
            return 0, 0
        return self.subject.count_truncated(source.split.captions), self.subject.longest


class ObjectModel(OwnModel):
    """An object that encodes images and texts, scored by the cosine or by its own ``scores``.

    Args:
        subject: the object.
        name: how tables call it.
        origin: see ``Model``.
    """

    def __init__(self, subject: Any, name: str, origin: Mapping[str, Any] | None) -> None:
        super().__init__(subject, name, origin)
        self.methods = encoding_methods(subject)
        self._choose_methods({})
        self.scores_itself = callable(getattr(subject, "scores", None))
        self.of_unit_length = not self.scores_itself
        self.scorer = subject.scorer if isinstance(subject, Adapter) else None
        # numbers of a vector that are compared; 0 = all
        self.truncate_dim = 0

    def count_truncated(self, source: Source) -> tuple[int, int]:
        """Count how many captions the encoder cuts, with the prompt before them, and say at which length."""
        if not isinstance(self.subject, Adapter):
            return 0, 0
        prefix = self.calls["texts"]["t2i"].prefix
        captions = [prefix + caption for caption in source.split.captions]
        return self.subject.count_truncated(captions), self.subject.longest

    def with_prompts(self, prompts: Mapping[str, str]) -> Self:
        """Return the object with prompts for its queries.

        Args:
            prompts: by direction, see ``open_model``.

        Raises:
            ValueError: no such direction, or a prompt of images that the object does not take.
        """
        changed = copy(self)
        changed.origin = {**self.origin, "prompts": dict(prompts)}
        changed._choose_methods(prompts)
        return changed

    def truncated(self, width: int) -> Self:
        """Return the object with the first numbers of each vector alone, which are then brought to length 1.

        Args:
            width: how many.

        Raises:
            ValueError: not a positive number, or the object has scores of its own.

        Source:
            Kusupati et al., "Matryoshka representation learning", NeurIPS 2022.
        """
        require(width > 0, f"truncate_dim is {width}; give how many numbers of a vector are compared")
        own = f"truncate_dim: {self.name} makes its scores itself; leave truncate_dim out"
        require(not self.scores_itself, own)
        changed = copy(self)
        changed.origin = {**self.origin, "truncate_dim": width}
        changed.truncate_dim = width
        return changed

    def _choose_methods(self, prompts: Mapping[str, str]) -> None:
        """Decide how the methods are called in each direction."""
        images, texts = (getattr(self.subject, self.methods[side]) for side in ("images", "texts"))
        of_images, of_texts = instructions(images, "images", prompts), instructions(texts, "texts", prompts)
        self.calls = {"images": of_images, "texts": of_texts}
        self.directed = any(calls["i2t"] != calls["t2i"] for calls in self.calls.values())

    def embed_images_of(self, source: Source) -> Embedding:
        """Embed all images of a split, opened as they are encoded."""
        rows = range(len(source.split.image_ids))
        return self._embed_items("images", rows, source.split.open_image)

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images; ``features`` is not read."""
        require_list("images", images)
        return self._embed_items("images", images, read_loose_image)

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts; those of like length go together, since they are padded."""
        require_list("texts", texts)
        order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
        embedding = self._embed_items("texts", [texts[row] for row in order], rows=order)
        return embedding.take(np.argsort(order))

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores: what the object says of the embeddings, else cosines, or what ``scorer``
        makes of several vectors an item.
        """
        if not self.scores_itself:
            return super().scores(image, text)
        image, text = one_way(image, text)
        with torch.no_grad():
            output = call_scorer(
                self.subject.scores, f"{self.name}.scores", image, text, remedy=OF_EMBEDDINGS
            )
        matrix = as_score_matrix(output, f"{self.name}.scores", len(image), len(text))
        unknown = format_count(int(np.isnan(matrix).sum()), "pair")
        require(
            not np.isnan(matrix).any(),
            f"{self.name}.scores() gave NaN for {unknown} of {matrix.size}; give a number for each pair",
        )
        return matrix

    @torch.no_grad()
    def _embed_items(
        self,
        side: str,
        items: Sequence[Any],
        opened: Callable[[Any], Any] | None = None,
        rows: Sequence[int] = (),
    ) -> Embedding:
        """Embed items, some at a time; ``rows`` = their numbers where sorted."""
        method, calls = self.methods[side], self.calls[side]
        ways = WAYS if calls["i2t"] != calls["t2i"] else WAYS[:1]
        chunks: dict[Way, list[Embedding]] = {way: [] for way in ways}

        def read(start: int) -> tuple[list[str], list[Any]]:
            part, numbers = items[start : start + AT_ONCE], rows[start : start + AT_ONCE]
            numbers = numbers or range(start, start + len(part))
            return [f"row {row}" for row in numbers], in_threads(opened, part) if opened else list(part)

        with Task(f"encoding with {self.name}", len(items), "images" if opened else "captions") as task:
            for names, part in read_ahead(read, range(0, len(items), AT_ONCE)):
                for way in ways:
                    output = self._call_encoder(method, part, calls[way])
                    chunks[way].append(self._read_output(output, method, names))
                task.update(len(part))
        every = chain.from_iterable(chunks.values())
        widths = sorted({chunk.mean.shape[1] for chunk in every})
        require(len(widths) < 2, f"{method}() gave vectors of {' and '.join(map(str, widths))} numbers")
        first, *more = [Embedding.join(chunks[way]) for way in ways]
        return TwoWays.from_members([first, *more]) if more else first

    def _read_output(self, output: Any, method: str, names: Sequence[str]) -> Embedding:
        """Return what a method gave, as an embedding on the processor."""
        read = as_unit_vectors if self.of_unit_length else as_vectors
        if self.truncate_dim:
            output = self._cut_vectors(output, method, names)
        if is_several(output):
            output = as_several_vectors(output, method, names)
        if not isinstance(output, Embedding):
            return Embedding(read(output, method, names))
        if output.parts is not None and not self.scores_itself:
            # means of several vectors are not what is compared, and need no direction
            self.scorer, self.of_unit_length = self.scorer or MaxSim(), False
            read = as_vectors
        mean = read(output.mean, method, names)
        output = replace(output.in_float32(mean.device), mean=mean)
        return checked_parts(output, method, names, directions=not self.scores_itself)

    def _cut_vectors(self, output: Any, method: str, names: Sequence[str]) -> Tensor:
        """Return ``(N, D)`` the first numbers of each vector."""
        several = is_several(output) or isinstance(output, Embedding)
        lacks = f"truncate_dim: {self.name}.{method}() gives more than one vector an item; leave it out"
        require(not several, lacks)
        numbers = as_vectors(output, method, names)
        whole = numbers.shape[1]
        most = f"truncate_dim is {self.truncate_dim}, and {self.name}.{method}() gives {whole} numbers"
        require(self.truncate_dim <= whole, f"{most}; give at most so many")
        return numbers[:, : self.truncate_dim]

    def _call_encoder(self, method: str, part: list[Any], call: Instruction) -> Any:
        """Return what a method of the encoder returns for some images or texts."""
        items = [call.prefix + text for text in part] if call.prefix else part
        try:
            with devices.in_precision(self._place, self.precision):
                return getattr(self.subject, method)(items, **call.fields)
        except (TypeError, AttributeError) as error:
            raise TypeError(
                f"{self.name}.{method}() fails on a list of {type(part[0]).__name__}: {error!s:.80}; wrap "
                "it in an object that prepares PIL images and splits texts into tokens"
            ) from error


def call_scorer(method: Callable[..., Any], name: str, images: Any, texts: Any, *, remedy: str) -> Any:
    """Call a method that scores.

    Args:
        method: of an object.
        name: of the method, for messages.
        images: of its arguments the first.
        texts: the second.
        remedy: what it is given, in words.

    Raises:
        TypeError: it does not take what it is given; the message says what that is.
    """
    try:
        return method(images, texts)
    except (TypeError, AttributeError) as error:
        raise TypeError(f"{name}() fails: {error!s:.80}; it is given {remedy}") from error


def read_loose_image(image: Image.Image) -> Image.Image:
    """Read an image as those of data are: in RGB and upright."""
    return read_image(image, "a loose image")


class SavedVectors(Model):
    """Stands where vectors were made elsewhere, and what made them is not there.

    Args:
        sides: of the images and the texts that were measured; ``None`` where nobody reads them again.
    """

    name = "vectors"
    encodes = False

    def __init__(self, sides: tuple[Embedding, Embedding] | None = None) -> None:
        self.sides = sides

    @property
    def of_unit_length(self) -> bool:  # type: ignore[override]
        """Whether products of vectors are what is scored."""
        return self.scorer is None

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Return the vectors, which belong to the images and captions that were measured.

        Raises:
            ValueError: there are none.
        """
        return self.sides or super().embed(source)

    def embed_images_of(self, source: Source) -> Embedding:
        """Raise, as ``embed_texts``."""
        return self.embed_texts(())

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Raise, as ``embed_texts``."""
        return self.embed_texts(())

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Raise.

        Raises:
            ValueError: always.
        """
        raise ValueError(
            "these vectors come without their model, so new images and texts cannot be encoded; "
            "evaluate the model itself"
        )


class Joint(SideBySide):
    """What several models embed the same items to: ``mean`` is ``(N, 0)``."""

    @classmethod
    def from_members(cls, members: Sequence[Embedding]) -> Self:
        """Put embeddings of the same items side by side."""
        return cls(torch.empty(len(members[0]), 0), members=tuple(members))

    def current(self) -> tuple[Embedding, ...]:
        """Return the embedding of each model."""
        return self.members


class Ensemble(Model):
    """The mean of the scores of several models, as the papers' ensemble rows have it.

    Scores are averaged as they are, so the models should score on one scale, as cosines do.

    Args:
        members: the models.

    Raises:
        ValueError: there is none, or one that scores by direction.
    """

    of_unit_length = False
    scores_itself = True

    def __init__(self, members: Sequence[Model]) -> None:
        require(members, "an ensemble needs at least one model")
        for member in members:
            mixed = f"{member.name} scores pairs by direction; an ensemble is of models with one score a pair"
            require(not member.directed, mixed)
        self.members = tuple(members)
        self.name = f"mean of {', '.join(member.name for member in members)}"

    @property
    def encodes(self) -> bool:  # type: ignore[override]
        """Whether every model takes images and texts that are not of the data."""
        return all(member.encodes for member in self.members)

    @property
    def notes(self) -> Sequence[str]:  # type: ignore[override]
        """Facts of the weights of all models, each once."""
        notes: list[str] = []
        for member in self.members:
            notes += member.notes
        return tuple(dict.fromkeys(notes))

    def to(self, device: str = "", precision: str = "") -> Self:
        """Move every model."""
        for member in self.members:
            member.to(device, precision)
        return super().to(device, precision)

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split by each model, as it reads them itself."""
        images, texts = list[Embedding](), list[Embedding]()
        for member in self.members:
            image, text = member.embed(member.source(source.split))
            images.append(image)
            texts.append(text)
        return Joint.from_members(images), Joint.from_members(texts)

    def embed_images_of(self, source: Source) -> Embedding:
        """Embed all images of a split by each model, as it reads them itself."""
        sources = [member.source(source.split) for member in self.members]
        pairs = zip(self.members, sources, strict=True)
        return Joint.from_members([member.embed_images_of(own) for member, own in pairs])

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Embed loose images by each model."""
        return Joint.from_members([member.embed_images(images, features=features) for member in self.members])

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed loose texts by each model."""
        return Joint.from_members([member.embed_texts(texts) for member in self.members])

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` mean of the scores."""
        return self.scores_of_split(image, text)

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> Array:
        """Return ``(I, T)`` mean of the scores of a whole split, each re-ranked where its model asks for
        it.
        """
        if not (isinstance(image, Joint) and isinstance(text, Joint)):
            raise TypeError(f"{self.name} scores what each of its models embeds")
        total, kind = np.zeros(()), np.dtype(np.float32)
        for member, images, texts in zip(self.members, image.members, text.members, strict=True):
            scores = by_rows(score_split(member, images, texts, say=say)).rows()
            total, kind = total + scores.astype(np.float64), np.result_type(kind, scores)
        return np.asarray(total / len(self.members), kind)
