"""Two maps laid on one another, and what lies elsewhere on the second.

A map may be turned, mirrored and scaled without saying anything else, so two maps can be compared only after
the second has been laid on the first as well as that allows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Aligned:
    """Points laid on other points.

    Args:
        points: ``(N, D)`` the second points where they come to lie, in the units of the first.
        moved: ``(N,)`` distance that is left between the two places of each item.
        disparity: share of the first points' spread that the second does not explain, in [0, 1]; 0 = the same
            shape.
    """

    points: Values
    moved: Values
    disparity: float


def procrustes(reference: NDArray[Any], points: NDArray[Any]) -> Aligned:
    """Move, turn, mirror and scale points so that the squared distances from the reference are least.

    Args:
        reference: ``(N, D)`` first places, e.g. of a map or of a whole space.
        points: ``(N, D)`` second places of the same items.

    Raises:
        ValueError: the shapes differ, or all points of one side coincide.

    Source:
        Gower, "Generalized Procrustes analysis", Psychometrika 1975; rotation by the singular value
        decomposition.
    """
    if reference.shape != points.shape:
        raise ValueError(
            f"places of the same items are compared, got shapes {reference.shape} and {points.shape}"
        )
    first, second = reference.astype(np.float64), points.astype(np.float64)
    centre = first.mean(axis=0)
    first, second = first - centre, second - second.mean(axis=0)
    spread = np.square(first).sum(), np.square(second).sum()
    if min(spread) == 0:
        raise ValueError("all points of one side coincide, which no turning lays on others")
    left, strengths, right = np.linalg.svd(second.T @ first, full_matrices=False)
    laid = strengths.sum() / spread[1] * second @ (left @ right)
    rest = first - laid
    return Aligned(laid + centre, np.linalg.norm(rest, axis=1), float(np.square(rest).sum() / spread[0]))


def most_moved(moved: NDArray[Any], count: int) -> Rows:
    """Rows of the items that moved most, the farthest first; of equal ones the lower row first.

    >>> most_moved(np.array([0.1, 0.9, 0.4]), 2).tolist()
    [1, 2]
    """
    return np.argsort(-moved, kind="stable")[:count].astype(np.int64)
