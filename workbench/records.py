"""The records that every shelf speaks: what a data set, a signal, a batch and an embedding are.

Conventions, kept everywhere. ``scores[i, t]``: images are rows, captions are columns, larger = more alike. Sizes are ``I`` images,
``T`` captions, ``D`` dimensions, ``K`` regions, ``L`` words. ``own[t]`` is the row of the image that caption ``t`` belongs to.
Records check their own shapes when they are made, so that a misaligned array fails where it enters and not three files later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from PIL import Image

Rows = NDArray[np.int64]


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


@dataclass(frozen=True)
class SceneGraph:
    """Objects, attributes and relations of one caption or one scene.

    Args:
        objects: head lemma of each node, e.g. ``("dog", "tree")``. Two nodes may have the same lemma.
        attributes: ``(node, attribute)`` pairs, e.g. ``((0, "brown"),)``; a count is an attribute (``"two"``).
        relations: ``(subject node, relation, object node)`` triples, e.g. ``((0, "left of", 1),)``.

    Raises:
        ValueError: an attribute or a relation names a node that does not exist.
    """

    objects: tuple[str, ...]
    attributes: tuple[tuple[int, str], ...] = ()
    relations: tuple[tuple[int, str, int], ...] = ()

    def __post_init__(self) -> None:
        n = len(self.objects)
        used = [node for node, _ in self.attributes] + [node for s, _, o in self.relations for node in (s, o)]
        bad = [node for node in used if not 0 <= node < n]
        _require(not bad, f"scene graph: node {bad[0] if bad else ''} is used but there are only {n} objects {self.objects}")

    def tuples(self) -> frozenset[tuple[str, ...]]:
        """The graph as a set: ``(object,)``, ``(object, attribute)`` and ``(subject, relation, object)``."""
        names = self.objects
        return frozenset(
            {(name,) for name in names}
            | {(names[node], attribute) for node, attribute in self.attributes}
            | {(names[s], relation, names[o]) for s, relation, o in self.relations}
        )


@dataclass(frozen=True)
class Judgements:
    """Sparse grades of image-caption pairs, with their rule and what they were made from.

    Args:
        name: short key, e.g. ``"own"``, ``"exact"``, ``"human"``.
        rule: one sentence that says what a grade means, e.g. ``"binary: caption written for the image"``.
        shape: ``(I, T)`` of the split that is judged.
        images, captions: ``(N,)`` rows and columns of the listed pairs; each pair at most once.
        grades: ``(N,)`` grades, larger = more relevant.
        relevant_from: a pair counts as relevant in binary metrics from this grade on.
        unlisted: the grade of every pair that is not listed; ``None`` = not judged.
        source: what the grades were made from (file, rule, citation).

    Raises:
        ValueError: lengths differ, a row or column is outside ``shape``, or a pair is listed twice.
    """

    name: str
    rule: str
    shape: tuple[int, int]
    images: Rows
    captions: Rows
    grades: NDArray[np.float32]
    relevant_from: float = 1.0
    unlisted: float | None = 0.0
    source: str = ""

    def __post_init__(self) -> None:
        lengths = {len(self.images), len(self.captions), len(self.grades)}
        _require(len(lengths) == 1, f"judgements {self.name!r}: images, captions and grades have lengths {sorted(lengths)}")
        for axis, rows, size in (("image", self.images, self.shape[0]), ("caption", self.captions, self.shape[1])):
            inside = len(rows) == 0 or (rows.min() >= 0 and rows.max() < size)
            _require(bool(inside), f"judgements {self.name!r}: a {axis} row lies outside 0..{size - 1}")
        keys = self.images * np.int64(self.shape[1]) + self.captions
        _require(len(np.unique(keys)) == len(keys), f"judgements {self.name!r}: a pair is listed twice")

    def dense(self) -> NDArray[np.float32]:
        """The grades as a matrix ``(I, T)``; pairs that nobody judged are NaN."""
        fill = np.nan if self.unlisted is None else self.unlisted
        out = np.full(self.shape, fill, dtype=np.float32)
        out[self.images, self.captions] = self.grades
        return out

    def relevant(self) -> NDArray[np.bool_]:
        """Binary relevance ``(I, T)``: grade at least ``relevant_from``; a pair that nobody judged is not relevant."""
        out = np.full(self.shape, self.unlisted is not None and self.unlisted >= self.relevant_from)
        out[self.images, self.captions] = self.grades >= self.relevant_from
        return out

    @staticmethod
    def own(own: Rows, images: int) -> Judgements:
        """Binary judgements of a split: a caption is relevant to the image it was written for, and to no other."""
        columns = np.arange(len(own), dtype=np.int64)
        grades = np.ones(len(own), dtype=np.float32)
        rule = "binary: the caption was written for the image"
        return Judgements("own", rule, (images, len(own)), own, columns, grades, source="the split's own pairs")


@dataclass(frozen=True)
class Split:
    """One split of a data set: images, captions, whose caption is whose, and what is known about them.

    Args:
        name: data set and split, e.g. ``"scenes/test"``.
        image_ids: ``(I,)`` unique ids.
        captions: ``(T,)`` texts, none empty.
        caption_ids: ``(T,)`` unique ids.
        own: ``(T,)`` row of each caption's image; every image has at least one caption.
        open_image: row -> ``PIL.Image`` in RGB, opened when asked and not before.
        level: ``(T,)`` 1 = generic ... 4 = specific, where the captions form chains.
        chain: ``(T,)`` number of the caption's chain.
        regions: ``(I, K, D)`` pre-extracted features, usually memory-mapped.
        judgements: by name; ``"own"`` is always there.
        image_graphs, caption_graphs: scene graphs, where the data set knows them.
        notes: facts worth printing (skipped files, sources), in words.

    Raises:
        ValueError: an id is repeated, a caption is empty, a length does not fit, an image has no caption.
    """

    name: str
    image_ids: tuple[str, ...]
    captions: tuple[str, ...]
    caption_ids: tuple[str, ...]
    own: Rows
    open_image: Callable[[int], Image.Image]
    level: Rows | None = None
    chain: Rows | None = None
    regions: NDArray[Any] | None = None
    judgements: Mapping[str, Judgements] = field(default_factory=dict)
    image_graphs: tuple[SceneGraph, ...] | None = None
    caption_graphs: tuple[SceneGraph, ...] | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        images, texts = len(self.image_ids), len(self.captions)
        for what, values, size in (
            ("caption_ids", self.caption_ids, texts), ("own", self.own, texts), ("level", self.level, texts),
            ("chain", self.chain, texts), ("caption_graphs", self.caption_graphs, texts),
            ("regions", self.regions, images), ("image_graphs", self.image_graphs, images),
        ):
            _require(values is None or len(values) == size, f"{self.name}: {what} has {len(values or ()) if not isinstance(values, np.ndarray) else len(values)} rows, expected {size}")
        for what, ids in (("image id", self.image_ids), ("caption id", self.caption_ids)):
            _require(len(set(ids)) == len(ids), f"{self.name}: an {what} occurs twice" if what[0] == "i" else f"{self.name}: a {what} occurs twice")
        empty = [i for i, caption in zip(self.caption_ids, self.captions, strict=True) if not caption.strip()]
        _require(not empty, f"{self.name}: caption {empty[:1]} is empty")
        counts = np.bincount(self.own, minlength=images) if texts else np.zeros(images)
        _require(len(counts) == images, f"{self.name}: own points outside the {images} images")
        lone = np.flatnonzero(counts == 0)
        _require(len(lone) == 0, f"{self.name}: image {[self.image_ids[i] for i in lone[:1]]} has no caption")
        for judged in self.judgements.values():
            _require(judged.shape == (images, texts), f"{self.name}: judgements {judged.name!r} have shape {judged.shape}, expected {(images, texts)}")
        if "own" not in self.judgements:
            object.__setattr__(self, "judgements", {"own": Judgements.own(self.own, images), **self.judgements})

    def fingerprint(self) -> dict[str, Any]:
        """Counts that tell one split from another: images, captions, and how many images have how many captions."""
        sizes, images = np.unique(np.bincount(self.own, minlength=len(self.image_ids)), return_counts=True)
        histogram = {int(size): int(count) for size, count in zip(sizes, images, strict=True)}
        return {"images": len(self.image_ids), "captions": len(self.captions), "captions_per_image": histogram}


@runtime_checkable
class Signal(Protocol):
    """What captions alone can tell, computed once, by name."""

    name: str

    def __len__(self) -> int:
        """Number of captions."""

    def take(self, rows: Rows) -> Any:
        """The signal of these caption rows, as a tensor or a mapping of tensors, ready for a batch."""


@dataclass(frozen=True)
class Embedding:
    """What an encoder makes of ``N`` images or ``N`` captions; one record serves every objective.

    Args:
        mean: ``(N, D)`` unit vectors.
        log_var: ``(N, D)`` log sigma squared, for probabilistic objectives.
        parts: ``(N, P, D')`` regions, patch tokens or words.
        mask: ``(N, P)`` True where a part is real.
        entities: ``(E, D)`` unit vectors of the captions' entities.
        owner: ``(E,)`` row of the caption that an entity belongs to.
    """

    mean: torch.Tensor
    log_var: torch.Tensor | None = None
    parts: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    entities: torch.Tensor | None = None
    owner: torch.Tensor | None = None

    def __post_init__(self) -> None:
        _require(self.mean.ndim == 2, f"embedding: mean must be (N, D), got {tuple(self.mean.shape)}")
        n = self.mean.shape[0]
        _require(self.log_var is None or self.log_var.shape == self.mean.shape, "embedding: log_var must have the shape of mean")
        _require(self.parts is None or (self.parts.ndim == 3 and len(self.parts) == n), f"embedding: parts must be ({n}, P, D)")
        _require((self.parts is None) == (self.mask is None), "embedding: parts and mask come together")
        _require(self.mask is None or self.parts is None or self.mask.shape == self.parts.shape[:2], "embedding: mask must be (N, P)")
        _require((self.entities is None) == (self.owner is None), "embedding: entities and owner come together")

    def __len__(self) -> int:
        return int(self.mean.shape[0])


@dataclass(frozen=True)
class Batch:
    """One rectangular training batch: ``I`` images, ``T`` captions, and what the encoders and objectives asked for.

    Args:
        image_ids: ``(I,)`` ids; ``caption_ids``: ``(T,)`` ids.
        own: ``(T,)`` row *in this batch* of each caption's image.
        inputs: model inputs by name (``"pixels"``, ``"regions"``).
        signals: taken signals by name (``"tokens"``, ``"descriptiveness"``).
    """

    image_ids: Sequence[str]
    caption_ids: Sequence[str]
    own: torch.Tensor
    inputs: Mapping[str, Any] = field(default_factory=dict)
    signals: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _require(len(self.own) == len(self.caption_ids), f"batch: own has {len(self.own)} rows for {len(self.caption_ids)} captions")

    @property
    def positives(self) -> torch.Tensor:
        """``(I, T)`` bool: the caption belongs to the image, by id and never by position."""
        import torch

        number: dict[str, int] = {}
        of_image = torch.tensor([number.setdefault(i, len(number)) for i in self.image_ids], device=self.own.device)
        return of_image[:, None] == of_image[self.own][None, :]


@dataclass(frozen=True)
class Measurement:
    """One reported number with its contract.

    Args:
        key: names the direction, e.g. ``"t2i/R@1"``, ``"rsum"``.
        value: in [0, 1], except ``rsum`` in [0, 6], correlations in [-1, 1] and ranks.
        low, high: bootstrap interval over queries at ``confidence``, or ``None``.
        judgements: name of the judgements that say what is relevant.
        queries, gallery: how many of each; ``left_out``: queries without a relevant item, which do not count.
        hit: what counts as a hit; ``ties``: how equal scores are treated; ``folds``: 1 = whole gallery.
    """

    key: str
    value: float
    low: float | None = None
    high: float | None = None
    judgements: str = "own"
    queries: int = 0
    gallery: int = 0
    left_out: int = 0
    hit: str = ""
    ties: str = "an equally scored item that is not relevant ranks above"
    folds: int = 1
    confidence: float = 0.95
