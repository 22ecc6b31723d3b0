"""Sparse grades of image-caption pairs: binary labels, human ratings and exact truth are all of this kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.records._checks import Rows, require


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
        require(len(lengths) == 1, f"judgements {self.name!r}: images, captions and grades have lengths {sorted(lengths)}")
        for axis, rows, size in (("image", self.images, self.shape[0]), ("caption", self.captions, self.shape[1])):
            inside = len(rows) == 0 or (rows.min() >= 0 and rows.max() < size)
            require(bool(inside), f"judgements {self.name!r}: a {axis} row lies outside 0..{size - 1}")
        keys = self.images * np.int64(self.shape[1]) + self.captions
        require(len(np.unique(keys)) == len(keys), f"judgements {self.name!r}: a pair is listed twice")

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

    def take(self, images: Rows, captions: Rows) -> NDArray[np.float32]:
        """The grades of some images and captions, for a training batch.

        Args:
            images: ``(n,)`` image rows.
            captions: ``(m,)`` caption rows.

        Returns:
            ``(n, m)``; pairs that nobody judged are NaN.
        """
        keys, grades = self._sorted
        wanted = images[:, None] * np.int64(self.shape[1]) + captions
        place = np.searchsorted(keys, wanted).clip(max=max(len(keys) - 1, 0))
        fill = np.float32(np.nan if self.unlisted is None else self.unlisted)
        return np.where(keys[place] == wanted, grades[place], fill) if len(keys) else np.full(wanted.shape, fill)

    @cached_property
    def _sorted(self) -> tuple[Rows, NDArray[np.float32]]:
        """Pairs as single numbers in ascending order, and their grades."""
        keys = self.images * np.int64(self.shape[1]) + self.captions
        order = np.argsort(keys)
        return keys[order], self.grades[order]

    def cut(self, images: int, captions: Rows) -> Judgements:
        """The judgements of the first ``images`` images and these caption rows, renumbered."""
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[captions] = np.arange(len(captions))
        kept = (self.images < images) & (place[self.captions] >= 0)
        return replace(
            self,
            shape=(images, len(captions)),
            images=self.images[kept],
            captions=place[self.captions[kept]],
            grades=self.grades[kept],
        )

    @staticmethod
    def own(own: Rows, images: int) -> Judgements:
        """Binary judgements of a split: a caption is relevant to the image it was written for, and to no other."""
        columns = np.arange(len(own), dtype=np.int64)
        grades = np.ones(len(own), dtype=np.float32)
        rule = "binary: the caption was written for the image"
        return Judgements("own", rule, (images, len(own)), own, columns, grades, source="the split's own pairs")
