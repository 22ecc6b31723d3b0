"""Counting pairs of items that an order puts right or wrong, for all queries of a block at once.

Both functions read ``codes (queries, gallery)``: the place of each item's grade among the distinct grades, in
the order of the scores; 0 = not judged, and those items stand last (``_ranks.Ordered``).
"""

from __future__ import annotations

import numpy as np

from workbench.metrics._ranks import Codes, Values


def pairs_of_different_grades(codes: Codes) -> Values:
    """Pairs of judged items (code > 0) with different codes, by query."""
    ascending = np.sort(codes, axis=1, kind="stable")
    starts = np.ones(codes.shape, dtype=bool)
    starts[:, 1:] = ascending[:, 1:] != ascending[:, :-1]
    place = np.arange(codes.shape[1])
    run_start = np.maximum.accumulate(np.where(starts, place, 0), axis=1)
    unjudged = (codes == 0).sum(axis=1, keepdims=True)
    # an item differs from every judged item that stands before its run
    pairs: Values = np.where(ascending > 0, run_start - unjudged, 0).sum(axis=1).astype(np.float64)
    return pairs


def discordant(codes: Codes) -> Values:
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
