"""Recall at K in both conventions.

"R@K is the share of queries with at least one relevant item among the K best scored." This is the field's
R@K. The other convention, ``recall``, is the mean share of a query's relevant items among the K best. They
agree where every query has one relevant item.

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported. In the 1K protocol (five folds) consecutive blocks of images with their own captions are
separate galleries, and every number is the mean over the blocks.

Source: F. Faghri et al., VSE++, BMVC 2018, section 4.
"""

from __future__ import annotations

import numpy as np

from workbench.metrics.intervals import Values
from workbench.metrics.ranks import Ranks
from workbench.metrics.table import Metric


class HitRate(Metric):
    """Whether a query has a relevant item among its K best: the field's R@K."""

    name = "R"
    hit = "at least one relevant item among the {k} best"
    ks = (1, 5, 10)
    by = ("own", "others", "cxc")

    def depths(self, judgements: str) -> tuple[int | None, ...]:
        """All depths by own pairs and by those of Crisscrossed Captions, as printed; else the first."""
        return self.ks if judgements in ("own", "cxc") else self.ks[:1]

    def per_query(self, found: Ranks, k: int | None = None) -> Values:
        """``(queries,)`` of 1, 0, or NaN where nothing is relevant.

        >>> from workbench.metrics.ranks import rank
        >>> ranks = rank(np.array([[0.9, 0.2, 0.6], [0.3, 0.4, 0.5]]), np.eye(2, 3, dtype=bool))
        >>> HitRate().per_query(ranks, 1).tolist(), HitRate().per_query(ranks, 2).tolist()
        ([1.0, 0.0], [1.0, 1.0])
        """
        return np.where(np.isnan(found.first), np.nan, found.first <= (k or 1))


class Recall(Metric):
    """Share of a query's relevant items that are among its K best."""

    name = "recall"
    hit = "share of the relevant items among the {k} best"
    ks = (1, 5, 10)
    by = ("own",)

    def per_query(self, found: Ranks, k: int | None = None) -> Values:
        """``(queries,)`` in [0, 1], NaN where nothing is relevant.

        >>> from workbench.metrics.ranks import rank
        >>> Recall().per_query(rank(np.array([[0.9, 0.2, 0.6]]), np.array([[True, True, False]])), 2).tolist()
        [0.5]
        """
        return found.mean(found.rank <= (k or 1))


MEMBER = (HitRate, Recall)
