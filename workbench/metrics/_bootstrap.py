"""Bootstrap intervals over queries: how far a number would move with another sample of queries.

Queries are drawn with replacement, the statistic is computed again, and the interval runs between two
percentiles of the results. All statistics of one direction share their draws, so that the interval of a sum
(``rsum``) is that of a joint sample.

Source: B. Efron, Bootstrap methods: another look at the jackknife, Annals of Statistics 7, 1979 (percentile
interval).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.records import Measurement, MetricKey

Values = NDArray[np.float64]
# resampled weights that lie in memory at a time: 32 MB of float64
CHUNK = 4_000_000


@dataclass(frozen=True)
class Estimate:
    """A statistic with its bootstrap draws.

    Args:
        value: the statistic of the queries at hand.
        draws: ``(rounds,)`` the statistic of each resample; empty = no interval wanted.
        queries, left_out: queries that count, and queries without a relevant item.
    """

    value: float
    draws: Values
    queries: int
    left_out: int = 0

    def report(self, contract: Measurement, key: MetricKey, hit: str) -> Measurement:
        """The measurement of this estimate: the contract with key, value, interval and counts filled in."""
        low, high = interval(self.draws, contract.confidence)
        filled = replace(contract, key=key, hit=hit, value=self.value, low=low, high=high)
        return replace(filled, queries=self.queries, left_out=self.left_out)


def interval(draws: Values, confidence: float = 0.95) -> tuple[float | None, float | None]:
    """Percentile interval of the draws; ``(None, None)`` where there are none."""
    if not len(draws):
        return None, None
    low, high = np.quantile(draws, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def resamples(queries: int, rounds: int, rng: np.random.Generator) -> Iterator[Values]:
    """How often each query was drawn: blocks ``(some rounds, queries)`` whose rows sum to ``queries``."""
    step = max(1, CHUNK // max(queries, 1))
    for first in range(0, rounds, step):
        count = min(step, rounds - first)
        drawn = rng.integers(queries, size=(count, queries)) + queries * np.arange(count)[:, None]
        yield np.bincount(drawn.ravel(), minlength=count * queries).reshape(count, queries).astype(np.float64)


def columns(values: Mapping[str, Values], rounds: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """Means over queries of several statistics, all from the same resamples.

    Args:
        values: ``(queries,)`` by key; NaN marks a query that does not count, in all statistics alike.
        rounds: number of resamples; 0 = no interval.
        rng: source of the draws.

    Raises:
        ValueError: no query counts.

    >>> columns({"R@1": np.array([1.0, 0.0, np.nan])}, 0, np.random.default_rng(0))["R@1"].value
    0.5
    """
    table = np.stack(list(values.values()), axis=1)
    kept = _counted(table, ", ".join(values))
    draws = [weights @ kept / len(kept) for weights in resamples(len(kept), rounds, rng)]
    drawn = np.concatenate([np.zeros((0, len(values))), *draws]).T
    rows = zip(values, kept.mean(axis=0), drawn, strict=True)
    return {key: Estimate(float(value), draw, len(kept), len(table) - len(kept)) for key, value, draw in rows}


def median_rank(ranks: Values, rounds: int, rng: np.random.Generator) -> Estimate:
    """Median of ranks, rounded down when it falls between two, as the field prints it.

    Args:
        ranks: ``(queries,)``, 1 = top; NaN marks a query that does not count.
        rounds: number of resamples; 0 = no interval.
        rng: source of the draws.
    """
    kept = np.sort(_counted(ranks[:, None], "medr")[:, 0])
    middle = np.array([(len(kept) - 1) // 2, len(kept) // 2])
    draws = [np.zeros(0)]
    for weights in resamples(len(kept), rounds, rng):
        filled = weights.cumsum(axis=1)
        places = [np.argmax(filled > position, axis=1) for position in middle]
        draws.append(np.floor((kept[places[0]] + kept[places[1]]) / 2))
    value = float(np.floor(kept[middle].mean()))
    return Estimate(value, np.concatenate(draws), len(kept), len(ranks) - len(kept))


def _counted(values: Values, what: str) -> Values:
    kept = values[~np.isnan(values).any(axis=1)]
    if not len(kept):
        raise ValueError(
            f"{what}: no query has an answer by these judgements, so that nothing can be measured"
        )
    return kept


def total(parts: Sequence[Estimate]) -> Estimate:
    """Sum of statistics of different queries, draw by draw."""
    return _combined(parts, float(len(parts)))


def over_folds(folds: Sequence[Estimate]) -> Estimate:
    """Mean of the folds' statistics, draw by draw."""
    return _combined(folds, 1.0)


def _combined(parts: Sequence[Estimate], times: float) -> Estimate:
    draws = times * np.mean([part.draws for part in parts], axis=0)
    value = times * float(np.mean([part.value for part in parts]))
    return Estimate(value, draws, sum(part.queries for part in parts), sum(part.left_out for part in parts))
