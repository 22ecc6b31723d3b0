"""Recall at K in both conventions, their sum RSUM, and the median rank.

"R@K is the share of queries with at least one relevant item among the K best scored." This is the field's
R@K, here ``hit_at_k``. The other convention, ``recall_at_k``, is the mean share of a query's relevant items
among the K best. They agree where every query has one relevant item. RSUM is the sum of the six hit rates at
K = 1, 5, 10 in both directions, here in [0, 6].

A tie counts against the model (``_ranks``). A query with nothing relevant does not count, and how many there
were is reported. In the 1K protocol (``folds``) consecutive blocks of images with their own captions are
separate galleries, and every number is the mean over the blocks.

Source: F. Faghri et al., VSE++, BMVC 2018, section 4 (R@K, median rank).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from workbench.metrics._bootstrap import Estimate, columns, median_rank, over_folds, total
from workbench.metrics._ranks import (
    AnyScores,
    Direction,
    Ranked,
    Ranks,
    Relevant,
    Values,
    both,
    by_rows,
    rank,
)
from workbench.records import Judgements, Measurement, Rows

SUMMED = (1, 5, 10)


def hit_at_k(ranks: Ranks, k: int) -> Values:
    """Whether a query has a relevant item among its K best: the field's R@K.

    Args:
        ranks: of all relevant items, from ``_ranks.rank``.
        k: how many items are looked at.

    Returns:
        ``(queries,)`` of 1, 0, or NaN where nothing is relevant.

    >>> ranks = rank(np.array([[0.9, 0.2, 0.6], [0.3, 0.4, 0.5]]), np.eye(2, 3, dtype=bool))
    >>> hit_at_k(ranks, 1).tolist(), hit_at_k(ranks, 2).tolist()
    ([1.0, 0.0], [1.0, 1.0])
    """
    return np.where(np.isnan(ranks.first), np.nan, ranks.first <= k)


def recall_at_k(ranks: Ranks, k: int) -> Values:
    """Share of a query's relevant items that are among its K best.

    Args:
        ranks: of all relevant items, from ``_ranks.rank``.
        k: how many items are looked at.

    Returns:
        ``(queries,)`` in [0, 1], NaN where nothing is relevant.

    >>> recall_at_k(rank(np.array([[0.9, 0.2, 0.6]]), np.array([[True, True, False]])), 2).tolist()
    [0.5]
    """
    return ranks.mean(ranks.rank <= k)


def best_ranks(scores: AnyScores | Ranked, judgements: Judgements, direction: Direction) -> Values:
    """Rank of each query's best relevant item.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judgements: which pairs are relevant.
        direction: whether images or captions are the queries.

    Returns:
        ``(I,)`` or ``(T,)``, 1 = top, NaN where nothing is relevant or the query is not asked.
    """
    if isinstance(scores, Ranked):
        return scores.by(judgements)[direction].first
    rows, relevant = by_rows(scores), Relevant.of(judgements)
    return rank(rows, relevant).first if direction == "i2t" else rank(rows.T, relevant.T).first


def measure(
    scores: AnyScores | Ranked,
    judgements: Judgements,
    *,
    own: Rows | None = None,
    ks: Sequence[int] = SUMMED,
    folds: int = 1,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """All of this file in both directions: ``i2t/R@1``, ``i2t/recall@1``, ``i2t/medr``, the same for ``t2i``,
    and ``rsum``.

    Args:
        scores: ``(I, T)``, larger = more alike; or ranks by these judgements, without folds.
        judgements: which pairs are relevant.
        own: ``(T,)`` row of each caption's image; needed to cut folds only.
        ks: depths; ``rsum`` is always made of 1, 5 and 10.
        folds: blocks of consecutive images, 1 = the whole gallery, 5 = the 1K protocol of MS-COCO.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, nothing is relevant, or the images cannot be cut into equal
            folds.
    """
    rng = np.random.default_rng(seed)
    blocks = list(_folds(scores, judgements, own, folds))
    out, sums, galleries = [], [], []
    for direction in blocks[0]:
        parts = [_estimates(block[direction], ks, rounds, rng) for block in blocks]
        merged = {key: over_folds([part[key] for part in parts]) for key in parts[0]}
        sums.append(merged.pop("sum"))
        galleries.append(blocks[0][direction].gallery)
        contract = Measurement("", 0.0, judgements=judgements.name, gallery=galleries[-1], folds=folds)
        out += [
            estimate.report(contract, f"{direction}/{key}", _hit(key)) for key, estimate in merged.items()
        ]
    contract = Measurement("", 0.0, judgements=judgements.name, gallery=sum(galleries), folds=folds)
    return [
        *out,
        total(sums).report(
            contract,
            "rsum",
            "sum of the hit rates at 1, 5 and 10 of both directions; gallery = images + captions",
        ),
    ]


def _estimates(ranks: Ranks, ks: Sequence[int], rounds: int, rng: np.random.Generator) -> dict[str, Estimate]:
    values = {f"R@{k}": hit_at_k(ranks, k) for k in ks} | {f"recall@{k}": recall_at_k(ranks, k) for k in ks}
    values["sum"] = np.sum([hit_at_k(ranks, k) for k in SUMMED], axis=0)
    return columns(values, rounds, rng) | {"medr": median_rank(ranks.first, rounds, rng)}


def _folds(
    scores: AnyScores | Ranked, judgements: Judgements, own: Rows | None, folds: int
) -> Iterator[dict[Direction, Ranks]]:
    """Ranks within each block of images and their captions."""
    if folds == 1:
        yield both(scores, judgements)
        return
    if isinstance(scores, Ranked):
        raise ValueError("ranks of the whole gallery cannot be cut into folds: give the scores")
    images, captions = scores.shape
    if own is None or len(own) != captions or images % folds:
        have = "none" if own is None else str(len(own))
        raise ValueError(
            f"{folds} folds need own of {captions} captions (got {have}) and {folds} to divide {images} images"
        )
    for rows in np.split(np.arange(images), folds):
        theirs = np.flatnonzero(np.isin(own, rows))
        yield both(by_rows(scores).cut(rows, theirs), judgements.among(rows, theirs))


def _hit(key: str) -> str:
    name, _, k = key.partition("@")
    return {
        "R": f"at least one relevant item among the {k} best",
        "recall": f"share of the relevant items among the {k} best",
        "medr": "median rank of the best relevant item, rounded down; smaller is better",
    }[name]


MEMBER = measure
