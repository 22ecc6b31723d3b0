"""Median rank: "the median, over queries, of the rank of the best relevant item, rounded down". Smaller is
better.

A query with nothing relevant does not count.

Source: F. Faghri et al., VSE++, BMVC 2018, section 4.
"""

from __future__ import annotations

from workbench.metrics.intervals import Values
from workbench.metrics.ranks import Ranks
from workbench.metrics.table import Metric


class MedianRank(Metric):
    """Median rank of the best relevant item."""

    name = "medr"
    hit = "median rank of the best relevant item, rounded down; smaller is better"
    by = ("own",)
    face = "rank"
    statistic = "median"
    smaller_is_better = True

    def per_query(self, found: Ranks, k: int | None = None) -> Values:
        """``(queries,)`` ranks, 1 = first; NaN where nothing is relevant."""
        return found.first


MEMBER = MedianRank
