"""Numbers of the space in which images and captions lie, whatever is relevant to what.

``third_moment`` at K: "the standardised third moment of the k-occurrence, which is the number of queries
that have an item among their K best" (Radovanovic et al., Hubs in space, JMLR 2010). A few items that stand
in many lists, hubs, make it large. Where all lists are drawn at random it is that of a binomial distribution.

``modality_gap``: "the distance between the mean vector of the images and that of the captions" (Liang et al.,
Mind the gap, NeurIPS 2022). ``alignment``: "the mean squared distance of annotated pairs", and
``uniformity``: "the logarithm of the mean of ``exp(-2 d^2)`` over distinct pairs of one side" (Wang and
Isola, Understanding contrastive representation learning, ICML 2020); both are smaller in a better space.

Vectors are compared as the model gives them, of unit length for most. Uniformity reads at most 2,000 vectors
of a side, those of images evenly spread over the split. The intervals of skew and gap are the normal ones
with the standard error of a jackknife over 20 groups of images: in a resample, items drawn twice look like
hubs, and means lie further apart.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri

from workbench.metrics import blocks
from workbench.metrics.intervals import ROUNDS, Draws
from workbench.metrics.ranks import Ranked, ratio
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Array, Measurement, MetricKey, Rows, Values

GROUPS, MOST = 20, 2000
BLOCK = 1024
NO_TIES = "none are counted"
JACKKNIFE = "normal, by a jackknife over groups of images"


class Space(NamedTuple):
    """What the metrics of this file read.

    Args:
        ranked: scores, with the best items of every query where they are known.
        own: ``(T,)`` image row of each caption.
        vectors: ``(I, D)`` of the images and ``(T, D)`` of the captions; ``None`` = not known.
        direction: of the number.
    """

    ranked: Ranked
    own: Rows
    vectors: tuple[Array, Array] | None
    direction: str


class SpaceMetric(Metric):
    """A metric of the whole space. What it reads of each query or vector, in one array, stands in place of
    values by query, empty where that is not known; ``aggregate`` makes the number of all of them.
    """

    requires, by = "space", ("any",)
    face, ties = "number", NO_TIES
    directions: tuple[str, ...] = ("",)


class Skew(SpaceMetric):
    """Skew of the k-occurrence: how unevenly items stand in the lists of queries."""

    name, hit = "skew", "skew of the number of lists of the {k} best that an item stands in"
    ks: tuple[int | None, ...] = (10,)
    directions: tuple[str, ...] = ("i2t", "t2i")
    smaller_is_better = True
    interval = JACKKNIFE

    def per_query(self, inputs: Space, k: int | None = None) -> Values:
        """Return ``(queries, K)`` the best items of each query."""
        depth = k or 1
        known = inputs.ranked.best[inputs.direction][1]
        if known.shape[1] >= depth:
            return known[:, :depth].astype(np.float64)
        rows = blocks.by_rows(inputs.ranked.scores)
        rows = rows if inputs.direction == "i2t" else rows.T
        return blocks.best_items(rows, min(depth, rows.shape[1]))[1].astype(np.float64)

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the skew, and numbers whose percentiles are the ends of the normal interval."""
        items, size = values.astype(np.int64), len(draws.own) if at == "i2t" else draws.images
        group = _image_groups(draws)[np.arange(draws.images) if at == "i2t" else draws.own]
        counts = np.zeros((group.max() + 1, size))
        np.add.at(counts, (np.repeat(group, items.shape[1]), items.ravel()), 1)
        every = counts.sum(axis=0)
        if len(counts) == 1:
            return third_moment(every), np.zeros(0)
        return jackknife(third_moment(every), [third_moment(every - part) for part in counts], draws.rounds)


def _image_groups(draws: Draws) -> Rows:
    """Return ``(I,)`` the group of each image, of as many equal ones as there may be."""
    return np.arange(draws.images) * min(GROUPS, draws.images) // draws.images


def jackknife(value: float, without: Sequence[float], rounds: int) -> tuple[float, Values]:
    """Return a value, and numbers whose percentiles are the ends of its normal interval.

    Args:
        value: of all groups.
        without: the same without each of the groups.
        rounds: how many numbers.
    """
    error = np.sqrt((len(without) - 1) * np.var(without))
    return value, value + error * ndtri((np.arange(rounds) + 0.5) / rounds)


def third_moment(counts: Values) -> float:
    """Compute the standardised third moment; 0 where all counts are equal.

    >>> third_moment(np.array([0.0, 0.0, 0.0, 4.0])).__round__(6)  # deviations -1 -1 -1 3: 6 / 3 ** 1.5
    1.154701
    """
    deviation = counts - counts.mean()
    variance = (deviation**2).mean()
    return float((deviation**3).mean() / variance**1.5) if variance else 0.0


class ModalityGap(SpaceMetric):
    """Distance between the mean vectors of images and of captions."""

    name, hit = "modality_gap", "distance between the mean image and the mean caption; gallery = both"
    interval = JACKKNIFE

    def per_query(self, inputs: Space, k: int | None = None) -> Values:
        """Return ``(I + T, D)`` the vectors of both sides."""
        return np.zeros(0) if inputs.vectors is None else np.concatenate(inputs.vectors).astype(np.float64)

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the distance, and numbers whose percentiles are the ends of the normal interval."""
        sides = values[: draws.images], values[draws.images :]
        group = _image_groups(draws)
        groups = group, group[draws.own]

        def gap(kept: Sequence[Array]) -> float:
            image, text = (side[inside].mean(axis=0) for side, inside in zip(sides, kept, strict=True))
            return float(np.linalg.norm(image - text))

        whole = gap([side >= 0 for side in groups])
        if len(np.unique(group)) == 1:
            return whole, np.zeros(0)
        without = []
        for number in np.unique(group):
            without.append(gap([side != number for side in groups]))
        return jackknife(whole, without, draws.rounds)


class Alignment(SpaceMetric):
    """Mean squared distance of annotated pairs."""

    name, hit = "alignment", "squared distance of a caption from its image, mean over captions"
    directions: tuple[str, ...] = ("t2i",)
    smaller_is_better = True

    def per_query(self, inputs: Space, k: int | None = None) -> Values:
        """Return ``(T,)`` squared distances."""
        if inputs.vectors is None:
            return np.zeros(0)
        image, text = inputs.vectors
        return np.asarray(((image[inputs.own] - text).astype(np.float64) ** 2).sum(axis=1))


class Uniformity(SpaceMetric):
    """Logarithm of the mean Gaussian potential of distinct vectors of one side."""

    name, hit = "uniformity", "logarithm of the mean of exp(-2 d^2) over pairs of vectors of one side"
    directions: tuple[str, ...] = ("i2i", "t2t")
    smaller_is_better = True

    def per_query(self, inputs: Space, k: int | None = None) -> Values:
        """Return ``(N, D)`` the vectors of one side."""
        if inputs.vectors is None:
            return np.zeros(0)
        images, captions = inputs.vectors
        return captions if inputs.direction == "t2t" else images

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the logarithm, and that of each resample, in which a vector makes no pair with itself."""
        rows = np.arange(draws.images) if at == "i2i" else draws.own
        most = max(1, MOST * draws.images // len(values))
        kept = np.unique(np.linspace(0, draws.images - 1, min(most, draws.images)).astype(np.int64))
        inside = np.isin(rows, kept)
        pairs = pair_potentials(values[inside], rows[inside], draws.images)[np.ix_(kept, kept)]
        size = np.bincount(rows[inside], minlength=draws.images)[kept]
        number = np.outer(size, size) - np.diag(size)
        found = [np.log(ratio(np.array([pairs.sum()]), np.array([number.sum()])))]
        for block in draws.blocks():
            weights = block[:, kept]
            total, count = (_distinct_sums(weights, table.astype(np.float64)) for table in (pairs, number))
            found.append(np.log(ratio(total, count)))
        return float(found[0][0]), np.concatenate([np.zeros(0), *found[1:]])


def _distinct_sums(weights: Values, table: Values) -> Values:
    """Return ``(rounds,)`` sums of a table ``(I, I)`` over pairs of images that were drawn, of which an image
    makes those within itself as often as it was drawn.
    """
    within = np.diagonal(table)
    across = table - np.diag(within)
    return np.asarray(((weights @ across) * weights).sum(axis=1) + weights @ within)


def pair_potentials(vectors: Array, rows: Rows, images: int) -> Values:
    """Return ``(I, I)`` sums of ``exp(-2 |x - y|^2)`` over the vectors of two images, without a vector and
    itself.

    Args:
        vectors: ``(N, D)``.
        rows: ``(N,)`` image row of each.
        images: how many there are.
    """
    from scipy import sparse

    member: Any = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)))), (images, len(rows)))
    squares = (vectors.astype(np.float64) ** 2).sum(axis=1)
    out = np.zeros((images, images))
    for first in range(0, len(vectors), BLOCK):
        part = slice(first, first + BLOCK)
        products = (vectors[part] @ vectors.T).astype(np.float64)
        potential = np.exp(np.minimum(4 * products - 2 * squares[part, None] - 2 * squares, 0))
        potential[np.arange(len(potential)), np.arange(first, first + len(potential))] = 0
        out += member[:, part] @ (member @ potential.T).T
    return out


def space_numbers(
    ranked: Ranked,
    own: Rows,
    vectors: tuple[Array, Array] | None,
    metrics: Sequence[Metric],
    *,
    rounds: int = ROUNDS,
) -> Iterator[Measurement]:
    """Yield the numbers of some metrics of the space.

    Args:
        ranked: scores ``(I, T)``, with the best items of every query where they are known.
        own: ``(T,)`` image row of each caption.
        vectors: ``(I, D)`` of the images and ``(T, D)`` of the captions.
        metrics: those of the space.
        rounds: bootstrap rounds; 0 = no intervals.
    """
    draws = Draws(own, ranked.shape[0], rounds)
    sizes = {"i2t": ranked.shape[1], "t2i": ranked.shape[0], "i2i": ranked.shape[0], "t2t": ranked.shape[1]}
    for metric in metrics:
        for way in metric.directions:
            values = metric.per_query(Space(ranked, own, vectors, way), metric.ks[0])
            if len(values):
                key = MetricKey(metric.name, way, k=metric.ks[0])
                yield report_number(metric, key, values, way, draws, sizes.get(way, sum(ranked.shape)))


MEMBER = (Skew, ModalityGap, Alignment, Uniformity)
