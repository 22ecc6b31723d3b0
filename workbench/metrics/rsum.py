"""RSUM: "the sum of R@1, R@5 and R@10 of both directions", here in [0, 6]; papers print it as a sum of
percents.

Its interval is that of the joint resample: an image that is drawn brings its hits and those of its captions.

Source: F. Faghri et al., VSE++, BMVC 2018, section 4 (R@K); the sum is the field's habit.
"""

from __future__ import annotations

import numpy as np

from workbench.metrics.intervals import Values
from workbench.metrics.ranks import Ranks
from workbench.metrics.table import Metric


class Rsum(Metric):
    """Sum of the hit rates at 1, 5 and 10 in both directions."""

    name = "rsum"
    hit = "sum of the hit rates at 1, 5 and 10 of both directions; gallery = images + captions"
    directions: tuple[str, ...] = ("i2t", "t2i")
    by: tuple[str, ...] = ("own",)
    face = "sum"
    summed = True
    depths_summed: tuple[int, ...] = (1, 5, 10)

    def per_query(self, found: Ranks, k: int | None = None) -> Values:
        """``(queries,)`` number of depths at which the query has a hit, NaN where nothing is relevant."""
        hits = found.first[:, None] <= np.array(self.depths_summed)
        return np.where(np.isnan(found.first), np.nan, hits.sum(axis=1))


MEMBER = Rsum
