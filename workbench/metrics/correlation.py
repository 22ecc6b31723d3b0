"""Correlation of scores with graded judgements of pairs, such as people's ratings.

"Pearson and Spearman correlation over all judged pairs", with equal values given their average rank.
Intervals come from drawing queries with all their pairs, since pairs of one query are not independent. Beside
them the bootstrap of Crisscrossed Captions (``spearman_half``): the mean of 1,000 rounds, each drawing half
of the queries and one judged partner of each. Without own pairs, binary labels are constant, and such a
correlation is not defined: it is NaN here, where papers print 0.

Source: Z. Parekh et al., Crisscrossed captions, EACL 2021 (bootstrap; no stored code shows it); the SAM
paper, "Is an image worth five sentences?", table 1 (Pearson correlation with the ratings of image-caption
pairs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._bootstrap import Estimate, resamples
from workbench.metrics._grades import Phi
from workbench.metrics._rows import Values
from workbench.records import Judgements, Measurement, Rows

EMPTY = 1e-12  # share of the sum of squares that is rounding alone
LEAST = 4  # queries, half of which are a sample
TIES = "equal values have their average rank"
Query = Literal["i2t", "t2i", "i2i", "t2t"]


def pearson(first: NDArray[Any], second: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Pearson correlation; NaN where either side is constant.

    Args:
        first: ``(N,)`` values of pairs.
        second: ``(N,)`` other values of the same pairs.
        weights: ``(N,)`` how often each pair counts; ``None`` = once.

    >>> round(pearson(np.array([0.9, 0.5, 0.1, 0.4, 0.0]), np.array([5, 4, 1, 2, 0])), 6)
    0.960776
    """
    counted = np.ones(len(first)) if weights is None else weights
    if any(np.ptp(side[counted > 0]) == 0 for side in (first, second)):
        return float("nan")
    x, y = (values - np.average(values, weights=counted) for values in (first, second))
    return float(np.clip(counted @ (x * y) / np.sqrt((counted @ x**2) * (counted @ y**2)), -1, 1))


def spearman(first: NDArray[Any], second: NDArray[Any], weights: NDArray[Any] | None = None) -> float:
    """Spearman correlation: Pearson's of the average ranks; for the arguments see ``pearson``.

    >>> round(spearman(np.array([2, 1, 4, 3, 5]), np.array([1, 2, 3, 4, 5])), 6)
    0.8
    """
    return pearson(ranks(first, weights), ranks(second, weights), weights)


def ranks(values: NDArray[Any], weights: NDArray[Any] | None = None) -> Values:
    """``(N,)`` average ranks from 1 for the smallest value, counting each value as often as its weight says."""
    return _average_ranks(
        np.unique(values, return_inverse=True)[1], np.ones(len(values)) if weights is None else weights
    )


def _average_ranks(place: Rows, weights: NDArray[Any]) -> Values:
    """Average ranks, given the place of each value among the distinct ones."""
    size = np.bincount(place, weights=weights)
    middle: Values = (np.cumsum(size) - size + (size + 1) / 2)[place]
    return middle


def half_of_the_queries(
    values: NDArray[Any], ratings: NDArray[Any], query: Rows, *, rounds: int, rng: np.random.Generator
) -> Values:
    """``(rounds,)`` Spearman correlations, each over half of the queries with one judged partner of each.

    Args:
        values: ``(N,)`` of the judged pairs.
        ratings: ``(N,)`` grades of these pairs.
        query: ``(N,)`` which query each pair belongs to.
        rounds: how many.
        rng: source of the draws.

    Raises:
        ValueError: fewer than four queries, half of which is no sample.
    """
    order = np.argsort(query, kind="stable")
    _, start, size = np.unique(query[order], return_index=True, return_counts=True)
    if len(start) < LEAST:
        raise ValueError(
            f"a bootstrap over half of {len(start)} queries is none; at least {LEAST} are needed"
        )
    out = np.empty(rounds)
    for number in range(rounds):
        drawn = rng.choice(len(start), len(start) // 2, replace=False)
        pair = order[start[drawn] + (rng.random(len(drawn)) * size[drawn]).astype(np.int64)]
        out[number] = spearman(values[pair], ratings[pair])
    return out


def at_pairs(phi: Phi | NDArray[Any] | Judgements, judgements: Judgements, *, block: int = 512) -> Values:
    """``(N,)`` the values of a matrix, a relevance or other judgements at the pairs that the judgements list.

    Args:
        phi: ``(I, T)``; a relevance is made by blocks of captions.
        judgements: whose pairs are asked for.
        block: captions at a time.

    Raises:
        ValueError: shapes differ.
    """
    if tuple(phi.shape) != judgements.shape:
        raise ValueError(
            f"values are {tuple(phi.shape)}, the judgements {judgements.name!r} are {judgements.shape}"
        )
    images, captions = judgements.images, judgements.captions
    if isinstance(phi, Judgements):
        return phi.at(images, captions).astype(np.float64)
    if isinstance(phi, np.ndarray):
        return np.asarray(phi[images, captions], dtype=np.float64)
    out = np.empty(len(images))
    for first in range(0, judgements.shape[1], block):
        here = np.flatnonzero((captions >= first) & (captions < first + block))
        if len(here):
            out[here] = phi.columns(slice(first, first + block))[images[here], captions[here] - first]
    return out


def cosines(first: NDArray[Any], second: NDArray[Any], judgements: Judgements) -> Values:
    """``(N,)`` inner products at the listed pairs, of embeddings whose whole matrix of scores may be too
    large to make.

    Args:
        first: ``(I, D)`` unit vectors of the rows.
        second: ``(T, D)`` unit vectors of the columns.
        judgements: whose pairs are asked for.
    """
    products = np.einsum("nd,nd->n", first[judgements.images], second[judgements.captions], dtype=np.float64)
    return np.asarray(products)


def judged_sample(judgements: Judgements, own: Rows, others: int, rng: np.random.Generator) -> Judgements:
    """Own pairs and as many random others as wanted, as people rate them: what is not listed was not judged.

    Args:
        judgements: grades of all pairs.
        own: ``(T,)`` row of each caption's image.
        others: further images for each caption, drawn without regard to their grade.
        rng: source of the draws.
    """
    images, captions = judgements.shape
    number = min(others, images - 1)
    # one offset from each of as many equal stretches of the other images: random, and never twice the same
    edges = np.arange(number + 1) * (images - 1) // max(number, 1)
    away = 1 + edges[:-1] + (rng.random((captions, number)) * np.diff(edges)).astype(np.int64)
    rows = np.concatenate([own[:, None], (own[:, None] + away) % images], axis=1).ravel()
    columns = np.repeat(np.arange(captions), number + 1)
    grades = judgements.at(rows, columns)
    rule = f"{judgements.rule}; own pairs and {number} random others a caption"
    return Judgements(
        judgements.name,
        rule,
        judgements.shape,
        rows,
        columns,
        grades,
        unlisted=None,
        source=judgements.source,
    )


def measure(
    values: NDArray[Any] | Phi | Judgements,
    judgements: Judgements,
    *,
    own: Rows | None = None,
    queries: tuple[Query, ...] = ("i2t", "t2i"),
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """``pearson`` and ``spearman`` over the listed pairs, and ``i2t/spearman_half``, ``t2i/spearman_half``,
    the bootstrap of CxC.

    Args:
        values: ``(N,)`` one for each listed pair, or ``(I, T)`` scores, relevance or judgements that grade
            them all.
        judgements: graded pairs, larger = more alike.
        own: ``(T,)`` row of each caption's image; the same numbers without own pairs, marked ``[without
            own]``, are added.
        queries: which sides are drawn; for pairs of one kind ``("i2i",)`` or ``("t2t",)``, where the first of
            a pair asks.
        rounds: bootstrap rounds; 0 = no intervals and no ``spearman_half``, which needs four queries as well.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ.
    """
    whole = isinstance(values, np.ndarray) and values.ndim == 1
    at = np.asarray(values, dtype=np.float64) if whole else at_pairs(values, judgements)
    if len(at) != len(judgements.grades):
        raise ValueError(
            f"{len(at)} values for the {len(judgements.grades)} pairs of the judgements {judgements.name!r}"
        )
    out = list(_of(at, judgements, np.ones(len(at), dtype=bool), queries, "", (rounds, seed)))
    if own is not None:
        others = own[judgements.captions] != judgements.images
        out += _of(at, judgements, others, queries, "[without own]", (rounds, seed))
    return out


def _of(
    values: Values,
    judged: Judgements,
    kept: NDArray[np.bool_],
    queries: tuple[Query, ...],
    part: str,
    draws: tuple[int, int],
) -> Iterator[Measurement]:
    """The numbers over some of the pairs."""
    rounds, rng = draws[0], np.random.default_rng(draws[1])
    x, y = values[kept], judged.grades[kept].astype(np.float64)
    asked = {query: (judged.captions if query == "t2i" else judged.images)[kept] for query in queries}
    _, query = np.unique(asked[queries[0]], return_inverse=True)
    contract = Measurement("", 0.0, judgements=judged.name, gallery=len(x), ties=TIES)
    varies = np.ptp(x) > 0 and np.ptp(y) > 0
    drawn = _drawn(x, y, query, rounds if varies else 0, rng)
    for key, value in (("pearson", pearson(x, y)), ("spearman", spearman(x, y))):
        estimate = Estimate(value, drawn[key], int(query.max(initial=-1)) + 1)
        yield estimate.report(contract, f"{key}{part}", f"{key} correlation over the pairs; gallery = pairs")
    for name, rows in asked.items():
        if rounds and varies and len(np.unique(rows)) >= LEAST:
            half = half_of_the_queries(x, y, rows, rounds=rounds, rng=rng)
            hit = f"mean over {rounds} rounds, each half of the queries with one pair; standard deviation {np.nanstd(half):.4f}"
            estimate = Estimate(float(np.nanmean(half)), half[~np.isnan(half)], len(np.unique(rows)))
            yield estimate.report(contract, f"{name}/spearman_half{part}", hit)


def _drawn(x: Values, y: Values, query: Rows, rounds: int, rng: np.random.Generator) -> dict[str, Values]:
    """Both correlations of each resample of the queries; a resample in which a side is constant is left out."""
    places = [np.unique(side, return_inverse=True)[1] for side in (x, y)]
    straight, ranked = [np.zeros(0)], [np.zeros(0)]
    for block in resamples(int(query.max(initial=-1)) + 1, rounds, rng):
        straight.append(_of_resamples(x, y, query, block))
        weights = (row[query] for row in block)
        ranked.append(
            np.array(
                [pearson(_average_ranks(places[0], w), _average_ranks(places[1], w), w) for w in weights]
            )
        )
    out = {"pearson": np.concatenate(straight), "spearman": np.concatenate(ranked)}
    return {key: values[~np.isnan(values)] for key, values in out.items()}


def _of_resamples(x: Values, y: Values, query: Rows, block: Values) -> Values:
    """Pearson correlations from sums over each query's pairs, ``(rounds,)``; NaN where a side is constant."""
    x, y = x - x.mean(), y - y.mean()
    sums = np.stack(
        [np.bincount(query, v, block.shape[1]) for v in (np.ones(len(x)), x, y, x * x, y * y, x * y)], axis=1
    )
    n, sx, sy, sxx, syy, sxy = (block @ sums).T
    across, along = sxx - sx**2 / n, syy - sy**2 / n
    varies = (across > EMPTY * sxx) & (along > EMPTY * syy)
    out = np.full(len(n), np.nan)
    np.divide(sxy - sx * sy / n, np.sqrt(np.abs(across * along)), out=out, where=varies)
    return out


MEMBER = measure
