"""Vectors that are computed once for each image and each text, whatever data set shows them.

A database in the cache holds the vectors of one model: of its weights, its preprocessing and its precision. A
row is known by the content of an image or by a text, so that a second data set with the same images encodes
nothing.
"""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, Literal

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load, save

from workbench.devices import precision_of
from workbench.io import cache_folder, cached_texts
from workbench.objectives.parts.maxsim import MaxSim
from workbench.records import Embedding, Rows, Split
from workbench.runs.encoder_model import EncoderModel
from workbench.runs.model import Model
from workbench.runs.own import Adapter, ObjectModel
from workbench.training.batches import Source

Side = Literal["image", "text"]
# what is encoded to tell models of the same weights apart
TEXTS = ("a photo of a dog", "Zwei rote Äpfel, left of the 3rd box!")
IMAGE_SIDE = 96


class CachedVectors:
    """Gives the vectors of a model from the cache, adds those that it lacks, and counts what was encoded.

    Args:
        model: encodes what is missing, by the methods of its class.
        identity: see ``identify``; empty = nothing is cached.

    Attributes:
        encoded: number of items that were encoded, by side.
        seconds: that it took, likewise.
    """

    def __init__(self, model: Model, identity: str) -> None:
        self.model = model
        self.identity = identity
        self.encoded: dict[Side, int] = {"image": 0, "text": 0}
        self.seconds: dict[Side, float] = {"image": 0.0, "text": 0.0}

    def rate(self, side: Side) -> float | None:
        """Return how many items were encoded in a second; ``None`` = none was."""
        return self.encoded[side] / self.seconds[side] if self.seconds[side] else None

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Embed all images and captions of a split, see ``Model``."""
        return self.embed_images_of(source), self.embed_texts(source.split.captions)

    def embed_images_of(self, source: Source) -> Embedding:
        """Embed all images of a split, see ``Model``."""
        model, split = self.model, source.split

        def encode(rows: Rows | None) -> Embedding:
            part = source if rows is None else model.source(_images_alone(split, rows))
            return type(model).embed_images_of(model, part)

        keys = image_keys(split) if self.identity else split.image_ids
        return self._read("image", keys, encode)

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed texts, see ``Model``."""
        model = self.model

        def encode(rows: Rows | None) -> Embedding:
            part = texts if rows is None else [texts[row] for row in rows]
            return type(model).embed_texts(model, part)

        return self._read("text", texts, encode)

    def _read(self, side: Side, keys: Sequence[str], encode: Callable[[Rows | None], Embedding]) -> Embedding:
        """Return the embedding of items; ``encode`` makes that of some rows, or of all as they are."""
        if not self.identity or not keys:
            return self._count(side, len(keys), encode, None)
        first: dict[str, int] = {}
        for row, key in enumerate(keys):
            first.setdefault(key, row)
        # where nothing is cached, all items are encoded in their order, as without a cache
        complete: list[Embedding] = []

        def compute(missing: list[str]) -> list[bytes]:
            rows = np.array([first[key] for key in missing])
            if len(missing) == len(first):
                complete.append(self._count(side, len(keys), encode, None))
                return [_pack(complete[0].take(row)) for row in rows[:, None]]
            part = self._count(side, len(rows), encode, rows)
            return [_pack(part.take(np.array([row]))) for row in range(len(rows))]

        file = cache_folder() / f"vectors-{side}-{self.identity}.sqlite"
        packed = cached_texts(file, keys, compute)
        if complete:
            return complete[0]
        embedding = Embedding.join([Embedding(**load(packed[key])) for key in keys])
        self._compare_parts(embedding)
        return embedding

    def _count(
        self, side: Side, items: int, encode: Callable[[Rows | None], Embedding], rows: Rows | None
    ) -> Embedding:
        """Encode, and count items and seconds."""
        began = time.perf_counter()
        embedding = encode(rows)
        self.encoded[side] += items
        self.seconds[side] += time.perf_counter() - began
        return embedding

    def _compare_parts(self, embedding: Embedding) -> None:
        """Let an object be scored by its several vectors an item, as it is once it has encoded some."""
        model = self.model
        if embedding.parts is not None and isinstance(model, ObjectModel) and not model.scores_itself:
            model.scorer, model.of_unit_length = model.scorer or MaxSim(), False


def with_cached_vectors(model: Model) -> tuple[Model, CachedVectors]:
    """Return a model that takes its vectors from the cache, and what counts those that it encodes.

    Args:
        model: any; one that is not known by ``identify`` encodes everything.
    """
    changed = copy(model)
    vectors = CachedVectors(changed, identify(model))
    if isinstance(model, EncoderModel | ObjectModel):
        for name in ("embed", "embed_images_of", "embed_texts"):
            setattr(changed, name, getattr(vectors, name))
    return changed, vectors


def identify(model: Model) -> str:
    """Return 24 hexadecimal digits that change with weights, preprocessing, prompts and precision; empty =
    the model cannot be told from another.

    Args:
        model: an encoder of this library, one of open_clip, transformers or sentence-transformers, or an
            object with a text ``identity``, such as a name with a version of the weights.
    """
    about: list[Any] = [type(model).__name__, precision_of(model.precision), list(model.compares)]
    states: dict[str, Any] = {}
    if isinstance(model, EncoderModel):
        states = model.pair.state_dict()
    elif isinstance(model, ObjectModel) and not model.directed:
        subject: Any = model.subject
        states = subject.state_dict() if isinstance(subject, Adapter) else {}
        identity = str(getattr(subject, "identity", ""))
        about += [model.origin.get("prompts"), model.truncate_dim, identity]
        if not states and not identity:
            return ""
    else:
        return ""
    digest = hashlib.sha256(json.dumps(about).encode())
    _add_tensors(digest, states)
    if states:
        digest.update(json.dumps(_answers(model)).encode())
    return digest.hexdigest()[:24]


def _answers(model: Model) -> list[float]:
    """Return a number for each of a few items, which depends on their preprocessing and vectors.

    It has two decimals, so that rounding in another process does not change it.
    """
    answers = []
    embeddings = [model.embed_texts(TEXTS)]
    if not isinstance(model, EncoderModel) or model.pair.image.image_input == "pixels":
        pixels = np.random.default_rng(0).integers(0, 256, (IMAGE_SIDE, 2 * IMAGE_SIDE, 3), np.uint8)
        embeddings.append(model.embed_images([Image.fromarray(pixels)]))
    for embedding in embeddings:
        weights = torch.cos(torch.arange(embedding.mean.shape[1], dtype=torch.float32))
        answers += (embedding.mean @ weights).tolist()
    return [round(answer, 2) + 0.0 for answer in answers]


def image_keys(split: Split) -> list[str]:
    """Return what each image is known by: its content.

    Args:
        split: whose region features are its images where it has some. An image that comes from no file is
            known by its pixels.
    """
    if split.regions is not None:
        return [f"regions {hashlib.sha256(rows.tobytes()).hexdigest()}" for rows in split.regions]
    keys = []
    for row, stamp in enumerate(split.stamps().tolist()):
        if stamp:
            keys.append(f"file {stamp}")
            continue
        image = split.open_image(row)
        keys.append(f"pixels {image.size} {hashlib.sha256(image.tobytes()).hexdigest()}")
    return keys


def _images_alone(split: Split, rows: Rows) -> Split:
    """Return some images of a split, each with its captions."""
    return split.restrict(rows, np.flatnonzero(np.isin(split.own, rows)))


def _add_tensors(digest: Any, states: Mapping[str, Any]) -> None:
    """Add weights to a digest."""
    for name, value in sorted(states.items()):
        if isinstance(value, torch.Tensor):
            digest.update(f"{name} {tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())


def _pack(embedding: Embedding) -> bytes:
    """Return the embedding of one item as bytes."""
    return save({name: value.contiguous() for name, value in embedding.present_fields().items()})
