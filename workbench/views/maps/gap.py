"""The modality gap: images and captions may lie in two clouds apart, whatever they show and say.

Source: Liang et al., "Mind the gap: understanding the modality gap in multi-modal contrastive representation
learning",
NeurIPS 2022, Sec. 4.2: the gap is the difference of the centres of the two clouds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Gap:
    """The gap of one space.

    Args:
        distance: of the centres, 0 to 2 for unit vectors.
        direction: ``(D,)`` unit vector from the captions' centre to the images' centre; zeros where the
            centres coincide.
        image: ``(I,)`` place of each image along the direction; 0 lies half way between the centres.
        text: ``(T,)`` the same of the captions.
        auc: chance that an image lies farther along the direction than a caption; 1 = the gap alone tells
            them apart, 0.5 = not at all. A tie counts half.
        accuracy: share that the half-way plane sorts rightly, the mean of both kinds.
    """

    distance: float
    direction: Values
    image: Values
    text: Values
    auc: float
    accuracy: float


def modality_gap(image: NDArray[Any], text: NDArray[Any]) -> Gap:
    """Distance and direction of the gap, and how well it separates the kinds.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors.
    """
    image, text = image.astype(np.float64), text.astype(np.float64)
    ends = image.mean(axis=0), text.mean(axis=0)
    difference = ends[0] - ends[1]
    distance = float(np.linalg.norm(difference))
    direction = difference / distance if distance else difference
    half_way = (ends[0] + ends[1]) / 2
    of_images, of_texts = (image - half_way) @ direction, (text - half_way) @ direction
    accuracy = ((of_images > 0).mean() + (of_texts < 0).mean()) / 2
    return Gap(distance, direction, of_images, of_texts, _auc(of_images, of_texts), float(accuracy))


def without(vectors: NDArray[Any], direction: NDArray[Any]) -> Values:
    """Unit vectors without their part along a direction.

    Args:
        vectors: ``(N, D)``.
        direction: ``(D,)`` unit vector.

    Returns:
        ``(N, D)`` of length 1, all at a right angle to the direction.
    """
    rest = vectors - np.outer(vectors @ direction, direction)
    return np.asarray(rest / np.linalg.norm(rest, axis=1, keepdims=True))


def _auc(above: Values, below: Values) -> float:
    """Chance that a member of ``above`` is larger than one of ``below``, from mean ranks."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([above, below]))[: len(above)]
    return float((ranks.sum() - len(above) * (len(above) + 1) / 2) / (len(above) * len(below)))
