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
from workbench.records import Array, Values


def kendall_tau(found: Lists, k: int | None = None) -> Values:
    """Agreement of the order with the grades.

    Returns:
        ``(queries,)`` in [-1, 1], NaN where the judged items all have one grade.

    >>> from workbench.metrics.grades import lists
    >>> (_, found), *_ = lists(np.array([[4.0, 3.0, 2.0, 1.0]]), np.array([[3.0, 1.0, 2.0, 1.0]]))
    >>> kendall_tau(found).tolist()  # 1 of 5 pairs discordant
    [0.6]
    """
    codes = found.ordered.codes
    return 1 - 2 * ratio(discordant(codes), pairs_of_different_grades(codes))


def pairs_of_different_grades(codes: Array) -> Values:
    """Pairs of judged items (code > 0) with different codes, by query."""
    ascending = np.sort(codes, axis=1, kind="stable")
    starts = np.ones(codes.shape, dtype=bool)
    starts[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    run_start = np.maximum.accumulate(np.where(starts, np.arange(codes.shape[1]), 0), axis=1)
    unjudged = (codes == 0).sum(axis=1, keepdims=True)
    # an item differs from every judged item that stands before its run
    return np.asarray(np.where(ascending > 0, run_start - unjudged, 0).sum(axis=1), dtype=np.float64)


def discordant(codes: Array) -> Values:
    """Pairs whose earlier item has the smaller code, by query; unjudged items (code 0) stand last and so are
    in no such pair.

    One bit at a time, from the highest: two codes differ first at one bit, where the smaller has 0 and the
    larger has 1. Among items that share the higher bits, each 1 is paired with the 0s before it.
    """
    out = np.zeros(len(codes))
    shared = np.zeros_like(codes)
    for bit in reversed(range(int(codes.max(initial=0)).bit_length())):
        ones = (codes >> bit) & 1 == 1
        zeros_before = np.cumsum(~ones, axis=1)
        starts = np.ones(codes.shape, dtype=bool)
        starts[:, 1:] = shared[:, 1:] != shared[:, :-1]
        before_group = np.maximum.accumulate(np.where(starts, zeros_before - ~ones, 0), axis=1)
        out += np.where(ones, zeros_before - before_group, 0).sum(axis=1)
        codes = np.take_along_axis(codes, np.argsort(codes >> bit, axis=1, kind="stable"), axis=1)
        shared = codes >> bit
    return out


MEMBER = Metric.row(
    "kendall_tau", kendall_tau, "1 - 2 discordant pairs / pairs of different grades", requires="lists",
    directions=("i2t", "t2i"), by=("graded",), face="correlation", ties=GRADED_TIES,
)  # fmt: skip
