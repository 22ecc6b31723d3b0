"""What labels call an error and better judgements do not: false negatives at the top of the list.

"Of the queries whose best scored item is not their own, how many have a best item that is truly relevant?"
With binary labels a caption belongs to one image; it may be true of many. The exact truth of the embedded
world, or any denser judgements, tells the model's errors from the labels'.

A tie counts against the model by both judgements (``ranks``): an item is on top only if no item that is not
relevant scores as much. A query with nothing relevant by the labels does not count, and how many there were
is reported. Of ``false_negatives`` the queries are the errors; it is left out where there is none.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of MS-COCO).
"""

from __future__ import annotations

import numpy as np

from workbench.metrics.intervals import Values
from workbench.metrics.ranks import Ranks
from workbench.metrics.table import Metric

BothRanks = tuple[Ranks, Ranks]


class RightByLabels(Metric):
    """Whether the best scored item is relevant by the labels."""

    name, hit = "own", "the best scored item is relevant by the data set's own pairs"
    requires = "labels"
    directions = ("i2t", "t2i")
    ks = (1,)
    by = ("exact",)

    def per_query(self, found: BothRanks, k: int | None = None) -> Values:
        """``(queries,)`` 1 where it is; NaN where nothing is relevant by the labels."""
        best = found[0].first
        return np.where(np.isnan(best), np.nan, best == 1)


class RightByTruth(RightByLabels):
    """Whether the best scored item is relevant by the better judgements."""

    name, hit = "true", "the best scored item is relevant by {judgements}"

    def per_query(self, found: BothRanks, k: int | None = None) -> Values:
        """``(queries,)`` 1 where it is; NaN where nothing is relevant by the labels."""
        # nothing truly relevant (a NaN rank) compares as not on top
        return np.where(np.isnan(found[0].first), np.nan, found[1].first == 1)


class Errors(RightByLabels):
    """Whether the best scored item is not relevant by the labels."""

    name, hit = "errors", "the best scored item is not relevant by the data set's own pairs"
    ks = (None,)
    smaller_is_better = True

    def per_query(self, found: BothRanks, k: int | None = None) -> Values:
        """``(queries,)`` 1 where it is not; NaN where nothing is relevant by the labels."""
        return 1 - super().per_query(found)


class FalseNegatives(RightByTruth):
    """Share of the errors by the labels that are right by the better judgements."""

    name = "false_negatives"
    hit = (
        "the best scored item is relevant by {judgements}; queries = errors by the data set's own pairs, "
        "left out = the other queries"
    )
    ks = (None,)

    def per_query(self, found: BothRanks, k: int | None = None) -> Values:
        """``(queries,)`` 1 where an error by the labels is right, 0 where it is wrong, NaN = no error.

        >>> from workbench.metrics.ranks import rank
        >>> scores = np.array([[0.9, 0.1], [0.8, 0.2]])
        >>> labels, truth = np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool)
        >>> both = rank(scores, labels), rank(scores, truth)
        >>> FalseNegatives().per_query(both).tolist()
        [nan, 1.0]
        """
        return np.where(found[0].first > 1, super().per_query(found), np.nan)


MEMBER = (RightByLabels, RightByTruth, Errors, FalseNegatives)
