"""One number with its interval and contract."""

from typing import NamedTuple

import numpy as np

from workbench.formatting import RANGES
from workbench.metrics.intervals import Draws, Statistic, clustered_wilson, percentile_interval
from workbench.metrics.registry import Metric
from workbench.records import Mask, Measurement, MetricKey, Rows, Values
from workbench.records.measurement import CERTAIN, CLUSTERED, WILSON, WOODRUFF

# numbers that are means of shares, or sums of such means
SHARES = ("share", "sum")


class Reference(NamedTuple):
    """What a number is compared with.

    Args:
        gallery: how many items a query is compared with.
        chance: what a random order has on average; NaN = nobody knows.
        best: what the best order has; NaN = the end of the range of such numbers.
    """

    gallery: int
    chance: float = np.nan
    best: float = np.nan

    def most(self, metric: Metric) -> float:
        """Return the largest possible number of a metric."""
        return RANGES[metric.face][1] if np.isnan(self.best) else self.best


class Interval(NamedTuple):
    """An interval, and how it was computed; ``None`` where there is none."""

    low: float | None
    high: float | None
    method: str


def report_number(
    metric: Metric,
    key: MetricKey,
    values: Values,
    at: str | Rows,
    draws: Draws,
    gallery: int,
    chance: float = np.nan,
    best: float = np.nan,
) -> Measurement:
    """Return one number with its interval and contract.

    Args:
        metric: the metric.
        key: of the number.
        values: by query, from ``per_query``.
        at: direction, or the image row of each value.
        draws: resamples of the images.
        gallery: how many items a query is compared with.
        chance: what a random order has on average; NaN = nobody knows.
        best: what the best order has; NaN = the end of the range of such numbers.
    """
    reference = Reference(gallery, chance, best)
    if _is_plain(metric, "median"):
        return report_part(metric, key, values, draws, reference).measurement
    value, resampled = metric.aggregate(values, at, draws)
    interval = _interval_of_resamples(metric, value, resampled, reference)
    if interval.method == WILSON:
        low, high = draws.wilson(values, at, reference.most(metric))
        interval = Interval(low, high, WILSON)
    return _as_measurement(metric, key, value, interval, values, draws.unit, reference)


def _is_plain(metric: Metric, statistic: Statistic) -> bool:
    """Return whether the number of a metric is this statistic of its values and nothing else."""
    return type(metric).aggregate is Metric.aggregate and metric.statistic == statistic


class Part(NamedTuple):
    """The number of a part of the queries, and what a mean over parts is made of.

    Args:
        measurement: with its interval.
        moved: how much each image moves a mean of shares or a median, see ``Draws.influence``.
        images: ``(images,)`` which images have queries.
        resampled: ``(rounds,)`` what is neither in each resample; ``None`` otherwise.
    """

    measurement: Measurement
    moved: Values
    images: Mask
    resampled: Values | None


def report_part(metric: Metric, key: MetricKey, values: Values, draws: Draws, reference: Reference) -> Part:
    """Return the number of a part of the queries with its interval and contract. The interval of a mean of
    shares is ``clustered_wilson``: few images have few hits, which resamples vary too little. That of a
    median is Woodruff's, and other numbers have percentiles of resamples.

    Args:
        metric: the metric.
        key: of the number.
        values: by query.
        draws: says whose queries the values are; without rounds there is no interval.
        reference: what the number is compared with.
    """
    value, moved, images = draws.influence(values, key.direction, metric.statistic)
    resampled = None
    if _is_plain(metric, "median") or (_is_plain(metric, "mean") and metric.face in SHARES):
        interval = interval_of_influence(metric, value, moved, images, draws.rounds > 0, reference)
    else:
        value, resampled = metric.aggregate(values, key.direction, draws)
        interval = _interval_of_resamples(metric, value, resampled, reference)
    measurement = _as_measurement(metric, key, value, interval, values, draws.unit, reference)
    return Part(measurement, moved, images, resampled)


def interval_of_influence(
    metric: Metric, value: float, moved: Values, images: Mask, wanted: bool, reference: Reference
) -> Interval:
    """Return the interval of a mean of shares or of a median by how much each image moves it; none where
    nobody wants one.
    """
    if not wanted:
        return Interval(None, None, "")
    if metric.statistic == "median":
        # the norm of a row is the distance of an end, and may be rounded
        below, above = np.linalg.norm(moved, axis=1).round(9).tolist()
        return Interval(value - below, value + above, WOODRUFF)
    variance = float(moved @ moved)
    if variance == 0 and np.isclose(value, reference.chance):
        return Interval(None, None, CERTAIN)
    return Interval(*clustered_wilson(value, variance, int(images.sum()), reference.most(metric)), CLUSTERED)


def _interval_of_resamples(metric: Metric, value: float, resampled: Values, reference: Reference) -> Interval:
    """Return the percentile interval of resamples; where they all agree on a share, the method alone."""
    low, high = percentile_interval(resampled)
    if low is None or low != high or metric.face not in SHARES:
        return Interval(low, high, "" if low is None else metric.interval)
    # a number that every order has is certain, such as R@10 among ten items
    return Interval(None, None, CERTAIN if np.isclose(value, reference.chance) else WILSON)


def _as_measurement(
    metric: Metric,
    key: MetricKey,
    value: float,
    interval: Interval,
    values: Values,
    unit: str,
    reference: Reference,
) -> Measurement:
    """Return a number with its contract."""
    left_out = int(np.isnan(values.reshape(len(values), -1)).any(axis=1).sum())
    expected = None if np.isnan(reference.chance) else reference.chance
    return Measurement(
        key,
        value,
        interval.low,
        interval.high,
        len(values) - left_out,
        left_out,
        metric.face,
        metric.smaller_is_better,
        gallery=reference.gallery,
        hit=metric.phrase(key.k, key.judgements),
        ties=metric.ties,
        unit=unit,
        interval=interval.method,
        chance=expected,
    )
