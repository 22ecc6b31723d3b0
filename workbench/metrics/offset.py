"""mAP@R from image to text after the best offset of captions that does not look at the image.

``offset_map_at_r``: "mAP@R of ``S_it - mean_j S_jt + a x_t``: each caption loses its mean score over other
images and gains ``a`` times its level, its number of words or its descriptiveness; ``a`` is the number that
gives the largest mAP@R on these other images." A constant that is added to all scores of a caption changes
nothing, so that models are compared by what they know of the image alone.

``added_map_at_r``: "mAP@R of ``S_it + a x_t``", which keeps what the model knows of how common a caption is.
What it gains over ``map_at_r`` is what that one number knows and the model does not.

The images are cut into two halves, each of which is measured with the offset of the other.

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported. The coefficient is sought on at most 250 images of a half, evenly spread: among multiples
of the standard deviation of the scores, and then between the neighbours of the best.

Source: mAP@R as in ``map_at_r``; the offset is this workbench's.
"""

from collections.abc import Callable, Iterator
from copy import copy

import numpy as np

from workbench.metrics.blocks import RowScores
from workbench.metrics.evaluation import Evidence, JudgedSide
from workbench.metrics.map_at_r import map_at_r
from workbench.metrics.ranks import Relevant, rank
from workbench.metrics.registry import Metric
from workbench.records import Array, Rows, Values

HALVES, MOST = 2, 250
# multiples of the standard deviation at which the coefficient is sought, and how often the best is refined
STEPS = (0.0, 0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
REFINED = 4


def best_coefficient(scores: Array, relevant: Relevant, column: Values) -> float:
    """Return the ``a`` with the largest mAP@R of ``scores + a * column``; of equally good ones the first
    tried.

    Args:
        scores: ``(I, T)``.
        relevant: the relevant pairs, images first.
        column: ``(T,)``.
    """

    def quality(value: float) -> float:
        return float(np.nanmean(map_at_r(rank(scores + value * column, relevant))))

    spread = scores.std()
    above = spread * np.array(STEPS)
    tried: list[float] = np.unique([-above, above]).tolist()
    return _refine(quality, tried)


def _refine(quality: Callable[[float], float], tried: list[float]) -> float:
    """Return the best of the values, and then of those halfway to its neighbours, several times."""
    found = {value: quality(value) for value in tried}
    for _ in range(REFINED):
        order = sorted(found)
        at = order.index(max(found, key=lambda value: found[value]))
        for other in (at - 1, at + 1):
            if 0 <= other < len(order):
                between = (order[at] + order[other]) / 2
                found[between] = quality(between)
    return max(found, key=lambda value: found[value])


def caption_offsets(
    scores: RowScores, relevant: Relevant, column: Values, images: Rows, *, centred: bool = True
) -> Values:
    """Return ``(T,)`` the offset of each caption, as some images say.

    Args:
        scores: ``(I, T)``.
        relevant: the relevant pairs, images first.
        column: ``(T,)`` a number of each caption.
        images: rows of the images.
        centred: take the mean score of each caption away.
    """
    every = np.arange(scores.shape[1])
    part = scores.select(images, every).rows().astype(np.float64)
    mean = part.mean(axis=0) if centred else np.zeros(len(every))
    few = np.linspace(0, len(images) - 1, min(MOST, len(images))).astype(np.int64)
    spread = column.std()
    asked = relevant.select_queries(images[few])
    if spread == 0 or not asked.counts.any():
        return np.asarray(-mean)
    standard = (column - column.mean()) / spread
    return np.asarray(best_coefficient(part[few] - mean, asked, standard) * standard - mean)


class OffsetMapAtR(Metric):
    """mAP@R from image to text after the best offset of captions that does not look at the image."""

    name = "offset_map_at_r"
    hit = (
        "precision at each relevant item among the R best, summed and divided by R; each caption has the "
        "best offset, found on other images"
    )
    requires = "relevant"
    directions: tuple[str, ...] = ("i2t",)
    by = ("densest",)
    default = False
    column = ""
    centred = True

    def parts(self, evidence: Evidence) -> Iterator[Metric]:
        """Yield one for each number that captions have without any image."""
        for name in evidence.columns:
            part = copy(self)
            part.column, part.subset = name, f"by {name}"
            yield part

    def per_query(self, inputs: JudgedSide, k: int | None = None) -> Values:
        """Return ``(queries,)`` mAP@R with the offset of the other half of the images."""
        out = np.full(inputs.scores.shape[0], np.nan)
        if len(out) < HALVES:
            return out
        half = np.arange(len(out)) % HALVES
        every = np.arange(inputs.scores.shape[1])
        for number in range(HALVES):
            inside, outside = np.flatnonzero(half == number), np.flatnonzero(half != number)
            column = inputs.columns[self.column]
            added = caption_offsets(inputs.scores, inputs.relevant, column, outside, centred=self.centred)
            scores = inputs.scores.select(inside, every).rows().astype(np.float64) + added
            out[inside] = map_at_r(rank(scores, inputs.relevant.select_queries(inside)))
        return out


class AddedMapAtR(OffsetMapAtR):
    """mAP@R from image to text after the best multiple of a number that captions have without any image."""

    name = "added_map_at_r"
    hit = (
        "precision at each relevant item among the R best, summed and divided by R; the best multiple of one "
        "number of each caption is added, found on other images"
    )
    centred = False


MEMBER = (OffsetMapAtR, AddedMapAtR)
