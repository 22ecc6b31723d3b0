"""What labels call an error and better judgements do not: false negatives at the top of the list.

"Of the queries whose best scored item is not their own, how many have a best item that is truly relevant?"
With binary labels a caption belongs to one image; it may be true of many. The exact truth of the embedded
world, or any denser judgements, tells the model's errors from the labels'.

A tie counts against the model by both judgements (``ranks``): an item is on top only if no item that is not
relevant scores as much. A query with nothing relevant by the labels does not count, and how many there were
is reported. Of ``false_negatives`` the queries are the errors; it is left out where there is none.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of MS-COCO).
"""

from typing import Any

import numpy as np

from workbench.metrics.ranks import Ranks
from workbench.metrics.registry import Metric
from workbench.records import Values

BothRanks = tuple[Ranks, Ranks]


def own_first(both: BothRanks, k: int | None = None) -> Values:
    """Return ``(queries,)`` 1 where the best scored item is relevant by the labels; NaN where nothing is."""
    return np.where(np.isnan(both[0].first), np.nan, both[0].first == 1)


def true_first(both: BothRanks, k: int | None = None) -> Values:
    """Return ``(queries,)`` 1 where the best scored item is relevant by the better judgements; NaN where
    nothing is relevant by the labels.
    """
    # nothing truly relevant (a NaN rank) compares as not on top
    return np.where(np.isnan(both[0].first), np.nan, both[1].first == 1)


def first_errors(both: BothRanks, k: int | None = None) -> Values:
    """Return ``(queries,)`` 1 where the best scored item is not relevant by the labels; NaN where nothing
    is.
    """
    return 1 - own_first(both)


def false_negatives(both: BothRanks, k: int | None = None) -> Values:
    """Return ``(queries,)`` 1 where an error by the labels is right by the better judgements, 0 where it is
    wrong, NaN = no error.

    >>> from workbench.metrics.ranks import rank
    >>> scores = np.array([[0.9, 0.1], [0.8, 0.2]])
    >>> labels, truth = np.eye(2, dtype=bool), np.ones((2, 2), dtype=bool)
    >>> false_negatives((rank(scores, labels), rank(scores, truth))).tolist()
    [nan, 1.0]
    """
    return np.where(both[0].first > 1, true_first(both), np.nan)


SHARED: dict[str, Any] = {"requires": "labels", "directions": ("i2t", "t2i"), "by": ("exact",)}
OWN_HIT = "the best scored item is relevant by the data set's own pairs"
TRUE_HIT = "the best scored item is relevant by {judgements}"
ERROR = "the best scored item is not relevant by the data set's own pairs"
FALSE_NEGATIVE = f"{TRUE_HIT}; queries = errors by the data set's own pairs, left out = the other queries"
MEMBER = (
    Metric.from_function("own", own_first, OWN_HIT, ks=(1,), **SHARED),
    Metric.from_function("true", true_first, TRUE_HIT, ks=(1,), **SHARED),
    Metric.from_function("errors", first_errors, ERROR, smaller_is_better=True, **SHARED),
    Metric.from_function("false_negatives", false_negatives, FALSE_NEGATIVE, **SHARED),
)
