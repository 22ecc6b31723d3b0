"""Scores by blocks of queries, so that a matrix of any size never lies in memory whole.

Whatever has ``shape``, ``T``, ``step``, ``rows(part)`` and ``cut(rows, columns)`` can be ranked: a matrix,
inner products of embeddings made as they are asked for, or a model that scores slices. The blocks' scores are
compared with one another within a row only, and a row comes from one block, so that rounding in a matrix
product cannot tear equal scores apart.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt
from typing import Any, Protocol

import numpy as np

from workbench.records import Array, Rows, require

# entries of a block: 2 MB of float32 stay in the cache; 128 MB are enough to keep a matrix product busy
CACHED, COMPUTED = 2**19, 2**25
TILE = 64
# parts of a row for each of the items that are sought: more of them, fewer items beside those
PARTS = 8


class RowScores(Protocol):
    """Scores ``(queries, gallery)`` made by blocks of rows, larger = more alike."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size."""

    @property
    def step(self) -> int:
        """How many rows are best asked for at a time: as many as a block of bounded size holds."""
        return max(1, COMPUTED // max(self.shape[-1], 1))

    @property
    def T(self) -> "RowScores":  # noqa: N802  the name that numpy gives it
        """The other direction: items become queries."""

    def rows(self, part: slice) -> Array:
        """``(rows of the part, gallery)`` scores."""

    def cut(self, rows: Rows, columns: Rows) -> "RowScores":
        """The scores of these queries and these items."""


AnyScores = Array | RowScores


@dataclass(frozen=True)
class Whole(RowScores):
    """A matrix that lies in memory."""

    scores: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size."""
        return self.scores.shape

    @property
    def step(self) -> int:
        """Few rows at a time: a turned matrix is copied, and counting is fast in the cache."""
        return max(1, CACHED // max(self.shape[-1], 1))

    @property
    def T(self) -> "Whole":  # noqa: N802
        """The turned matrix."""
        return Whole(self.scores.T)

    def rows(self, part: slice) -> Array:
        """Contiguous rows; those of a turned matrix are copied in tiles, six times as fast as in one go."""
        rows = self.scores[part]
        if rows.flags.c_contiguous:
            return rows
        out = np.empty(rows.shape, dtype=rows.dtype)
        for first in range(0, rows.shape[1], TILE):
            out[:, first : first + TILE] = rows[:, first : first + TILE]
        return out

    def cut(self, rows: Rows, columns: Rows) -> "Whole":
        """A smaller matrix."""
        return Whole(self.scores[np.ix_(rows, columns)])


@dataclass(frozen=True)
class Products(RowScores):
    """Inner products of embeddings ``(Q, D)`` and ``(N, D)``; cosines where the vectors have unit length.

    >>> Products(np.eye(2), np.array([[0.6, 0.8]])).T.rows(slice(0, 1)).tolist()
    [[0.6, 0.8]]
    """

    query: Array
    gallery: Array

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size."""
        return len(self.query), len(self.gallery)

    @property
    def T(self) -> "Products":  # noqa: N802
        """The other direction."""
        return Products(self.gallery, self.query)

    def rows(self, part: slice) -> Array:
        """The products of some queries with the whole gallery."""
        return np.asarray(self.query[part] @ self.gallery.T)

    def cut(self, rows: Rows, columns: Rows) -> "Products":
        """The products of these vectors."""
        return Products(self.query[rows], self.gallery[columns])


@dataclass(frozen=True)
class WithoutOwn(RowScores):
    """Scores from which each query's own items are removed (score ``-inf``): ``query`` and ``item`` ``(M,)``
    are the pairs, queries ascending.
    """

    scores: RowScores
    query: Rows
    item: Rows

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size, removed items included."""
        return self.scores.shape

    @property
    def T(self) -> "WithoutOwn":  # noqa: N802
        """The other direction."""
        order = np.lexsort((self.query, self.item))
        return WithoutOwn(self.scores.T, self.item[order], self.query[order])

    def rows(self, part: slice) -> Array:
        """Rows with ``-inf`` at the removed pairs."""
        rows = self.scores.rows(part)
        rows = np.array(rows, dtype=np.result_type(rows, np.float32))
        first, last = np.searchsorted(self.query, [part.start, part.start + len(rows)])
        rows[self.query[first:last] - part.start, self.item[first:last]] = -np.inf
        return rows

    def cut(self, rows: Rows, columns: Rows) -> "WithoutOwn":
        """The scores of these queries and items; pairs outside them are forgotten."""
        gone = np.zeros(self.shape, dtype=bool)
        gone[self.query, self.item] = True
        return WithoutOwn(self.scores.cut(rows, columns), *np.nonzero(gone[np.ix_(rows, columns)]))


def by_rows(scores: AnyScores) -> RowScores:
    """The scores as blocks of rows; a matrix is wrapped, anything else is taken as it is."""
    return Whole(scores) if isinstance(scores, np.ndarray) else scores


def blocks(scores: AnyScores, shape: tuple[int, ...], step: int | None = None) -> Iterator[tuple[int, Array]]:
    """Consecutive blocks of queries: number of the first query, and the rows.

    Args:
        scores: ``(queries, gallery)``.
        shape: of the judgements.
        step: queries at a time; ``None`` = as the scores prefer.

    Raises:
        ValueError: shapes differ, or a score is NaN.
    """
    source = by_rows(scores)
    require(
        tuple(source.shape) == tuple(shape),
        f"scores are {tuple(source.shape)}, the judgements (queries, gallery) are {tuple(shape)}",
    )
    size = step or source.step
    for first in range(0, shape[0], size):
        rows = source.rows(slice(first, min(first + size, shape[0])))
        # the least of numbers among which one is NaN is NaN: one pass without a copy
        if rows.size and np.isnan(rows.min()):
            bad = int(np.isnan(rows).sum())
            raise ValueError(
                f"{bad} scores are NaN among queries {first} to {first + len(rows) - 1}; a NaN has no rank"
            )
        yield first, rows


def at_pairs(scores: AnyScores, queries: Rows, items: Rows) -> Array:
    """``(N,)`` scores of single pairs, given by query row and gallery row."""
    if isinstance(scores, np.ndarray):
        return np.asarray(scores[queries, items])
    order, parts = np.argsort(queries, kind="stable"), [np.zeros(0)]
    for first, rows in blocks(scores, scores.shape):
        kept = order[slice(*np.searchsorted(queries[order], [first, first + len(rows)]))]
        parts.append(rows[queries[kept] - first, items[kept]])
    return np.asarray(np.concatenate(parts)[np.argsort(order, kind="stable")])


def best(scores: AnyScores, k: int) -> tuple[Array, Rows]:
    """The ``k`` best items of every query: scores, largest first, and gallery rows ``(queries, k)``; among
    equal scores the lower row first.

    Raises:
        ValueError: a score is NaN.

    >>> best(np.array([[0.1, 0.9, 0.9]]), 2)[1].tolist()
    [[1, 2]]
    """
    # written in place: a million small arrays would take three times the memory of their numbers
    items, found = np.empty((scores.shape[0], k), np.int64), np.empty((0, k))
    for first, rows in blocks(scores, scores.shape):
        if not first:
            found = np.empty(items.shape, rows.dtype)
        for at, (row, bound) in enumerate(zip(rows, _bounds(rows, k), strict=True), first):
            kept = np.flatnonzero(row >= bound)
            items[at] = kept[np.argsort(-row[kept], kind="stable")[:k]]
            found[at] = row[items[at]]
    return found, items


def top_k(query: Array, gallery: Any, k: int) -> tuple[Array, Rows]:
    """The ``k`` gallery rows with the largest inner product, for each query.

    Args:
        query: ``(Q, D)`` vectors; unit length makes the score a cosine.
        gallery: ``(N, D)`` vectors, searched exactly; or an index of them whose ``search(query, k)`` answers,
            such as one of faiss.
        k: how many, at most ``N``.

    Returns:
        Scores ``(Q, k)``, largest first, and gallery rows ``(Q, k)``; of equal scores the lower row first.

    Raises:
        ValueError: ``k`` is not in 1..N, or a score is NaN.

    >>> top_k(np.eye(2), np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]), 2)[1].tolist()
    [[1, 0], [0, 2]]
    """
    if hasattr(gallery, "search"):
        scores, rows = gallery.search(query, k)
        return scores, rows
    require(1 <= k <= len(gallery), f"k = {k} must lie in 1..{len(gallery)}, the size of the gallery")
    return best(Products(query, gallery), k)


def _bounds(rows: Array, k: int) -> Array:
    """For every row a score that at least ``k`` of its items reach, and few more: the ``k``-th largest of the
    greatest scores of its parts, or in short rows of the scores themselves.
    """
    parts = max(PARTS * k, isqrt(rows.shape[1]))
    if (size := rows.shape[1] // parts) > 1:
        rows = rows[:, : parts * size].reshape(len(rows), parts, size).max(axis=2)
    return np.asarray(np.partition(rows, -k, axis=1)[:, -k])
