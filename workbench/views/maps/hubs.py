"""Hubness: in spaces of many dimensions a few items are among the nearest of very many queries, and many of
none.

Source: Radovanović, Nanopoulos, Ivanović, "Hubs in space: popular nearest neighbors in high-dimensional
data", JMLR 2010.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows
from workbench.retrieval import top_k


def k_occurrence(found: Rows, size: int) -> Rows:
    """In how many result lists each gallery item stands.

    Args:
        found: ``(Q, k)`` gallery rows retrieved for each query.
        size: items in the gallery.

    Returns:
        ``(size,)`` counts; their mean is ``Q k / size``.

    >>> k_occurrence(np.array([[0, 1], [0, 2]]), 4).tolist()
    [2, 1, 1, 0]
    """
    return np.bincount(found.ravel(), minlength=size).astype(np.int64)


def skewness(counts: NDArray[Any]) -> float:
    """Third standardised moment of the counts: 0 = even, above about 1 = hubs; 0 where all counts are the
    same.

    >>> round(skewness(np.array([0, 0, 0, 4])), 4)
    1.1547
    """
    values = counts.astype(np.float64)
    deviation = values.std()
    return 0.0 if deviation == 0 else float((((values - values.mean()) / deviation) ** 3).mean())


def across(image: NDArray[Any], text: NDArray[Any], k: int) -> tuple[Rows, Rows]:
    """k-occurrence in cross-modal retrieval by cosine.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors.
        k: length of a result list.

    Returns:
        ``(I,)`` in how many captions' lists an image stands, and ``(T,)`` in how many images' lists a caption
        stands.
    """
    of_images = k_occurrence(top_k(text, image, min(k, len(image)))[1], len(image))
    of_texts = k_occurrence(top_k(image, text, min(k, len(text)))[1], len(text))
    return of_images, of_texts
