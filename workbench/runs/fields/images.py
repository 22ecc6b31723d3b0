"""What pixels tell: the shape of an image, its brightness, and other images that look the same.

Images are alike where each of 64 neighbouring places is brighter than the next, or is not, in both: the
difference hash of N. Krawetz, "Kind of like that", 2013.
"""

from collections.abc import Iterable

import numpy as np

from workbench.runs.fields.base import FieldExtractor, Material


def aspect_ratios(material: Material) -> Iterable[float]:
    """Return ``(I,)`` width divided by height."""
    return material.image_statistics[0]


def brightness(material: Material) -> Iterable[float]:
    """Return ``(I,)`` mean brightness, 0 = black, 1 = white."""
    values: Iterable[float] = material.image_statistics[1].mean(axis=(1, 2))
    return values


def near_duplicates(material: Material) -> Iterable[float]:
    """Return ``(I,)`` how many other images look the same."""
    grey = material.image_statistics[1]
    hashes = np.packbits((grey[:, :, 1:] > grey[:, :, :-1]).reshape(len(grey), -1), axis=1)
    _, place, counts = np.unique(hashes, axis=0, return_inverse=True, return_counts=True)
    others: Iterable[float] = counts[place.ravel()] - 1
    return others


MEMBER = (
    FieldExtractor("aspect", "width divided by height", "image", "number", aspect_ratios, "images"),
    FieldExtractor("brightness", "mean brightness, 0 to 1", "image", "number", brightness, "images"),
    FieldExtractor(
        "near_duplicates", "other images that look the same", "image", "number", near_duplicates, "images"
    ),
)
