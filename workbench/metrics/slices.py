"""One metric in each slice of the queries, with interval, count and chance, and the mean over slices.

``measure_slices``: "the statistic of the values of the queries of a slice". A slice may have few images and
fewer hits, of which resamples make intervals that are too narrow; those of means of shares are Wilson's with
a variance that is robust to clusters of images (``intervals.clustered_wilson``), others percentiles of the
one bootstrap. The mean over slices, "the macro mean", weighs each slice equally; the mean over all queries,
"the micro mean", is the number of the whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.metrics.intervals import Draws, percentile_interval
from workbench.metrics.ranks import Ranks, Relevant
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import Part, Reference, interval_of_variance, report_part
from workbench.records import Judgements, Measurement, MetricKey, Values

MACRO = "mean over"
# begins the name of a slice that is its own gallery
WITHIN = "within "


class SliceValues(NamedTuple):
    """One metric in one slice.

    Args:
        label: of the slice.
        values: ``(queries,)`` of the whole split, NaN = not in the slice, or does not count.
        gallery: how many items a query is compared with.
        chance: what a random order has on average; NaN = nobody knows.
        best: what the best order has; NaN = the end of the range.
        averaged: whether the slice counts in the mean over slices.
    """

    label: str
    values: Values
    gallery: int
    chance: float = np.nan
    best: float = np.nan
    averaged: bool = True


def measure_slices(
    metric: Metric, key: MetricKey, by: str, slices: Sequence[SliceValues], draws: Draws
) -> Iterator[tuple[Measurement, Values]]:
    """Yield every slice that has queries, and then the mean over slices, with values by query of which they
    are the means; nothing where no slice is one of a value. Where a number is no mean of shares, the mean
    over slices has no such values, and they are NaN.

    Args:
        metric: what is measured.
        key: of the whole.
        by: what cuts, for the mean's key.
        slices: with their values.
        draws: resamples of all images of the split.
    """
    slices = [part for part in slices if _is_measured(part.values, key.direction, draws)]
    if not any(part.averaged for part in slices):
        return  # no query of this direction has a value
    resampled: Sequence[Values | None] = [None] * len(slices)
    if type(metric).aggregate is Metric.aggregate and metric.statistic == "median" and key.direction:
        resampled = draws.medians_of_each([part.values for part in slices], key.direction)
    parts: list[Part] = []
    averaged = [part.values for part in slices if part.averaged]
    for part, drawn in zip(slices, resampled, strict=True):
        reference = Reference(part.gallery, part.chance, part.best)
        number = report_part(metric, replace(key, subset=part.label), part.values, draws, reference, drawn)
        yield replace(number.measurement, by=by), part.values
        if part.averaged:
            parts.append(number)
    if len(parts) > 1:
        is_mean = all(part.resampled is None for part in parts)
        sizes = [len(averaged[0])] if key.direction else [draws.images, len(draws.own)]
        values = _weighted(averaged, sizes) if is_mean else np.full(len(averaged[0]), np.nan)
        yield _mean_over(metric, by, parts, draws.rounds > 0), values


def _is_measured(values: Values, direction: str, draws: Draws) -> bool:
    """Return whether each direction that a number is made of has a query that counts."""
    size = len(values) if direction else draws.images + len(draws.own)
    parts = [values[:size]] if direction else [values[: draws.images], values[draws.images : size]]
    return not any(np.isnan(part).all() for part in parts)


def _weighted(slices: Sequence[Values], sizes: Sequence[int]) -> Values:
    """Return ``(queries,)`` values whose mean is the mean over slices: each is weighed by how much too small
    its slice is.

    Args:
        slices: ``(queries,)`` values of each, NaN elsewhere; no query is in two.
        sizes: of the parts whose means are added, which may follow several times.
    """
    weighted = np.full(len(slices[0]), np.nan)
    first = 0
    for size in list(sizes) * (len(weighted) // sum(sizes)):
        place = slice(first, first + size)
        known = [~np.isnan(values[place]) for values in slices]
        every = sum(int(mask.sum()) for mask in known)
        for values, mask in zip(slices, known, strict=True):
            weight = every / (len(slices) * mask.sum())
            weighted[place][mask] = weight * values[place][mask]
        first += size
    return weighted


def _mean_over(metric: Metric, by: str, parts: Sequence[Part], wanted: bool) -> Measurement:
    """Return the mean over slices, with an interval where one is wanted."""
    measurements = [part.measurement for part in parts]
    first = measurements[0]
    value = float(np.mean([measured.value for measured in measurements]))
    chances = [measured.chance for measured in measurements if measured.chance is not None]
    chance = float(np.mean(chances)) if len(chances) == len(measurements) else None
    gallery = round(float(np.mean([measured.gallery for measured in measurements])))
    resampled = [part.resampled for part in parts if part.resampled is not None]
    if resampled:
        low, high = percentile_interval(np.mean(resampled, axis=0))
        method = first.interval
    else:
        moved = np.mean([part.moved for part in parts], axis=0)
        images = np.any([part.images for part in parts], axis=0)
        reference = Reference(gallery, np.nan if chance is None else chance)
        low, high, method = interval_of_variance(metric, value, moved, images, wanted, reference)
    within = first.key.subset.startswith(WITHIN)
    return replace(
        first,
        key=replace(first.key, subset=f"{WITHIN * within}{MACRO} {by}"),
        by=by,
        value=value,
        low=low,
        high=high,
        interval=method,
        queries=sum(measured.queries for measured in measurements),
        left_out=0,
        gallery=gallery,
        chance=chance,
    )


def chances_by_query(
    metric: Metric, k: int | None, judged: Judgements, direction: str
) -> tuple[Values, Values]:
    """Return ``(queries,)`` what a metric is by chance and at best for each query, which needs no scores;
    NaN where nobody knows.

    Args:
        metric: one that reads ranks, else nobody knows.
        k: its depth.
        judged: say what is relevant.
        direction: ``"i2t"`` or ``"t2i"``.
    """
    relevant = Relevant.from_pairs(judged)
    relevant = relevant if direction == "i2t" else relevant.T
    size = relevant.shape[0]
    if metric.requires != "ranks" or direction not in ("i2t", "t2i"):
        return np.full(size, np.nan), np.full(size, np.nan)
    listed = relevant.answers()
    ranks = Ranks(listed.query, np.zeros(len(listed.query), np.int64), relevant.counts, relevant.shape[1])
    chance, best = metric.by_chance(ranks, k), metric.at_best(ranks, k)
    return np.broadcast_to(chance, size).astype(np.float64), np.broadcast_to(best, size).astype(np.float64)
