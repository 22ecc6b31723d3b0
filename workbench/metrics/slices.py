"""One metric in each slice of the queries, with interval, count and chance, and the mean over slices.

``measure_slices``: "the statistic of the values of the queries of a slice". Its interval is that of the one
bootstrap (``intervals``): a resample of images holds the queries of a slice that belong to them. The mean
over slices, "the macro mean", weighs each slice equally; the mean over all queries, "the micro mean", is the
number of the whole.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from workbench.metrics.evaluation import report_resampled
from workbench.metrics.intervals import Draws, percentile_interval
from workbench.metrics.ranks import Ranks, Relevant
from workbench.metrics.registry import Metric
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
    """Yield every slice that has queries, and then the mean over slices, with the values that they are made
    of; nothing where no slice is one of a value.

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
    numbers = list(_numbers(metric, key, slices, draws))
    measurements = []
    for part, number in zip(slices, numbers, strict=True):
        own, ends = replace(key, subset=part.label), (part.chance, part.best)
        at = key.direction
        measured = report_resampled(metric, own, number, part.values, at, draws, part.gallery, ends)
        measurements.append(replace(measured, by=by))
        yield measurements[-1], part.values
    averaged = [n for n, part in enumerate(slices) if part.averaged]
    if len(averaged) > 1:
        mean = _mean_over(by, [(measurements[n], numbers[n][1]) for n in averaged])
        yield mean, np.full(len(slices[0].values), np.nan)


def _is_measured(values: Values, direction: str, draws: Draws) -> bool:
    """Return whether each direction that a number is made of has a query that counts."""
    size = len(values) if direction else draws.images + len(draws.own)
    parts = [values[:size]] if direction else [values[: draws.images], values[draws.images : size]]
    return not any(np.isnan(part).all() for part in parts)


def _numbers(
    metric: Metric, key: MetricKey, slices: Sequence[SliceValues], draws: Draws
) -> Iterator[tuple[float, Values]]:
    """Yield the number of each slice, and those of its resamples; means are drawn together."""
    if type(metric).aggregate is Metric.aggregate and metric.statistic == "mean":
        yield from draws.means_of_each([part.values for part in slices], key.direction)
        return
    for part in slices:
        yield metric.aggregate(part.values, key.direction, draws)


def _mean_over(by: str, slices: Sequence[tuple[Measurement, Values]]) -> Measurement:
    """Return the mean over slices; its interval is that of the mean of their resamples, or the mean of the
    slices' intervals where the resamples do not differ.
    """
    measurements = [measured for measured, _ in slices]
    first = measurements[0]
    low, high = percentile_interval(np.mean([drawn for _, drawn in slices], axis=0))
    ends = [(one.low, one.high) for one in measurements if one.low is not None and one.high is not None]
    if low == high and len(ends) == len(measurements):
        low, high = (float(np.mean(side)) for side in zip(*ends, strict=True))
    chances = [one.chance for one in measurements if one.chance is not None]
    within = first.key.subset.startswith(WITHIN)
    return replace(
        first,
        key=replace(first.key, subset=f"{WITHIN * within}{MACRO} {by}"),
        value=float(np.mean([one.value for one in measurements])),
        low=low,
        high=high,
        queries=sum(one.queries for one in measurements),
        left_out=0,
        gallery=round(float(np.mean([one.gallery for one in measurements]))),
        chance=float(np.mean(chances)) if len(chances) == len(measurements) else None,
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
