"""Which items are relevant to which query, and which queries are asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.records import Judgements, Rows

Mask = NDArray[np.bool_]
# for each side (queries, items): a mask or counts, or None
MaskPair = tuple[Mask | None, Mask | None]
CountPair = tuple[Rows | None, Rows | None]


@dataclass(frozen=True)
class Relevant:
    """Relevant pairs as a sorted list.

    Args:
        query: ``(M,)`` query rows, ascending.
        item: ``(M,)`` gallery rows, ascending within a query.
        shape: number of queries and gallery size.
        asked: of queries ``(queries,)`` and, for the other direction, of items: False = in the gallery only.
            ``None`` = all.
        missing: of each query ``(queries,)`` and, for the other direction, of each item: how many relevant
            ones the gallery lacks. They count into R and are never found. ``None`` = none.
    """

    query: Rows
    item: Rows
    shape: tuple[int, int]
    asked: MaskPair = (None, None)
    missing: CountPair = (None, None)

    @staticmethod
    def of(pairs: Judgements | Mask) -> Relevant:
        """Relevant pairs of judgements (images as queries) or of a matrix ``(queries, gallery)`` of truth
        values.
        """
        if not isinstance(pairs, Judgements):
            query, item = np.nonzero(pairs)
            return Relevant(query, item, (pairs.shape[0], pairs.shape[1]))
        asked = (_mask(pairs.image_queries, pairs.shape[0]), _mask(pairs.caption_queries, pairs.shape[1]))
        absent = pairs.missing_captions
        missing = (None if absent is None else np.bincount(absent, minlength=pairs.shape[0]), None)
        if pairs.unlisted is not None and pairs.unlisted >= pairs.relevant_from:
            images, captions = np.nonzero(pairs.relevant())
        else:
            good = pairs.grades >= pairs.relevant_from
            images, captions = pairs.images[good], pairs.captions[good]
        return _sorted(images, captions, pairs.shape, asked, missing)

    @property
    def T(self) -> Relevant:  # noqa: N802  the name that numpy gives it
        """The other direction: items become queries."""
        return _sorted(self.item, self.query, self.shape[::-1], self.asked[::-1], self.missing[::-1])

    @property
    def start(self) -> Rows:
        """``(queries + 1,)`` where each query's items begin."""
        return np.searchsorted(self.query, np.arange(self.shape[0] + 1))

    @property
    def counts(self) -> Rows:
        """``(queries,)`` R, the number of relevant items, with those that the gallery lacks; 0 = the query
        does not count.
        """
        counts: Rows = np.diff(self.start)
        if self.missing[0] is not None:
            counts = counts + self.missing[0]
        return counts if self.asked[0] is None else counts * self.asked[0]

    def answers(self) -> Relevant:
        """The pairs of queries that are asked."""
        if self.asked[0] is None:
            return self
        kept = self.asked[0][self.query]
        return Relevant(self.query[kept], self.item[kept], self.shape, self.asked, self.missing)


def _mask(rows: Rows | None, size: int) -> Mask | None:
    if rows is None:
        return None
    mask = np.zeros(size, dtype=bool)
    mask[rows] = True
    return mask


def _sorted(query: Rows, item: Rows, shape: tuple[int, int], asked: MaskPair, missing: CountPair) -> Relevant:
    order = np.lexsort((item, query))
    return Relevant(query[order], item[order], shape, asked, missing)
