"""Lists of graded items: the grades of all items of a query in the order of the scores.

A tie counts against the model: among equal scores the item of the smaller grade comes first. Among equal
grades the earlier row of the gallery comes first in the order of the grades. A pair that nobody judged (grade
NaN), or whose score is ``-inf``, is in no list. Lists are made by blocks of queries, and what several metrics
read of a block is made once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from workbench.metrics.blocks import AnyScores, blocks, by_rows
from workbench.records import Array, Mask, Rows, Values

# entries of a block, of which several copies in float64 are made: 32 MB each
COPIED = 2**22


@dataclass(frozen=True)
class Lists:
    """Scores and grades of some queries with the whole gallery.

    Args:
        scores: ``(queries, gallery)``.
        grades: of the same shape; NaN = not judged.
        depth: how many items are retrieved at most.
        width: how many of the largest grades are kept, at least ``depth``.
    """

    scores: Array
    grades: Array
    depth: int = 10
    width: int = 0

    @cached_property
    def distinct(self) -> Values:
        """``(G,)`` distinct grades, ascending, after a leading 0 for "not judged"."""
        distinct = np.unique(self.grades)
        return np.append(0.0, distinct[~np.isnan(distinct)])

    @cached_property
    def codes(self) -> Array:
        """``(queries, gallery)`` the grades in the order of the scores, best score first, as indices into
        ``known``: among equal scores the lower grade stands first, pairs that nobody judged (0) last.
        """
        codes = np.where(np.isnan(self.grades), 0, np.searchsorted(self.distinct[1:], self.grades) + 1)
        return _order_codes(self.scores, codes, len(self.distinct)).astype(
            np.min_scalar_type(len(self.distinct))
        )

    @cached_property
    def listed(self) -> Mask:
        """``(queries, gallery)`` which pairs are in a list."""
        return np.asarray(~np.isnan(self.grades) & (self.scores > -np.inf))

    @cached_property
    def retrieved(self) -> tuple[Values, Rows, Values]:
        """Grades of the retrieved items, beside the best that could have been retrieved.

        Returns:
            ``(queries, K)`` grades of the K best scored items, best score first, 0 past the end of a list;
            ``(queries, K)`` where each stands in the order of the grades, 1 = the largest grade;
            ``(queries, M)`` the M largest grades, descending, 0 past the end.

        Raises:
            ValueError: a grade is negative.
        """
        scores = np.where(self.listed, self.scores, -np.inf)
        grades = np.where(self.listed, self.grades, 0).astype(np.float64)
        if grades.size and grades.min() < 0:
            raise ValueError(
                f"grades must be at least 0 to be summed, the least is {grades.min()}: shift them, and say so"
            )
        depth, width = (min(size, grades.shape[1]) for size in (self.depth, max(self.depth, self.width)))
        top = _best_rows(scores, grades, depth)
        grade, place = np.take_along_axis(grades, top, axis=1), np.empty(top.shape, dtype=np.int64)
        rows = np.arange(grades.shape[1])
        for k in range(depth):
            mine = grade[:, [k]]
            place[:, k] = 1 + ((grades > mine) | ((grades == mine) & (rows < top[:, [k]]))).sum(axis=1)
        return grade, place, -np.sort(np.partition(-grades, width - 1, axis=1)[:, :width], axis=1)


def lists(
    scores: AnyScores,
    grades: AnyScores,
    *,
    depth: int = 10,
    width: int = 0,
    block: int | None = None,
) -> Iterator[tuple[int, Lists]]:
    """Yield lists of graded items, some queries at a time: the number of the first query, and the lists.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: of the same shape, larger = more relevant; NaN = not judged, which takes the pair out.
        depth: how many items are retrieved.
        width: how many of the largest grades are kept, at least ``depth``.
        block: queries at a time; ``None`` = as the scores prefer.

    Raises:
        ValueError: shapes differ, or a score is NaN.
    """
    rows = by_rows(grades)
    size = max(1, COPIED // max(rows.shape[1], 1))
    for first, part in blocks(scores, rows.shape, block or min(by_rows(scores).step, size)):
        yield first, Lists(part, rows.rows(slice(first, first + len(part))), depth, width)


def _order_codes(scores: Array, codes: Rows, size: int) -> Rows:
    by_score = np.argsort(-scores, axis=1)
    sorted_scores = np.take_along_axis(scores, by_score, 1)
    sorted_codes = np.take_along_axis(codes, by_score, 1)
    group = np.zeros(codes.shape, dtype=np.int64)
    np.cumsum(sorted_scores[:, 1:] != sorted_scores[:, :-1], axis=1, out=group[:, 1:])
    group[sorted_codes == 0] = codes.shape[1]
    # group and code in one integer: sorting it keeps the order of the scores and sorts equal scores by grade
    return np.asarray(np.sort(group * size + sorted_codes, axis=1) % size)


def _best_rows(scores: Array, grades: Values, depth: int) -> Rows:
    """Return ``(queries, depth)`` rows of the best items: larger score, then smaller grade, then later row
    first.
    """
    top = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    least = np.take_along_axis(scores, top, axis=1).min(axis=1)
    # where the last place is tied, any of the equals may have been picked: those queries are sorted whole
    for query in np.flatnonzero((scores >= least[:, None]).sum(axis=1) > depth):
        tied = np.flatnonzero(scores[query] >= least[query])
        top[query] = tied[np.lexsort((-tied, grades[query, tied], -scores[query, tied]))][:depth]
    score, worth = (np.take_along_axis(values, top, axis=1) for values in (scores, grades))
    return np.asarray(np.take_along_axis(top, np.lexsort((-top, worth, -score), axis=1), axis=1))
