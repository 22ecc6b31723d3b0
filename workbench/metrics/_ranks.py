"""THE rank: one definition, one tie rule, one pass that serves every metric of an order.

The rank of a relevant item is ``1 + #(greater) + #(equal and not relevant)``, plus the relevant items counted before it among
its equals. A tie therefore counts against the model: a matrix of equal scores puts every relevant item last. Graded orders
follow the same rule: larger scores first, among equal scores the lower grade first. Only the order of the scores matters,
never their sign or scale, and scores are compared in the type they come in.

A direction is written once: rows are queries. Image to text is ``rank(scores, relevant)``, text to image is
``rank(scores.T, relevant.T)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Judgements, Rows

Scores = NDArray[Any]
Values = NDArray[np.float64]
Codes = NDArray[Any]


def ratio(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    """``part / whole``, NaN where the whole is 0: a query without an answer."""
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


@dataclass(frozen=True)
class Relevant:
    """Which items are relevant to which query, as a sorted list of pairs.

    Args:
        query: ``(M,)`` query rows, ascending.
        item: ``(M,)`` gallery rows, ascending within a query.
        shape: number of queries and gallery size.
    """

    query: Rows
    item: Rows
    shape: tuple[int, int]

    @staticmethod
    def of(pairs: Judgements | NDArray[np.bool_]) -> Relevant:
        """Relevant pairs of judgements (images as queries) or of a matrix ``(queries, gallery)`` of truth values."""
        if not isinstance(pairs, Judgements):
            query, item = np.nonzero(pairs)
            return Relevant(query, item, (pairs.shape[0], pairs.shape[1]))
        if pairs.unlisted is not None and pairs.unlisted >= pairs.relevant_from:
            return Relevant.of(pairs.relevant())
        good = pairs.grades >= pairs.relevant_from
        return _sorted(pairs.images[good], pairs.captions[good], pairs.shape)

    @property
    def T(self) -> Relevant:  # noqa: N802  the name that numpy gives it
        """The other direction: items become queries."""
        return _sorted(self.item, self.query, self.shape[::-1])

    @property
    def start(self) -> Rows:
        """``(queries + 1,)`` where each query's items begin."""
        return np.searchsorted(self.query, np.arange(self.shape[0] + 1))

    def cut(self, queries: Rows, items: Rows) -> Relevant:
        """The pairs among these queries and these items, renumbered."""
        place = [np.full(size, -1, dtype=np.int64) for size in self.shape]
        for numbers, rows in zip(place, (queries, items), strict=True):
            numbers[rows] = np.arange(len(rows))
        query, item = place[0][self.query], place[1][self.item]
        kept = (query >= 0) & (item >= 0)
        return _sorted(query[kept], item[kept], (len(queries), len(items)))


def _sorted(query: Rows, item: Rows, shape: tuple[int, int]) -> Relevant:
    order = np.lexsort((item, query))
    return Relevant(query[order], item[order], shape)


@dataclass(frozen=True)
class Ranks:
    """Ranks of all relevant items, query by query.

    Args:
        query: ``(M,)`` query of each relevant item, ascending.
        rank: ``(M,)`` its rank, 1 = top, ascending within a query.
        counts: ``(queries,)`` relevant items of each query; 0 = a query that has no answer and does not count.
        gallery: number of items ranked.
    """

    query: Rows
    rank: Rows
    counts: Rows
    gallery: int

    @property
    def place(self) -> Rows:
        """``(M,)`` 1 for a query's best ranked relevant item, 2 for its next, and so on."""
        start = np.cumsum(self.counts) - self.counts
        return np.arange(len(self.rank)) - start[self.query] + 1

    @property
    def first(self) -> Values:
        """``(queries,)`` rank of the best ranked relevant item; NaN where nothing is relevant."""
        out = np.full(len(self.counts), np.nan)
        out[self.query[self.place == 1]] = self.rank[self.place == 1]
        return out

    def mean(self, values: NDArray[Any]) -> Values:
        """``(queries,)`` mean of a value per relevant item, ``(M,)``; NaN where nothing is relevant."""
        total = np.bincount(self.query, weights=values, minlength=len(self.counts))
        return ratio(total, self.counts)


def rank(scores: Scores, relevant: Relevant | NDArray[np.bool_], *, block: int = 512) -> Ranks:
    """Ranks of all relevant items.

    Args:
        scores: ``(queries, gallery)``, larger = more alike; ``-inf`` removes an item (a query from its own gallery).
        relevant: the relevant pairs, or a matrix ``(queries, gallery)`` of truth values.
        block: queries sorted at a time, which bounds the memory.

    Raises:
        ValueError: shapes differ, or a score is NaN.

    >>> rank(np.array([[-0.1, -0.3, -0.2]]), np.array([[False, True, True]])).rank.tolist()
    [2, 3]
    """
    pairs = relevant if isinstance(relevant, Relevant) else Relevant.of(relevant)
    start, parts = pairs.start, [np.zeros(0, dtype=np.int64)]
    for first, rows in _blocks(scores, pairs.shape, block):
        ordered = np.sort(rows, axis=1)
        for row in range(len(rows)):
            items = pairs.item[start[first + row] : start[first + row + 1]]
            if len(items):
                parts.append(_ranks_of(rows[row, items], ordered[row]))
    return Ranks(pairs.query, np.concatenate(parts), np.diff(start), scores.shape[1])


def _ranks_of(relevant: Scores, ordered: Scores) -> Rows:
    """Ranks of the relevant scores of one query, given all its scores in ascending order."""
    own = np.sort(relevant)
    not_below = len(ordered) - np.searchsorted(ordered, own, "left")
    relevant_not_below = len(own) - np.searchsorted(own, own, "left")
    irrelevant_above: Rows = (not_below - relevant_not_below)[::-1]
    return irrelevant_above + np.arange(1, len(own) + 1)


def _blocks(scores: Scores, shape: tuple[int, int], size: int) -> Iterator[tuple[int, Scores]]:
    if scores.shape != shape:
        raise ValueError(f"scores are {scores.shape}, the judgements (queries, gallery) are {shape}")
    for first in range(0, len(scores), size):
        rows = np.ascontiguousarray(scores[first : first + size])
        bad = int(np.isnan(rows).sum())
        if bad:
            raise ValueError(f"{bad} scores are NaN among queries {first} to {first + len(rows) - 1}; a NaN has no rank")
        yield first, rows


@dataclass(frozen=True)
class Ordered:
    """Grades in the order of the scores, best score first.

    Args:
        codes: ``(queries, gallery)`` index into ``grades``; 0 = nobody judged the pair, and such pairs stand at the end.
        grades: ``(G,)`` distinct grades, ascending, after a leading 0 for "not judged".
    """

    codes: Codes
    grades: Values


def order(scores: Scores, grades: NDArray[Any], *, block: int = 512) -> Ordered:
    """Grades in the order of the scores; among equal scores the lower grade stands first.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: ``(queries, gallery)``, larger = more relevant; NaN = not judged, which takes the pair out of the list.
        block: queries sorted at a time.

    Raises:
        ValueError: shapes differ, or a score is NaN.

    >>> ranked = order(np.array([[0.2, 0.9, 0.2]]), np.array([[5.0, 1.0, 3.0]]))
    >>> ranked.grades[ranked.codes].tolist()
    [[1.0, 3.0, 5.0]]
    """
    known = np.unique(grades[~np.isnan(grades)])
    codes = np.empty(grades.shape, dtype=np.min_scalar_type(len(known)))
    for first, rows in _blocks(scores, (grades.shape[0], grades.shape[1]), block):
        part = grades[first : first + len(rows)]
        code = np.where(np.isnan(part), 0, np.searchsorted(known, part) + 1)
        codes[first : first + len(rows)] = _codes_in_order(rows, code, len(known) + 1)
    return Ordered(codes, np.concatenate([[0.0], known.astype(np.float64)]))


def _codes_in_order(scores: Scores, codes: Rows, size: int) -> Rows:
    by_score = np.argsort(-scores, axis=1)
    sorted_scores, sorted_codes = np.take_along_axis(scores, by_score, 1), np.take_along_axis(codes, by_score, 1)
    group = np.zeros(codes.shape, dtype=np.int64)
    np.cumsum(sorted_scores[:, 1:] != sorted_scores[:, :-1], axis=1, out=group[:, 1:])
    group[sorted_codes == 0] = codes.shape[1]
    # group and code in one integer: sorting it keeps the order of the scores and sorts equal scores by grade
    codes_in_order: Rows = np.sort(group * size + sorted_codes, axis=1) % size
    return codes_in_order
