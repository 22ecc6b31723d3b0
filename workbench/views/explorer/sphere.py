"""Points between unit vectors, and cosines with a gallery of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.retrieval import blocks

if TYPE_CHECKING:
    from torch import Tensor

Vector = NDArray[np.float32]
BLOCK = 65_536


def unit(vector: NDArray[Any]) -> Vector:
    """The vector at length 1.

    Raises:
        ValueError: it has no direction, e.g. since what is added and what is taken away cancel out.
    """
    length = float(np.linalg.norm(vector))
    if not length > 1e-6:
        raise ValueError(
            "the question has no direction left: what is added and what is taken away cancel out"
        )
    return np.asarray(vector / length, dtype=np.float32)


def between(start: NDArray[Any], end: NDArray[Any], share: float) -> Vector:
    """The point on the great circle from ``start`` to ``end``, unit vectors.

    Args:
        start: ``(D,)``.
        end: ``(D,)``.
        share: 0 = start, 1 = end.

    Returns:
        ``(D,)`` unit vector. Of opposite vectors no circle is the shortest, and the straight way is taken.

    >>> [round(float(value), 4) for value in between(np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.5)]
    [0.7071, 0.7071]
    """
    angle = float(np.arccos(np.clip(float(start @ end), -1, 1)))
    if np.sin(angle) < 1e-6:
        return unit((1 - share) * start + share * end)
    return unit((np.sin((1 - share) * angle) * start + np.sin(share * angle) * end) / np.sin(angle))


def cosines(points: NDArray[Any], gallery: Tensor) -> NDArray[np.float32]:
    """Cosines of some points with a gallery that may be memory-mapped or in half precision, block by block.

    Args:
        points: ``(Q, D)`` unit vectors.
        gallery: ``(N, D)`` unit vectors.

    Returns:
        ``(Q, N)``.
    """
    import torch

    query = torch.from_numpy(np.ascontiguousarray(points, dtype=np.float32)).to(gallery.device)
    parts = [query @ gallery[part].float().T for part in blocks(len(gallery), BLOCK)]
    return torch.cat(parts, dim=1).cpu().numpy()
