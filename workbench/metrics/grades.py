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

from workbench.metrics.blocks import (
    AnyScores,
    RowScores,
    Whole,
    blocks,
    by_rows,
)
from workbench.records import Array, Graded, Judgements, Mask, Rows, Values

# entries of a block, of which several copies in float64 are made: 32 MB each
COPIED = 2**22
# entries of grades that are made at once and kept: 128 MB of float32; more are made block by block
HELD = 2**25
AnyGrades = Graded | Array


@dataclass(frozen=True)
class Matrix:
    """Grades that lie in memory, see ``Graded``."""

    values: Array
    name: str = "grades"

    @property
    def shape(self) -> tuple[int, int]:
        """Number of images and of captions."""
        return self.values.shape[0], self.values.shape[1]

    def take(self, images: Rows, captions: Rows) -> Array:
        """``(n, m)`` the grades of some images with some captions."""
        return self.values[np.ix_(images, captions)]


@dataclass(frozen=True)
class GradeRows(RowScores):
    """Grades ``(queries, gallery)`` by blocks of queries; where ``turned``, captions are the queries. They
    can be read as scores, see ``RowScores``.
    """

    graded: Graded
    turned: bool = False

    @property
    def shape(self) -> tuple[int, int]:
        """Number of queries and gallery size."""
        images, captions = self.graded.shape
        return (captions, images) if self.turned else (images, captions)

    @property
    def T(self) -> "GradeRows":  # noqa: N802  the name that numpy gives it
        """The other direction."""
        return GradeRows(self.graded, not self.turned)

    def rows(self, part: slice) -> Array:
        """``(rows of the part, gallery)`` grades; NaN = not judged."""
        return self._at(np.arange(*part.indices(self.shape[0])), np.arange(self.shape[1]))

    @cached_property
    def distinct(self) -> Array:
        """``(G,)`` distinct grades, ascending."""
        grades = self.graded
        if not isinstance(grades, Judgements):
            parts = (slice(first, first + self.step) for first in range(0, self.shape[0], self.step))
            known = np.concatenate([np.unique(self.rows(part)) for part in parts])
        elif grades.unlisted is not None and len(grades.grades) < np.prod(grades.shape):
            known = np.append(grades.grades, grades.grades.dtype.type(grades.unlisted))
        else:
            known = grades.grades
        return np.unique(known[~np.isnan(known)])

    def cut(self, rows: Rows, columns: Rows) -> RowScores:
        """The grades of these queries and items, held."""
        return Whole(self._at(rows, columns))

    def _at(self, rows: Rows, columns: Rows) -> Array:
        if self.turned:
            return np.ascontiguousarray(np.asarray(self.graded.take(columns, rows)).T)
        return np.asarray(self.graded.take(rows, columns))


def grade_rows(grades: AnyGrades) -> GradeRows:
    """Any grades as blocks of queries, images first."""
    if isinstance(grades, np.ndarray):
        return GradeRows(Matrix(grades))
    if isinstance(grades, Judgements) or np.prod(grades.shape) > HELD:
        return GradeRows(grades)
    return GradeRows(Matrix(np.asarray(grades.take(*map(np.arange, grades.shape))), grades.name))


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


@dataclass(frozen=True)
class Lists:
    """Scores and grades of some queries with the whole gallery.

    Args:
        scores: ``(queries, gallery)``.
        grades: of the same shape; NaN = not judged.
        source: of the grades, which knows the distinct ones of all queries.
        depth: how many items are retrieved at most.
        width: how many of the largest grades are kept.
    """

    scores: Array
    grades: Array
    source: GradeRows
    depth: int = 10
    width: int = 10

    @staticmethod
    def of(scores: Array, grades: Array, depth: int = 10, width: int = 0) -> "Lists":
        """All queries of a matrix of scores and one of grades."""
        return Lists(scores, grades, grade_rows(grades), depth, max(depth, width))

    @property
    def known(self) -> Values:
        """``(G,)`` distinct grades, ascending, after a leading 0 for "not judged"."""
        return np.append(0.0, self.source.distinct)

    @cached_property
    def codes(self) -> Array:
        """``(queries, gallery)`` the grades in the order of the scores, best score first, as indices into
        ``known``: among equal scores the lower grade stands first, pairs that nobody judged (0) last.
        """
        distinct = self.source.distinct
        codes = np.where(np.isnan(self.grades), 0, np.searchsorted(distinct, self.grades) + 1)
        return _in_order(self.scores, codes, len(distinct) + 1).astype(np.min_scalar_type(len(distinct)))

    @cached_property
    def listed(self) -> Mask:
        """``(queries, gallery)`` which pairs are in a list."""
        return np.asarray(~np.isnan(self.grades) & (self.scores > -np.inf))

    @cached_property
    def retrieved(self) -> Retrieved:
        """The best scored items of each query and what they are worth.

        Raises:
            ValueError: a grade is negative.
        """
        scores = np.where(self.listed, self.scores, -np.inf)
        grades = np.where(self.listed, self.grades, 0).astype(np.float64)
        if grades.size and grades.min() < 0:
            raise ValueError(
                f"grades must be at least 0 to be summed, the least is {grades.min()}: shift them, and say so"
            )
        depth, width = (min(size, grades.shape[1]) for size in (self.depth, self.width))
        top = _best(scores, grades, depth)
        grade, place = np.take_along_axis(grades, top, axis=1), np.empty(top.shape, dtype=np.int64)
        rows = np.arange(grades.shape[1])
        for k in range(depth):
            mine = grade[:, [k]]
            place[:, k] = 1 + ((grades > mine) | ((grades == mine) & (rows < top[:, [k]]))).sum(axis=1)
        return Retrieved(grade, place, -np.sort(np.partition(-grades, width - 1, axis=1)[:, :width], axis=1))


def lists(
    scores: AnyScores,
    grades: AnyGrades | GradeRows,
    *,
    depth: int = 10,
    width: int = 0,
    block: int | None = None,
) -> Iterator[tuple[int, Lists]]:
    """Lists of graded items, a block of queries at a time: the number of the first query, and the lists.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: of the same shape, larger = more relevant; NaN = not judged, which takes the pair out of the
            list.
        depth: how many items are retrieved.
        width: how many of the largest grades are kept, at least ``depth``.
        block: queries at a time; ``None`` = as the scores prefer.

    Raises:
        ValueError: shapes differ, or a score is NaN.
    """
    rows = grades if isinstance(grades, GradeRows) else grade_rows(grades)
    size = max(1, COPIED // max(rows.shape[1], 1))
    for first, part in blocks(scores, rows.shape, block or min(by_rows(scores).step, size)):
        yield first, Lists(part, rows.rows(slice(first, first + len(part))), rows, depth, max(depth, width))


def _in_order(scores: Array, codes: Rows, size: int) -> Rows:
    by_score = np.argsort(-scores, axis=1)
    sorted_scores = np.take_along_axis(scores, by_score, 1)
    sorted_codes = np.take_along_axis(codes, by_score, 1)
    group = np.zeros(codes.shape, dtype=np.int64)
    np.cumsum(sorted_scores[:, 1:] != sorted_scores[:, :-1], axis=1, out=group[:, 1:])
    group[sorted_codes == 0] = codes.shape[1]
    # group and code in one integer: sorting it keeps the order of the scores and sorts equal scores by grade
    return np.asarray(np.sort(group * size + sorted_codes, axis=1) % size)


def _best(scores: Array, grades: Values, depth: int) -> Rows:
    """``(queries, depth)`` rows of the best items: larger score, then smaller grade, then later row first."""
    top = np.argpartition(-scores, depth - 1, axis=1)[:, :depth]
    least = np.take_along_axis(scores, top, axis=1).min(axis=1)
    # where the last place is tied, any of the equals may have been picked: those queries are sorted whole
    for query in np.flatnonzero((scores >= least[:, None]).sum(axis=1) > depth):
        tied = np.flatnonzero(scores[query] >= least[query])
        top[query] = tied[np.lexsort((-tied, grades[query, tied], -scores[query, tied]))][:depth]
    score, worth = (np.take_along_axis(values, top, axis=1) for values in (scores, grades))
    return np.asarray(np.take_along_axis(top, np.lexsort((-top, worth, -score), axis=1), axis=1))
