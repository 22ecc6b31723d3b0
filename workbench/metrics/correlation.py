"""Correlation of scores with graded judgements of pairs, such as people's ratings.

"Pearson and Spearman correlation over all judged pairs", with equal values given their average rank.
A resample draws images with all their pairs, since pairs of one image are not independent. Beside
them the bootstrap of Crisscrossed Captions (``spearman_half``): the mean of 1,000 rounds, each drawing half
of the queries and one judged partner of each. Without own pairs, binary labels are constant, and such a
correlation is not defined: it is NaN here, where papers print 0.

Source: Z. Parekh et al., Crisscrossed captions, EACL 2021 (bootstrap; no stored code shows it); the SAM
paper, "Is an image worth five sentences?", table 1 (Pearson correlation with the ratings of image-caption
pairs).
"""

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import chain

import numpy as np
import scipy

from workbench.metrics import blocks
from workbench.metrics.blocks import AnyScores, by_rows
from workbench.metrics.evaluation import WITHOUT_OWN
from workbench.metrics.intervals import ROUNDS, SEED, Draws
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric, load_all
from workbench.metrics.reporting import report_number
from workbench.records import Array, Judgements, Measurement, MetricKey, Rows, Values, require

EMPTY = 1e-12  # share of the sum of squares that is rounding alone
LEAST = 4  # queries, half of which are a sample


def pearson(first: Array, second: Array, weights: Array | None = None) -> float:
    """Return the Pearson correlation; NaN where either side is constant.

    Args:
        first: ``(N,)`` values of pairs.
        second: ``(N,)`` other values of the same pairs.
        weights: ``(N,)`` how often each pair counts, which scipy's cannot say; ``None`` = once.

    >>> round(pearson(np.array([0.9, 0.5, 0.1, 0.4, 0.0]), np.array([5, 4, 1, 2, 0])), 6)
    0.960776
    """
    counted = np.ones(len(first)) if weights is None else weights
    if not counted.any() or any(np.ptp(side[counted > 0]) == 0 for side in (first, second)):
        return float("nan")
    x, y = (values - np.average(values, weights=counted) for values in (first, second))
    return float(np.clip(counted @ (x * y) / np.sqrt((counted @ x**2) * (counted @ y**2)), -1, 1))


def spearman(first: Array, second: Array) -> float:
    """Return the Spearman correlation: Pearson's of the average ranks; NaN where either side is constant.

    >>> round(spearman(np.array([2, 1, 4, 3, 5]), np.array([1, 2, 3, 4, 5])), 6)
    0.8
    """
    return pearson(scipy.stats.rankdata(first), scipy.stats.rankdata(second))


def kendall_tau_c(first: Array, second: Array) -> float:
    """Return Kendall's tau-c, which papers print of captions' metrics and experts' scores: twice the
    concordant less the discordant pairs over ``n^2 (m - 1) / m``, where m is the smaller number of distinct
    values; NaN where either side is constant.

    Source: A. Stuart, The estimation and comparison of strengths of association in contingency tables,
    Biometrika 40, 1953.

    >>> kendall_tau_c(np.array([1, 2, 3, 4]), np.array([1, 1, 2, 2]))  # 4 concordant: 2 x 4 / (16 / 2)
    1.0
    """
    if len(first) == 0 or min(np.ptp(first), np.ptp(second)) == 0:
        return float("nan")
    return float(scipy.stats.kendalltau(first, second, variant="c").statistic)


def grades_at_pairs(graded: AnyScores, judgements: Judgements) -> Values:
    """Return ``(N,)`` the values of any grades ``(I, T)`` at the pairs that the judgements list.

    Raises:
        ValueError: shapes differ.
    """
    require(
        tuple(graded.shape) == judgements.shape,
        f"values are {tuple(graded.shape)}, the judgements {judgements.name!r} are {judgements.shape}",
    )
    images, captions = judgements.images, judgements.captions
    if isinstance(graded, Judgements):
        return graded.grades_at(images, captions).astype(np.float64)
    turned = graded.T if isinstance(graded, np.ndarray) else by_rows(graded).T
    return blocks.at_pairs(turned, captions, images).astype(np.float64)


def judged_sample(judgements: Judgements, own: Rows, others: int, rng: np.random.Generator) -> Judgements:
    """Return own pairs and ``others`` random images for each caption, as people rate them: what is not listed
    was not judged.
    """
    images, captions = judgements.shape
    number = min(others, images - 1)
    # one offset from each of as many equal stretches of the other images: random, and never twice the same
    edges = np.arange(number + 1) * (images - 1) // max(number, 1)
    away = 1 + edges[:-1] + (rng.random((captions, number)) * np.diff(edges)).astype(np.int64)
    rows = np.concatenate([own[:, None], (own[:, None] + away) % images], axis=1).ravel()
    columns = np.repeat(np.arange(captions), number + 1)
    rule = f"{judgements.rule}; own pairs and {number} random others a caption"
    listed = judgements.shape, rows, columns, judgements.grades_at(rows, columns)
    return Judgements(judgements.name, rule, *listed, unlisted=None, source=judgements.source)


class Correlation(Metric):
    """A correlation of scores and ratings over all judged pairs. It is no mean of values by query: what it
    reads, ``(N, 3)`` value, rating and query of each pair, stands in place of these values.
    """

    requires = "pairs"
    directions: tuple[str, ...] = ("",)
    by = ("rated",)
    face = "correlation"
    ties = "equal values have their average rank"
    coefficient: Callable[..., float]

    def per_query(self, inputs: Values, k: int | None = None) -> Values:
        """Return ``(N, 3)`` the pairs."""
        return inputs

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the correlation, and that of each resample; a resample in which a side is constant is
        NaN.
        """
        x, y, _ = values.T
        if isinstance(at, str) or min(np.ptp(x), np.ptp(y)) == 0:
            return float("nan"), np.zeros(0)
        return self.coefficient(x, y), self.correlate_resamples(x, y, at, draws)

    def correlate_resamples(self, x: Values, y: Values, image: Rows, draws: Draws) -> Values:
        """Return ``(rounds,)`` each over its pairs, as often as their image was drawn."""
        resamples = chain.from_iterable(draws.blocks())
        drawn = (np.repeat(np.arange(len(x)), times[image].astype(int)) for times in resamples)
        return np.fromiter((self.coefficient(x[part], y[part]) for part in drawn), float, draws.rounds)


class Pearson(Correlation):
    """Pearson correlation of scores and ratings over all judged pairs."""

    name, hit = "pearson", "pearson correlation over the pairs; gallery = pairs"
    coefficient = staticmethod(pearson)

    def correlate_resamples(self, x: Values, y: Values, image: Rows, draws: Draws) -> Values:
        """Return ``(rounds,)`` from sums over each image's pairs."""
        x, y = x - x.mean(), y - y.mean()
        n, sx, sy, sxx, syy, sxy = draws.sums((np.ones(len(x)), x, y, x * x, y * y, x * y), image).T
        known = np.maximum(n, 1)
        across, along = sxx - sx**2 / known, syy - sy**2 / known
        varies = (across > EMPTY * sxx) & (along > EMPTY * syy)
        return ratio(sxy - sx * sy / known, np.where(varies, np.sqrt(np.abs(across * along)), 0))


class Spearman(Correlation):
    """Spearman correlation of scores and ratings over all judged pairs."""

    name, hit = "spearman", "spearman correlation over the pairs; gallery = pairs"
    coefficient = staticmethod(spearman)

    def correlate_resamples(self, x: Values, y: Values, image: Rows, draws: Draws) -> Values:
        """Return ``(rounds,)`` ranked anew in each resample, by counting: seven times as fast as sorting."""
        first, second = (np.unique(side, return_inverse=True)[1] for side in (x, y))
        weights = (times[image] for times in chain.from_iterable(draws.blocks()))
        correlations = (pearson(_average_ranks(first, w), _average_ranks(second, w), w) for w in weights)
        return np.fromiter(correlations, float, draws.rounds)


def _average_ranks(place: Rows, weights: Array) -> Values:
    """Return the average ranks, given the place of each value among the distinct ones and how often each
    counts.
    """
    size = np.bincount(place, weights=weights)
    return np.asarray((np.cumsum(size) - size + (size + 1) / 2)[place])


class TauC(Correlation):
    """Kendall's tau-c of scores and ratings over all judged pairs, measured where it is asked for, since each
    resample orders all pairs anew.
    """

    name, hit = "kendall_tau_c", "kendall tau-c over the pairs; gallery = pairs"
    ties = "a tie is neither concordant nor discordant"
    coefficient = staticmethod(kendall_tau_c)


class SpearmanHalf(Correlation):
    """The bootstrap of Crisscrossed Captions: the mean over rounds of half the queries with one pair each."""

    name = "spearman_half"
    hit = "mean over the rounds, each half of the queries with one judged partner of each"
    directions = ("i2t", "t2i", "i2i", "t2t")

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the mean over the rounds, and each of them; NaN without rounds or with fewer than four
        queries.
        """
        x, y, query = values.T
        order, rng = np.argsort(query, kind="stable"), np.random.default_rng(draws.seed)
        _, start, size = np.unique(query[order], return_index=True, return_counts=True)
        if not draws.rounds or min(np.ptp(x), np.ptp(y)) == 0 or len(start) < LEAST:
            return float("nan"), np.zeros(0)
        out = np.empty(draws.rounds)
        for number in range(draws.rounds):
            drawn = rng.choice(len(start), len(start) // 2, replace=False)
            pairs = order[start[drawn] + (rng.random(len(drawn)) * size[drawn]).astype(np.int64)]
            out[number] = spearman(x[pairs], y[pairs])
        return float(np.nanmean(out)), out


def correlations(
    values: AnyScores,
    judgements: Judgements,
    own: Rows,
    *,
    directions: tuple[str, ...] = ("i2t", "t2i"),
    metrics: Iterable[str | Metric] = ("pearson", "spearman", "spearman_half"),
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> list[Measurement]:
    """Return ``pearson`` and ``spearman`` over the listed pairs, and ``i2t/spearman_half``,
    ``t2i/spearman_half``, the bootstrap of CxC; of images and captions the same without own pairs, marked
    ``[without own]``.

    Args:
        values: ``(N,)`` one for each listed pair, or ``(I, T)`` scores, relevance or judgements that grade
            them all.
        judgements: graded pairs, larger = more alike.
        own: ``(T,)`` row of each caption's image.
        directions: which sides ask; for pairs of one kind ``("i2i",)`` or ``("t2t",)``, where the first of
            a pair asks.
        metrics: those that read pairs, or their names.
        rounds: bootstrap rounds; 0 = no intervals and no ``spearman_half``, which needs four queries as well.
        seed: of the bootstrap.

    Returns:
        The measurements; a correlation with what is constant is NaN.

    Raises:
        ValueError: shapes differ.
    """
    listed = isinstance(values, np.ndarray) and values.ndim == 1
    at = np.asarray(values, dtype=np.float64) if listed else grades_at_pairs(values, judgements)
    require(
        len(at) == len(judgements.grades),
        f"{len(at)} values for the {len(judgements.grades)} pairs of the judgements {judgements.name!r}",
    )
    image = own[judgements.images] if directions == ("t2t",) else judgements.images
    draws = Draws(own, int(own.max(initial=-1)) + 1, rounds, seed)
    subsets = {"": np.ones(len(at), dtype=bool)}
    if "t2i" in directions:
        subsets[WITHOUT_OWN] = own[judgements.captions] != judgements.images
    numbers: list[tuple[Metric, str]] = []
    for metric in load_all(metrics):
        numbers += [(metric, way) for way in metric.directions if way in ("", *directions)]
    out = []
    for part, pairs in subsets.items():
        x, y = at[pairs], judgements.grades[pairs].astype(np.float64)
        for metric, way in numbers:
            query = (judgements.captions if way == "t2i" else judgements.images)[pairs]
            key = MetricKey(metric.name, way, judgements.name, subset=part)
            by_pair = metric.per_query(np.column_stack([x, y, query]))
            measured = report_number(metric, key, by_pair, image[pairs], draws, len(x))
            # a number of one direction that four queries are too few for is none
            if not (way and np.isnan(measured.value)):
                out.append(replace(measured, queries=len(np.unique(query))))
    return out


MEMBER = (Pearson, Spearman, SpearmanHalf)
