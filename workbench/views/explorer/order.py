"""Places in a ranking: larger scores first, of equal ones the lower row first; what has no score comes last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows


def first(scores: NDArray[Any], k: int, passes: NDArray[np.bool_] | None = None) -> Rows:
    """The ``k`` best rows, best first.

    Args:
        scores: ``(N,)``; NaN = not known, and never among the best.
        k: how many at most.
        passes: ``(N,)`` which rows may be shown; ``None`` = all.

    Returns:
        ``(at most k,)`` rows.

    >>> first(np.array([0.1, 0.9, np.nan, 0.9]), 3).tolist()
    [1, 3, 0]
    """
    known = ~np.isnan(scores) if passes is None else passes & ~np.isnan(scores)
    rows = np.flatnonzero(known)
    if len(rows) > k:
        values = scores[rows]
        least = np.partition(values, len(rows) - k)[len(rows) - k]
        above, equal = rows[values > least], rows[values == least]
        rows = np.sort(np.concatenate([above, equal[: k - len(above)]]))
    return rows[np.argsort(-scores[rows], kind="stable")]


def places(scores: NDArray[Any], rows: Sequence[int]) -> list[int | None]:
    """The rank of each of these rows, counted from 1; ``None`` where it has no score.

    >>> places(np.array([0.1, 0.9, np.nan, 0.9]), [0, 1, 2, 3])
    [3, 1, None, 2]
    """
    found: list[int | None] = []
    for row in rows:
        value = scores[row]
        before = int((scores > value).sum()) + int((scores[:row] == value).sum())
        found.append(None if np.isnan(value) else before + 1)
    return found
