"""What is found among the first places: R@K, recall at K, the median rank and RSUM.

``R``: "the share of queries with at least one relevant item among the K best scored", the field's R@K.
``recall``: the mean share of a query's relevant items among the K best. The two agree where every query has
one relevant item. ``medr``: "the median, over queries, of the rank of the best relevant item, rounded down";
smaller is better. ``rsum``: "the sum of R@1, R@5 and R@10 of both directions", stored in [0, 6] and shown as
papers print it, a sum of percents of 600. Its interval is that of the joint resample: an image that is drawn
brings its hits and those of its captions.

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported. In the 1K protocol (five folds) consecutive blocks of images with their own captions are
separate galleries, and every number is the mean over the blocks.

Source: F. Faghri et al., VSE++, BMVC 2018, section 4; RSUM is the field's habit.
"""

import numpy as np

from workbench.metrics.ranks import Ranks, ratio
from workbench.metrics.registry import Metric
from workbench.records import Rows, Values


class HitRate(Metric):
    """Whether a query has a relevant item among its K best: the field's R@K."""

    name, hit = "R", "at least one relevant item among the {k} best"
    ks, by = (1, 5, 10), ("own", "others", "cxc")

    def depths(self, judgements: str) -> tuple[int | None, ...]:
        """Return all depths by own pairs and by those of Crisscrossed Captions, as printed; else the
        first.
        """
        return self.ks if judgements in ("own", "cxc") else self.ks[:1]

    def per_query(self, inputs: Ranks, k: int | None = None) -> Values:
        """Return ``(queries,)`` of 1, 0, or NaN where nothing is relevant.

        >>> from workbench.metrics.ranks import rank
        >>> ranks = rank(np.array([[0.9, 0.2, 0.6], [0.3, 0.4, 0.5]]), np.eye(2, 3, dtype=bool))
        >>> HitRate().per_query(ranks, 1).tolist(), HitRate().per_query(ranks, 2).tolist()
        ([1.0, 0.0], [1.0, 1.0])
        """
        return np.where(np.isnan(inputs.first), np.nan, inputs.first <= (k or 1))

    def by_chance(self, inputs: Ranks, k: int | None = None) -> Values:
        """Return ``(queries,)`` one less the share of all choices of ``k`` items that miss what is
        relevant.
        """
        return random_hit(inputs, k or 1)


class Rsum(Metric):
    """Sum of the hit rates at some depths, in all directions."""

    name = "rsum"
    hit = "sum of the hit rates at 1, 5 and 10 of both directions; gallery = images + captions"
    directions: tuple[str, ...] = ("i2t", "t2i")
    by = ("own",)
    face, summed = "sum", True
    depths_summed: tuple[int, ...] = (1, 5, 10)

    def per_query(self, inputs: Ranks, k: int | None = None) -> Values:
        """Return ``(queries,)`` number of depths at which the query has a hit, NaN where nothing is
        relevant.
        """
        hits = inputs.first[:, None] <= np.array(self.depths_summed)
        return np.where(np.isnan(inputs.first), np.nan, hits.sum(axis=1))

    def by_chance(self, inputs: Ranks, k: int | None = None) -> Values:
        """Return ``(queries,)`` the sum of what hit rates at these depths are by chance."""
        return sum((random_hit(inputs, depth) for depth in self.depths_summed), np.zeros(len(inputs.counts)))

    def at_best(self, inputs: Ranks, k: int | None = None) -> float:
        """Count the depths, at all of which a query may have a hit."""
        return float(len(self.depths_summed))


def random_hit(ranks: Ranks, k: int) -> Values:
    """Return ``(queries,)`` chance that ``k`` items drawn without replacement hold a relevant one, by the
    hypergeometric distribution; NaN where nothing is relevant.

    >>> from workbench.metrics.ranks import rank
    >>> random_hit(rank(np.zeros((1, 4)), np.array([[True, True, False, False]])), 2).round(6).tolist()
    [0.833333]
    """
    listed = np.bincount(ranks.query, minlength=len(ranks.counts))
    return np.where(ranks.counts > 0, chance_of_hit(listed, ranks.gallery, k), np.nan)


def chance_of_hit(relevant: Rows, gallery: int, k: int) -> Values:
    """Return ``(queries,)`` chance that ``k`` items drawn of a gallery, without replacement, hold a relevant
    one.

    Args:
        relevant: ``(queries,)`` how many are.
        gallery: number of items.
        k: how many are drawn.

    >>> chance_of_hit(np.array([1, 2]), 4, 2).round(6).tolist()
    [0.5, 0.833333]
    """
    left = gallery - np.arange(min(k, gallery))[:, None]
    missed: Values = np.prod(np.maximum(left - relevant, 0) / left, axis=0)
    return 1 - missed


def recall(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` share of a query's relevant items that are among its K best; NaN where nothing is
    relevant.

    >>> from workbench.metrics.ranks import rank
    >>> recall(rank(np.array([[0.9, 0.2, 0.6]]), np.array([[True, True, False]])), 2).tolist()
    [0.5]
    """
    return ranks.mean(ranks.rank <= (k or 1))


def random_recall(ranks: Ranks, k: int | Rows | None = None) -> Values:
    """Return ``(queries,)`` recall on average over all orders: the share of the gallery that is looked at,
    times that of the relevant items which it holds.
    """
    listed = np.bincount(ranks.query, minlength=len(ranks.counts))
    return ratio(listed * np.minimum(1 if k is None else k, ranks.gallery) / ranks.gallery, ranks.counts)


def best_recall(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` the largest recall that any order gives: of five relevant items one place holds a
    fifth.

    >>> from workbench.metrics.ranks import rank
    >>> best_recall(rank(np.zeros((1, 6)), np.array([[True] * 5 + [False]]))).tolist()
    [0.2]
    """
    listed = np.bincount(ranks.query, minlength=len(ranks.counts))
    return ratio(np.minimum(listed, k or 1), ranks.counts)


def median_rank(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` rank of the best relevant item, 1 = first; NaN where nothing is relevant."""
    return ranks.first


MEMBER = (
    HitRate,
    Rsum,
    Metric.from_function(
        "recall",
        recall,
        "share of the relevant items among the {k} best",
        ks=(1, 5, 10),
        by=("own",),
        by_chance=staticmethod(random_recall),
        at_best=staticmethod(best_recall),
    ),
    Metric.from_function(
        "medr",
        median_rank,
        "median rank of the best relevant item, rounded down; smaller is better",
        by=("own",),
        face="rank",
        statistic="median",
        smaller_is_better=True,
    ),
)
