"""R-Precision: "the share of relevant items among the R best, R being their number".

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported.

Source: S. Chun et al., ECCV Caption, ECCV 2022.
"""

from __future__ import annotations

from workbench.metrics.intervals import Values
from workbench.metrics.ranks import Ranks
from workbench.metrics.table import Metric


class RPrecision(Metric):
    """Share of relevant items among the R best."""

    name = "r_precision"
    hit = "share of relevant items among the R best"
    directions = ("i2t", "t2i")
    by = ("others",)

    def per_query(self, found: Ranks, k: int | None = None) -> Values:
        """``(queries,)`` in [0, 1], NaN where nothing is relevant.

        >>> import numpy as np
        >>> from workbench.metrics.ranks import rank
        >>> ranks = rank(np.array([[0.9, 0.8, 0.7]]), np.array([[True, False, True]]))
        >>> RPrecision().per_query(ranks).tolist()
        [0.5]
        """
        return found.mean(found.rank <= found.counts[found.query])


MEMBER = RPrecision
