"""Grades of image-caption pairs: binary labels, human ratings, exact truth, relevance computed from captions.

``Graded`` is what all of them have in common. ``Judgements`` list the pairs that were judged. Grades of image
pairs or of caption pairs have the same form: ``shape`` is then ``(I, I)`` or ``(T, T)``, and a pair is listed
in the order in which it was judged.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from workbench.records._arrays import Array, Mask, Rows
from workbench.registry import require

# so many pairs are looked up one by one; more are read from the rows that list them
FEW = 2**16


class Graded(Protocol):
    """Grades of images and captions, larger = more relevant; NaN = nobody judged the pair."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of images and of captions."""

    def take(self, images: Rows, captions: Rows) -> Any:
        """Return ``(n, m)`` the grades of some images with some captions."""


class Truth(NamedTuple):
    """What a data set that knows the truth says of one statement.

    Args:
        holds: ``(I,)`` 1 where the statement is true of an image, 0 where it is false, NaN where that is not
            known.
        share: ``(I,)`` which share of it holds, NaN where that is not known.
        unknown: its words that the data set has no meaning for.
        unclear: its words by which it may say something else than what was checked.
    """

    holds: Array
    share: Array
    unknown: tuple[str, ...] = ()
    unclear: tuple[str, ...] = ()


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
        image_queries, caption_queries: rows that are asked; the others are in the gallery only. ``None`` =
            whoever has a relevant partner is asked.
        missing_captions: image row of each relevant pair whose caption the split lacks; it counts as
            relevant, and no list holds it. Cutting the judgements to fewer images or captions drops these.

    Raises:
        ValueError: lengths differ, a row or column is outside ``shape``, or a pair is listed twice.
    """

    name: str
    rule: str
    shape: tuple[int, int]
    images: Rows
    captions: Rows
    grades: Array
    relevant_from: float = 1.0
    unlisted: float | None = 0.0
    source: str = ""
    image_queries: Rows | None = None
    caption_queries: Rows | None = None
    missing_captions: Rows | None = None

    def __post_init__(self) -> None:
        lengths = {len(self.images), len(self.captions), len(self.grades)}
        require(
            len(lengths) == 1,
            f"judgements {self.name!r}: images, captions and grades have lengths {sorted(lengths)}",
        )
        images = (self.images, self.image_queries, self.missing_captions)
        captions = (self.captions, self.caption_queries)
        for axis, known, size in (("image", images, self.shape[0]), ("caption", captions, self.shape[1])):
            rows = np.concatenate([rows for rows in known if rows is not None])
            require(
                ((rows >= 0) & (rows < size)).all(),
                f"judgements {self.name!r}: a {axis} row lies outside 0..{size - 1}",
            )
        by_image = self.images * np.int64(self.shape[1]) + self.captions
        by_caption = self.captions * np.int64(self.shape[0]) + self.images
        # most are listed in order, and to see that costs a fraction of sorting them
        ordered = any((np.diff(keys) > 0).all() for keys in (by_image, by_caption))
        require(
            ordered or len(np.unique(by_image)) == len(by_image),
            f"judgements {self.name!r}: a pair is listed twice",
        )

    def dense(self) -> Array:
        """Return the grades as a matrix ``(I, T)``; pairs that nobody judged are NaN."""
        out = np.full(self.shape, self._fill)
        out[self.images, self.captions] = self.grades
        return out

    def relevant(self) -> Mask:
        """Return binary relevance ``(I, T)``: grade at least ``relevant_from``; a pair that nobody judged is
        not relevant.
        """
        out = np.full(self.shape, self.unlisted is not None and self.unlisted >= self.relevant_from)
        out[self.images, self.captions] = self.grades >= self.relevant_from
        return out

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` the grades of some images ``(n,)`` with some captions ``(m,)``; NaN where nobody
        judged.
        """
        if len(images) * len(captions) <= FEW:
            return self.grades_at(images[:, None], captions)
        # few captions of many images are found faster in the list that is sorted by caption
        turned = len(captions) < len(images)
        rows, columns = (captions, images) if turned else (images, captions)
        listed = self._by_side[turned][rows][:, columns].tocoo()
        out = np.full((len(rows), len(columns)), self._fill)
        out[listed.coords] = listed.data
        return out.T if turned else out

    def grades_at(self, images: Rows, captions: Rows) -> Array:
        """Return the grade of each pair ``(images[n], captions[n])``, or of shapes that fit by numpy's rules;
        NaN where nobody judged it.
        """
        keys, grades = self._sorted_pairs
        wanted = images * np.int64(self.shape[1]) + captions
        place = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        fill = np.full(wanted.shape, self._fill)
        return np.where(keys[place] == wanted, grades[place], fill) if len(keys) else fill

    @property
    def _fill(self) -> np.float32:
        """The grade of a pair that is not listed; NaN = not judged."""
        return np.float32(np.nan if self.unlisted is None else self.unlisted)

    @cached_property
    def _by_side(self) -> tuple[Any, Any]:
        """The listed grades by image and by caption, as sparse matrices."""
        from scipy.sparse import csr_array

        listed = csr_array((self.grades, (self.images, self.captions)), shape=self.shape)
        return listed, listed.T.tocsr()

    @cached_property
    def _sorted_pairs(self) -> tuple[Rows, Array]:
        """Pairs as single numbers in ascending order, and their grades."""
        keys = self.images * np.int64(self.shape[1]) + self.captions
        order = np.argsort(keys)
        return keys[order], self.grades[order]

    def require_shape(self, shape: tuple[int, int], split: str = "") -> "Judgements":
        """Return the judgements; raise if they are of another shape than the split of this name."""
        what = f"judgements {self.name!r} have shape {self.shape}, expected {shape}"
        require(self.shape == shape, f"{split}: {what}" if split else what)
        return self

    def restrict(self, rows: Rows, columns: Rows) -> "Judgements":
        """Return the judgements among these rows (images) and these columns (captions), renumbered."""
        row = new_rows(rows, self.shape[0])
        column = new_rows(columns, self.shape[1])
        images = row[self.images]
        captions = column[self.captions]
        inside = (images >= 0) & (captions >= 0)
        shape = (len(rows), len(columns))
        return replace(
            self,
            shape=shape,
            images=images[inside],
            captions=captions[inside],
            grades=self.grades[inside],
            image_queries=_renumber(self.image_queries, row),
            caption_queries=_renumber(self.caption_queries, column),
            missing_captions=None,
        )

    def symmetrise(self) -> "Judgements":
        """Make judgements of pairs of one kind hold in both directions; of two ratings of a pair the larger
        one counts.

        Raises:
            ValueError: the shape is not square.
        """
        size = self.shape[0]
        require(
            size == self.shape[1],
            f"judgements {self.name!r}: shape {self.shape} is not that of pairs of one kind",
        )
        ways = (self.images, self.captions), (self.captions, self.images)
        pairs = [first * np.int64(size) + second for first, second in ways]
        keys, place = np.unique(np.concatenate(pairs), return_inverse=True)
        grades = np.full(len(keys), -np.inf, dtype=np.float32)
        np.maximum.at(grades, place, np.concatenate([self.grades, self.grades]))
        return replace(self, images=keys // size, captions=keys % size, grades=grades)

    @staticmethod
    def from_own(own: Rows, images: int) -> "Judgements":
        """Return binary judgements of a split: a caption is relevant to the image it was written for, and to
        no other.
        """
        listed = own, np.arange(len(own), dtype=np.int64), np.ones(len(own), dtype=np.float32)
        rule = "binary: the caption was written for the image"
        source = "the split's own pairs"
        return Judgements("own", rule, (images, len(own)), *listed, source=source)


Taker = Callable[[Rows, Rows], Array]
PartMakers = Callable[[Rows, Rows], Mapping[str, Callable[[], Judgements]]]


@dataclass(frozen=True)
class Computed:
    """Grades that are computed for the images and captions that are asked for, see ``Graded``."""

    name: str
    shape: tuple[int, int]
    take: Taker
    relevant_from: float = 1.0


def _no_part_makers(images: Rows, captions: Rows) -> Mapping[str, Callable[[], Judgements]]:
    """Return none: judgements of a part are cut from the whole."""
    return {}


class LazyJudgements(Mapping[str, Judgements]):
    """Judgements by name, each made at its first use, checked against the shape and then kept.

    Args:
        shape: ``(I, T)`` of the split that is judged.
        makers: the judgements, or how to make them.
        part_makers: how to make the judgements of some images and captions without making the whole, which a
            large training split has no memory for.
    """

    def __init__(
        self,
        shape: tuple[int, int],
        makers: Mapping[str, Judgements | Callable[[], Judgements]],
        part_makers: PartMakers | None = None,
    ) -> None:
        self.shape = shape
        self._makers = dict(makers)
        self._part_makers = part_makers or _no_part_makers

    def __getitem__(self, name: str) -> Judgements:
        judgements = self._makers[name]
        if not isinstance(judgements, Judgements):
            judgements = judgements().require_shape(self.shape)
            self._makers[name] = judgements
        return judgements

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)

    def relevance(self, name: str) -> Judgements | Computed:
        """Return what grades a training batch: pair by pair where possible, else the whole judgements."""
        none = np.arange(0)
        if name not in self._part_makers(none, none) or isinstance(self._makers[name], Judgements):
            return self[name]
        return Computed(name, self.shape, lambda i, t: self._part_makers(i, t)[name]().dense())

    def restrict(self, images: Rows, captions: Rows) -> "LazyJudgements":
        """Return the judgements among these rows, still lazy."""
        parts = self._part_makers
        anew = parts(images, captions)
        makers: dict[str, Callable[[], Judgements]] = {}
        for name, maker in self._makers.items():
            makers[name] = partial(self._restrict_named, name, images, captions)
            if name in anew and not isinstance(maker, Judgements):
                makers[name] = anew[name]
        shape = len(images), len(captions)
        return LazyJudgements(shape, makers, lambda i, t: parts(images[i], captions[t]))

    def _restrict_named(self, name: str, images: Rows, captions: Rows) -> Judgements:
        return self[name].restrict(images, captions)


def new_rows(rows: Rows, size: int) -> Rows:
    """Return ``(size,)`` new number of each row, -1 for those that are not among ``rows``."""
    place = np.full(size, -1, dtype=np.int64)
    place[rows] = np.arange(len(rows))
    return place


def _renumber(rows: Rows | None, place: Rows) -> Rows | None:
    return None if rows is None else place[rows][place[rows] >= 0]
