"""Whether a score means the same for every pair: whether one threshold tells right pairs from wrong ones, and
whether a score is a probability.

``auroc``: "the chance that a right pair scores higher than a wrong one, of all pairs of all queries; an equal
score counts half". ``ece``, the expected calibration error of a logistic fit: "the mean over pairs, in 15
equal ranges of probability, of the distance between the mean probability of the pairs of a range and the
share of right ones", where the probability is ``sigmoid(a S + b)`` with the ``a`` and ``b`` of the largest
likelihood of all pairs. Retrieval compares scores within one query and cannot see either.

Right is what the judgements call relevant; pairs that nobody judged are left out where the judgements say so.
All judged pairs are read at once, so both are measured where they are asked for.

Source: T. Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006; M. Naeini et al.,
Obtaining well calibrated probabilities using Bayesian binning, AAAI 2015, and C. Guo et al., On calibration
of modern neural networks, ICML 2017 (15 ranges); J. Platt, Probabilistic outputs for support vector machines,
1999 (the fit).
"""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import expit
from scipy.stats import rankdata

from workbench.metrics.blocks import AnyScores, at_pairs, by_rows
from workbench.metrics.intervals import ROUNDS, Draws
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Judgements, Mask, Measurement, MetricKey, Rows, Values

RANGES, STEPS = 15, 100
# ranges of scores by which the resamples of the AUROC are counted
COUNTED = 512


class PairMetric(Metric):
    """A metric of all pairs at once. What it reads, ``(N, 2)`` score and whether it is right, stands in place
    of values by query.
    """

    requires, directions = "pairs", ("",)
    by, default = ("densest pairs",), False
    face, ties = "number", "an equal score counts half"


class Auroc(PairMetric):
    """Area under the curve of true against false positives, over all pairs."""

    name, hit = "auroc", "a right pair scores higher than a wrong one, over all pairs; gallery = pairs"

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the area, and that of each resample, in which scores are counted in ranges."""
        score, right = values[:, 0], values[:, 1] > 0
        value = auroc(score, right)
        if isinstance(at, str) or np.isnan(value):
            return value, np.zeros(0)
        ends = np.quantile(score, np.arange(1, COUNTED) / COUNTED)
        place = np.searchsorted(ends, score)
        counts = np.zeros((2, draws.images, COUNTED))
        np.add.at(counts, (right.astype(np.int64), at, place), 1)
        whole = _areas(counts.sum(axis=1, keepdims=True))[0]
        resampled = [_areas(counts_of(block, counts)) for block in draws.blocks()]
        return value, np.concatenate([np.zeros(0), *resampled]) + (value - whole)


def auroc(score: Values, right: Mask) -> float:
    """Return the chance that a right pair scores higher than a wrong one; NaN where there are none of either.

    >>> auroc(np.array([0.9, 0.4, 0.4, 0.1]), np.array([True, True, False, False]))  # one of four is half
    0.875
    """
    positives, negatives = int(right.sum()), int((~right).sum())
    if not positives or not negatives:
        return float("nan")
    above = rankdata(score)[right].sum() - positives * (positives + 1) / 2
    return float(above / positives / negatives)


def counts_of(weights: Values, counts: Values) -> Values:
    """Return ``(2, rounds, ranges)`` wrong and right pairs of each range, as often as their image was
    drawn.
    """
    return np.stack([weights @ side for side in counts])


def _areas(counts: Values) -> Values:
    """Return ``(rounds,)`` area of counted pairs; two of one range count half."""
    wrong, right = counts
    below = np.cumsum(wrong, axis=1) - wrong / 2
    return ratio((right * below).sum(axis=1), right.sum(axis=1) * wrong.sum(axis=1))


class CalibrationError(PairMetric):
    """Expected calibration error of a logistic fit of all pairs."""

    name, hit = "ece", "probability of a logistic fit against the share of right pairs; gallery = pairs"
    smaller_is_better = True

    def aggregate(self, values: Values, at: str | Rows, draws: Draws) -> tuple[float, Values]:
        """Return the error, and that of each resample with the same fit."""
        score, right = values[:, 0], values[:, 1]
        if len(np.unique(right)) == 1:
            return float("nan"), np.zeros(0)
        slope, shift = logistic(score, right)
        probability = expit(slope * score + shift)
        place = np.minimum((probability * RANGES).astype(np.int64), RANGES - 1)
        over = [np.where(place == number, right - probability, 0.0) for number in range(RANGES)]
        value = float(sum(abs(part.sum()) for part in over) / len(score))
        if isinstance(at, str):
            return value, np.zeros(0)
        sums = draws.sums([*over, np.ones(len(score))], at)
        return value, ratio(np.abs(sums[:, :-1]).sum(axis=1), sums[:, -1])


def logistic(score: Values, right: Values) -> tuple[float, float]:
    """Fit ``sigmoid(a score + b)`` to what is right by Newton's method; where a threshold tells all pairs
    apart, the fit is cut off when it is nearly a step.

    Args:
        score: ``(N,)``.
        right: ``(N,)`` 1 or 0, some of each.

    Returns:
        ``a`` and ``b`` of the largest likelihood.
    """
    middle, spread = score.mean(), score.std() or 1.0
    standard = (score - middle) / spread
    slope, shift = 0.0, float(np.log(right.mean() / (1 - right.mean())))
    for _ in range(STEPS):
        probability = expit(slope * standard + shift)
        weight, miss = probability * (1 - probability), right - probability
        curvature = np.array(
            [
                [(weight * standard**2).sum(), (weight * standard).sum()],
                [(weight * standard).sum(), weight.sum()],
            ]
        )
        # a flat likelihood has no better place
        if np.linalg.cond(curvature) > 1 / np.finfo(float).eps:
            break
        step = np.linalg.solve(curvature, [(miss * standard).sum(), miss.sum()])
        slope, shift = slope + step[0], shift + step[1]
        if np.abs(step).max() < 1e-12 * (1 + abs(slope)):
            break
    return float(slope / spread), float(shift - slope * middle / spread)


def calibrations(
    scores: AnyScores,
    judgements: Judgements,
    own: Rows,
    metrics: Sequence[Metric],
    *,
    rounds: int = ROUNDS,
) -> Iterator[Measurement]:
    """Yield the numbers of some metrics of all pairs.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judgements: say which pairs are right; those that they leave open are not read.
        own: ``(T,)`` image row of each caption.
        metrics: those of pairs, of which those of this file are read.
        rounds: bootstrap rounds; 0 = no intervals.
    """
    chosen = [metric for metric in metrics if isinstance(metric, PairMetric)]
    if not chosen:
        return
    if judgements.unlisted is None:
        image, right = judgements.images, judgements.grades >= judgements.relevant_from
        score = at_pairs(scores, image, judgements.captions)
    else:
        score = by_rows(scores).rows().ravel()
        image = np.repeat(np.arange(judgements.shape[0]), judgements.shape[1])
        right = judgements.relevant().ravel()
    pairs = np.column_stack([score.astype(np.float64), right])
    draws = Draws(own, judgements.shape[0], rounds)
    for metric in chosen:
        key = MetricKey(metric.name, "", judgements.name)
        measurement = report_number(metric, key, pairs, image, draws, len(pairs))
        if not np.isnan(measurement.value):
            yield measurement


MEMBER = (Auroc, CalibrationError)
