"""Two runs on the same queries: paired bootstrap of the difference, exact sign test, Holm's correction.

"Both runs answered the same queries. The interval is that of the mean difference when the queries are drawn
again, the same draw for both runs. The sign test asks whether one run is better on more queries than the
other; queries on which they agree say nothing. Where several comparisons are made, p is Holm's, so that the
chance of a single false alarm among all stays below 5 %."

For a number that is 0 or 1 for each query (R@K) the sign test is McNemar's exact test. Captions of one image
are no independent witnesses: with ``groups`` whole images are drawn, and an image counts as one sign. A query
that has no answer counts for neither run. The tests speak about other queries, not about other seeds of
training (``seeds``).

Source: B. Efron and R. Tibshirani, An introduction to the bootstrap, 1993, chapter 13 (percentile interval);
Q. McNemar, Psychometrika 12, 1947; S. Holm, A simple sequentially rejective multiple test procedure, Scand.
J. Statistics 6, 1979.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from workbench.metrics._bootstrap import Estimate, interval, resamples
from workbench.records import Rows

Values = NDArray[np.float64]
EQUAL = 1e-12


@dataclass(frozen=True)
class Difference:
    """How one run differs from another on one number, with the contract.

    Args:
        key: the number, e.g. ``"t2i/R@1"``.
        run, against: names of the two runs; the difference is ``run - against``.
        value: mean difference over queries; low, high: its bootstrap interval at ``confidence``, or ``None``.
        wins, losses, ties: groups (queries, or images where captions are drawn by image) where ``run`` is
            better, worse, equal.
        p: of the two-sided exact sign test; p_holm: corrected for all comparisons made together.
        comparisons: how many those were.
        queries, left_out: queries that count, and queries that have no answer.
    """

    key: str
    run: str
    against: str
    value: float
    low: float | None
    high: float | None
    wins: int
    losses: int
    ties: int
    p: float
    p_holm: float = 1.0
    comparisons: int = 1
    queries: int = 0
    left_out: int = 0
    confidence: float = 0.95

    @property
    def told_apart(self) -> bool:
        """Whether the sign test, corrected, tells the runs apart at ``1 - confidence``."""
        return self.p_holm < 1 - self.confidence


def paired_bootstrap(
    difference: Values, rounds: int, rng: np.random.Generator, groups: Rows | None = None
) -> Estimate:
    """Mean of the per-query differences of two runs, with its bootstrap draws.

    Args:
        difference: ``(queries,)`` value of the one run minus that of the other; NaN = the query does not
            count.
        rounds: resamples; 0 = no interval.
        rng: source of the draws.
        groups: ``(queries,)`` row of what is drawn as a whole, e.g. the image of a caption; ``None`` = each
            query by itself.

    Raises:
        ValueError: no query counts.

    >>> paired_bootstrap(np.array([1.0, 0.0, -1.0, 1.0]), 0, np.random.default_rng(0)).value
    0.25
    """
    kept = ~np.isnan(difference)
    if not kept.any():
        raise ValueError("no query counts for both runs, so that they cannot be compared")
    sums, counts = _by_group(difference[kept], None if groups is None else groups[kept])
    draws = [(weights @ sums) / (weights @ counts) for weights in resamples(len(sums), rounds, rng)]
    value = float(difference[kept].mean())
    return Estimate(value, np.concatenate([np.zeros(0), *draws]), int(kept.sum()), int((~kept).sum()))


def _by_group(values: Values, groups: Rows | None) -> tuple[Values, Values]:
    """Sum and number of the values of each group."""
    if groups is None:
        return values, np.ones(len(values))
    _, place = np.unique(groups, return_inverse=True)
    sums: Values = np.bincount(place, weights=values).astype(np.float64)
    return sums, np.bincount(place).astype(np.float64)


def sign_test(wins: int, losses: int) -> float:
    """Two-sided exact sign test: the chance of a split at least as uneven if both outcomes are equally
    likely.

    Args:
        wins: how often the one is better; ties are left out.
        losses: how often the other is.

    Returns:
        p in (0, 1]; 1 where they never differ.

    >>> round(sign_test(8, 2), 9)  # 2 * (1 + 10 + 45) / 2 ** 10
    0.109375
    """
    return min(1.0, 2 * float(bdtr(min(wins, losses), wins + losses, 0.5))) if wins + losses else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p values: the i-th smallest of m times ``m - i + 1``, never below a smaller one's,
    never above 1.

    >>> [round(value, 6) for value in holm([0.01, 0.04, 0.03, 0.005])]
    [0.03, 0.06, 0.06, 0.02]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.minimum(
        1.0, np.maximum.accumulate(np.asarray(p, np.float64)[order] * np.arange(len(p), 0, -1))
    )
    out = np.empty(len(p))
    out[order] = adjusted
    return [float(value) for value in out]


def measure(
    values: Mapping[str, Mapping[str, Values]],
    against: str,
    *,
    groups: Mapping[str, Rows] | None = None,
    rounds: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> list[Difference]:
    """Every run against one run, on every number; Holm's correction goes over all of these comparisons.

    Args:
        values: key -> run -> ``(queries,)`` one value a query, larger = better; NaN = the query has no
            answer.
        against: name of the run that the others are held against.
        groups: key -> ``(queries,)`` what is drawn as a whole; a key that is missing has none.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.
        confidence: of the intervals.

    Returns:
        Key by key, in the order of ``values``, run by run.

    Raises:
        KeyError: ``against`` is not among the runs of a key.
        ValueError: runs that answered different queries, or no query that counts.
    """
    rng = np.random.default_rng(seed)
    found = []
    for key, by_run in values.items():
        if against not in by_run:
            raise KeyError(f"{key}: no run {against!r} to compare with; there are {', '.join(by_run)}")
        for name in by_run:
            if name != against:
                difference = _difference(f"{key}: {name} and {against}", by_run[name], by_run[against])
                group = (groups or {}).get(key)
                estimate = paired_bootstrap(difference, rounds, rng, group)
                found.append(_report(key, name, against, estimate, _signs(difference, group), confidence))
    adjusted = holm([one.p for one in found])
    return [replace(one, p_holm=p, comparisons=len(found)) for one, p in zip(found, adjusted, strict=True)]


def _difference(what: str, first: Values, second: Values) -> Values:
    if first.shape != second.shape or (np.isnan(first) != np.isnan(second)).any():
        raise ValueError(
            f"{what} did not answer the same queries: measure both on one split by the same judgements"
        )
    return first - second


def _signs(difference: Values, groups: Rows | None) -> tuple[int, int, int]:
    kept = ~np.isnan(difference)
    sums, _ = _by_group(difference[kept], None if groups is None else groups[kept])
    # sums of equal values in another order may differ in the last bit
    better, worse = int((sums > EQUAL).sum()), int((sums < -EQUAL).sum())
    return better, worse, len(sums) - better - worse


def _report(
    key: str, run: str, against: str, estimate: Estimate, signs: tuple[int, int, int], confidence: float
) -> Difference:
    low, high = interval(estimate.draws, confidence)
    p = sign_test(signs[0], signs[1])
    counts = {"queries": estimate.queries, "left_out": estimate.left_out, "confidence": confidence}
    return Difference(key, run, against, estimate.value, low, high, *signs, p, **counts)  # type: ignore[arg-type]


def rsum_by_image(i2t: Values, t2i: Values, own: Rows) -> Values:
    """What each image adds to RSUM: its own three hits, and those of its captions; the mean over images is
    RSUM.

    Args:
        i2t: ``(I,)`` rank of each image's best relevant caption, 1 = first.
        t2i: ``(T,)`` rank of each caption's best relevant image.
        own: ``(T,)`` row of each caption's image.

    Returns:
        ``(I,)``, in [0, 6] where every image has as many captions as any other.

    Raises:
        ValueError: a query has no rank; RSUM then has no share for it.

    >>> rsum_by_image(np.array([1.0, 6.0]), np.array([1.0, 20.0]), np.array([0, 1])).tolist()
    [6.0, 1.0]
    """
    if np.isnan(i2t).any() or np.isnan(t2i).any():
        raise ValueError(
            "an image or a caption has no relevant item; compare R@K of one direction, where such queries are left out"
        )
    depths = np.array([1, 5, 10])[:, None]
    image, text = (i2t <= depths).sum(axis=0), (t2i <= depths).sum(axis=0)
    summed: Values = image + np.bincount(own, weights=text, minlength=len(image)) * (len(image) / len(text))
    return summed


def most_different(ranks: Values, count: int, groups: Rows | None = None) -> list[int]:
    """The queries on which runs differ most: by the ratio of the worst to the best rank.

    Args:
        ranks: ``(runs, queries)`` 1 = first; a query that is NaN in a run is never chosen.
        count: queries wanted; fewer are given where fewer differ.
        groups: ``(queries,)`` at most one query of a group is chosen; ``None`` = any.

    Returns:
        Query rows, most different first; among equals the one that some run answers best, then the lower row.

    >>> most_different(np.array([[1.0, 3.0, 9.0], [8.0, 3.0, 3.0]]), 2)
    [0, 2]
    """
    best, worst = ranks.min(axis=0), ranks.max(axis=0)
    order = np.lexsort((best, -worst / best))
    seen: set[int] = set()
    out: list[int] = []
    for row in order.tolist():
        group = row if groups is None else int(groups[row])
        if len(out) < count and worst[row] > best[row] and group not in seen:
            seen.add(group)
            out.append(row)
    return out


MEMBER = measure
