"""The scores that a benchmark declares of itself, such as Winoground's text, image and group score.

"The share of examples all of whose comparisons hold." A comparison holds where one score is higher than
another. An equal score, up to rounding, counts against the model, and the contract says how many examples
have one. Scores are equal up to rounding, since a text that occurs twice may be encoded in two batches.

What chance reaches is counted: of all orders of the scores that an example compares, the share in which its
comparisons hold, 1/4, 1/4 and 1/6 for Winoground. What a bag of words reaches at most is counted as well:
texts of the same words have one score, and an example is out of reach where its comparisons then contradict
each other.

Source: T. Thrush et al., Winoground: probing vision and language models for visio-linguistic
compositionality, CVPR 2022, section 3.2, for the strict rule; counting orders is ours, and agrees with the
chance printed there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import permutations

import numpy as np

from workbench.formatting import format_count
from workbench.metrics.intervals import ROUNDS, SEED, Draws, UnitDraws
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Array, Measurement, MetricKey, Rows, Values, require
from workbench.records.benchmark import Benchmark, Comparisons

# of the largest score: what rounding alone moves a score by
ROUNDING = 1e-5
MEAN_OF_KINDS = "mean of kinds"
BAG = "a bag of words at most"
# (N, 2) pairs and their direction -> (N,) scores
Scorer = Callable[[Rows, str], Array]
Pair = tuple[int, int]
Pattern = tuple[Pair, ...]
# so many scores of an example are ordered in all ways
MOST = 7
# more kinds are in their mean alone
MOST_KINDS = 20


def declared_numbers(
    score: Scorer,
    benchmark: Benchmark,
    *,
    bags: Rows | None = None,
    others: Sequence[tuple[str, Scorer]] = (),
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> Iterator[tuple[Measurement, Values | None]]:
    """Yield every declared score: of all examples, of each kind, and the mean of the kinds.

    Args:
        score: gives the scores of pairs, larger = more alike; see ``Comparisons`` for what a pair is.
        benchmark: what is compared.
        bags: ``(T,)`` number of each caption's bag of words; ``None`` = what a bag of words reaches is left
            out.
        others: names and scores of what is named beside each number, such as a model of the captions alone.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Yields:
        The number, and its ``(E,)`` values by example, NaN for an example that it does not count; ``None``
        for a mean of kinds, whose values are those of the kinds.
    """
    draws = draws_of_units(benchmark.drawn_with, benchmark.unit, rounds, seed)
    for comparisons in benchmark.scores:
        examples = len(benchmark.drawn_with)
        chance, limit = _chance_and_limit(comparisons, examples, bags)
        beside = {} if bags is None else {BAG: limit}
        beside |= {name: decide(comparisons, other, examples)[0] for name, other in others}
        values, tied = decide(comparisons, score, examples)
        column = _Column(comparisons, values, tied, chance, beside)
        yield from _measure_column(column, benchmark, draws)


def draws_of_units(drawn_with: Rows, unit: str, rounds: int = ROUNDS, seed: int = SEED) -> UnitDraws:
    """Return the resamples of what a benchmark draws as a whole.

    Args:
        drawn_with: ``(E,)`` row of the unit that each example is drawn with.
        unit: what it is, in words.
        rounds: of the bootstrap.
        seed: likewise.
    """
    units = int(drawn_with.max(initial=-1)) + 1
    return UnitDraws(drawn_with, units, rounds, seed, unit=unit)


def decide(comparisons: Comparisons, score: Scorer, examples: int) -> tuple[Values, Values]:
    """Return ``(E,)`` 1 where all comparisons of an example hold, 0 where one fails, NaN where it has none;
    and ``(E,)`` whether one of them is equal up to rounding.

    >>> rows, above, below = np.array([0, 0]), np.array([[0, 0], [1, 1]]), np.array([[0, 1], [1, 0]])
    >>> text_score = Comparisons("text_score", "i2t", rows, above, below)
    >>> table = np.array([[0.9, 0.2], [0.4, 0.4]])
    >>> [values.tolist() for values in decide(text_score, lambda pairs, _: table[tuple(pairs.T)], 1)]
    [[0.0], [1.0]]
    """
    above, below = (score(pair, comparisons.direction) for pair in (comparisons.above, comparisons.below))
    require(not np.isnan([above, below]).any(), f"{comparisons.metric}: a score is NaN")
    close = ROUNDING * np.abs([above, below]).max(initial=0)
    equal = np.abs(above - below) <= close
    holds = (above > below) & ~equal
    count = np.bincount(comparisons.example, minlength=examples)
    true = np.bincount(comparisons.example, holds, minlength=examples)
    ties = np.bincount(comparisons.example, equal, minlength=examples)
    return np.where(count > 0, true == count, np.nan), np.where(count > 0, ties > 0, np.nan)


class _Column:
    """The values by example of one score, and what stands beside it."""

    def __init__(
        self, score: Comparisons, values: Values, tied: Values, chance: Values, beside: dict[str, Values]
    ) -> None:
        self.score, self.values = score, values
        self.tied, self.chance = tied, chance
        self.beside = beside

    def measure(self, kind: str, mask: Array, draws: Draws) -> tuple[Measurement, Values]:
        """Return the number over some examples, and their values."""
        values = np.where(mask, self.values, np.nan)
        metric = _metric_of_score(self.score.metric, int(np.nansum(self.tied[mask])))
        key = MetricKey(metric.name, self.score.direction, subset=kind)
        chance = float(np.nanmean(self.chance[mask]))
        beside = {name: float(np.nanmean(column[mask])) for name, column in self.beside.items()}
        number = report_number(metric, key, values, "", draws, 0, chance)
        return replace(number, beside=beside), values


def _metric_of_score(metric: str, tied: int) -> Metric:
    """Return the metric of a declared score, whose contract counts the ties."""
    ties = (
        f"an equal score, up to rounding, counts against the model; ties in {format_count(tied, 'example')}"
    )
    return Metric.from_function(metric, ratio, "all comparisons of the example hold", ties=ties)()


def _measure_column(
    column: _Column, benchmark: Benchmark, draws: Draws
) -> Iterator[tuple[Measurement, Values | None]]:
    everything = np.ones(len(column.values), dtype=bool)
    if np.isnan(column.values).all():
        return
    measured = [column.measure("", everything, draws)]
    kinds = np.array(benchmark.kinds)
    there = [kind for kind in dict.fromkeys(benchmark.kinds) if kind]
    there = [kind for kind in there if not np.isnan(column.values[kinds == kind]).all()]
    by_kind = [column.measure(kind, kinds == kind, draws) for kind in there] if len(there) > 1 else []
    yield from measured
    if len(by_kind) <= MOST_KINDS:
        yield from by_kind
    if by_kind:
        yield _mean_of_kinds(by_kind, draws), None


def _mean_of_kinds(measured: Sequence[tuple[Measurement, Values]], draws: Draws) -> Measurement:
    """Return the mean over kinds, each with the same weight, and its interval."""
    first = measured[0][0]
    metric = MeanOfKinds([values for _, values in measured])
    metric.name, metric.ties = first.key.metric, first.ties.partition(";")[0]
    metric.hit = "all comparisons of the example hold; mean over kinds"
    every = np.stack([values for _, values in measured])
    known = np.where(np.isnan(every).all(axis=0), np.nan, np.nansum(every, axis=0))
    key = MetricKey(metric.name, first.key.direction, subset=MEAN_OF_KINDS)
    chances = [number.chance for number, _ in measured if number.chance is not None]
    beside = {}
    for name in first.beside:
        beside[name] = float(np.mean([number.beside[name] for number, _ in measured]))
    number = report_number(metric, key, known, "", draws, 0, float(np.mean(chances)))
    return replace(number, beside=beside)


class MeanOfKinds(Metric):
    """The mean of the shares of several kinds."""

    def __init__(self, kinds: Sequence[Values]) -> None:
        super().__init__()
        self.kinds = kinds

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the mean of the kinds, and that of each resample without the kinds that it lacks."""
        numbers = [draws.value(kind, at) for kind in self.kinds]
        drawn = np.array([draws.resample(kind, at) for kind in self.kinds])
        known = np.isfinite(drawn)
        return float(np.mean(numbers)), ratio(np.where(known, drawn, 0).sum(axis=0), known.sum(axis=0))


def _chance_and_limit(comparisons: Comparisons, examples: int, bags: Rows | None) -> tuple[Values, Values]:
    """Return ``(E,)`` what chance reaches, and what a bag of words reaches at most; NaN = no comparison."""
    chance, limit = np.full((2, examples), np.nan)
    order = np.argsort(comparisons.example, kind="stable")
    rows, starts = np.unique(comparisons.example[order], return_index=True)
    text_only = comparisons.direction == "t2t"
    for row, part in zip(rows, np.split(order, starts[1:])):
        above, below = comparisons.above[part].tolist(), comparisons.below[part].tolist()
        chance[row] = chance_of(_pattern(above, below, text_only))
        if bags is not None:
            above, below = (_by_bag(pairs, bags, text_only) for pairs in (above, below))
            limit[row] = is_possible(_pattern(above, below, text_only))
    return chance, limit


def _by_bag(pairs: list[list[int]], bags: Rows, text_only: bool) -> list[list[int]]:
    merged = []
    for first, caption in pairs:
        merged.append([int(bags[first]) if text_only else first, int(bags[caption])])
    return merged


def _pattern(above: list[list[int]], below: list[list[int]], text_only: bool) -> Pattern:
    """Map the scores of an example to numbers, in the order in which its comparisons name them."""
    numbers: dict[tuple[int, ...], int] = {}
    pattern = []
    for pairs in zip(above, below, strict=True):
        cells = [tuple(pair) for pair in pairs]
        if text_only:
            # two captions are as alike in either order
            cells = [tuple(sorted(pair)) for pair in pairs]
        first, second = (numbers.setdefault(cell, len(numbers)) for cell in cells)
        pattern.append((first, second))
    return tuple(pattern)


@cache
def chance_of(pattern: Pattern) -> float:
    """Return the share of all orders of some scores in which every comparison holds; NaN = too many scores.

    Args:
        pattern: pairs of numbers of scores, of which the first has to be the higher.

    >>> chance_of(((0, 1), (2, 3))), round(chance_of(((0, 1), (2, 3), (0, 3), (2, 1))), 4)
    (0.25, 0.1667)
    """
    scores = 1 + max(max(pair) for pair in pattern)
    if scores > MOST:
        return float("nan")
    orders = np.array(list(permutations(range(scores))))
    holds = np.ones(len(orders), dtype=bool)
    for first, second in pattern:
        holds &= orders[:, first] > orders[:, second]
    return float(holds.mean())


@cache
def is_possible(pattern: Pattern) -> bool:
    """Return whether any scores let every comparison hold: none is, in the end, to be above itself.

    >>> is_possible(((0, 1), (1, 2))), is_possible(((0, 1), (1, 0)))
    (True, False)
    """
    left = set(pattern)
    while left:
        lower = {second for _, second in left}
        free = {pair for pair in left if pair[0] not in lower}
        if not free:
            return False
        left -= free
    return True
