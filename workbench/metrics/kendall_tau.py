"""Kendall tau: "``1 - 2 discordant / pairs of different grades``: 1 for a perfect order, -1 for a reversed
one".

That is Somers' D of the scores given the grades; tau-b would also divide by the root of the share of pairs
with different grades, and a perfect order of grades with ties would then stay below 1. An equally scored pair
of different grades is discordant. A query whose judged items all have one grade does not count.

Source: M. Kendall, A new measure of rank correlation, Biometrika 30, 1938; R. Somers, A new asymmetric
measure of association for ordinal variables, American Sociological Review 27, 1962.
"""

import numpy as np
import scipy

from workbench.metrics.grades import Lists
from workbench.metrics.ndcg import GRADED_TIES
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.records import Rows, Values


def kendall_tau(found: Lists, k: int | None = None) -> Values:
    """``(queries,)`` agreement of the order with the grades, in [-1, 1]; NaN where the judged items all have
    one grade.

    >>> from workbench.metrics.grades import lists
    >>> (_, found), *_ = lists(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0, 1.0]]))
    >>> kendall_tau(found).tolist()  # 1 of 5 pairs discordant
    [0.6]
    """
    discordant, pairs = np.array([_counts(row[row > 0]) for row in found.codes]).reshape(-1, 2).T
    return 1 - 2 * ratio(discordant, pairs)


def _counts(codes: Rows) -> tuple[float, int]:
    """Discordant pairs of a list of codes, best score first, and pairs of different codes."""
    size, same = len(codes), np.bincount(codes)
    every = size * (size - 1) // 2
    pairs = every - int((same * (same - 1)).sum()) // 2
    if not pairs:
        return 0, 0
    # no two scores are equal here, so that tau-b is the concordant less the discordant over this root
    gap = round(scipy.stats.kendalltau(np.arange(size, 0, -1), codes).statistic * (every * pairs) ** 0.5)
    return (pairs - gap) / 2, pairs


MEMBER = Metric.row(
    "kendall_tau", kendall_tau, "1 - 2 discordant pairs / pairs of different grades", requires="lists",
    directions=("i2t", "t2i"), by=("graded",), face="correlation", ties=GRADED_TIES,
)  # fmt: skip
