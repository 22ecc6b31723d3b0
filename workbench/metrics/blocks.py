"""Scores by blocks of queries, so that a matrix of any size never lies in memory whole.

A matrix, inner products of embeddings, what a model scores and any grades (``records.Graded``) are read as
one kind of rows. Scores are compared with one another within a row only, and a row comes from one block, so
that rounding in a matrix product cannot tear equal scores apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isqrt
from typing import Any

import numpy as np
from scipy import sparse

from workbench.progress import Task
from workbench.records import Array, Graded, Judgements, Rows, require

# entries of a block: 2 MB of float32 stay in the cache; 128 MB are enough to keep a matrix product busy
CACHED, COMPUTED = 2**19, 2**25
# entries of grades that are made at once and kept: 128 MB of float32; more are made block by block
HELD = 2**25
TILE = 64
# parts of a row for each of the items that are sought: more of them, fewer items beside those
PARTS = 8


@dataclass(frozen=True)
class RowScores:
    """Scores ``(queries, gallery)``, larger = more alike, made by blocks of rows when they are asked for.

    Args:
        make: ``(n, m)`` scores of some queries with some items; both are rows or both slices.
        shape: number of queries and gallery size.
        held: whether they lie in memory.
        other: the scores of the other direction, ``(gallery, queries)``, where they are not these, turned.
    """

    make: Callable[[Any, Any], Array]
    shape: tuple[int, ...]
    held: bool = False
    other: "RowScores | None" = None

    @property
    def step(self) -> int:
        """How many rows are best asked for at a time: few of what lies in memory, since a turned matrix is
        copied and counting is fast in the cache; else as many as a block of bounded size holds.
        """
        return max(1, (CACHED if self.held else COMPUTED) // max(self.shape[-1], 1))

    @property
    def T(self) -> "RowScores":  # noqa: N802  the name that numpy gives it
        """The other direction: items become queries."""
        if self.other is not None:
            return replace(self.other, other=replace(self, other=None))
        return RowScores(lambda rows, items: self.make(items, rows).T, self.shape[::-1], self.held)

    def rows(self, part: slice = slice(None)) -> Array:
        """Return ``(rows of the part, gallery)`` contiguous scores; what is turned is copied in tiles, six
        times as fast as in one go.
        """
        rows = self.make(part, slice(None))
        if rows.flags.c_contiguous:
            return rows
        out = np.empty(rows.shape, dtype=rows.dtype)
        for first in range(0, rows.shape[1], TILE):
            out[:, first : first + TILE] = rows[:, first : first + TILE]
        return out

    def select(self, queries: Rows, gallery: Rows) -> "RowScores":
        """Return the scores of these queries and these items."""
        shape = len(queries), len(gallery)
        other = self.other and self.other.select(gallery, queries)
        return RowScores(
            lambda rows, items: self.make(queries[rows], gallery[items]), shape, self.held, other
        )


AnyScores = Array | Graded | RowScores


def by_rows(scores: AnyScores) -> RowScores:
    """Return a matrix or any grades as blocks of rows, images first; grades are made at once where they are
    few.
    """
    if isinstance(scores, RowScores):
        return scores
    if isinstance(scores, np.ndarray):
        whole = scores
        return RowScores(
            lambda rows, items: whole[rows, items] if isinstance(rows, slice) else whole[np.ix_(rows, items)],
            whole.shape,
            held=True,
        )
    graded, (images, captions) = scores, map(np.arange, scores.shape)
    if not isinstance(graded, Judgements) and np.prod(graded.shape) <= HELD:
        return by_rows(np.asarray(graded.take(images, captions)))
    return RowScores(lambda rows, items: np.asarray(graded.take(images[rows], captions[items])), graded.shape)


def products(query: Array, gallery: Array) -> RowScores:
    """Return the inner products of embeddings ``(Q, D)`` and ``(N, D)``; cosines where the vectors have unit
    length.

    >>> products(np.eye(2), np.array([[0.6, 0.8]])).T.rows().tolist()
    [[0.6, 0.8]]
    """

    def make(rows: Any, items: Any) -> Array:
        # where items ask, they come first in the product, so that their rows lie in one piece
        asked = isinstance(rows, slice) and rows == slice(None)
        return np.asarray((gallery[items] @ query.T).T if asked else query[rows] @ gallery[items].T)

    return RowScores(make, (len(query), len(gallery)))


def replace_pairs(scores: RowScores, query: Rows, item: Rows, values: Array) -> RowScores:
    """Return the scores with other values at some distinct pairs, given by query row and gallery row."""
    size = scores.shape[0], scores.shape[1]
    places: Any = sparse.csr_array((np.arange(1, len(query) + 1), (query, item)), shape=size)

    def make(rows: Any, items: Any) -> Array:
        made = scores.make(rows, items)
        made = np.array(made, dtype=np.result_type(made, values))
        found = places[rows][:, items].tocoo()
        made[found.coords] = values[found.data - 1]
        return made

    other = scores.other and replace_pairs(scores.other, item, query, values)
    return RowScores(make, scores.shape, other=other)


def drop_pairs(scores: RowScores, query: Rows, item: Rows) -> RowScores:
    """Return the scores without some pairs, given by query row and gallery row: their score is ``-inf``."""
    return replace_pairs(scores, query, item, np.full(len(query), -np.inf, np.float32))


def in_memory(scores: AnyScores) -> AnyScores:
    """Make all scores, and hold them as a matrix; those whose directions differ as two."""
    rows = by_rows(scores)
    if rows.other is None:
        return rows.rows()
    return replace(by_rows(rows.rows()), other=by_rows(rows.T.rows()))


def reranked(
    scores: AnyScores, k: int, score: Callable[[Rows, Rows], Array], weight: float | None = None
) -> RowScores:
    """Return the scores with the best items of every query scored again: in each direction the ``k`` best,
    and those equal to the last of these. All others stand below them, in the order that they had.

    Args:
        scores: ``(I, T)``.
        k: items of a query.
        score: new scores of the pairs ``(N,)`` of these images and captions, images ascending; each pair is
            asked for once, also where it is among the best of its image and of its caption.
        weight: of the new scores, which are added to the old ones, as the code of BLIP does with weight 1
            (arXiv:2201.12086); ``None`` = they replace the old ones, as in ALBEF (arXiv:2107.07651).

    >>> scores = reranked(np.array([[0.9, 0.8, 0.3], [0.1, 0.2, 0.4]]), 1, lambda image, _: 1.0 * image)
    >>> scores.rows()
    array([[ 0. , -1.1, -1.6],
           [-1.8, -1.7,  1. ]])
    >>> scores.T.rows()
    array([[ 0. , -1.8],
           [ 0. , -1.7],
           [-1.6,  1. ]])
    """
    rows, captions = by_rows(scores), scores.shape[1]
    image, caption = _best_pairs(rows, k)
    other, turned = _best_pairs(rows.T, k)
    names = np.concatenate([image * captions + caption, turned * captions + other])
    pairs, place = np.unique(names, return_inverse=True)
    first, second = np.divmod(pairs, captions)
    old = np.zeros(0) if weight is None else at_pairs(rows, first, second)
    values = combine_stages(old, score(first, second), weight)
    # in twice the digits, so that no two scores become one
    below = np.float64(max(part.max() for _, part in blocks(rows, rows.shape))) - values.min() + 1
    rest = RowScores(lambda some, items: rows.make(some, items) - below, rows.shape)
    front = replace_pairs(rest, image, caption, values[place[: len(image)]])
    back = replace_pairs(rest.T, other, turned, values[place[len(image) :]])
    return replace(front, other=back)


def reranked_row(scores: Array, k: int, score: Callable[[Rows], Array], weight: float | None = None) -> Array:
    """Return ``(N,)`` scores of one query, with its best items scored again, see ``reranked``.

    Args:
        scores: ``(N,)``.
        k: items that are scored again.
        score: new scores of these items, ascending.
        weight: see there.
    """
    items = _best_pairs(by_rows(scores[None]), k)[1]
    values = combine_stages(scores[items], score(items), weight)
    out: Array = scores - (np.float64(scores.max()) - values.min() + 1)
    out[items] = values
    return out


def combine_stages(old: Array, new: Array, weight: float | None) -> Array:
    """Combine scores ``(N,)`` of two stages: the new ones alone, or their weighted sum with the old ones."""
    if weight is None:
        return np.asarray(new, np.float64)
    return np.asarray(old, np.float64) + weight * np.asarray(new, np.float64)


def _best_pairs(scores: RowScores, k: int) -> tuple[Rows, Rows]:
    """Return query and item of the pairs that score at least as much as the ``k``-th best of the query."""
    kept, last = [], -min(k, scores.shape[1])
    for first, rows in blocks(scores, scores.shape):
        query, item = np.nonzero(rows >= np.partition(rows, last, axis=1)[:, [last]])
        kept.append((query + first, item))
    query, item = map(np.concatenate, zip(*kept, strict=True))
    return query, item


def image_by_image(score: Callable[[Rows, Rows], Array], rows: Rows, items: Rows) -> Array:
    """Score pairs ``(N,)`` of images, ascending, and texts.

    Args:
        score: gives the scores ``(n,)`` of one image ``(1,)`` and some texts ``(n,)``.
        rows: image of each pair.
        items: its text.
    """
    parts = [np.zeros(0, np.float32)]
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    for row, texts in zip(rows[starts], np.split(items, starts[1:]), strict=True):
        parts.append(score(np.array([row]), texts))
    return np.concatenate(parts)


def blocks(
    scores: AnyScores, shape: tuple[int, ...], step: int | None = None, *, checked: bool = True
) -> Iterator[tuple[int, Array]]:
    """Yield consecutive blocks of queries, ``step`` at a time or as the scores prefer: number of the first
    query, and the rows. ``shape`` is that of the judgements. Without ``checked``, whoever reads looks for
    NaN.

    Raises:
        ValueError: shapes differ, or a score is NaN.
    """
    source = by_rows(scores)
    require(
        tuple(source.shape) == tuple(shape),
        f"scores are {tuple(source.shape)}, the judgements (queries, gallery) are {tuple(shape)}",
    )
    size = step or source.step
    with Task("ranking", shape[0], "queries", shown=size < shape[0]) as task:
        for first in range(0, shape[0], size):
            rows = source.rows(slice(first, min(first + size, shape[0])))
            if checked:
                require_no_nan(first, rows)
            yield first, rows
            task.update(len(rows))


class NanScoresError(ValueError):
    """Scores that are NaN, which have no rank."""


def require_no_nan(first: int, rows: Array) -> None:
    """Raise if a block of queries has a NaN among its scores; ``first`` is the number of its first query."""
    # the least of numbers among which one is NaN is NaN: one pass without a copy
    if rows.size and np.isnan(rows.min()):
        bad, last = int(np.isnan(rows).sum()), first + len(rows) - 1
        raise NanScoresError(f"{bad} scores are NaN among queries {first} to {last}; a NaN has no rank")


def at_pairs(scores: AnyScores, queries: Rows, items: Rows) -> Array:
    """Return ``(N,)`` scores of single pairs, given by query row and gallery row."""
    if isinstance(scores, np.ndarray):
        return np.asarray(scores[queries, items])
    order, parts = np.argsort(queries, kind="stable"), [np.zeros(0)]
    for first, rows in blocks(scores, scores.shape):
        kept = order[slice(*np.searchsorted(queries[order], [first, first + len(rows)]))]
        parts.append(rows[queries[kept] - first, items[kept]])
    return np.asarray(np.concatenate(parts)[np.argsort(order, kind="stable")])


def best_items(scores: AnyScores, k: int) -> tuple[Array, Rows]:
    """Return the ``k`` best items of every query: scores, largest first, and gallery rows ``(queries, k)``;
    among equal scores the lower row first.

    Raises:
        ValueError: a score is NaN.

    >>> best_items(np.array([[0.1, 0.9, 0.9]]), 2)[1].tolist()
    [[1, 2]]
    """
    parts = [best_of_block(rows, k) for _, rows in blocks(scores, scores.shape)]
    found, items = map(np.concatenate, zip(*parts or [best_of_block(np.empty(scores.shape), k)], strict=True))
    return found, items


def best_of_block(rows: Array, k: int) -> tuple[Array, Rows]:
    """Return ``best_items`` of a block of rows."""
    items = np.empty((len(rows), k), np.int64)
    for at, (row, bound) in enumerate(zip(rows, _score_bounds(rows, k), strict=True)) if k else ():
        kept = np.flatnonzero(row >= bound)
        items[at] = kept[np.argsort(-row[kept], kind="stable")[:k]]
    return np.take_along_axis(rows, items, axis=1), items


def top_k(query: Array, gallery: Any, k: int) -> tuple[Array, Rows]:
    """Return the ``k`` gallery rows ``(N, D)`` with the largest inner product, for each query ``(Q, D)``:
    scores ``(Q, k)``, largest first, and rows ``(Q, k)``; of equal scores the lower row first. The gallery
    may be an index whose ``search(query, k)`` answers, such as one of faiss.

    Raises:
        ValueError: ``k`` is not in 1..N, or a score is NaN.

    >>> top_k(np.eye(2), np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]), 2)[1].tolist()
    [[1, 0], [0, 2]]
    """
    if hasattr(gallery, "search"):
        scores, rows = gallery.search(query, k)
        return scores, rows
    require(1 <= k <= len(gallery), f"k = {k} must lie in 1..{len(gallery)}, the size of the gallery")
    return best_items(products(query, gallery), k)


def _score_bounds(rows: Array, k: int) -> Array:
    """Return, for every row, a score that at least ``k`` of its items reach, and few more: the ``k``-th
    largest of the greatest scores of its parts, or in short rows of the scores themselves.
    """
    parts = max(PARTS * k, isqrt(rows.shape[1]))
    if (size := rows.shape[1] // parts) > 1:
        rows = rows[:, : parts * size].reshape(len(rows), parts, size).max(axis=2)
    return np.asarray(np.partition(rows, -k, axis=1)[:, -k])
