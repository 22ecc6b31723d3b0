"""Kendall tau: "``1 - 2 discordant / pairs of different grades``: 1 for a perfect order, -1 for a reversed
one".

That is Somers' D of the scores given the grades; tau-b would also divide by the root of the share of pairs
with different grades, and a perfect order of grades with ties would then stay below 1. An equally scored pair
of different grades is discordant. A query whose judged items all have one grade does not count.

Source: M. Kendall, A new measure of rank correlation, Biometrika 30, 1938; R. Somers, A new asymmetric
measure of association for ordinal variables, American Sociological Review 27, 1962.
"""

import numpy as np

from workbench.metrics.grades import Lists
from workbench.metrics.ndcg import GRADED_TIES
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.records import Values


def kendall_tau(lists: Lists, k: int | None = None) -> Values:
    """Return ``(queries,)`` agreement of the order with the grades, in [-1, 1]; NaN where the judged items
    all have one grade.

    >>> from workbench.metrics.grades import lists
    >>> (_, found), *_ = lists(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0, 1.0]]))
    >>> kendall_tau(found).tolist()  # 1 of 5 pairs discordant
    [0.6]
    """
    from workbench.metrics.compiled import discordant_pairs  # slow to import

    discordant, pairs = discordant_pairs(lists.codes.astype(np.int64), len(lists.distinct))
    return 1 - 2 * ratio(discordant, pairs)


MEMBER = Metric.from_function(
    "kendall_tau",
    kendall_tau,
    "1 - 2 discordant pairs / pairs of different grades",
    requires="lists",
    directions=("i2t", "t2i"),
    by=("graded",),
    face="correlation",
    ties=GRADED_TIES,
)
