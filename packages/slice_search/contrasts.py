"""How much worse a slice is than the rest: effects, intervals and p values of many slices at once.

"The effect of a slice is the mean of a value over its queries minus the mean over all other queries. Captions
of one image are no independent queries, so that the standard error is robust to clusters of images. A p value
asks for other images; Holm's or Benjamini and Hochberg's rule adjusts it for everything that was searched."

The effect is a difference of two means, each a ratio of sums over images. With u_i the share of image i in
it, ``u_i = (s_i - m n_i) / n - (r_i - q k_i) / k`` (sum, number and mean in the slice and in the rest), its
variance is the sum of ``u_i ** 2``, where the part of either side is raised by ``g / (g - 1)`` for its g
images. The degrees of freedom are Welch's and Satterthwaite's. This is what the bootstrap of
``workbench.metrics.intervals`` estimates, without its thousand resamples for each of thousands of slices.

A p value is the larger one of two. The first is Student's of that standard error. The second asks how far a
slice drawn from all queries would lie from the rest: its variance, its correlation within an image and its
skewness are those of all queries, and its tail is Pearson's type III, never thinner than the normal one. A
slice of a few queries that all fail has no variance of its own, and is thus not called worse for that alone;
and rare hits, which make a mean skewed, do not make a slice better.

Source: A. Cameron, J. Gelbach and D. Miller, Robust inference with multiway clustering, J. Business and
Economic Statistics 29, 2011 (variance); F. Satterthwaite, Biometrics Bulletin 2, 1946; P. Mielke and
K. Berry, Permutation Methods, 2007 (type III); S. Holm, Scand. J.
Statistics 6, 1979; Y. Benjamini and Y. Hochberg, J. Royal Statistical Society B 57, 1995.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.special import gammainc, gammaincc, ndtr, stdtr, stdtrit

from workbench.metrics.comparison import holm
from workbench.records import Mask, Rows, Values
from workbench.records.measurement import CONFIDENCE

Rule = Literal["holm", "bh"]
# entries of masks that are looked at together: 64 MB of float64
BLOCK = 2**23
TINY = 1e-12
# skewness below which a distribution is taken as normal
NEARLY = 1e-3


@dataclass(frozen=True)
class Contrasts:
    """Effects of ``C`` slices.

    Args:
        effect: ``(C,)`` mean in the slice minus mean in the rest; NaN where either has no query.
        low, high: ``(C,)`` ends of its interval, for this slice alone.
        p: ``(C,)`` two-sided, for this slice alone; 1 where there is no effect.
        strength: ``(C,)`` effect over the larger one of both standard errors; slices are ranked by it.
        mean, rest: ``(C,)`` means.
        queries, images: ``(C,)`` size of the slice.
        others: ``(C,)`` images of the rest.
    """

    effect: Values
    low: Values
    high: Values
    p: Values
    strength: Values
    mean: Values
    rest: Values
    queries: Rows
    images: Rows
    others: Rows


def contrast(values: Values, image_rows: Rows, masks: Mask) -> Contrasts:
    """Compare each slice with the rest.

    Args:
        values: ``(Q,)`` a value of each query; NaN = it does not count.
        image_rows: ``(Q,)`` image of each query.
        masks: ``(C, Q)`` which queries are in which slice.
    """
    known = ~np.isnan(values)
    number = np.unique(image_rows[known], return_inverse=True)[1]
    size = (int(known.sum()), int(number.max()) + 1 if len(number) else 0)
    belongs = sparse.csr_array((np.ones(size[0]), (np.arange(size[0]), number)), shape=size)
    step = max(1, BLOCK // max(1, len(values)))
    parts = []
    for first in range(0, max(1, len(masks)), step):
        block = masks[first : first + step][:, known]
        parts.append(_contrast_block(values[known], belongs, block))
    joined: dict[str, Any] = {}
    for name in Contrasts.__dataclass_fields__:
        joined[name] = np.concatenate([getattr(part, name) for part in parts])
    return Contrasts(**joined)


def _contrast_block(values: Values, belongs: sparse.csr_array, masks: Mask) -> Contrasts:
    """Compare some slices, see ``contrast``; ``belongs`` is ``(Q, I)``."""
    inside = masks.astype(np.float64)
    counts, sums = inside @ belongs, (inside * values) @ belongs
    all_counts, all_sums = np.ones(len(values)) @ belongs, values @ belongs
    slice_side = _Side(counts, sums)
    rest_side = _Side(all_counts - counts, all_sums - sums)
    shared = (slice_side.shares * rest_side.shares).sum(axis=1)
    variance = np.maximum(slice_side.variance + rest_side.variance - 2 * shared, 0.0)
    free = _degrees_of_freedom(slice_side, rest_side)
    effect = slice_side.mean - rest_side.mean
    half = stdtrit(free, (1 + CONFIDENCE) / 2) * np.sqrt(variance)
    pooled, skewness = _drawn_from_all(values, all_counts, all_sums, slice_side, rest_side)
    strength = np.nan_to_num(effect / np.sqrt(np.maximum(np.maximum(variance, pooled), TINY)))
    alone = 2 * stdtr(free, -np.abs(effect) / np.sqrt(np.maximum(variance, TINY)))
    drawn = _p_type_three(effect / np.sqrt(np.maximum(pooled, TINY)), skewness)
    return Contrasts(
        effect=effect,
        low=effect - half,
        high=effect + half,
        p=np.nan_to_num(np.maximum(alone, drawn), nan=1.0),
        strength=strength,
        mean=slice_side.mean,
        rest=rest_side.mean,
        queries=slice_side.queries.astype(np.int64),
        images=slice_side.images.astype(np.int64),
        others=rest_side.images.astype(np.int64),
    )


def _drawn_from_all(
    values: Values, all_counts: Values, all_sums: Values, slice_side: "_Side", rest_side: "_Side"
) -> tuple[Values, Values]:
    """Return ``(C,)`` variance and skewness of an effect if the queries of a slice were drawn from all."""
    mean = values.mean() if len(values) else 0.0
    centred = values - mean
    by_image = all_sums - mean * all_counts
    pairs = max(1.0, float((all_counts * (all_counts - 1)).sum()))
    square = float((centred**2).mean()) if len(values) else 0.0
    shared = max(0.0, float((by_image**2).sum() - (centred**2).sum()) / pairs)
    inverse, inverse_rest = _inverse_or_zero(slice_side.queries), _inverse_or_zero(rest_side.queries)
    weights = slice_side.counts * inverse[:, None] - rest_side.counts * inverse_rest[:, None]
    independent = square * (inverse + inverse_rest)
    between = (weights**2).sum(axis=1) - inverse - inverse_rest
    variance = np.maximum(independent + shared * between, 0.0)
    third = float((centred**3).mean()) if len(values) else 0.0
    skewness = third * (inverse**2 - inverse_rest**2) * _inverse_or_zero(independent) ** 1.5
    together = np.maximum(1.0, variance * _inverse_or_zero(independent))
    return variance, skewness * np.sqrt(together)


def _p_type_three(scores: Values, skewness: Values) -> Values:
    """Return two-sided p values of standardised scores by Pearson's type III, at least those of the
    normal.
    """
    side = np.where(scores < 0, -1.0, 1.0)
    # the tail that matters is the upper one of a distribution that is turned around for negative scores
    distance, skew = np.abs(scores), skewness * side
    shape = 4 / np.maximum(skew**2, TINY)
    place = shape + np.sign(skew) * distance * np.sqrt(shape)
    upper = gammaincc(shape, np.maximum(place, 0.0))
    lower = gammainc(shape, np.maximum(place, 0.0))
    tail = np.where(skew > 0, upper, lower)
    normal = ndtr(-distance)
    nearly_normal = np.abs(skew) < NEARLY
    return np.asarray(np.minimum(1.0, 2 * np.where(nearly_normal, normal, np.maximum(tail, normal))))


class _Side:
    """The mean over the slices, or over their rests, and how much each image moves it.

    Args:
        counts: ``(C, I)`` queries of each image.
        sums: ``(C, I)`` of their values.
    """

    def __init__(self, counts: Values, sums: Values) -> None:
        self.counts = counts
        self.queries = counts.sum(axis=1)
        self.images = (counts > 0).sum(axis=1)
        inverse = _inverse_or_zero(self.queries)
        self.mean = np.where(self.queries > 0, sums.sum(axis=1) * inverse, np.nan)
        self.shares = (sums - np.nan_to_num(self.mean)[:, None] * counts) * inverse[:, None]
        self.variance = (self.shares**2).sum(axis=1) * self.images * _inverse_or_zero(self.images - 1)
        # images with many queries weigh more, so that there are fewer in effect
        effective = self.queries**2 * _inverse_or_zero((counts**2).sum(axis=1))
        self.free = np.maximum(effective - 1, 1.0)


def _degrees_of_freedom(first: _Side, second: _Side) -> Values:
    """Return Satterthwaite's degrees of freedom of a difference of two means."""
    parts = first.variance**2 / first.free + second.variance**2 / second.free
    together = (first.variance + second.variance) ** 2
    least = np.minimum(first.free, second.free)
    return np.asarray(np.where(parts > 0, together * _inverse_or_zero(parts), least))


def _inverse_or_zero(numbers: Values | Rows) -> Values:
    """Return ``1 / numbers``, and 0 where a number is not positive."""
    return np.asarray(np.where(numbers > 0, 1.0 / np.where(numbers > 0, numbers, 1), 0.0))


def adjust(p: Values, rule: Rule) -> Values:
    """Adjust p values for everything that was searched.

    Args:
        p: ``(N,)`` p values.
        rule: Holm's, for any false slice; or Benjamini and Hochberg's, for the share of false ones.

    >>> adjust(np.array([0.01, 0.04, 0.03, 0.005]), "bh").round(6).tolist()
    [0.02, 0.04, 0.04, 0.02]
    """
    if rule == "holm":
        return np.array(holm(p.tolist()))
    from scipy.stats import false_discovery_control  # slow to import

    return np.asarray(false_discovery_control(p))
