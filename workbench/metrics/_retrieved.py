"""The best scored items of each query and what they are worth by graded judgements.

Among equal scores the item of the smaller grade comes first, so that a tie counts against the model. Among
equal grades the earlier row of the gallery comes first in the order of the grades. A pair that nobody judged,
or whose score is ``-inf``, is taken out of both lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._grades import GradeRows
from workbench.metrics._rows import AnyScores, Scores, Values, blocks, by_rows
from workbench.records import Rows

# entries of a block, of which several copies in float64 are made: 32 MB each
COPIED = 2**22


@dataclass(frozen=True)
class Retrieved:
    """Grades of the retrieved items, beside the best that could have been retrieved.

    Args:
        grade: ``(queries, K)`` grades of the K best scored items, best score first; 0 past the end of a list.
        place: ``(queries, K)`` where each stands in the order of the grades, 1 = the largest grade.
        best: ``(queries, M)`` the M largest grades, descending; 0 past the end.
    """

    grade: Values
    place: Rows
    best: Values


def small_blocks(scores: AnyScores, shape: tuple[int, ...]) -> Iterator[tuple[int, Scores]]:
    """Blocks of queries, small enough to be copied a few times."""
    return blocks(scores, shape, min(by_rows(scores).step, max(1, COPIED // max(shape[1], 1))))


def retrieve(scores: AnyScores, grades: GradeRows, depth: int, width: int | None = None) -> Retrieved:
    """The ``depth`` best scored items of each query, found by blocks of queries.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: of the same shape, at least 0.
        depth: how many items are retrieved.
        width: how many of the largest grades are kept; ``None`` = ``depth``.

    Raises:
        ValueError: shapes differ, a score is NaN, or a grade is negative.
    """
    size = grades.shape[1]
    depth, width = min(depth, size), min(width or depth, size)
    parts = [Retrieved(np.zeros((0, depth)), np.zeros((0, depth), dtype=np.int64), np.zeros((0, width)))]
    parts += [
        _of_block(rows, grades.rows(first, len(rows)), depth, width)
        for first, rows in small_blocks(scores, grades.shape)
    ]
    grade, place, best = zip(*((one.grade, one.place, one.best) for one in parts), strict=True)
    return Retrieved(np.concatenate(grade), np.concatenate(place), np.concatenate(best))


def _of_block(scores: Scores, grades: NDArray[Any], depth: int, width: int) -> Retrieved:
    listed = ~np.isnan(grades) & (scores > -np.inf)
    scores, grades = np.where(listed, scores, -np.inf), np.where(listed, grades, 0).astype(np.float64)
    if grades.size and grades.min() < 0:
        raise ValueError(
            f"grades must be at least 0 to be summed, the least is {grades.min()}: shift them, and say so"
        )
    top = _best(scores, grades, depth)
    grade, place = np.take_along_axis(grades, top, axis=1), np.empty(top.shape, dtype=np.int64)
    rows = np.arange(grades.shape[1])
    for k in range(depth):
        mine = grade[:, [k]]
        before = (grades > mine) | ((grades == mine) & (rows < top[:, [k]]))
        place[:, k] = 1 + before.sum(axis=1)
    return Retrieved(grade, place, -np.sort(np.partition(-grades, width - 1, axis=1)[:, :width], axis=1))


def _best(scores: Scores, grades: Values, depth: int) -> Rows:
    """``(queries, depth)`` rows of the best items: larger score, then smaller grade, then later row first."""
    top = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    least = np.take_along_axis(scores, top, axis=1).min(axis=1)
    # where the last place is tied, any of the equals may have been picked: those queries are sorted whole
    for query in np.flatnonzero((scores >= least[:, None]).sum(axis=1) > depth):
        tied = np.flatnonzero(scores[query] >= least[query])
        top[query] = tied[np.lexsort((-tied, grades[query, tied], -scores[query, tied]))][:depth]
    found, worth = (np.take_along_axis(values, top, axis=1) for values in (scores, grades))
    order: Rows = np.take_along_axis(top, np.lexsort((-top, worth, -found), axis=1), axis=1)
    return order
