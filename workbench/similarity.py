"""Score matrices. Larger = more alike; a distance is negated here and nowhere else."""

from __future__ import annotations

from torch import Tensor


def cosine(image: Tensor, text: Tensor) -> Tensor:
    """Cosine of unit vectors.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors.

    Returns:
        ``(I, T)`` scores in [-1, 1].
    """
    return image @ text.T


def distance(scores: Tensor, *, floor: float = 1e-12) -> Tensor:
    """Euclidean distance between unit vectors from their cosine, ``sqrt(2 - 2 s)``.

    Args:
        scores: cosines, any shape.
        floor: the squared distance is at least this, since the root has an infinite slope at 0.

    Returns:
        Distances, same shape; larger = less alike.
    """
    return (2 - 2 * scores).clamp(min=floor).sqrt()
