"""Metrics of a whole order: mAP@R, R-Precision, R@1 for many relevant items, nDCG and Kendall tau for graded
ones.

"R is the number of items relevant to the query. R-Precision is the share of relevant items among the R best;
mAP@R is the mean of the precision at each of the R best places that holds a relevant item, divided by R." So
mAP@R <= R-Precision. nDCG discounts the grade at place p by ``1 / log2(1 + p)`` and divides by the best
order's sum; gains are the grades themselves (``"linear"``) or ``2 ** grade - 1`` (``"exponential"``). Kendall
tau is ``1 - 2 discordant / pairs of different grades``: 1 for a perfect order, -1 for a reversed one. That is
Somers' D of the scores given the grades; tau-b would also divide by the root of the share of pairs with
different grades, and a perfect order of grades with ties would then stay below 1.

Ties count against the model: among equal scores the less relevant item stands first, and an equally scored
pair of different grades is discordant. A query with nothing relevant (nDCG: no positive grade; tau: a single
grade) does not count, and how many there were is reported. Pairs that nobody judged are irrelevant in the
binary metrics and absent from the lists of nDCG and tau.

Source: K. Musgrave et al., A metric learning reality check, ECCV 2020 (mAP@R, R-Precision); S. Chun et al.,
ECCV Caption, ECCV 2022 (the same for image-text retrieval); K. Jarvelin, J. Kekalainen, Cumulated gain-based
evaluation of IR techniques, TOIS 2002; R. Somers, A new asymmetric measure of association for ordinal
variables, American Sociological Review 27, 1962.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from workbench.metrics._bootstrap import columns
from workbench.metrics._concordance import discordant, pairs_of_different_grades
from workbench.metrics._ranks import (
    AnyScores,
    Grades,
    Ordered,
    Ranked,
    Ranks,
    RowScores,
    Values,
    both,
    by_rows,
    order,
    orders,
    rank,
    ratio,
)
from workbench.metrics.recall import hit_at_k
from workbench.records import Judgements, Measurement

# a notebook ranks scores and measures the ranks with what this file offers
__all__ = ["kendall_tau", "map_at_r", "measure", "ndcg", "order", "r_precision", "rank"]
Gain = Literal["linear", "exponential"]
GRADED_TIES = "an equally scored item of a lower grade ranks above"


def map_at_r(ranks: Ranks) -> Values:
    """Average precision cut at R = the query's number of relevant items.

    Args:
        ranks: of all relevant items, from ``_ranks.rank``.

    Returns:
        ``(queries,)`` in [0, 1], NaN where nothing is relevant.

    >>> ranks = rank(np.array([[0.9, 0.8, 0.7, 0.6]]), np.array([[True, False, True, True]]))
    >>> map_at_r(ranks).round(6).tolist()  # (1/1 + 2/3) / 3
    [0.555556]
    """
    inside = ranks.rank <= ranks.counts[ranks.query]
    return ranks.mean(np.where(inside, ranks.place / ranks.rank, 0.0))


def r_precision(ranks: Ranks) -> Values:
    """Share of relevant items among the R best, R = the query's number of relevant items.

    Args:
        ranks: of all relevant items, from ``_ranks.rank``.

    Returns:
        ``(queries,)`` in [0, 1], NaN where nothing is relevant.
    """
    return ranks.mean(ranks.rank <= ranks.counts[ranks.query])


def ndcg(ordered: Ordered, k: int | None = None, *, gain: Gain = "linear") -> Values:
    """Normalised discounted cumulative gain of the first ``k`` places, or of the whole list.

    Args:
        ordered: grades in the order of the scores, from ``_ranks.order``.
        k: depth; ``None`` = the whole list.
        gain: ``"linear"`` = the grade, ``"exponential"`` = ``2 ** grade - 1``.

    Returns:
        ``(queries,)`` in [0, 1], NaN where no grade is positive.

    Raises:
        ValueError: a grade is negative, which nDCG cannot weigh.

    >>> ranked = order(np.array([[3.0, 2.0, 1.0]]), np.array([[0.0, 1.0, 1.0]]))
    >>> ndcg(ranked).round(4).tolist()  # (1/log2(3) + 1/2) / (1 + 1/log2(3))
    [0.6934]
    """
    if ordered.grades.min() < 0:
        raise ValueError(
            f"nDCG needs grades >= 0, the least is {ordered.grades.min()}: shift them, and say so"
        )
    gains = ordered.grades if gain == "linear" else np.exp2(ordered.grades) - 1
    depth = ordered.codes.shape[1] if k is None else min(k, ordered.codes.shape[1])
    discount = 1 / np.log2(2 + np.arange(depth))
    best = np.sort(ordered.codes, axis=1, kind="stable")[:, ::-1]
    found, ideal = (gains[rows[:, :depth]] @ discount for rows in (ordered.codes, best))
    return ratio(found, ideal)


def kendall_tau(ordered: Ordered) -> Values:
    """Agreement of the order with the grades: ``1 - 2 discordant / pairs of different grades``.

    Args:
        ordered: grades in the order of the scores, from ``_ranks.order``.

    Returns:
        ``(queries,)`` in [-1, 1], NaN where the judged items all have one grade.

    >>> kendall_tau(order(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0, 1.0]]))).tolist()  # 1 of 5 pairs discordant
    [0.6]
    """
    return 1 - 2 * ratio(discordant(ordered.codes), pairs_of_different_grades(ordered.codes))


def measure(
    scores: AnyScores,
    judgements: Judgements,
    *,
    ranked: Ranked | None = None,
    ks: Sequence[int] = (10,),
    gain: Gain = "linear",
    graded: bool = True,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """All of this file in both directions: ``i2t/map_at_r``, ``r_precision``, ``R@1``, ``ndcg``, ``ndcg@10``,
    ``kendall_tau``.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judgements: relevant pairs for the first three, grades for the others.
        ranked: ranks by these judgements, where other metrics have made them already.
        ks: depths of nDCG beside the whole list.
        gain: of nDCG.
        graded: whether to compute nDCG and Kendall tau.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, a grade is negative, or no query has an answer.
    """
    rng, out = np.random.default_rng(seed), list[Measurement]()
    rows, grades = by_rows(scores), Grades.of(judgements) if graded else None
    for direction, ranks in both(scores if ranked is None else ranked, judgements).items():
        groups = [(_binary(ranks), Measurement.ties)]
        if grades is not None:
            turned = (rows, grades) if direction == "i2t" else (rows.T, grades.T)
            groups += [(group, GRADED_TIES) for group in _graded(*turned, ks, gain)]
        for group, ties in groups:
            contract = Measurement("", 0.0, judgements=judgements.name, gallery=ranks.gallery, ties=ties)
            estimates = columns(group, rounds, rng)
            out += [e.report(contract, f"{direction}/{key}", _hit(key, gain)) for key, e in estimates.items()]
    return out


def _binary(ranks: Ranks) -> dict[str, Values]:
    return {"map_at_r": map_at_r(ranks), "r_precision": r_precision(ranks), "R@1": hit_at_k(ranks, 1)}


def _graded(scores: RowScores, grades: Grades, ks: Sequence[int], gain: Gain) -> list[dict[str, Values]]:
    """The metrics of graded orders, a block of queries at a time."""
    depths = {"ndcg": None} | {f"ndcg@{k}": k for k in ks}
    parts: dict[str, list[Values]] = {key: [] for key in (*depths, "kendall_tau")}
    for ordered in orders(scores, grades):
        for key, k in depths.items():
            parts[key].append(ndcg(ordered, k, gain=gain))
        parts["kendall_tau"].append(kendall_tau(ordered))
    values = {key: np.concatenate(found) for key, found in parts.items()}
    return [{key: values[key] for key in depths}, {"kendall_tau": values["kendall_tau"]}]


def _hit(key: str, gain: Gain) -> str:
    name, _, k = key.partition("@")
    return {
        "map_at_r": "precision at each relevant item among the R best, summed and divided by R",
        "r_precision": "share of relevant items among the R best",
        "R": "the best scored item is relevant",
        "ndcg": f"discounted {gain} gain of the {k + ' best' if k else 'whole list'} against the best order",
        "kendall_tau": "1 - 2 discordant pairs / pairs of different grades",
    }[name]


MEMBER = measure
