"""What a claim's runs say about it: one of five verdicts, from differences paired by seed.

A claim has two tests: that its effect is none, and that it is no less than the smallest of interest. Holm's
rule runs over both tests of all claims of one paper; as they cannot both be true of one claim, one a
claim counts (J. P. Shaffer, Modified sequentially rejective multiple test procedures, 1986). Claims that are
void or not tried yet count as well, with p values of 1: no result changes how many there are, and a verdict
does not weaken when further ones arrive. Where values by
image are known, the error is for other seeds and other images (``workbench.metrics.crossed``), else for other
seeds alone. Differences that are all the same have no test.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr

from paper_tables.health import HEALTHY
from workbench.metrics.crossed import Crossed
from workbench.records import Values, require

ALPHA = 0.05


@dataclass(frozen=True)
class Evidence:
    """Runs of one claim; a difference is positive where it has the sign that the paper expects.

    Args:
        differences: ``(seeds,)``.
        smallest: smallest effect of interest, in the same unit.
        no_effect: the claim is that there is none.
        arms: means of the metric by arm.
        best: what the metric can reach.
        health: which share of the reference arm's way from chance the worst arm has gone; ``None`` = no arms,
            NaN = nobody measured it.
        other_rates: the differences at other learning rates.
        images: variance of the mean difference over images, its part that seeds do not share, and how many
            images.
    """

    differences: Values
    smallest: float
    no_effect: bool = False
    arms: tuple[float, ...] = ()
    best: float = float("inf")
    health: float | None = None
    other_rates: tuple[Values, ...] = ()
    images: tuple[float, float, int] = (0.0, 0.0, 1)

    @property
    def scatter(self) -> Crossed:
        """Variance of the mean difference, for other seeds and other images."""
        seeds, (images, rest, count) = len(self.differences), self.images
        return Crossed(float(self.differences.var(ddof=1)) / seeds, images, rest, (seeds, count))

    @property
    def is_unhealthy(self) -> bool:
        """Whether an arm did not learn, or nobody knows."""
        return self.health is not None and not self.health >= HEALTHY

    @property
    def is_void(self) -> bool:
        """Whether nothing is said for or against a claim."""
        return self.is_at_best or self.is_unhealthy

    @property
    def is_at_best(self) -> bool:
        """Whether the best value is so near to all arms that no effect of interest has room."""
        return self.best - min(self.arms, default=float("-inf")) < self.smallest


@dataclass(frozen=True)
class Verdict:
    """The word, the mean difference with its 95 % interval, and the p value after Holm's rule."""

    word: str
    effect: float
    low: float
    high: float
    p_holm: float


def judge(claims: Sequence[Evidence], questions: int = 0) -> list[Verdict]:
    """Return verdicts of the claims of one paper, in their order.

    Args:
        claims: that were tried.
        questions: how many claims Holm's rule counts, those not tried yet among them; as many as were tried
            at least.

    Raises:
        ValueError: a claim has fewer than two seeds, a value that is not finite, or no smallest effect.
    """
    for claim in claims:
        enough = len(claim.differences) > 1 and bool(np.isfinite(claim.differences).all())
        require(
            enough and claim.smallest > 0, f"a claim needs two seeds, finite, and a smallest effect: {claim}"
        )
    tests = np.array([_test_p_values(evidence) for evidence in claims])
    adjusted = _adjusted_p_values(tests, max(questions, len(tests)))
    return [_make_verdict(evidence, row) for evidence, row in zip(claims, adjusted, strict=True)]


def _test_p_values(claim: Evidence) -> tuple[float, float]:
    """Return two-sided p value of a difference, and of lying within the smallest effect (twice the worse
    side); 1 where there is no test.
    """
    mean, scatter = float(claim.differences.mean()), claim.scatter
    error = scatter.variance**0.5
    if claim.is_void or not error:
        return 1.0, 1.0
    sizes = np.array([abs(mean), claim.smallest - abs(mean)])
    apart, within = 2 * stdtr(scatter.freedom, -sizes / error)
    return float(apart), float(min(within, 1.0))


def _adjusted_p_values(tests: Values, questions: int) -> Values:
    """Return ``(claims, 2)`` p values, adjusted by Holm's rule with Shaffer's divisors for so many claims."""
    order = np.argsort(tests, axis=None, kind="stable")
    counts = np.minimum(questions, 2 * questions - np.arange(tests.size))
    out = np.empty(tests.size)
    out[order] = np.minimum(np.maximum.accumulate(tests.ravel()[order] * counts), 1.0)
    return out.reshape(tests.shape)


def _make_verdict(claim: Evidence, adjusted: Values) -> Verdict:
    effect = float(claim.differences.mean())
    word, p = "void", float("nan")
    if not claim.is_void:
        word, p = _verdict(claim, *map(float, adjusted)), float(adjusted.min())
    half = claim.scatter.half_width()
    return Verdict(word, effect, effect - half, effect + half, p)


def _verdict(claim: Evidence, apart: float, within: float) -> str:
    """Return the verdict by two adjusted p values; a claim of no effect is first asked for its limits."""
    effect = float(claim.differences.mean())
    word = "equivalent" if within < ALPHA else "undecided"
    if claim.no_effect and within < ALPHA:
        word = "replicated"
    elif apart < ALPHA:
        word = "refuted" if claim.no_effect or effect < 0 else "replicated"
    turned = any(effect * other.mean() < 0 for other in claim.other_rates)
    return "undecided" if turned and word in ("replicated", "refuted") else word
