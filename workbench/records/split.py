"""One split of a data set."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self, cast

import numpy as np
from PIL import Image

from workbench.formatting import format_count
from workbench.io import text_stamp
from workbench.records._arrays import Array, Rows
from workbench.records.benchmark import Benchmark
from workbench.records.fields import Field
from workbench.records.judgements import Computed, Judgements, LazyJudgements, Truth, new_rows
from workbench.records.scene_graph import SceneGraph
from workbench.registry import require

# of a split, what only some data have beside images and captions
FIELDS = ("level", "chain", "regions", "image_graphs", "caption_graphs", "negatives")


class NoImageError(FileNotFoundError):
    """The data have no file for an image."""


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
        open_boxes: row -> ``(K, 4)`` left, top, right, bottom of the regions as shares of width and height,
            or ``None`` where they are not known.
        judgements: by name; ``"own"`` is always there.
        image_judgements: by name, of pairs of images ``(I, I)``.
        caption_judgements: by name, of pairs of captions ``(T, T)``.
        negatives: ``(T,)`` further texts of each caption that are false of its image, for training.
        counterfactuals: by kind, pairs ``(T, T)`` of a caption and a text like it that is false of the
            caption's image.
        image_graphs, caption_graphs: scene graphs, where the data set knows them.
        stamp: row -> checksum of what the image is read from, 0 = not known, so that an image that is
            exchanged under its id is noticed; see ``io.content_stamp``.
        grade: what a data set that knows the truth says of a statement, a sentence or its graph, given the
            graphs of images.
        fields: by name, what data know of images, captions or pairs beside all this, see ``Field``.
        folds: smaller galleries in which it is measured too, 5 in the 1K protocol of MS-COCO.
        notes: facts worth printing (skipped files, sources), in words.
        benchmark: the scores that the data set is published with; it then has no recall.

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
    regions: Array | None = None
    open_boxes: Callable[[int], Array | None] | None = None
    judgements: Mapping[str, Judgements] = field(default_factory=dict)
    image_judgements: Mapping[str, Judgements] = field(default_factory=dict)
    caption_judgements: Mapping[str, Judgements] = field(default_factory=dict)
    negatives: tuple[tuple[str, ...], ...] | None = None
    counterfactuals: Mapping[str, Judgements] = field(default_factory=dict)
    image_graphs: tuple[SceneGraph, ...] | None = None
    caption_graphs: tuple[SceneGraph, ...] | None = None
    grade: Callable[[SceneGraph | str, Sequence[SceneGraph]], Truth] | None = None
    stamp: Callable[[int], int] | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)
    folds: int = 1
    notes: tuple[str, ...] = ()
    benchmark: Benchmark | None = None

    def __post_init__(self) -> None:
        images = len(self.image_ids)
        texts = len(self.captions)
        sizes = dict.fromkeys(("caption_ids", "own", "level", "chain", "caption_graphs", "negatives"), texts)
        for what, size in (sizes | {"regions": images, "image_graphs": images}).items():
            rows = size if getattr(self, what) is None else len(getattr(self, what))
            require(rows == size, f"{self.name}: {what} has {rows} rows, expected {size}")
        for name, values in self.fields.items():
            size, rows = images if values.owner == "image" else texts, len(values.values)
            require(rows == size, f"{self.name}: field {name!r} has {rows} rows, expected {size}")
        for what, ids in (("image", self.image_ids), ("caption", self.caption_ids)):
            require(len(set(ids)) == len(ids), f"{self.name}: the same {what} id occurs twice")
        empty = [i for i, caption in zip(self.caption_ids, self.captions, strict=True) if not caption.strip()]
        require(not empty, f"{self.name}: caption {empty[:1]} is empty")
        counts = np.bincount(self.own, minlength=images) if texts else np.zeros(images)
        require(len(counts) == images, f"{self.name}: own points outside the {images} images")
        lone = np.flatnonzero(counts == 0)
        require(len(lone) == 0, f"{self.name}: image {[self.image_ids[i] for i in lone[:1]]} has no caption")
        if not isinstance(self.judgements, LazyJudgements):
            by_name = {"own": Judgements.from_own(self.own, images), **self.judgements}
            object.__setattr__(self, "judgements", LazyJudgements((images, texts), by_name))
            for judgements in by_name.values():
                judgements.require_shape((images, texts), self.name)
        for judgements in self.image_judgements.values():
            judgements.require_shape((images, images), self.name)
        for judgements in (*self.caption_judgements.values(), *self.counterfactuals.values()):
            judgements.require_shape((texts, texts), self.name)

    def __repr__(self) -> str:
        """Say in two lines how much there is, and what is known of it."""
        per_image = list(self.fingerprint()["captions_per_image"])
        counts = f"{per_image[0]} to {per_image[-1]}" if len(per_image) > 1 else "".join(map(str, per_image))
        images = format_count(len(self.image_ids), "image")
        captions = format_count(len(self.captions), "caption")
        fields = [name for name in FIELDS if getattr(self, name) is not None]
        fields += self.fields
        hard_negatives = [f"{kind} counterfactuals" for kind in self.counterfactuals]
        judgements = [*self.judgements, *self.image_judgements, *self.caption_judgements, *hard_negatives]
        return (
            f"{self.name}: {images}, {captions} ({counts} per image)\n"
            f"fields: {', '.join(fields) or 'none'}; judgements: {', '.join(dict.fromkeys(judgements))}"
        )

    def first(self, images: int) -> Self:
        """Return the first ``images`` images with their captions, judgements cut to them."""
        if images >= len(self.image_ids):
            return self
        # a slice leaves a memory-mapped array on the disk
        return self._take_rows(slice(images), np.arange(images), np.flatnonzero(self.own < images))

    def restrict(self, images: Rows, captions: Rows) -> Self:
        """Return some images and captions, judgements cut to them.

        Args:
            images: rows, ascending.
            captions: rows, ascending; each image has one at least, and each caption its image.
        """
        part = self._take_rows(images, images, captions)
        openers: dict[str, Any] = {}
        for name in ("open_image", "open_boxes", "stamp"):
            opener = getattr(self, name)
            openers[name] = opener and partial(_at_row, opener, images)
        return replace(part, **openers)

    def _take_rows(self, part: Rows | slice, rows: Rows, keep: Rows) -> Self:
        """Return some images and captions, whose images are opened as before.

        Args:
            part: rows of the images, as arrays are cut.
            rows: the same as numbers.
            keep: rows of the captions.
        """
        place = new_rows(rows, len(self.image_ids))
        by_caption = {
            name: _pick_rows(getattr(self, name), keep)
            for name in ("captions", "caption_ids", "level", "chain", "caption_graphs", "negatives")
        }
        by_image = {
            name: _pick_rows(getattr(self, name), part) for name in ("image_ids", "regions", "image_graphs")
        }
        return replace(
            self,
            own=place[self.own[keep]],
            judgements=self._lazy_judgements.restrict(rows, keep),
            fields=self.take_fields(rows, keep),
            folds=1,
            image_judgements=_restrict_judgements(self.image_judgements, rows),
            caption_judgements=_restrict_judgements(self.caption_judgements, keep),
            counterfactuals=_restrict_judgements(self.counterfactuals, keep),
            benchmark=self._restrict_benchmark(rows, keep),
            **by_caption,
            **by_image,
        )

    def _restrict_benchmark(self, images: Rows, captions: Rows) -> Benchmark | None:
        """Return the examples among these images and captions."""
        if self.benchmark is None:
            return None
        new = new_rows(images, len(self.image_ids)), new_rows(captions, len(self.captions))
        return self.benchmark.restrict(*new)

    def take_fields(self, images: Rows | slice, captions: Rows | slice) -> dict[str, Field]:
        """Return the fields of some images and captions, by name; a row may be taken more than once."""
        fields = {}
        for name, values in self.fields.items():
            fields[name] = values.take(images if values.owner == "image" else captions)
        return fields

    @property
    def _lazy_judgements(self) -> LazyJudgements:
        return cast(LazyJudgements, self.judgements)

    def relevance(self, name: str) -> Judgements | Computed:
        """Return judgements that grade any pairs, computed pair by pair where the whole would cost too
        much.
        """
        return self._lazy_judgements.relevance(name)

    def fingerprint(self) -> dict[str, Any]:
        """Return counts that tell one split from another: images, captions, and how many images have how many
        captions.
        """
        sizes, images = np.unique(np.bincount(self.own, minlength=len(self.image_ids)), return_counts=True)
        return {
            "images": len(self.image_ids),
            "captions": len(self.captions),
            "captions_per_image": dict(zip(sizes.tolist(), images.tolist(), strict=True)),
        }

    def stamps(self) -> Rows:
        """Return ``(I,)`` checksum of what each image is read from, 0 where it is not known."""
        stamp = self.stamp or (lambda row: 0)
        images = range(len(self.image_ids))
        return np.fromiter(map(stamp, images), dtype=np.int64, count=len(images))

    def caption_stamps(self) -> Rows:
        """Return ``(T,)`` checksum of the text of each caption."""
        return np.fromiter(map(text_stamp, self.captions), dtype=np.int64, count=len(self.captions))

    def checksums(self, *parts: str) -> dict[str, str]:
        """Return checksums of what a number on this split depends on: ``ids`` of images and captions, ``own``
        rows, ``captions``, and ``images``, which is left out where no image's content is known.

        Args:
            parts: names of those that are wanted; none = all of them.
        """
        contents = {
            "ids": json.dumps([self.image_ids, self.caption_ids]).encode(),
            "own": self.own.astype(np.int64).tobytes(),
            "captions": json.dumps(self.captions).encode(),
        }
        if not parts or "images" in parts:
            stamps = self.stamps()
            contents |= {"images": stamps.tobytes()} if stamps.any() else {}
        names = [name for name in contents if not parts or name in parts]
        return {name: hashlib.sha256(contents[name]).hexdigest()[:16] for name in names}

    def identity(self) -> str:
        """Return what tells this split from every other: its counts, and a checksum of ``checksums``."""
        digest = hashlib.sha256(json.dumps(self.checksums()).encode()).hexdigest()[:16]
        return f"{len(self.image_ids)} images, {len(self.captions)} captions, {digest}"


def _pick_rows(values: Any, rows: Rows | slice) -> Any:
    if values is None or isinstance(values, np.ndarray) or isinstance(rows, slice):
        return None if values is None else values[rows]
    return tuple(values[row] for row in rows)


def _at_row(opener: Callable[[int], Any], rows: Rows, row: int) -> Any:
    """Return what an opener of the whole gives for a row of a part."""
    return opener(int(rows[row]))


def _restrict_judgements(judgements: Mapping[str, Judgements], rows: Rows) -> dict[str, Judgements]:
    return {name: graded.restrict(rows, rows) for name, graded in judgements.items()}
