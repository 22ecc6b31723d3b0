"""Semantic Recall and NCS: retrieval against graded relevance phi, such as CIDEr with an image's captions.

"NCS at K is the sum of phi over the K items retrieved, divided by the largest sum that K items can have."
That is the released code (``ncs``). The printed equation counts retrieved items of the m best by phi only and
divides by the sum over all m (``ncs_top``). "Semantic Recall at K is the share of the m best items by phi
that are among the K best scored": the paper (``sr_top``); in the released code the relevant items are voted
for by an image's captions (``sr_votes``; without a query's own items its own image is no candidate). ``nsum``
is the sum of NCS at 1, 5 and 10 of both directions.

ASP, average semantic precision: "mean over candidates of the smaller by the larger of its two ranks, by score
and by grade" (``asp``). It compares two whole rankings; equal grades may stand in any order, and a pair that
nobody judged is in no list.

Any grades may be phi. A tie of scores counts against the model (``grades``); among equal grades the earlier
row of the gallery is the better one, and an item of grade 0 is not among the m best. Without a query's own
items in the lists the keys end in ``[without own]``.

Source: the SAM paper, "Is an image worth five sentences?", equation 5, and its released code. Departures: NCS
divides by the sum as it is and not by the sum + 1e-10; an item of grade 0 does not fill up a set of m. ASP:
Li et al., DAA, NeurIPS 2022, equation 8.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from workbench.metrics import blocks
from workbench.metrics.blocks import AnyScores, RowScores, by_rows
from workbench.metrics.evaluation import Side
from workbench.metrics.grades import Lists, lists
from workbench.metrics.ranks import Relevant, rank, ratio
from workbench.metrics.recall import recall
from workbench.metrics.registry import Metric
from workbench.records import Rows, Values
from workbench.registry import Natural

TIES = "among equal scores the lower grade ranks above"
BALLOTS, BLOCK = 30, 512


class BySize(Metric):
    """A metric of the set of the m best items by phi.

    Args:
        m: size of the set; its number ends the name: ``ncs_top3``.
        ks: depths.
    """

    def __init__(self, *, m: Natural = 3, ks: tuple[Natural, ...] = (1, 5, 10)) -> None:
        super().__init__(ks=ks)
        self.m = self.width = m
        self.name = f"{self.name}{m}"

    def phrase(self, k: int | None, judgements: str) -> str:
        """Return what counts as a hit at a depth."""
        return self.hit.format(k=k, m=self.m)

    def per_query(self, inputs: Any, k: int | None = None) -> Values:
        """Return ``(queries,)`` in [0, 1], NaN where no grade is positive."""
        return self.values_of(inputs, k, self.m)


def ncs(lists: Lists, k: int | None = None) -> Values:
    """Return ``(queries,)`` released NCS: grades of the K best scored items against the K largest grades; 0
    where no grade is positive, as in the released code.

    >>> (_, found), *_ = lists(np.array([[0.2, 0.9, 0.5]]), np.array([[3.0, 1.0, 0.0]]))
    >>> ncs(found, 2).tolist()  # (1 + 0) / (3 + 1)
    [0.25]
    """
    grade, _, best = lists.retrieved
    return np.nan_to_num(ratio(grade[:, :k].sum(axis=1), best[:, :k].sum(axis=1)))


def nsum(lists: Lists, k: int | None = None) -> Values:
    """Return ``(queries,)`` sum of NCS at 1, 5 and 10."""
    return ncs(lists, 1) + ncs(lists, 5) + ncs(lists, 10)


def ncs_top(lists: Lists, k: int | None, m: int) -> Values:
    """Compute the printed NCS (equation 5): grades of the retrieved items among the m best by phi, against
    all m.
    """
    grade, place, best = lists.retrieved
    counted = np.where(place[:, :k] <= m, grade[:, :k], 0).sum(axis=1)
    return ratio(counted, best[:, :m].sum(axis=1))


def sr_top(lists: Lists, k: int | None, m: int) -> Values:
    """Return the share of the m best items by phi (of those above 0) that are among the K best scored."""
    grade, place, best = lists.retrieved
    hits = ((place[:, :k] <= m) & (grade[:, :k] > 0)).sum(axis=1)
    return ratio(hits, (best[:, :m] > 0).sum(axis=1))


def sr_votes(side: Side, k: int | None, m: int) -> Values:
    """Compute the released Semantic Recall: an image's captions vote for the m images that are relevant to
    it. Where the lists lack a query's own items, its own image leaves the vote before the m are taken.
    """
    grades, without = side.grades.T if side.direction == "t2i" else side.grades, side.without_own
    kept = voted_images(grades, side.own, m, without_own=without)
    relevant = relevant_by_votes(kept, side.own, side.direction, without_own=without)
    return recall(rank(side.scores, relevant), k)


def any_top(lists: Lists, k: int | None, m: int) -> Values:
    """Return whether one of the m best items by phi (of those above 0) is among the K best scored: the
    paper's R^V over the extended set.
    """
    grade, place, best = lists.retrieved
    hit = ((place[:, :k] <= m) & (grade[:, :k] > 0)).any(axis=1)
    return np.where(best[:, 0] > 0, hit, np.nan)


def asp(lists: Lists, k: int | None = None) -> Values:
    """Return ``(queries,)`` how alike the order of the scores and that of the grades are, in (0, 1]: 1 where
    the scores do not contradict the grades; NaN where nothing is judged.

    >>> (_, found), *_ = lists(np.array([[0.3, 0.6, 0.55]]), np.array([[0.5, 1.0, 0.2]]))
    >>> asp(found).round(4).tolist()  # ranks 3 1 2, 2 1 3
    [0.7778]
    """
    grade = np.where(lists.listed, lists.grades, -np.inf)
    by_score = np.lexsort((grade, -np.where(lists.listed, lists.scores, -np.inf)), axis=1)
    # a stable sort: equal grades keep the order of the scores
    by_grade = np.argsort(-np.take_along_axis(grade, by_score, axis=1), axis=1, kind="stable")
    places, ranks = np.empty_like(by_grade), np.arange(1, grade.shape[1] + 1)
    np.put_along_axis(places, by_grade, ranks[None], axis=1)
    shares = np.minimum(ranks, places) / np.maximum(ranks, places)
    counted = np.take_along_axis(lists.listed, by_score, axis=1)
    return ratio((shares * counted).sum(axis=1), counted.sum(axis=1))


def recall_curves(
    scores: AnyScores,
    phi: AnyScores,
    ms: Sequence[int],
    *,
    k: int = 10,
    of: Callable[[Lists, int | None, int], Values] = sr_top,
    without: Rows | None = None,
) -> dict[str, Values]:
    """Compute Semantic Recall at K as the set of relevant items grows: for ``"i2t"`` and ``"t2i"``
    ``(len(ms),)`` means over queries, NaN where none counts.

    Args:
        scores: ``(I, T)``, larger = more alike.
        phi: ``(I, T)`` grades of at least 0.
        ms: sizes of the relevant set.
        k: how many items are retrieved.
        of: what is measured: ``sr_top`` or ``any_top``.
        without: ``(T,)`` row of each caption's image, whose pairs leave both lists; ``None`` = they stay.
    """
    rows, grades = by_rows(scores), by_rows(phi)
    if without is not None:
        rows = blocks.drop_pairs(rows, without, np.arange(len(without)))
    out = {}
    for direction, sides in (("i2t", (rows, grades)), ("t2i", (rows.T, grades.T))):
        by_part = []
        for _, part in lists(*sides, depth=k, width=max(ms)):
            by_part.append([of(part, k, m) for m in ms])
        values = np.hstack(by_part)
        out[direction] = ratio(np.nansum(values, axis=1), np.isfinite(values).sum(axis=1))
    return out


def voted_images(
    phi: RowScores, own: Rows, m: int, *, ballots: int = BALLOTS, without_own: bool = False
) -> Rows:
    """Return ``(I, m)`` the images that an image's captions vote for, most votes first; among equal votes the
    earlier row first. Each caption gives its ``ballots`` best images its grade with them, and the votes of an
    image's captions are summed. Without own, an image comes last in its own captions' vote.
    """
    images = phi.shape[0]
    parts = [
        blocks.best_of_block(np.nan_to_num(rows), min(ballots, images))
        for _, rows in blocks.blocks(phi.T, phi.T.shape, BLOCK, checked=False)
    ]
    given, voted_for = map(np.concatenate, zip(*parts, strict=True))
    at = np.repeat(own, voted_for.shape[1]), voted_for.ravel()
    box = sparse.csr_array((given.astype(np.float64).ravel(), at), shape=(images, images))
    kept = []
    for first in range(0, images, BLOCK):
        part = box[first : first + BLOCK].toarray()
        if without_own:
            part[np.arange(len(part)), np.arange(first, first + len(part))] = -1
        kept.append(blocks.best_of_block(part, min(m, images))[1])
    return np.concatenate(kept)


def relevant_by_votes(kept: Rows, own: Rows, direction: str, *, without_own: bool = False) -> Relevant:
    """Return the relevant pairs by ``voted_images``: an image's captions are those of its voted images, a
    caption's images those that its image voted for, with or without a query's own items.
    """
    member = np.zeros((len(kept), len(kept)), dtype=bool)
    np.put_along_axis(member, kept, True, axis=1)
    if without_own:
        np.fill_diagonal(member, False)
    return Relevant.from_pairs(member[own] if direction == "t2i" else member[:, own])


SHARED: dict[str, Any] = {
    "requires": "lists",
    "directions": ("i2t", "t2i"),
    "by": ("graded",),
    "ties": TIES,
    "default": False,
}
# those whose name ends in the size of a set
BY_SIZE = (
    BySize.from_function(
        "ncs_top",
        ncs_top,
        "phi of those of the {m} best by phi that are among the {k} best scored, against the sum of all {m}",
        **SHARED,
    ),
    BySize.from_function(
        "sr_top", sr_top, "share of the {m} best by phi that are among the {k} best scored", **SHARED
    ),
    BySize.from_function(
        "sr_votes",
        sr_votes,
        "share of the captions of the {m} images that an image's captions vote for, or of these images, "
        "among the {k} best scored",
        **SHARED | {"requires": "scores"},
    ),
)
MEMBER = (
    Metric.from_function(
        "ncs", ncs, "phi of the {k} best scored against the largest sum of {k}", ks=(1, 5, 10), **SHARED
    ),
    Metric.from_function(
        "nsum",
        nsum,
        "sum of NCS at 1, 5 and 10 of both directions; gallery = images + captions",
        width=10,
        face="sum",
        summed=True,
        **SHARED,
    ),
    Metric.from_function(
        "asp",
        asp,
        "the smaller by the larger of an item's ranks by score and by phi, mean over the gallery",
        **SHARED,
    ),
    *BY_SIZE,
)
