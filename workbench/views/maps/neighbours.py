"""Nearest neighbours, in the full space and on the map, and how far two lists of them agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows
from workbench.retrieval import top_k

Values = NDArray[np.float64]


def in_space(vectors: NDArray[Any], k: int) -> Rows:
    """The ``k`` nearest other rows of each row by inner product, nearest first.

    Args:
        vectors: ``(N, D)``; unit length makes the inner product a cosine.
        k: how many, at most ``N - 1``.

    Returns:
        ``(N, k)`` rows; among equal ones the lower first.

    Raises:
        ValueError: there are not so many others.
    """
    _check(len(vectors), k)
    return _without_itself(top_k(vectors, vectors, k + 1)[1])


def on_map(points: NDArray[Any], k: int) -> Rows:
    """The ``k`` nearest other points of each point by Euclidean distance, nearest first.

    Args:
        points: ``(N, 2)``.
        k: how many, at most ``N - 1``.

    Returns:
        ``(N, k)`` rows.

    Raises:
        ValueError: there are not so many others.
    """
    from scipy.spatial import cKDTree

    _check(len(points), k)
    return _without_itself(np.asarray(cKDTree(points).query(points, k + 1)[1], dtype=np.int64))


def overlap(one: Rows, other: Rows) -> Values:
    """Share of each row's neighbours that both lists name.

    Args:
        one: ``(N, k)`` neighbours.
        other: ``(N, k)`` neighbours.

    Returns:
        ``(N,)`` in [0, 1].

    >>> overlap(np.array([[1, 2], [0, 2]]), np.array([[2, 1], [3, 0]])).tolist()
    [1.0, 0.5]
    """
    return np.asarray((one[:, :, None] == other[:, None, :]).any(axis=2).mean(axis=1))


def _without_itself(found: Rows) -> Rows:
    """Each line without its own row; a row among many equal ones may not be in its line, which then loses its
    last.
    """
    itself = found == np.arange(len(found))[:, None]
    itself[~itself.any(axis=1), -1] = True
    others: Rows = found[~itself].reshape(len(found), -1)
    return others


def _check(size: int, k: int) -> None:
    if not 1 <= k < size:
        raise ValueError(f"k = {k} neighbours of {size} points: k must lie in 1..{size - 1}")
