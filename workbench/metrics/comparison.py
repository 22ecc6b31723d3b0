"""Runs held against one another on the same queries: one difference, one interval, one verdict.

"Both runs answered the same queries. The interval is that of the difference when the images are drawn again,
each with all its captions, the same draw for both runs; it is widened for the number of comparisons that were
made together, so that the chance of calling any run better or worse where there is no difference stays below
5 %. A difference is *told apart* where this interval leaves out zero. It is not *worth noting* where the
whole interval lies within plus and minus the smallest effect of interest."

How the interval is made. Holm's procedure tests the clearest of ``m`` differences at the level ``.05 / m``,
the next at ``.05 / (m - 1)``, and so on; from the first that is not told apart on, the level stays. The
interval of each difference has the level at which it was tested, so that it leaves out zero exactly where
Holm's procedure tells the runs apart. With 100 comparisons the first level needs quantiles of .99975, and
1,000 resamples have no such percentile: their outermost one is decided by a single draw. Their standard
deviation however is known to 2 %, so the interval is ``difference -+ t * s``: ``s`` is the standard deviation
of the resampled differences and ``t`` Student's quantile with one degree of freedom fewer than there are
images. Where two runs differ on a handful of queries only, that would be too narrow (four wins against none
would count as a difference, which chance alone makes in one of eight cases). As Bonett and Price do for
proportions, two images are therefore imagined beside those at hand, on which the one and the other run wins
by the largest difference that was seen; with hundreds of images this changes nothing that is printed. A level
speaks about saying "better" or "worse" wrongly anywhere in the table; that all intervals together hold their
true values is not promised.

Beside it stands the exact sign test, which counts *how often* and not by how much one run is better; for a
number that is 0 or 1 for each image it is McNemar's test. All of this speaks about other images, not about
other seeds of training (``seeds``), unless values of several seeds are given: then the difference is the mean
over the seeds that both runs have, and its interval is for other seeds and other images (``crossed``).

Source: S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6, 1979; D.
Bonett and R. Price, Adjusted Wald confidence interval for a difference of binomial proportions based on
paired data, J. Educational and Behavioral Statistics 37, 2012; Q. McNemar, Psychometrika 12, 1947; F.
Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin 2, 1946;
``intervals`` for the draws.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, stdtr, stdtrit

from workbench.formatting import RANGES
from workbench.metrics.crossed import Crossed
from workbench.metrics.intervals import Draws
from workbench.metrics.registry import Metric, all_metrics
from workbench.records import MetricKey, Rows, Values, require
from workbench.records.measurement import CONFIDENCE, Estimate

EQUAL = 1e-12
# in points of percent, the same share of the range of other units: a convention, and everyone's to change
SMALLEST = 0.5
SCALE = {"share": 0.01, "sum": 0.06, "rank": 2.0, "correlation": 0.01, "number": 0.01}
BETTER = "better"
WORSE = "worse"
ALIKE = "no difference worth noting"
UNDECIDED = "undecided"
MARKS = {BETTER: "▲", WORSE: "▼", ALIKE: "=", UNDECIDED: "?"}
# what follows a verdict when it names the other run
BESIDE = {BETTER: "than", WORSE: "than", ALIKE: "from", UNDECIDED: "against"}


def state_verdict(verdict: str, against: str) -> str:
    """State a verdict as every page, figure and table prints it: with its mark, and with the other run.

    Args:
        verdict: of ``MARKS``.
        against: name of the run on the other side of the comparison.

    Raises:
        KeyError: there is no such verdict.

    >>> state_verdict("worse", "VSE++")
    '▼ worse than VSE++'
    """
    return f"{MARKS[verdict]} {verdict} {BESIDE[verdict]} {against}"


def explain_widening(comparisons: int) -> str:
    """Describe for how many comparisons the intervals of differences are widened; empty for a single one.

    Args:
        comparisons: made together, as ``Difference.comparisons`` counts them.

    >>> explain_widening(3)  # doctest: +ELLIPSIS
    "intervals of differences are widened for the 3 comparisons made together (Holm's rule), ..."
    """
    if comparisons < 2:
        return ""
    return (
        f"intervals of differences are widened for the {comparisons} comparisons made together (Holm's "
        "rule), so that the chance of any false better or worse is below 5 %"
    )


@dataclass(frozen=True)
class Difference(Estimate):
    """How one run differs from another on one number; its interval is widened for the number of comparisons
    made together, and ``confidence`` is that none of them calls a run better or worse by chance.

    Args:
        run, against: names of the two runs; the value is that of ``run`` minus that of ``against``.
        smallest: smallest difference that matters, in the unit of ``value``.
        wins, losses, ties: number of images on which ``run`` is better, is worse, and does equally well.
        p: p value of the two-sided exact sign test over images; ``p_holm``: the same, adjusted by Holm's
            method.
        comparisons: how many comparisons were made together.
    """

    run: str = ""
    against: str = ""
    smallest: float = 0.0
    wins: int = 0
    losses: int = 0
    ties: int = 0
    p: float = 1.0
    p_holm: float = 1.0
    comparisons: int = 1

    @property
    def is_significant(self) -> bool:
        """Whether the data show that the two runs differ at all: their interval does not contain zero."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high

    @property
    def verdict(self) -> str:
        """``better`` or ``worse`` than the other run, ``no difference worth noting``, or ``undecided``."""
        if self.low is not None and self.high is not None and max(-self.low, self.high) <= self.smallest:
            return ALIKE
        if not self.is_significant:
            return UNDECIDED
        return WORSE if (self.value > 0) == self.smaller_is_better else BETTER

    @property
    def mark(self) -> str:
        """The verdict as one character."""
        return MARKS[self.verdict]

    @property
    def is_worth_noting(self) -> bool:
        """Whether the run is better or worse than the other; tables and figures print this one boldly."""
        return self.verdict in (BETTER, WORSE)

    def row(self) -> dict[str, Any]:
        """Return all fields, and what follows from them, as a row of a table."""
        more = ("is_significant", "verdict", "mark", "is_worth_noting")
        return asdict(self) | {"key": self.label} | {name: getattr(self, name) for name in more}


def sign_test(wins: int, losses: int) -> float:
    """Compute the two-sided exact sign test: the chance of a split at least as uneven if both outcomes are
    equally likely; ties are left out, and 1 where the two never differ.

    >>> round(sign_test(8, 2), 9)  # 2 * (1 + 10 + 45) / 2 ** 10
    0.109375
    """
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Return Holm's adjusted p values: the i-th smallest of m times ``m - i + 1``, never below a smaller
    one's, never above 1.

    >>> [round(value, 6) for value in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    # three lines of our own: statsmodels' function collects garbage in every call, a tenth of a second each
    order = np.argsort(p, kind="stable")
    raised = np.maximum.accumulate(np.asarray(p, np.float64)[order] * np.arange(len(p), 0, -1))
    return [float(value) for value in np.minimum(1.0, raised)[np.argsort(order)]]


def holm_levels(p: Sequence[float], alpha: float) -> Values:
    """Return the level at which Holm's procedure tests each difference, ``alpha`` being that of all together;
    those after the first that is not told apart keep its level.

    >>> holm_levels([0.04, 0.001, 0.03], 0.06).round(6).tolist()
    [0.06, 0.02, 0.03]
    """
    step, told = np.argsort(np.argsort(p, kind="stable")), int(np.sum(np.array(holm(p)) <= alpha))
    return np.asarray(alpha / (len(p) - np.minimum(step, min(told, len(p) - 1))))


def paired_differences(
    values: Mapping[str, Mapping[str, Values]],
    against: str,
    draws: Draws,
    *,
    metrics: Mapping[str, Metric] | None = None,
    smallest: float = SMALLEST,
) -> list[Difference]:
    """Return every run against one run, on every number; all of these comparisons are adjusted together.

    Args:
        values: key -> run -> ``(Q,)`` values by query as ``intervals.Draws`` reads them, NaN = the query does
            not count; or ``(seeds, Q)``, a seed a row, all NaN where a run lacks it.
        against: name of the run that the others are held against.
        draws: the resamples; without rounds there are no intervals.
        metrics: by name; ``None`` = those of the registry. One that is missing is taken as the mean of
            shares.
        smallest: smallest effect of interest in points of percent; of RSUM, a sum of six shares, six times as
            much; of correlations a hundredth of it; of ranks, ``0.5`` is one rank.

    Returns:
        Key by key, in the order of ``values``, run by run.

    Raises:
        KeyError: ``against`` is not among the runs of a key.
        ValueError: runs that answered different queries, no query that counts, or no seed in common.
    """
    known = {name: metric() for name, metric in all_metrics().items()} if metrics is None else metrics
    differences, errors = [], []
    for text, by_run in values.items():
        key = MetricKey.parse(text)
        metric, within = known.get(key.metric, Metric()), replace(draws, folds=key.folds)
        there = ", ".join(by_run)
        require(against in by_run, f"{text}: no run {against!r} to compare with; there are {there}", KeyError)
        seeds = {name: np.atleast_2d(by_seed) for name, by_seed in by_run.items()}
        numbers = {
            name: _values_by_seed(metric, by_seed, key.direction, within) for name, by_seed in seeds.items()
        }
        for name in (run for run in by_run if run != against):
            both = _same_queries(text, (name, against), (seeds[name], seeds[against]))
            single, drawn = (mine[both] - base[both] for mine, base in zip(numbers[name], numbers[against]))
            difference = Difference(
                key,
                float(single.mean()),
                face=metric.face,
                smaller_is_better=metric.smaller_is_better,
                run=name,
                against=against,
                smallest=smallest * SCALE[metric.face],
            )
            by_query = seeds[name][both].mean(axis=0) - seeds[against][both].mean(axis=0)
            difference, images, largest = _count_signs(difference, by_query, within)
            spread = float(np.nanstd(drawn.mean(axis=0))) if draws.rounds else np.nan
            free, imagined = max(images - 1, 1), 2 * largest**2 if metric.statistic == "mean" else 0.0
            errors.append(_error_with_seeds(spread**2 * images / free + imagined, free, single, drawn))
            differences.append(difference)
    return _adjust(differences, errors)


def _values_by_seed(metric: Metric, seeds: Values, direction: str, draws: Draws) -> tuple[Values, Values]:
    """Return ``(seeds,)`` number of each seed and ``(seeds, rounds)`` that of each resample; NaN for no
    values.
    """
    numbers, drawn = np.full(len(seeds), np.nan), np.full((len(seeds), draws.rounds), np.nan)
    for seed, values in enumerate(seeds):
        if not np.isnan(values).all():
            numbers[seed], drawn[seed] = metric.aggregate(values, direction, draws)
    return numbers, drawn


def _error_with_seeds(variance: float, free: int, by_seed: Values, drawn: Values) -> tuple[float, float]:
    """Return the standard error of a mean difference over images and seeds, and its degrees of freedom.

    Args:
        variance: of the mean over seeds, for other images.
        free: degrees of freedom of that.
        by_seed: ``(seeds,)`` differences.
        drawn: ``(seeds, rounds)`` differences of each resample of images.
    """
    seeds = len(by_seed)
    if seeds < 2 or not drawn.size:
        return float(np.sqrt(variance)), free
    # what seeds do not share of the images averages out over seeds, and is in both of the other parts
    alone, shared = float(np.nanvar(drawn, axis=1).mean()), float(np.nanvar(drawn.mean(axis=0)))
    rest = max(alone - shared, 0.0) / (seeds - 1)
    both = Crossed(float(by_seed.var(ddof=1)) / seeds, variance, rest, (seeds, free + 1))
    return both.variance**0.5, both.freedom


def _same_queries(key: str, names: tuple[str, str], values: tuple[Values, Values]) -> NDArray[np.bool_]:
    """Return ``(seeds,)`` which seeds both runs have; refuses runs that answered other queries, or none."""
    pair, (first, second) = " and ".join(names), map(np.isnan, values)
    apart = f"{key}: {pair} did not answer the same queries: measure both on one split by the same judgements"
    require(first.shape == second.shape, apart)
    both: NDArray[np.bool_] = np.logical_not(first.all(axis=1) | second.all(axis=1))
    require(np.array_equal(first[both], second[both]), apart)
    reason = "no query counts" if len(both) == 1 else "no seed is common"
    require(both.any(), f"{key}: {reason} for {pair}, so they cannot be compared")
    return both


def _count_signs(difference: Difference, by_query: Values, draws: Draws) -> tuple[Difference, int, float]:
    """Return the difference with its sign test, the images that count, and how far one image moves it at
    most.
    """
    direction, known = difference.key.direction, ~np.isnan(by_query)
    by_image = draws.by_image(by_query, direction)
    images = int((draws.by_image(np.where(known, 1.0, np.nan), direction) > 0).sum())
    gain = -by_image if difference.smaller_is_better else by_image
    # sums of equal values in another order may differ in the last bit
    wins, losses = int((gain > EQUAL).sum()), int((gain < -EQUAL).sum())
    signed = replace(
        difference,
        wins=wins,
        losses=losses,
        ties=images - wins - losses,
        p=sign_test(wins, losses),
        queries=int(known.sum()),
        left_out=int((~known).sum()),
    )
    return signed, images, float(np.abs(by_image).max()) / (known.sum() if direction else draws.images)


def _adjust(differences: Sequence[Difference], errors: Sequence[tuple[float, float]]) -> list[Difference]:
    """Return the differences with intervals at Holm's levels, from the standard error (NaN = no interval) and
    the degrees of freedom of each, and Holm's p of the sign test.
    """
    value = np.array([one.value for one in differences])
    error, free = np.array(errors, np.float64).reshape(-1, 2).T
    with np.errstate(divide="ignore", invalid="ignore"):
        alone = np.nan_to_num(2 * stdtr(free, -np.abs(value) / error), nan=1.0)
    half = stdtrit(free, 1 - holm_levels(alone.tolist(), 1 - CONFIDENCE) / 2) * error
    adjusted = holm([one.p for one in differences])
    return [
        replace(_with_interval(one, float(width)), p_holm=p, comparisons=len(differences))
        for one, width, p in zip(differences, half, adjusted, strict=True)
    ]


def _with_interval(one: Difference, half: float) -> Difference:
    """Return the difference with an interval of this half width, which ends where no difference is larger;
    NaN = no interval.
    """
    if np.isnan(half):
        return one
    least, most = RANGES.get(one.face, (-np.inf, np.inf))
    reach = max(most - least, abs(one.value))
    return replace(one, low=max(one.value - half, -reach), high=min(one.value + half, reach))


def most_different_queries(ranks: Values, count: int, groups: Rows | None = None) -> list[int]:
    """Return the queries on which runs differ most, by the ratio of the worst to the best rank; among equals
    the one that some run answers best, then the lower row.

    Args:
        ranks: ``(runs, queries)`` 1 = first; a query that is NaN in a run is never chosen.
        count: queries wanted; fewer are given where fewer differ.
        groups: ``(queries,)`` at most one query of a group is chosen; ``None`` = any.

    >>> most_different_queries(np.array([[1.0, 3.0, 9.0], [8.0, 3.0, 3.0]]), 2)
    [0, 2]
    """
    best, worst = ranks.min(axis=0), ranks.max(axis=0)
    order = np.lexsort((best, -worst / best))
    order = order[worst[order] > best[order]]
    if groups is not None:
        order = order[np.sort(np.unique(groups[order], return_index=True)[1])]
    return [int(row) for row in order[:count]]
