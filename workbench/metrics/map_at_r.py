"""mAP@R and R-Precision; R is the number of items relevant to the query.

``map_at_r``: "the mean of the precision at each of the R best places that holds a relevant item, divided by
R." ``r_precision``: "the share of relevant items among the R best". So mAP@R <= R-Precision.

A tie counts against the model (``ranks``). A query with nothing relevant does not count, and how many there
were is reported. Pairs that nobody judged are irrelevant. ``same_list`` is what is reached without reading
the query at all.

Source: K. Musgrave et al., A metric learning reality check, ECCV 2020; S. Chun et al., ECCV Caption, ECCV
2022 (the same for image-text retrieval).
"""

import numpy as np

from workbench.metrics.ranks import Ranks, Relevant, ratio
from workbench.metrics.recall import random_recall
from workbench.metrics.registry import Metric
from workbench.records import Judgements, Mask, Values


def map_at_r(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` average precision cut at R, the query's number of relevant items; NaN where
    nothing is relevant.

    >>> from workbench.metrics.ranks import rank
    >>> ranks = rank(np.array([[0.9, 0.8, 0.7, 0.6]]), np.array([[True, False, True, True]]))
    >>> map_at_r(ranks).round(6).tolist()  # (1/1 + 2/3) / 3
    [0.555556]
    """
    inside = ranks.rank <= ranks.counts[ranks.query]
    return ranks.mean(np.where(inside, ranks.place / ranks.rank, 0.0))


def random_map_at_r(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` mAP@R on average over all orders; NaN where nothing is relevant.

    A place holds one of ``L`` relevant items of ``N`` with probability ``L / N``, and each of the ``k - 1``
    places before it then another one with ``q = (L - 1) / (N - 1)``: the precision at place ``k`` counts
    ``L / N * (1 + (k - 1) q) / k``. ``L`` is R without the items that the gallery lacks.

    >>> from workbench.metrics.ranks import rank
    >>> random_map_at_r(rank(np.zeros((1, 4)), np.array([[True, True, False, False]]))).round(6).tolist()
    [0.416667]
    """
    listed, places = np.bincount(ranks.query, minlength=len(ranks.counts)), np.arange(1, ranks.gallery + 1)
    read = np.minimum(ranks.counts, ranks.gallery)
    harmonic = np.append(0, np.cumsum(1 / places))[read]
    another = (listed - 1) / max(ranks.gallery - 1, 1)
    return ratio(listed * (harmonic + another * (read - harmonic)) / ranks.gallery, ranks.counts)


def r_precision(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` share of relevant items among the R best; NaN where nothing is relevant.

    >>> from workbench.metrics.ranks import rank
    >>> r_precision(rank(np.array([[0.9, 0.8, 0.7]]), np.array([[True, False, True]]))).tolist()
    [0.5]
    """
    return ranks.mean(ranks.rank <= ranks.counts[ranks.query])


def random_r_precision(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` R-Precision on average over all orders; NaN where nothing is relevant."""
    return random_recall(ranks, ranks.counts)


def rank_alike(relevant: Relevant) -> Ranks:
    """Rank all items alike for every query: what is relevant to most queries first."""
    common = np.bincount(relevant.item, minlength=relevant.shape[1])
    places = np.empty(len(common), dtype=np.int64)
    places[np.argsort(-common, kind="stable")] = np.arange(1, len(common) + 1)
    listed = relevant.answers()
    order = np.lexsort((places[listed.item], listed.query))
    return Ranks(listed.query, places[listed.item][order], relevant.counts, relevant.shape[1])


def same_list(pairs: Judgements | Mask, direction: str) -> float:
    """Return mAP@R of one list for all queries: what is relevant to most of them first; NaN where nothing is
    relevant. A model below it has learnt less from its queries than how common each item is.

    >>> pairs = np.array([[True, True, False], [True, False, True], [True, False, False]])
    >>> round(same_list(pairs, "i2t"), 6)  # (1 + 1/2 + 1) / 3: the first caption, the second, the third
    0.833333
    """
    relevant = Relevant.from_pairs(pairs) if direction == "i2t" else Relevant.from_pairs(pairs).T
    return float(np.nanmean(map_at_r(rank_alike(relevant))))


MEMBER = (
    Metric.from_function(
        "map_at_r",
        map_at_r,
        "precision at each relevant item among the R best, summed and divided by R",
        directions=("i2t", "t2i"),
        by=("others",),
        by_chance=staticmethod(random_map_at_r),
    ),
    Metric.from_function(
        "r_precision",
        r_precision,
        "share of relevant items among the R best",
        directions=("i2t", "t2i"),
        by=("others",),
        by_chance=staticmethod(random_r_precision),
    ),
)
