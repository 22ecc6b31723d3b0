"""The one bootstrap: how far a number would move with another sample of images.

A resample draws images with replacement, each with all its captions, and both directions, all metrics, all
judgements and all runs are computed again on the same resample. Five captions of one image are no five
independent queries: drawing captions one by one would make every interval of caption queries too narrow. The
interval runs between two percentiles of the results. Where all resamples agree, as they do where every query
is a hit, they say nothing of the images that were not drawn: there the interval is Wilson's, with the images
as its trials. A median needs no resamples: the share of values below it has an interval, at whose ends the
quantiles are read. An interval depends on the values by query, on which caption belongs to which image, on
the number of rounds and on the seed, and on nothing else; so one number has one interval wherever it is
computed. Within folds (the 1K protocol) images are drawn within each fold.

Source: B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7, 1979 (percentile
interval); A. Davison and D. Hinkley, Bootstrap methods and their application, 1997, section 3.8 (whole groups
are drawn); E. Wilson, Probable inference, the law of succession, and statistical inference, Journal of the
American Statistical Association 22, 1927; R. Woodruff, Confidence intervals for medians and other position
measures, Journal of the American Statistical Association 47, 1952; G. Zou and A. Donner, Construction of
confidence limits about effect measures: a general approach, Statistics in Medicine 27, 2008 (a sum whose
parts have intervals that are not symmetric).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from workbench.metrics.ranks import ratio
from workbench.progress import Task
from workbench.records import Mask, Rows, Values, require
from workbench.records.measurement import CONFIDENCE

Statistic = Literal["mean", "median"]
ROUNDS, SEED = 1000, 0
UNIT = "images, each with all its captions"
# weights of resamples that are looked at together: 32 MB of float64
CHUNK = 2**22


@lru_cache(maxsize=8)
def _resample_counts(images: int, rounds: int, seed: int, folds: int) -> NDArray[np.uint16]:
    """Return ``(rounds, images)`` how often each resample holds each image; every fold is drawn by itself."""
    rng, size = np.random.default_rng(seed), images // folds
    out = np.empty((rounds, images), dtype=np.uint16)
    for row in out:
        drawn = rng.integers(size, size=(folds, size)) + size * np.arange(folds)[:, None]
        row[:] = np.bincount(drawn.ravel(), minlength=images)
    return out


def percentile_interval(draws: Values) -> tuple[float | None, float | None]:
    """Return the percentile interval of the resampled values; ``(None, None)`` where there are none.

    Args:
        draws: ``(rounds,)``; a resample that holds no query that counts is NaN and left out.
    """
    known = draws[~np.isnan(draws)]
    if not len(known):
        return None, None
    low, high = np.quantile(known, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def wilson(share: float, trials: float, *, free: float = np.inf) -> tuple[float, float]:
    """Compute Wilson's score interval of a share.

    Args:
        share: of the trials, in [0, 1].
        trials: independent ones, or as many as would be as informative.
        free: degrees of freedom of Student's quantile; infinite = that of the normal.

    >>> low, high = wilson(1.0, 40)  # 40 / (40 + 1.959964 ** 2)
    >>> round(low, 6), high
    (0.912378, 1.0)
    """
    share = min(max(share, 0.0), 1.0)  # a mean of ones may be rounded
    square = float(stdtrit(free, (1 + CONFIDENCE) / 2)) ** 2
    middle = share + square / (2 * trials)
    half = np.sqrt(square * (share * (1 - share) / trials + square / (4 * trials**2)))
    scale = 1 + square / trials
    # the interval holds its share and stays among shares, whatever is rounded on the way
    low, high = float((middle - half) / scale), float((middle + half) / scale)
    return max(0.0, min(share, low)), min(1.0, max(share, high))


def clustered_wilson(value: float, variance: float, images: int, most: float = 1.0) -> tuple[float, float]:
    """Compute Wilson's interval of a mean of shares whose queries are clustered by image: with as many trials
    as an independent sample of this variance would have, and Student's quantile.

    Args:
        value: the mean, in [0, ``most``].
        variance: of the mean, robust to clusters.
        images: that have queries. Where the variance is 0 they are the trials.
        most: the largest possible value.

    Source: N. Dean and M. Pagano, Evaluating confidence interval methods for binomial proportions in
    clustered surveys, J. Survey Statistics and Methodology 3, 2015 (Wilson's with an effective sample size);
    E. Korn and B. Graubard, Confidence intervals for proportions with small expected number of positive
    counts estimated from survey data, Survey Methodology 24, 1998 (degrees of freedom).

    >>> low, high = clustered_wilson(0.2, 0.2 * 0.8 / 50, 10**9)  # as 50 trials that are independent
    >>> [round(end, 4) for end in (low, high)], [round(end, 4) for end in wilson(0.2, 50)]
    ([0.1124, 0.3304], [0.1124, 0.3304])
    """
    share = min(max(value / most, 0.0), 1.0)
    certain = share * (1 - share) <= 0 or variance <= 0
    trials = float(images) if certain else share * (1 - share) * most**2 / variance
    low, high = wilson(share, trials, free=max(1, images - 1))
    return low * most, high * most


@dataclass(frozen=True)
class Draws:
    """Resamples of the images of a split, each with all its captions.

    A number is a statistic of its values by query. ``direction`` says whose values they are: ``"i2t"`` and
    ``"i2i"`` one an image, ``"t2i"`` and ``"t2t"`` one a caption, ``""`` one an image and then one a caption,
    as
    often as wanted: the statistics of these parts are added (RSUM). Values of anything else, such as judged
    pairs, come with the image row of each in place of a direction. NaN marks a query that does not count.

    Args:
        own: ``(T,)`` image row of each caption.
        images: number of images.
        rounds: resamples; 0 = no intervals.
        seed: of the resamples.
        folds: blocks of consecutive images that are galleries of their own; a number is the mean over them.
        unit: what a resample draws as a whole, for the contract.
        image_queries: image row of each image query; ``None`` = every image asks once.

    Raises:
        ValueError: the images cannot be cut into equal folds.

    >>> draws = Draws(np.array([0, 0, 1, 1]), 2, rounds=3)
    >>> draws.value(np.array([1.0, 0.0, 1.0, 1.0]), "t2i"), draws.resample(np.ones(2), "i2t").tolist()
    (0.75, [1.0, 1.0, 1.0])
    """

    own: Rows
    images: int
    rounds: int = ROUNDS
    seed: int = SEED
    folds: int = 1
    unit: str = UNIT
    image_queries: Rows | None = None

    def __post_init__(self) -> None:
        require(self.images % self.folds == 0, f"{self.folds} folds do not divide {self.images} images")

    def value(self, values: Values, direction: str | Rows, statistic: Statistic = "mean") -> float:
        """Return the statistic of the queries at hand, ``median`` rounded down as the field prints it."""
        total = 0.0
        for folds in self._known_values(values, direction):
            if not folds:
                return float("nan")
            if statistic == "median":
                numbers = [np.floor(np.median(known)) for known, _ in folds]
            else:
                numbers = [known.mean() for known, _ in folds]
            total += float(np.mean(numbers))
        return total

    def resample(self, values: Values, direction: str | Rows, statistic: Statistic = "mean") -> Values:
        """Return ``(rounds,)`` the statistic of each resample; NaN where a resample holds no query that
        counts. A median is read off as the ends of its interval are: at the share of the values that lies as
        far above a half as that of the drawn values below the median lies below it.
        """
        found, resampled = np.zeros(self.rounds), self._medians if statistic == "median" else self._means
        for folds in self._known_values(values, direction):
            found += np.mean([resampled(*fold) for fold in folds] or [np.full(self.rounds, np.nan)], axis=0)
        return found

    def of_queries(self, images: Rows, captions: Rows) -> "Draws":
        """Return the same draws for values of the queries of these images and captions alone."""
        return replace(self, own=self.own[captions], image_queries=images)

    def _sides(self, direction: str) -> list[Rows]:
        """Return the image rows of the queries of each statistic that is added."""
        images = np.arange(self.images) if self.image_queries is None else self.image_queries
        sides = [images, self.own]
        if direction.startswith("i"):
            return sides[:1]
        return sides[1:] if direction.startswith("t") else sides

    def wilson(self, values: Values, direction: str | Rows, most: float) -> tuple[float, float]:
        """Compute Wilson's interval of a mean, whose trials are the images that have queries.

        Args:
            values: by query, at least 0.
            direction: as for ``value``; of parts that are added, the lower and the upper ends are added.
            most: the largest possible number, 1 for a share; every part has the same share of it.
        """
        parts = list(self._known_values(values, direction))
        low = high = 0.0
        for folds in parts:
            mean = float(np.mean([one.mean() for one, _ in folds]))
            trials = sum(len(np.unique(rows)) for _, rows in folds)
            ends = wilson(mean * len(parts) / most, trials)
            low, high = low + ends[0] * most / len(parts), high + ends[1] * most / len(parts)
        return low, high

    def influence(
        self, values: Values, direction: str | Rows, statistic: Statistic = "mean"
    ) -> tuple[float, Values, Mask]:
        """Return a statistic, how much each image moves it, and ``(images,)`` which images have queries; NaN
        where no query counts.

        What moves a mean is ``(images,)``, and the sum of its squares is the variance: that of a ratio of
        sums over images, raised by ``g / (g - 1)`` for g images. What moves a median is ``(2, images)``: the
        roots of the sums of squares of the rows are the distances of the ends of its interval.

        Args:
            values: by query, NaN = the query does not count.
            direction: as for ``value``; of parts that are added, all are.
            statistic: of the values.
        """
        move = _move_mean if statistic == "mean" else _move_median
        total, moved = 0.0, np.zeros(self.images if statistic == "mean" else (2, self.images))
        there = np.zeros(self.images, dtype=bool)
        for folds in self._known_values(values, direction):
            for known, rows in folds:
                number, by_image, inside = move(known, rows, self.images)
                moved += by_image / len(folds)
                total += number / len(folds)
                there |= inside
            total = total if folds else np.nan
        return total, moved, there

    def by_image(self, values: Values, direction: str | Rows) -> Values:
        """Return ``(images,)`` sum of the values of each image's queries; of several parts, each divided by
        its queries an image, so that the mean over images is the statistic where every image has equally
        many.
        """
        parts = list(self._known_values(values, direction))
        found = np.zeros(self.images)
        for folds in parts:
            share = self.images / max(1, sum(len(one) for one, _ in folds)) if len(parts) > 1 else 1.0
            for one, rows in folds:
                found += share * np.bincount(rows, one, self.images)
        return found

    def blocks(self) -> Iterator[Values]:
        """Yield resamples, some at a time: ``(some rounds, images)`` how often each image was drawn."""
        counts = _resample_counts(self.images, self.rounds, self.seed, self.folds)
        step = max(1, CHUNK // max(self.images, len(self.own), 1))
        with Task("intervals", self.rounds, "resamples", shown=step < self.rounds) as task:
            for first in range(0, self.rounds, step):
                yield counts[first : first + step].astype(np.float64)
                task.update(min(step, self.rounds - first))

    def sums(self, columns: Sequence[Values], rows: Rows) -> Values:
        """Return ``(rounds, C)`` sums of each of ``C`` columns of values ``(N,)`` over each resample;
        ``rows`` ``(N,)`` are their image rows.
        """
        by_image = np.stack([np.bincount(rows, one, self.images) for one in columns], axis=1)
        return np.concatenate([np.zeros((0, len(columns))), *(block @ by_image for block in self.blocks())])

    def _known_values(self, values: Values, direction: str | Rows) -> Iterator[list[tuple[Values, Rows]]]:
        """Yield for each statistic that is added, the known values of every fold that has some, with the
        image row of each.
        """
        if not isinstance(direction, str):
            yield self._folds(values, direction)
            return
        sides = self._sides(direction)
        size = sum(map(len, sides))
        fits = len(values) == size if direction else size and len(values) % size == 0
        if not size or not fits:
            there = f"there are {self.images} images and {len(self.own)} captions"
            asked = direction or "both directions"
            raise ValueError(f"{asked}: {len(values)} values for {size} queries; {there}")
        first = 0
        for rows in sides * (len(values) // size):
            yield self._folds(values[first : first + len(rows)], rows)
            first += len(rows)

    def _folds(self, values: Values, rows: Rows) -> list[tuple[Values, Rows]]:
        known = ~np.isnan(values)
        if self.folds == 1:
            if known.all():
                return [(values, rows)] if len(values) else []
            return [(values[known], rows[known])] if known.any() else []
        fold = rows // (self.images // self.folds)
        masks = [known & (fold == number) for number in range(self.folds)]
        return [(values[mask], rows[mask]) for mask in masks if mask.any()]

    def _means(self, values: Values, rows: Rows) -> Values:
        return ratio(*self.sums((values, np.ones(len(rows))), rows).T)

    def _medians(self, values: Values, rows: Rows) -> Values:
        ascending, below = _below_median(values)
        shares = self._means(below, rows)
        known = ~np.isnan(shares)
        # rounded, since two values share the middle where the place is a whole number
        places = (len(values) * (1 - shares[known])).round(6)
        lower, upper = np.ceil(places).astype(np.int64) - 1, np.floor(places).astype(np.int64)
        ends = ascending[[np.maximum(lower, 0), np.minimum(upper, len(values) - 1)]]
        shares[known] = np.floor(ends.mean(axis=0))
        return shares


def _move_mean(known: Values, rows: Rows, images: int) -> tuple[float, Values, Mask]:
    """Return a mean, ``(images,)`` how much each image moves it, and which images have queries.

    Args:
        known: ``(N,)`` values.
        rows: ``(N,)`` their image rows.
        images: how many there are.
    """
    mean = float(known.mean())
    counts = np.bincount(rows, minlength=images)
    clusters = int(np.count_nonzero(counts))
    raised = np.sqrt(clusters / max(1, clusters - 1))
    return mean, np.bincount(rows, known - mean, images) * (raised / len(known)), counts > 0


def _below_median(known: Values) -> tuple[Values, Values]:
    """Return ``(N,)`` the values in ascending order, and how far each lies below the median: 1, 0, or the
    part of those equal to it that makes the mean a half.
    """
    ascending = np.sort(known)
    middle = ascending[(len(known) - 1) // 2]
    below, equal = known < middle, known == middle
    part = (len(known) / 2 - np.count_nonzero(below)) / np.count_nonzero(equal)
    return ascending, below + part * equal


def _move_median(known: Values, rows: Rows, images: int) -> tuple[float, Values, Mask]:
    """Return a median, rounded down, ``(2, images)`` how much each image moves the ends of its interval, and
    which images have queries. The ends are the quantiles at the ends of the interval of the share of values
    below the median.
    """
    size = len(known)
    ascending, below = _below_median(known)
    _, moved, there = _move_mean(below, rows, images)
    variance = float(moved @ moved)
    low, high = clustered_wilson(0.5, variance, int(np.count_nonzero(there)))
    ends = np.floor(ascending[[int(np.ceil(size * low)) - 1, min(int(size * high), size - 1)]])
    median = float(np.floor(ascending[[(size - 1) // 2, size // 2]].mean()))
    reach = np.maximum(0, (median - ends[0], ends[1] - median))
    # the more values lie below, the smaller is the median; without variance all images move it alike
    direction = -moved if variance else there.astype(np.float64)
    return median, np.outer(reach, direction / np.linalg.norm(direction)), there


@dataclass(frozen=True)
class UnitDraws(Draws):
    """Resamples of what a benchmark declares as its unit, such as examples with their images and captions.

    Every value is that of one example, whatever the direction: ``own`` ``(E,)`` is the row of the unit that
    an example is drawn with, and ``images`` the number of units.

    >>> draws = UnitDraws(np.array([0, 0, 1]), 2, rounds=2, unit="photographs")
    >>> draws.value(np.array([1.0, 0.0, np.nan]), "i2t"), draws.resample(np.ones(3), "").tolist()
    (0.5, [1.0, 1.0])
    """

    def _known_values(self, values: Values, direction: str | Rows) -> Iterator[list[tuple[Values, Rows]]]:
        yield self._folds(values, self.own)
