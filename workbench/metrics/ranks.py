"""The rank: one definition, one tie rule, one pass that serves every metric of an order of relevant items.

The rank of a relevant item is ``1 + #(greater) + #(equal and not relevant)``, plus the relevant items counted
before it among its equals. A tie therefore counts against the model: a matrix of equal scores puts every
relevant item last. Graded orders follow the same rule (``grades``): larger scores first, among equal scores
the lower grade first. ``blocks.best_items``, which lists items for people, puts the lower row
first. Only the order of the scores matters, never their sign or scale, and scores are compared in the type
they come in.

A direction is written once: rows are queries. Image to text is ``rank(scores, relevant)``, text to image is
``rank(scores.T, relevant.T)``, and ``Ranked`` is the two. The pass counts, for each relevant item, the items
that score at least as much; no list is sorted for it, and many judgements share it (``rank_all``). It
finds the best items of every query as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from workbench.metrics.blocks import CACHED, AnyScores, best_of_block, blocks, by_rows, require_no_nan
from workbench.records import Array, Judgements, Mask, Rows, Values

# up to so many relevant items of a query are counted one by one; sorting the row is faster beyond
FEW = 24
# ``(queries, k)`` scores of the best items, largest first, and their gallery rows
Best = tuple[Array, Rows]
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
        asked: ``(queries,)`` and, for the other direction, ``(items,)``: False = in the gallery only.
            ``None`` = all.
        missing: likewise how many relevant ones the gallery lacks. They count into R and are never found.
    """

    query: Rows
    item: Rows
    shape: tuple[int, int]
    asked: MaskPair = (None, None)
    missing: CountPair = (None, None)

    @staticmethod
    def from_pairs(pairs: Judgements | Mask) -> "Relevant":
        """Return relevant pairs of judgements (images as queries) or of a matrix ``(queries, gallery)`` of
        truth values.
        """
        if not isinstance(pairs, Judgements):
            query, item = np.nonzero(pairs)
            return Relevant(query, item, (pairs.shape[0], pairs.shape[1]))
        asked = (
            _row_mask(pairs.image_queries, pairs.shape[0]),
            _row_mask(pairs.caption_queries, pairs.shape[1]),
        )
        absent = pairs.missing_captions
        missing = (None if absent is None else np.bincount(absent, minlength=pairs.shape[0]), None)
        if pairs.unlisted is not None and pairs.unlisted >= pairs.relevant_from:
            images, captions = np.nonzero(pairs.relevant())
        else:
            good = pairs.grades >= pairs.relevant_from
            images, captions = pairs.images[good], pairs.captions[good]
        return _sort_pairs(images, captions, pairs.shape, asked, missing)

    @property
    def T(self) -> "Relevant":  # noqa: N802  the name that numpy gives it
        """The other direction: items become queries."""
        return _sort_pairs(self.item, self.query, self.shape[::-1], self.asked[::-1], self.missing[::-1])

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

    def within(self, items: Rows) -> "Relevant":
        """Return the pairs with these items, ascending, which become the gallery; what the gallery lacks is
        left out.
        """
        place = np.full(self.shape[1], -1, dtype=np.int64)
        place[items] = np.arange(len(items))
        inside = place[self.item] >= 0
        shape = self.shape[0], len(items)
        asked = None if self.asked[1] is None else self.asked[1][items]
        return Relevant(self.query[inside], place[self.item[inside]], shape, (self.asked[0], asked))

    def select_queries(self, queries: Rows) -> "Relevant":
        """Return the pairs of these queries, ascending, and of no others."""
        turned = self.T.within(queries).T
        missing = None if self.missing[0] is None else self.missing[0][queries]
        return Relevant(turned.query, turned.item, turned.shape, turned.asked, (missing, None))

    def answers(self) -> "Relevant":
        """Return the pairs of queries that are asked."""
        if self.asked[0] is None:
            return self
        kept = self.asked[0][self.query]
        return Relevant(self.query[kept], self.item[kept], self.shape, self.asked, self.missing)


def _row_mask(rows: Rows | None, size: int) -> Mask | None:
    return None if rows is None else np.isin(np.arange(size), rows)


def _sort_pairs(
    query: Rows, item: Rows, shape: tuple[int, int], asked: MaskPair, missing: CountPair
) -> Relevant:
    order = np.lexsort((item, query))
    return Relevant(query[order], item[order], shape, asked, missing)


def ratio(part: Array, whole: Array) -> Values:
    """Return ``part / whole``, NaN where the whole is 0: a query without an answer."""
    out = np.full(len(whole), np.nan)
    np.divide(part, whole, out=out, where=whole > 0)
    return out


@dataclass(frozen=True)
class Ranks:
    """Ranks of all relevant items, query by query.

    Args:
        query: ``(M,)`` query of each relevant item, ascending.
        rank: ``(M,)`` its rank, 1 = top, ascending within a query.
        counts: ``(queries,)`` R, the relevant items of each query, those that the gallery lacks among them; 0
            = a query that has no answer, or is not asked, and does not count.
        gallery: number of items ranked.
    """

    query: Rows
    rank: Rows
    counts: Rows
    gallery: int

    @property
    def place(self) -> Rows:
        """``(M,)`` 1 for a query's best ranked relevant item, 2 for its next, and so on."""
        return np.arange(len(self.rank)) - np.searchsorted(self.query, self.query) + 1

    @property
    def first(self) -> Values:
        """``(queries,)`` rank of the best ranked relevant item; NaN where nothing is relevant, infinite where
        none is listed.
        """
        out = np.where(self.counts > 0, np.inf, np.nan)
        out[self.query[self.place == 1]] = self.rank[self.place == 1]
        return out

    def mean(self, values: Array) -> Values:
        """Return ``(queries,)`` mean of a value per relevant item, ``(M,)``; NaN where nothing is
        relevant.
        """
        return ratio(np.bincount(self.query, weights=values, minlength=len(self.counts)), self.counts)


def rank(scores: AnyScores, relevant: Relevant | Mask, *, block: int | None = None) -> Ranks:
    """Return ranks of all relevant items.

    Args:
        scores: ``(queries, gallery)``, larger = more alike; ``-inf`` removes an item (a query from its own
            gallery).
        relevant: the relevant pairs, or a matrix ``(queries, gallery)`` of truth values.
        block: queries at a time, which bounds the memory; ``None`` = as the scores prefer.

    Raises:
        ValueError: shapes differ, or a score is NaN.

    >>> rank(np.array([[-0.1, -0.3, -0.2]]), np.array([[False, True, True]])).rank.tolist()
    [2, 3]
    """
    return rank_all(
        scores, [relevant if isinstance(relevant, Relevant) else Relevant.from_pairs(relevant)], block=block
    )[0][0]


def rank_all(
    scores: AnyScores, relevant: Sequence[Relevant], *, k: int = 0, block: int | None = None
) -> tuple[list[Ranks], Best]:
    """Return ranks by several judgements of the same queries and gallery, and the ``k`` best items of every
    query or all that there are, from one pass; for the other arguments see ``rank``.
    """
    queries, gallery = relevant[0].shape
    k = min(k, gallery)
    listed = [one.answers() for one in relevant]
    names = [one.query * np.int64(gallery) + one.item for one in listed]
    pairs = np.unique(np.concatenate(names))
    query, item = np.divmod(pairs, max(gallery, 1))
    start = np.searchsorted(query, np.arange(queries + 1))
    parts = blocks(scores, relevant[0].shape, block, checked=False)
    passed = [_read_block(first, rows, start, item, k) for first, rows in parts]
    if not passed:
        passed = [_read_block(0, np.empty((0, gallery)), start, item, k)]
    not_below, *best = map(np.concatenate, zip(*passed, strict=True))
    ranks = [
        _ranks_from_counts(one, not_below[np.searchsorted(pairs, name)])
        for one, name in zip(listed, names, strict=True)
    ]
    return ranks, (best[0], best[1])


def _read_block(first: int, rows: Array, start: Rows, item: Rows, k: int) -> tuple[Rows, Array, Rows]:
    """Read a block as ``compiled.read`` does; compiled where the block is larger than the cache."""
    start = start[first : first + len(rows) + 1]
    items, bounds = item[start[0] : start[-1]], start - start[0]
    each = zip(rows, pairwise(bounds.tolist()), strict=True)
    if rows.size <= CACHED:
        require_no_nan(first, rows)
        parts = [_count_not_below(row, items[a:b]) for row, (a, b) in each if a < b]
        return np.concatenate([np.zeros(0, np.int64), *parts]), *best_of_block(rows, k)
    from workbench.metrics import compiled  # slow to import

    not_below, *best, bad = compiled.read(rows, bounds, items, k, FEW)
    if bad:
        require_no_nan(first, rows)
    for row, (a, b) in each if np.diff(bounds).max() > FEW else ():
        if b - a > FEW:
            not_below[a:b] = _count_not_below(row, items[a:b])
    return not_below, best[0], best[1]


def _count_not_below(scores: Array, items: Rows) -> Rows:
    """Return how many of all scores are at least those of these items."""
    own = scores[items]
    if len(own) <= FEW:
        return np.array([np.count_nonzero(scores >= value) for value in own])
    return np.asarray(len(scores) - np.searchsorted(np.sort(scores), own, "left"))


def _ranks_from_counts(relevant: Relevant, not_below: Rows) -> Ranks:
    """Return ranks from the number of items that score at least as much: more of them = a smaller score, as
    many = an equal one.
    """
    query, gallery = relevant.query, relevant.shape[1]
    names = np.sort(query * np.int64(gallery + 1) + not_below)
    start = np.searchsorted(query, query)
    # those not below, less the relevant ones among them
    irrelevant_above = names % (gallery + 1) - (np.searchsorted(names, names, "right") - start)
    return Ranks(query, irrelevant_above + np.arange(len(names)) - start + 1, relevant.counts, gallery)


class Ranked:
    """Ranks ``(I, T)`` of both directions by several judgements, and the ``k`` best items of every query,
    from one pass a direction.

    Raises:
        ValueError: shapes differ, or a score is NaN.
    """

    def __init__(self, scores: AnyScores, judgements: Sequence[Judgements], k: int = 0) -> None:
        self.scores, self.judgements = scores, tuple(judgements)
        relevant = list(map(Relevant.from_pairs, self.judgements))
        self.shape = relevant[0].shape
        rows = by_rows(scores)
        i2t, best_captions = rank_all(rows, relevant, k=k)
        t2i, best_images = rank_all(rows.T, [pairs.T for pairs in relevant], k=k)
        self._ranks = {"i2t": i2t, "t2i": t2i}
        self.best = {"i2t": best_captions, "t2i": best_images}

    def by(self, judgements: Judgements) -> dict[str, Ranks]:
        """Return the ranks by one of the judgements.

        Raises:
            ValueError: these judgements were not among those ranked.
        """
        for number, one in enumerate(self.judgements):
            if one is judgements:
                return {direction: ranks[number] for direction, ranks in self._ranks.items()}
        raise ValueError(
            f"judgements {judgements.name!r} were not ranked, only {[one.name for one in self.judgements]}"
        )


def ranks_of(scores: AnyScores, judgements: Judgements, direction: str) -> Ranks:
    """Return ranks of scores ``(I, T)`` by judgements in one direction, ``"i2t"`` or ``"t2i"``."""
    rows, relevant = by_rows(scores), Relevant.from_pairs(judgements)
    return rank(rows, relevant) if direction == "i2t" else rank(rows.T, relevant.T)
