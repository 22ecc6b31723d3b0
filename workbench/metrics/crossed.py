"""The interval of a mean over seeds of training and over test images, both of which are samples.

"Every model was trained with several seeds and measured on the same images; given are the mean, and the
interval in which it would lie with 95 % confidence for other seeds *and* other images." A value of one seed
and one image is ``x_si = mean + a_s + b_i + e_si``: how far the seed moves all images, how far the image is
easier for all seeds, and the rest. With ``S`` seeds and ``I`` images the mean has the variance
``var(a) / S + var(b) / I + var(e) / (S I)``, whose parts are estimated from mean squares; a negative one is
taken as none. The interval is Student's with Satterthwaite's degrees of freedom. Of simulated means it covers
93 to 97 percent, and 98 where neither seeds nor images have a scatter of their own.

It is a difference of two models where ``x_si`` are differences, seed by seed and image by image: the images
that both find hard move it no longer. A bootstrap that draws seeds and images (Owen's pigeonhole bootstrap)
has the same variance with many seeds, counts ``e`` three times, and with five seeds is too narrow, since it
knows no degrees of freedom.

Source: S. Searle, G. Casella and C. McCulloch, Variance components, 1992, section 4.4 (crossed, one value a
cell); F. Satterthwaite, An approximate distribution of estimates of variance components, Biometrics Bulletin
2, 1946; A. Owen, The pigeonhole bootstrap, Annals of Applied Statistics 1, 2007.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from workbench.records import Values, require
from workbench.records.measurement import CONFIDENCE


@dataclass(frozen=True)
class Crossed:
    """Variance of a mean over seeds and images, by what it comes from.

    Args:
        seeds: of the mean of each seed, which holds a part of ``rest``; divided by the number of seeds.
        images: the same of images.
        rest: what neither explains, divided by the number of seeds times images.
        counts: numbers of seeds and of images.
    """

    seeds: float
    images: float
    rest: float
    counts: tuple[int, int]

    @property
    def variance(self) -> float:
        """Of the mean, for other seeds and other images."""
        return max(self.seeds - self.rest, 0.0) + max(self.images - self.rest, 0.0) + self.rest

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom of the variance."""
        seeds, images = (max(count - 1, 1) for count in self.counts)
        parts = self.seeds**2 / seeds + self.images**2 / images + self.rest**2 / (seeds * images)
        return self.variance**2 / parts if parts else float(seeds * images)

    def half_width(self) -> float:
        """Return how far the interval reaches to either side of the mean."""
        return float(stdtrit(self.freedom, (1 + CONFIDENCE) / 2) * self.variance**0.5)


def crossed_variance(values: Values) -> Crossed:
    """Estimate the variance of the mean of some values from their mean squares.

    Args:
        values: ``(seeds, images)``, two of each at least.

    Raises:
        ValueError: fewer, or a value is not finite.

    >>> # seeds differ by 1, images by 2, and no rest
    >>> parts = crossed_variance(np.array([[0.0, 2.0], [1.0, 3.0]]))
    >>> parts.seeds, parts.images, parts.rest  # 0.5 / 2, 2.0 / 2, 0
    (0.25, 1.0, 0.0)
    """
    require(
        values.ndim == 2 and min(values.shape) > 1,
        f"values by seed and image have two rows and two columns at least, not the shape {values.shape}",
    )
    require(bool(np.isfinite(values).all()), "values by seed and image hold one that is not finite")
    seeds, images = values.shape
    of_seeds, of_images = values.mean(axis=1), values.mean(axis=0)
    rest = values - of_seeds[:, None] - of_images + values.mean()
    square = float((rest**2).sum()) / ((seeds - 1) * (images - 1))
    return Crossed(
        float(of_seeds.var(ddof=1)) / seeds,
        float(of_images.var(ddof=1)) / images,
        square / (seeds * images),
        (seeds, images),
    )


def crossed_interval(values: Values) -> tuple[float, float]:
    """Compute the interval of the mean for other seeds and other images.

    Args:
        values: ``(seeds, images)``, two of each at least.

    Raises:
        ValueError: as ``crossed``.
    """
    mean, half = float(values.mean()), crossed_variance(values).half_width()
    return mean - half, mean + half
