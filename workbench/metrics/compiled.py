"""Loops that are compiled by numba: one read of a large block of scores, which finds what scores at least as
much as the relevant items, and the best items; and pairs of a list in the wrong order.

A row is read in parts that stay in the first cache while everything is counted in them, so that a block costs
little beside the matrix product that made it. ``ranks`` says the same in numpy, for what is small.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import config, njit

from workbench.io.ahead import in_threads
from workbench.records import Array, Rows

# scores that are read at a time, and where the best are among them
PART, STEP = 512, 32
compiled: Callable[[Callable[..., Any]], Callable[..., Any]] = njit(nogil=True, cache=True)


@compiled
def _count_reached(part: Array, bound: float) -> int:
    count = 0
    for at in range(len(part)):
        count += part[at] >= bound
    return count


@compiled
def _count_unequal(part: Array) -> int:
    count = 0
    for at in range(len(part)):
        count += part[at] != part[at]
    return count


@compiled
def _insert(scores: Array, items: Rows, kept: int, score: float, item: int) -> int:
    """Keep an item among the best; how many are kept now."""
    kept = min(kept + 1, len(items))
    place = kept - 1
    while place > 0 and scores[place - 1] < score:
        scores[place], items[place] = scores[place - 1], items[place - 1]
        place -= 1
    scores[place], items[place] = score, item
    return kept


@compiled
def _fill_row(
    rows: Array, start: Rows, item: Rows, few: int, not_below: Rows, scores: Array, items: Rows
) -> int:
    """Fill the last three and count NaN, which alone differs from itself; see ``read``."""
    k, nan = items.shape[1], 0
    for query in range(len(rows)):
        row, best = rows[query], scores[query]
        kept = 0
        first, last = start[query], start[query + 1]
        not_below[first:last] = 0
        for begin in range(0, len(row), PART):
            part = row[begin : begin + PART]
            nan += _count_unequal(part)
            for pair in range(first, last if last - first <= few else first):
                not_below[pair] += _count_reached(part, row[item[pair]])
            if k == 0 or (kept == k and _count_reached(part, best[k - 1]) == 0):
                continue
            for at in range(0, len(part), STEP):
                step = part[at : at + STEP]
                if kept == k and _count_reached(step, best[k - 1]) == 0:
                    continue
                for one in range(len(step)):
                    if kept < k or step[one] > best[k - 1]:
                        kept = _insert(best, items[query], kept, step[one], begin + at + one)
    return nan


@compiled
def _count_discordant(codes: Rows, size: int, discordant: Rows, pairs: Rows) -> None:
    """Fill the last two; see ``discordant_pairs``. ``tree`` sums how often smaller codes stood before, in a
    time that grows as the logarithm of their number (Fenwick, 1994).
    """
    for query in range(len(codes)):
        tree, counts = np.zeros(size, np.int64), np.zeros(size, np.int64)
        for at in range(codes.shape[1]):
            code = codes[query, at]
            if code == 0:
                continue
            counts[code] += 1
            place = code - 1
            while place > 0:
                discordant[query] += tree[place]
                place -= place & -place
            place = code
            while place < size:
                tree[place] += 1
                place += place & -place
        total = counts.sum()
        pairs[query] = (total * total - (counts * counts).sum()) // 2


def discordant_pairs(codes: Rows, size: int) -> tuple[Rows, Rows]:
    """Count the pairs of a list in which the lower code stands first, and all pairs of different codes.

    Args:
        codes: ``(queries, gallery)`` codes in the order of the list; 0 = not in it.
        size: the largest code and one.

    Returns:
        Both counts, ``(queries,)``.
    """
    discordant, pairs = np.zeros((2, len(codes)), np.int64)
    _count_discordant(codes, size, discordant, pairs)
    return discordant, pairs


def read(rows: Array, start: Rows, item: Rows, k: int, few: int) -> tuple[Rows, Array, Rows, int]:
    """Return what one read of a block tells, on all cores.

    Args:
        rows: ``(queries, gallery)`` scores.
        start: ``(queries + 1,)`` where each query's items begin in ``item``, from 0 on.
        item: ``(M,)`` gallery rows of the relevant items.
        k: how many of the best items are kept.
        few: queries with more relevant items than this are left at 0.

    Returns:
        ``(M,)`` how many items score at least as much as each relevant one; ``(queries, k)`` the best scores,
        and their gallery rows, of equal scores the lower row first; how many scores are NaN, which make the
        others void.
    """
    not_below = np.empty(len(item), np.int64)
    scores, items = np.empty((len(rows), k), rows.dtype), np.empty((len(rows), k), np.int64)

    def fill_part(query: Rows) -> int:
        of = slice(query[0], query[-1] + 1)
        return int(
            _fill_row(rows[of], start[of.start : of.stop + 1], item, few, not_below, scores[of], items[of])
        )

    cores = config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]  # set when it is imported
    parts = [part for part in np.array_split(np.arange(len(rows)), cores) if len(part)]
    return not_below, scores, items, sum(in_threads(fill_part, parts))
