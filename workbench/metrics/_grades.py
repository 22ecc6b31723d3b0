"""Grades by blocks of queries, whatever they come from: judgements, relevance told from captions, or a
matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._orders import Grades
from workbench.metrics._rows import COMPUTED, RowScores, Scores, Whole
from workbench.records import Judgements, Rows

# entries of a relevance that are made at once and kept: 128 MB of float32; a larger one is made block by
# block
HELD = 2**25


class Phi(Protocol):
    """Relevance ``(I, T)`` of captions for images, larger = more relevant, made for any part of it."""

    name: str
    shape: tuple[int, int]

    def columns(self, captions: slice) -> NDArray[np.float32]:
        """``(I, b)`` of neighbouring captions."""

    def pairs(self, images: Rows, captions: Rows) -> NDArray[np.float32]:
        """``(n, m)`` of some images and captions."""


AnyPhi = Judgements | Phi | NDArray[Any]


class GradeRows(Protocol):
    """Grades ``(queries, gallery)`` by blocks of queries; NaN = not judged."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and gallery size."""

    @property
    def T(self) -> GradeRows:  # noqa: N802  the name that numpy gives it
        """The other direction."""

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """``(count, gallery)`` grades of consecutive queries."""


@dataclass(frozen=True)
class Held:
    """Grades that lie in memory."""

    grades: NDArray[Any]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and gallery size."""
        return self.grades.shape[0], self.grades.shape[1]

    @property
    def T(self) -> Held:  # noqa: N802
        """The turned matrix."""
        return Held(self.grades.T)

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Contiguous rows."""
        return np.ascontiguousarray(self.grades[first : first + count])


@dataclass(frozen=True)
class Made:
    """Grades that a relevance makes when they are asked for."""

    phi: Phi
    turned: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and gallery size."""
        images, captions = self.phi.shape
        return (captions, images) if self.turned else (images, captions)

    @property
    def T(self) -> Made:  # noqa: N802
        """The other direction."""
        return Made(self.phi, not self.turned)

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """The grades of some images with all captions, or of some captions with all images."""
        if self.turned:
            return np.ascontiguousarray(self.phi.columns(slice(first, first + count)).T)
        return self.phi.pairs(np.arange(first, min(first + count, self.shape[0])), np.arange(self.shape[1]))


def grade_rows(phi: AnyPhi) -> GradeRows:
    """Any grades as blocks of queries, images first."""
    if isinstance(phi, Judgements):
        return Grades.of(phi)
    if isinstance(phi, np.ndarray):
        return Held(phi)
    images, captions = phi.shape
    return Held(phi.columns(slice(0, captions))) if images * captions <= HELD else Made(phi)


def name_of(phi: AnyPhi) -> str:
    """How contracts call these grades."""
    return "grades" if isinstance(phi, np.ndarray) else phi.name


@dataclass(frozen=True)
class Scored:
    """Grades read as scores: what retrieval by phi itself would find."""

    grades: GradeRows

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size."""
        return self.grades.shape

    @property
    def step(self) -> int:
        """As many rows as a block of bounded size holds."""
        return max(1, COMPUTED // max(self.shape[1], 1))

    @property
    def T(self) -> Scored:  # noqa: N802
        """The other direction."""
        return Scored(self.grades.T)

    def rows(self, part: slice) -> Scores:
        """The grades of some queries."""
        return self.grades.rows(part.start, part.stop - part.start)

    def cut(self, rows: Rows, columns: Rows) -> RowScores:
        """The grades of these queries and items, held."""
        return Whole(np.concatenate([self.grades.rows(row, 1)[:, columns] for row in rows.tolist()]))


@dataclass(frozen=True)
class WithoutOwn:
    """Scores from which each query's own items are removed (score ``-inf``).

    Args:
        scores: ``(queries, gallery)``.
        query, item: ``(M,)`` the pairs to remove, queries ascending.
    """

    scores: RowScores
    query: Rows
    item: Rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size, removed items included."""
        return self.scores.shape

    @property
    def step(self) -> int:
        """That of the scores."""
        return self.scores.step

    @property
    def T(self) -> WithoutOwn:  # noqa: N802
        """The other direction."""
        order = np.lexsort((self.query, self.item))
        return WithoutOwn(self.scores.T, self.item[order], self.query[order])

    def rows(self, part: slice) -> Scores:
        """Rows with ``-inf`` at the removed pairs."""
        rows = self.scores.rows(part)
        rows = np.array(rows, dtype=np.result_type(rows, np.float32))
        first, last = np.searchsorted(self.query, [part.start, part.start + len(rows)])
        rows[self.query[first:last] - part.start, self.item[first:last]] = -np.inf
        return rows

    def cut(self, rows: Rows, columns: Rows) -> WithoutOwn:
        """The scores of these queries and items; pairs outside them are forgotten."""
        gone = np.zeros(self.shape, dtype=bool)
        gone[self.query, self.item] = True
        return WithoutOwn(self.scores.cut(rows, columns), *np.nonzero(gone[np.ix_(rows, columns)]))
