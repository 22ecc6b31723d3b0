"""How many items are relevant to an image or a caption, by the judgements that say most about all pairs."""

from collections.abc import Callable, Iterable

import numpy as np

from workbench.records import densest_judgements
from workbench.runs.fields.base import FieldExtractor, Material


def _relevant_counter(side: int) -> Callable[[Material], Iterable[float]]:
    """Return what counts the relevant items of each image (0) or caption (1)."""

    def count(material: Material) -> Iterable[float]:
        judgements = material.split.judgements
        judged = judgements[densest_judgements(judgements)]
        rows = (judged.images, judged.captions)[side][judged.grades >= judged.relevant_from]
        counts: Iterable[float] = np.bincount(rows, minlength=judged.shape[side])
        return counts

    return count


MEMBER = (
    FieldExtractor(
        "relevant_captions", "captions that are relevant to it", "image", "number", _relevant_counter(0)
    ),
    FieldExtractor(
        "relevant_images", "images that are relevant to it", "caption", "number", _relevant_counter(1)
    ),
)
