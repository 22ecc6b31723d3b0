"""How far a map can be trusted: every map of many dimensions in two shows neighbours that are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows
from workbench.retrieval import blocks
from workbench.views.maps import neighbours

CHUNK = 256


@dataclass(frozen=True)
class Quality:
    """What a map keeps of the space that it shows.

    Args:
        k: neighbours that were asked for.
        trustworthiness: 1 = no point has a neighbour on the map that is far away in the space; about 0.5 = at
            random.
        overlap: share of the ``k`` nearest in the space that are among the ``k`` nearest on the map.
        chance: what the overlap would be for a map drawn at random.
    """

    k: int
    trustworthiness: float
    overlap: float
    chance: float


def measure(
    vectors: NDArray[Any], points: NDArray[Any], near: Rows, *, sample: int = 2000, seed: int = 0
) -> Quality:
    """Trustworthiness and neighbourhood overlap of a map.

    Args:
        vectors: ``(N, D)`` unit vectors.
        points: ``(N, 2)`` places on the map.
        near: ``(N, k)`` nearest others in the space.
        sample: trustworthiness is estimated on so many points where there are more.
        seed: of the sample.
    """
    k, size = near.shape[1], len(vectors)
    shown = neighbours.on_map(points, k)
    rows = np.arange(size)
    if size > sample:
        rows = np.sort(np.random.default_rng(seed).choice(size, sample, replace=False))
    kept = float(neighbours.overlap(near, shown).mean())
    return Quality(k, trustworthiness(vectors, shown, rows), kept, k / (size - 1))


def trustworthiness(vectors: NDArray[Any], shown: Rows, rows: Rows | None = None) -> float:
    """Penalty for neighbours on the map that are none in the space, by how far down the list they come there.

    ``1 - 2 / (n k (2 N - 3 k - 1)) * sum_i sum_j max(0, r(i, j) - k)`` over ``n`` points and their ``k``
    neighbours on the map; ``r`` is the rank in the space by cosine, 1 = nearest.

    Args:
        vectors: ``(N, D)`` unit vectors.
        shown: ``(N, k)`` neighbours on the map.
        rows: ``(n,)`` points to look at; ``None`` = all.

    Returns:
        A number up to 1.

    Raises:
        ValueError: ``k`` is not below half the number of points, beyond which the formula has no scale.

    Source:
        Venna, Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001, Eq. 1.
    """
    size, k = shown.shape
    rows = np.arange(size) if rows is None else rows
    if not k < size / 2:
        raise ValueError(
            f"trustworthiness of {k} neighbours needs more than {2 * k} points, there are {size}"
        )
    penalty = 0
    for part in blocks(len(rows), CHUNK):
        chosen = rows[part]
        scores = vectors[chosen] @ vectors.T
        scores[np.arange(len(chosen)), chosen] = -np.inf
        of_shown = np.take_along_axis(scores, shown[chosen], axis=1)
        for column in of_shown.T:
            ranks = 1 + (scores > column[:, None]).sum(axis=1)
            penalty += int(np.maximum(ranks - k, 0).sum())
    share: float = 2 * penalty / (len(rows) * k * (2 * size - 3 * k - 1))
    return 1 - share
