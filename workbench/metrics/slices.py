"""One metric in each slice of the queries, with interval, count and chance, and the mean over slices.

``measure_slices``: "the statistic of the values of the queries of a slice". A slice may have few images and
fewer hits, of which resamples make intervals that are too narrow; those of means of shares are Wilson's with
a variance that is robust to clusters of images (``intervals.clustered_wilson``), those of medians
Woodruff's, others percentiles of the one bootstrap. The mean over slices, "the macro mean", weighs each slice
equally; the mean over all queries, "the micro mean", is the number of the whole.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from workbench.metrics.intervals import Draws, percentile_interval
from workbench.metrics.ranks import Ranks, Relevant
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import Part, Reference, interval_of_influence, report_part
from workbench.records import Judgements, Measurement, MetricKey, Rows, Values

MACRO = "mean over"
# begins the name of a slice that is its own gallery
WITHIN = "within "


@dataclass(frozen=True)
class Slice:
    """The queries of a slice.

    Args:
        label: of the slice.
        images: rows of the images that ask.
        captions: rows of the captions that ask.
        whole: resamples of all images of the split.
        averaged: whether the slice counts in means over slices.
    """

    label: str
    images: Rows
    captions: Rows
    whole: Draws
    averaged: bool = True

    @cached_property
    def draws(self) -> Draws:
        """The same resamples for values of these queries."""
        return self.whole.of_queries(self.images, self.captions)

    @cached_property
    def _both(self) -> Rows:
        return np.concatenate([self.images, self.whole.images + self.captions])

    def _rows(self, direction: str) -> tuple[Rows, int]:
        """Return the rows of the queries of a direction, and how many queries the whole has."""
        if direction.startswith("i"):
            return self.images, self.whole.images
        if direction.startswith("t"):
            return self.captions, len(self.whole.own)
        return self._both, self.whole.images + len(self.whole.own)

    def take(self, values: Values, direction: str) -> Values:
        """Return the values ``(..., queries)`` of the slice among those of all queries."""
        rows, size = self._rows(direction)
        apart = values.reshape(*values.shape[:-1], -1, size)
        return apart.take(rows, axis=-1).reshape(*values.shape[:-1], -1)

    def count_all(self, values: Values, direction: str) -> int:
        """Return how many values all queries have where those of the slice have these."""
        rows, size = self._rows(direction)
        return size * len(values) // len(rows)

    def place(self, values: Values, direction: str) -> Values:
        """Return the values of the slice at their places among those of all queries, NaN elsewhere."""
        rows, size = self._rows(direction)
        parts = values.reshape(-1, len(rows))
        out = np.full((len(parts), size), np.nan)
        out[:, rows] = parts
        return out.ravel()

    def split(self, values: Values, direction: str) -> list[Values]:
        """Return the values ``(..., queries)`` of the slice apart by the means that are added."""
        if direction:
            return [values]
        times = values.shape[-1] // max(1, len(self._both))
        ends = np.tile([len(self.images), len(self.captions)], times).cumsum()
        return np.split(values, ends[:-1], axis=-1)


class SliceValues(NamedTuple):
    """One metric in one slice.

    Args:
        slice: whose values.
        values: of its queries, NaN = does not count.
        gallery: how many items a query is compared with.
        chance: what a random order has on average; NaN = nobody knows.
        best: what the best order has; NaN = the end of the range.
    """

    slice: Slice
    values: Values
    gallery: int
    chance: float = np.nan
    best: float = np.nan


def measure_slices(
    metric: Metric, key: MetricKey, by: str, slices: Sequence[SliceValues]
) -> Iterator[tuple[Measurement, Callable[[], Values]]]:
    """Yield every slice that has queries, and then the mean over slices; nothing where no slice is one of a
    value. With each comes what returns ``(queries,)`` values of the whole split of which it is the mean, NaN
    outside the slice. Where a number is no mean of shares, the mean over slices has no such values, and they
    are NaN.

    Args:
        metric: what is measured.
        key: of the whole.
        by: what cuts, for the mean's key.
        slices: with their values.
    """
    slices = [part for part in slices if _is_measured(part, key.direction)]
    averaged = [part for part in slices if part.slice.averaged]
    if not averaged:
        return  # no query of this direction has a value
    parts: list[Part] = []
    for part in slices:
        reference = Reference(part.gallery, part.chance, part.best)
        of_slice = replace(key, subset=part.slice.label)
        number = report_part(metric, of_slice, part.values, part.slice.draws, reference)
        left_out = part.slice.count_all(part.values, key.direction) - number.measurement.queries
        measurement = replace(number.measurement, by=by, left_out=left_out)
        yield measurement, partial(part.slice.place, part.values, key.direction)
        if part.slice.averaged:
            parts.append(number)
    if len(parts) > 1:
        is_mean = metric.statistic == "mean" and all(part.resampled is None for part in parts)
        wanted = averaged[0].slice.whole.rounds > 0
        yield (
            _mean_over(metric, by, parts, wanted),
            partial(_values_of_mean, averaged, key.direction, is_mean),
        )


def _is_measured(part: SliceValues, direction: str) -> bool:
    """Return whether each direction that a number is made of has a query that counts."""
    return all(map(_count_known, part.slice.split(part.values, direction)))


def _count_known(values: Values) -> int:
    return int(np.count_nonzero(~np.isnan(values)))


def _values_of_mean(slices: Sequence[SliceValues], direction: str, is_mean: bool) -> Values:
    """Return ``(queries,)`` values of the whole whose mean is the mean over slices: a value weighs the more,
    the fewer its slice has. NaN where the number is no mean of values.
    """
    if not is_mean:
        return np.full(slices[0].slice.count_all(slices[0].values, direction), np.nan)
    shares = []
    for part in slices:
        sides = part.slice.split(part.values, direction)
        weighed = np.concatenate([side / _count_known(side) for side in sides])
        shares.append(part.slice.place(weighed, direction))
    missing = np.isnan(shares).all(axis=0)
    values = np.where(missing, np.nan, np.nansum(shares, axis=0) / len(slices))
    whole = slices[0].slice.whole
    every = Slice("", np.arange(whole.images), np.arange(len(whole.own)), whole)
    sides = [side * _count_known(side) for side in every.split(values, direction)]
    return np.concatenate(sides)


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
        low, high, method = interval_of_influence(metric, value, moved, images, wanted, reference)
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


def perfect_ranks(judged: Judgements, direction: str) -> Ranks:
    """Return ranks that need no scores, in which every relevant item stands first.

    Args:
        judged: say what is relevant.
        direction: ``"i2t"`` or ``"t2i"``.
    """
    relevant = Relevant.from_pairs(judged)
    relevant = relevant if direction == "i2t" else relevant.T
    listed = relevant.answers()
    return Ranks(listed.query, np.zeros(len(listed.query), np.int64), relevant.counts, relevant.shape[1])


def chances_by_query(metric: Metric, k: int | None, ranks: Ranks) -> tuple[Values, Values]:
    """Return ``(queries,)`` what a metric is by chance and at best for each query, which needs no scores;
    NaN where nobody knows.

    Args:
        metric: one that reads ranks, else nobody knows.
        k: its depth.
        ranks: see ``perfect_ranks``.
    """
    size = len(ranks.counts)
    if metric.requires != "ranks":
        return np.full(size, np.nan), np.full(size, np.nan)
    chance, best = metric.by_chance(ranks, k), metric.at_best(ranks, k)
    return np.broadcast_to(chance, size).astype(np.float64), np.broadcast_to(best, size).astype(np.float64)
