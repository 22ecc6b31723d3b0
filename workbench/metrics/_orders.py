"""Whole orders of graded items, by blocks of queries; among equal scores the lower grade stands first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._rows import AnyScores, Codes, Scores, Values, blocks
from workbench.records import Judgements, Rows


@dataclass(frozen=True)
class Ordered:
    """Grades in the order of the scores, best score first.

    Args:
        codes: ``(queries, gallery)`` index into ``grades``; 0 = nobody judged the pair, and such pairs stand
            at the end.
        grades: ``(G,)`` distinct grades, ascending, after a leading 0 for "not judged".
    """

    codes: Codes
    grades: Values


@dataclass(frozen=True)
class Grades:
    """Sparse grades sorted by query, which give any rows of the matrix without making it whole.

    Args:
        query, item, grade: ``(N,)`` listed pairs, queries ascending.
        shape: number of queries and gallery size.
        unlisted: grade of all other pairs, NaN = not judged.
    """

    query: Rows
    item: Rows
    grade: NDArray[np.float32]
    shape: tuple[int, int]
    unlisted: float

    @staticmethod
    def of(judgements: Judgements) -> Grades:
        """The grades of judgements, images as queries; who is asked does not matter to an order of grades."""
        unlisted = np.nan if judgements.unlisted is None else judgements.unlisted
        order = np.argsort(judgements.images, kind="stable")
        listed = (judgements.images[order], judgements.captions[order], judgements.grades[order])
        return Grades(*listed, judgements.shape, unlisted)

    @property
    def T(self) -> Grades:  # noqa: N802  the name that numpy gives it
        """The other direction."""
        order = np.argsort(self.item, kind="stable")
        return Grades(self.item[order], self.query[order], self.grade[order], self.shape[::-1], self.unlisted)

    @property
    def distinct(self) -> NDArray[Any]:
        """``(G,)`` distinct grades, ascending."""
        others = [] if np.isnan(self.unlisted) or len(self.grade) == np.prod(self.shape) else [self.unlisted]
        known = np.concatenate([self.grade, np.array(others, dtype=self.grade.dtype)])
        return np.unique(known[~np.isnan(known)])

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """``(count, gallery)`` grades of consecutive queries; NaN = not judged."""
        out = np.full((count, self.shape[1]), self.unlisted, dtype=self.grade.dtype)
        start, end = np.searchsorted(self.query, [first, first + count])
        out[self.query[start:end] - first, self.item[start:end]] = self.grade[start:end]
        return out


def orders(
    scores: AnyScores, grades: Grades | NDArray[Any], *, block: int | None = None
) -> Iterator[Ordered]:
    """Grades in the order of the scores, a block of queries at a time; for the arguments see ``order``."""
    known = grades.distinct if isinstance(grades, Grades) else np.unique(grades[~np.isnan(grades)])
    names, kind = np.concatenate([[0.0], known.astype(np.float64)]), np.min_scalar_type(len(known))
    for first, rows in blocks(scores, grades.shape, block):
        part = (
            grades.rows(first, len(rows)) if isinstance(grades, Grades) else grades[first : first + len(rows)]
        )
        code = np.where(np.isnan(part), 0, np.searchsorted(known, part) + 1)
        yield Ordered(_codes_in_order(rows, code, len(names)).astype(kind), names)


def order(scores: AnyScores, grades: Grades | NDArray[Any], *, block: int | None = None) -> Ordered:
    """Grades in the order of the scores; among equal scores the lower grade stands first.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: ``(queries, gallery)``, larger = more relevant; NaN = not judged, which takes the pair out of
            the list.
        block: queries sorted at a time; ``None`` = as the scores prefer.

    Raises:
        ValueError: shapes differ, or a score is NaN.

    >>> ranked = order(np.array([[0.2, 0.9, 0.2]]), np.array([[5.0, 1.0, 3.0]]))
    >>> ranked.grades[ranked.codes].tolist()
    [[1.0, 3.0, 5.0]]
    """
    parts = list(orders(scores, grades, block=block))
    if not parts:
        return Ordered(np.zeros(grades.shape, dtype=np.uint8), np.zeros(1))
    return Ordered(np.concatenate([part.codes for part in parts]), parts[0].grades)


def _codes_in_order(scores: Scores, codes: Rows, size: int) -> Rows:
    by_score = np.argsort(-scores, axis=1)
    sorted_scores, sorted_codes = (
        np.take_along_axis(scores, by_score, 1),
        np.take_along_axis(codes, by_score, 1),
    )
    group = np.zeros(codes.shape, dtype=np.int64)
    np.cumsum(sorted_scores[:, 1:] != sorted_scores[:, :-1], axis=1, out=group[:, 1:])
    group[sorted_codes == 0] = codes.shape[1]
    # group and code in one integer: sorting it keeps the order of the scores and sorts equal scores by grade
    codes_in_order: Rows = np.sort(group * size + sorted_codes, axis=1) % size
    return codes_in_order
