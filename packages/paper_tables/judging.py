"""What a claim's runs say about it: one of five verdicts, from differences paired by seed.

A claim has two tests: that its effect is none, and that it is no less than the smallest of interest. Holm's
rule runs over both tests of all claims of one paper; as they cannot both be true of one claim, one a
claim counts (J. P. Shaffer, Modified sequentially rejective multiple test procedures, 1986).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from workbench.metrics.seeds import t_interval
from workbench.records import Values, require

ALPHA = 0.05
CHANCE_TIMES = 3  # an arm below three times chance has learnt too little to say anything
CEILING = 0.95  # where all arms have this share of the best value, a metric tells none apart


@dataclass(frozen=True)
class Evidence:
    """Runs of one claim; a difference is positive where it has the sign that the paper expects.

    ``differences`` is ``(seeds,)``; ``smallest`` the smallest effect of interest and ``printed`` the paper's
    effect in the same unit. ``arms`` are means of the metric by arm, against its ``chance`` and its
    ``best`` value. ``elsewhere`` holds the differences at other learning rates.
    """

    differences: Values
    smallest: float
    printed: float | None = None
    arms: tuple[float, ...] = ()
    chance: float | None = None
    best: float = float("inf")
    elsewhere: tuple[Values, ...] = ()

    @property
    def at_best(self) -> bool:
        """Whether all arms are so near the best value that no difference can be seen."""
        return min(self.arms, default=float("-inf")) > CEILING * self.best


@dataclass(frozen=True)
class Verdict:
    """The word, the mean difference with its 95 % interval, and the p value after Holm's rule."""

    word: str
    effect: float
    low: float
    high: float
    p_holm: float


def judge(claims: Sequence[Evidence]) -> list[Verdict]:
    """Verdicts of the claims of one paper, in their order; a void claim takes no part in Holm's rule.

    Raises:
        ValueError: a claim has fewer than two seeds, a value that is not finite, or no smallest effect.
    """
    for claim in claims:
        enough = len(claim.differences) > 1 and bool(np.isfinite(claim.differences).all())
        require(
            enough and claim.smallest > 0, f"a claim needs two seeds, finite, and a smallest effect: {claim}"
        )
    voids = [_is_void(evidence) for evidence in claims]
    tests = [_test_p_values(evidence) for evidence, void in zip(claims, voids, strict=True) if not void]
    adjusted = iter(_adjusted_p_values(np.array(tests)))
    verdicts = []
    for evidence, void in zip(claims, voids, strict=True):
        verdicts.append(_make_verdict(evidence, None if void else next(adjusted)))
    return verdicts


def _is_void(claim: Evidence) -> bool:
    low = float("-inf") if claim.chance is None else CHANCE_TIMES * claim.chance
    return claim.at_best or any(mean < low for mean in claim.arms)


def _test_p_values(claim: Evidence) -> tuple[float, float]:
    """Two-sided p value of a difference, and of lying within the smallest effect (twice the worse side)."""
    mean, seeds = float(claim.differences.mean()), len(claim.differences)
    error = float(claim.differences.std(ddof=1)) / seeds**0.5
    sizes = np.array([abs(mean), claim.smallest - abs(mean)])
    scaled = sizes / error if error else np.where(sizes == 0, 0.0, np.copysign(np.inf, sizes))
    apart, within = 2 * stdtr(seeds - 1, -np.nan_to_num(scaled))
    return float(apart), float(min(within, 1.0))


def _adjusted_p_values(tests: Values) -> Values:
    """Holm's rule with Shaffer's divisors over ``(claims, 2)`` p values."""
    order = np.argsort(tests, axis=None, kind="stable")
    counts = np.minimum(len(tests), tests.size - np.arange(tests.size))
    out = np.empty(tests.size)
    out[order] = np.minimum(np.maximum.accumulate(tests.ravel()[order] * counts), 1.0)
    return out.reshape(tests.shape)


def _make_verdict(claim: Evidence, adjusted: Values | None) -> Verdict:
    effect, word = float(claim.differences.mean()), "undecided"
    apart, within = (float("nan"),) * 2 if adjusted is None else map(float, adjusted)
    if adjusted is None:
        word = "void"
    elif apart < ALPHA:
        word = "replicated" if effect > 0 else "refuted"
    elif within < ALPHA:
        word = "refuted" if (claim.printed or 0) > claim.smallest else "equivalent"
    if word in ("replicated", "refuted") and any(effect * other.mean() < 0 for other in claim.elsewhere):
        word = "undecided"
    return Verdict(word, effect, *t_interval(claim.differences), min(apart, within))
