"""What is reached without a model: RSUM and recall of somebody who knows the truth, and the mAP@R of one list
for all queries.

``R_top`` at K: "R@K by annotated pairs, on average, of the best order that knows which images each caption is
true of, and not for which of them it was written: each of these n is as likely." From text to image this is
``min(K, n) / n``. From image to text the best K captions are those that are true of the image and of the
fewest others. They hold one of its own with the chance ``1 - prod(1 - 1 / n)``, divided by the same over all
captions that are true of it, since an image without captions of its own is no query. ``rsum_top`` is the sum
over K = 1, 5, 10 and both directions. A model may lie above it where captions are not written at random.

``same_list``: "mAP@R of one list for all queries, what is relevant to most of them first". A model below it
has learnt less from its queries than how common each item is.

Nothing here depends on scores, so there are no ties; of equally common items the earlier row comes first. A
query with nothing relevant does not count, and how many there were is reported.
"""

from collections.abc import Iterable

import numpy as np

from workbench.metrics.evaluation import Evidence, JudgedSide
from workbench.metrics.map_at_r import map_at_r, rank_alike
from workbench.metrics.ranks import Relevant, ratio
from workbench.metrics.registry import Metric
from workbench.records import Values

KS = (1, 5, 10)
TIES = "does not depend on scores"


def top_of_images(relevant: Relevant, k: int) -> Values:
    """Return ``(images,)`` chance that one of the ``k`` most specific captions that are true of an image is
    its own; NaN where none is true.

    Args:
        relevant: the relevant pairs, images first.
        k: depth.

    Of two captions that are both true of two images, either may be the image's own: three in four images
    have an own caption at all, and two of them at the first place.

    >>> top_of_images(Relevant.from_pairs(np.ones((2, 2), dtype=bool)), 1).round(6).tolist()
    [0.666667, 0.666667]
    """
    images = np.bincount(relevant.item, minlength=relevant.shape[1])[relevant.item]
    order = np.lexsort((images, relevant.query))
    first = np.isin(np.arange(len(order)), relevant.start)
    place = np.arange(len(order)) - np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
    # a caption that is true of one image is its own for certain
    with np.errstate(divide="ignore"):
        missed = np.log1p(-1 / images[order])
    among, anywhere = (
        -np.expm1(np.bincount(relevant.query, weights=part, minlength=relevant.shape[0]))
        for part in (np.where(place < k, missed, 0.0), missed)
    )
    return ratio(among, anywhere)


def top_of_captions(relevant: Relevant, k: int) -> Values:
    """Return ``(captions,)`` chance that the image which a caption was written for is among ``k`` of those
    that it is true of; NaN where there are none.

    Args:
        relevant: the relevant pairs, captions first.
        k: depth.
    """
    counts = relevant.counts
    return ratio(np.minimum(k, counts), counts)


class TopRecall(Metric):
    """R@K by annotated pairs of somebody who knows the truth and not the pairs."""

    name, hit = (
        "R_top",
        "chance of an annotated pair among the {k} best of an order that knows the truth alone",
    )
    requires, by = "relevant", ("densest",)
    ties = TIES
    ks: tuple[int | None, ...] = KS
    directions: tuple[str, ...] = ("i2t", "t2i")

    def parts(self, evidence: Evidence) -> Iterable[Metric]:
        """Return itself, where the judgements are the exact truth."""
        return (self,) if evidence.label == "exact" else ()

    def per_query(self, inputs: JudgedSide, k: int | None = None) -> Values:
        """Return ``(queries,)`` chance of an annotated pair among the ``k`` best; NaN where nothing is
        relevant.
        """
        top = top_of_images if inputs.direction == "i2t" else top_of_captions
        return top(inputs.relevant, k or 1)


class TopRsum(TopRecall):
    """Sum of ``R_top`` at 1, 5 and 10 of both directions."""

    name, hit = "rsum_top", "sum of R_top at 1, 5 and 10 of both directions; gallery = images + captions"
    ks = (None,)
    face, summed = "sum", True

    def per_query(self, inputs: JudgedSide, k: int | None = None) -> Values:
        """Return ``(queries,)`` sum over the depths."""
        return np.asarray(sum(TopRecall.per_query(self, inputs, depth) for depth in KS))


def same_list(side: JudgedSide, k: int | None = None) -> Values:
    """Return ``(queries,)`` mAP@R of one list for all queries; NaN where nothing is relevant."""
    return map_at_r(rank_alike(side.relevant))


MEMBER = (
    TopRecall,
    TopRsum,
    Metric.from_function(
        "same_list",
        same_list,
        "mAP@R of one list for all queries, what is relevant to most of them first",
        requires="relevant",
        directions=("i2t", "t2i"),
        by=("densest",),
        ties=TIES,
    ),
)
