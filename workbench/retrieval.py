"""Nearest neighbours: exact, by blocks, so that a score matrix of any size never lies in memory whole.

Among equal scores the lower row comes first. Scores are those of the blocks' matrix products, whose last digit may depend on the
block's shape, so that two equal gallery vectors in different blocks may differ by rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows

Vectors = NDArray[Any]


def blocks(size: int, step: int) -> Iterator[slice]:
    """Consecutive slices of at most ``step`` that cover ``size`` rows.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    if step < 1:
        raise ValueError(f"a block needs at least one row, got {step}")
    for first in range(0, size, step):
        yield slice(first, min(first + step, size))


def top_k(query: Vectors, gallery: Vectors, k: int, *, chunk: int = 8192) -> tuple[Vectors, Rows]:
    """The ``k`` gallery rows with the largest inner product, for each query.

    Args:
        query: ``(Q, D)`` vectors; unit length makes the score a cosine.
        gallery: ``(N, D)`` vectors.
        k: how many, at most ``N``.
        chunk: gallery rows scored at a time, for ``chunk // 8`` queries at a time.

    Returns:
        Scores ``(Q, k)``, largest first, and gallery rows ``(Q, k)``.

    Raises:
        ValueError: ``k`` is not in 1..N, or a vector holds a NaN.

    >>> top_k(np.eye(2), np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]), 2)[1].tolist()
    [[1, 0], [0, 2]]
    """
    if not 1 <= k <= len(gallery):
        raise ValueError(f"k = {k} must lie in 1..{len(gallery)}, the size of the gallery")
    if np.isnan(query).any() or np.isnan(gallery).any():
        raise ValueError("a vector holds a NaN, which is near to nothing")
    found = [_top_k(query[part], gallery, k, chunk) for part in blocks(len(query), max(1, chunk // 8))]
    empty = (np.zeros((0, k), dtype=query.dtype), np.zeros((0, k), dtype=np.int64))
    scores, rows = zip(empty, *found, strict=True)
    return np.concatenate(scores), np.concatenate(rows)


def _top_k(query: Vectors, gallery: Vectors, k: int, chunk: int) -> tuple[Vectors, Rows]:
    scores, rows = np.zeros((len(query), 0), dtype=query.dtype), np.zeros((len(query), 0), dtype=np.int64)
    for part in blocks(len(gallery), chunk):
        of_part = np.broadcast_to(np.arange(part.start, part.stop), (len(query), part.stop - part.start))
        scores, rows = np.hstack([scores, query @ gallery[part].T]), np.hstack([rows, of_part])
        scores, rows = _best(scores, rows, min(k, scores.shape[1]))
    order = np.argsort(-scores, axis=1, kind="stable")
    return np.take_along_axis(scores, order, 1), np.take_along_axis(rows, order, 1)


def _best(scores: Vectors, rows: Rows, k: int) -> tuple[Vectors, Rows]:
    """The ``k`` largest of each line, in their old order; of those equal to the last one kept, the leftmost."""
    least = np.partition(scores, -k, axis=1)[:, -k, None]
    above, equal = scores > least, scores == least
    room = k - above.sum(axis=1, keepdims=True)
    kept = above | (equal & (np.cumsum(equal, axis=1) <= room))
    return scores[kept].reshape(len(scores), k), rows[kept].reshape(len(scores), k)
