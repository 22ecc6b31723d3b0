"""Rows of different length, stored end to end and padded only when a batch is taken."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def offsets(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.int64]:
    """``(N + 1,)`` start of each row in the flat array, and the end of the last one."""
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]).astype(np.int64)


def padded(
    flat: NDArray[np.generic], starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """Some rows as one array, padded with 0 to the longest of them.

    Args:
        flat: ``(total, ...)`` all rows end to end; may be memory-mapped.
        starts: ``(N + 1,)`` offsets.
        rows: ``(n,)`` which rows.

    Returns:
        ``(n, L, ...)`` values and ``(n, L)`` True where a value is real.
    """
    lengths = starts[rows + 1] - starts[rows]
    places = np.arange(lengths.max(initial=0))
    mask = places < lengths[:, None]
    values = np.zeros((*mask.shape, *flat.shape[1:]), dtype=flat.dtype)
    values[mask] = flat[(starts[rows][:, None] + places)[mask]]
    return values, mask
