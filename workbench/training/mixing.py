"""Mixed images: a share of a batch's images each take part of another, and their labels say how much.

Pixels are blended (mixup) or get a rectangle of the other image (CutMix), one as often as the other; sets of
regions get some regions of the other image. The weight of the image itself is drawn from Beta(2, 2).
Everything is drawn from the seed and the batch's captions, so that a resumed run and several processes mix as
one straight run does.

Sources: Zhang et al., "mixup", ICLR 2018; Yun et al., "CutMix", ICCV 2019; of image-text pairs Chun,
"Improved probabilistic image-text representations", ICLR 2024, Sect. 3.4. Departures: the rectangle always
lies inside the image, so that its area is the weight that was drawn; the released code has nothing for
regions.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.records import Rows

ALPHA = 2.0
CUT = 0.5


@dataclass(frozen=True)
class Mixture:
    """How the ``I`` images of a batch are mixed.

    Args:
        partner: ``(I,)`` place of the other image in the batch, its own for an image that stays whole.
        weight: ``(I,)`` of the image itself.
        cut: ``(I,)`` True where a rectangle is pasted.
        corner: ``(I, 2)`` where the rectangle lies, in [0, 1).
    """

    partner: Rows
    weight: NDArray[np.float64]
    cut: NDArray[np.bool_]
    corner: NDArray[np.float64]

    def labels(self, positives: Tensor) -> Tensor:
        """Return ``(I, T)`` float labels: those of the image and those of the other one, by weight."""
        own = positives.float()
        weight = torch.from_numpy(self.weight).float()[:, None].to(positives.device)
        return weight * own + (1 - weight) * own[torch.from_numpy(self.partner).to(positives.device)]

    def mix(self, values: Tensor, read: Rows, places: Rows) -> Tensor:
        """Return inputs of the images at ``places``.

        Args:
            values: ``(n, 3, H, W)`` pixels or ``(n, K, D)`` regions of the images that were read.
            read: ``(n,)`` places of those, in order; the partners are among them.
            places: of the images that are wanted.
        """
        own = np.searchsorted(read, places)
        other = np.searchsorted(read, self.partner[places])
        mixed = values[own]
        for row in np.flatnonzero(own != other):
            mixed[row] = self._mix_image(values[own[row]], values[other[row]], places[row])
        return mixed

    def _mix_image(self, image: Tensor, partner: Tensor, place: int) -> Tensor:
        weight = float(self.weight[place])
        corner = self.corner[place]
        if image.ndim == 2:
            return exchange_regions(image, partner, weight, corner[0])
        return paste(image, partner, weight, corner) if self.cut[place] else blend(image, partner, weight)


def draw_mixture(captions: Rows, images: int, *, share: float, seed: int) -> Mixture:
    """Draw how a batch is mixed.

    Args:
        captions: the batch's caption rows, which set the draw apart from those of other batches.
        images: ``I``.
        share: of the images that are mixed; at least one of two is.
        seed: of the run.
    """
    rng = np.random.default_rng([seed, *captions.tolist()])
    partner = np.arange(images)
    weight = np.ones(images)
    chosen = rng.permutation(images)[: max(round(share * images), 1) if images > 1 else 0]
    partner[chosen] = (chosen + rng.integers(1, max(images, 2), len(chosen))) % images
    weight[chosen] = rng.beta(ALPHA, ALPHA, len(chosen))
    return Mixture(partner, weight, rng.random(images) < CUT, rng.random((images, 2)))


def blend(image: Tensor, partner: Tensor, weight: float) -> Tensor:
    """Mix two images by mixup, ``(3, H, W)``; integers are rounded."""
    mixed = weight * image + (1 - weight) * partner
    return mixed if image.is_floating_point() else mixed.round().to(image.dtype)


def paste(image: Tensor, partner: Tensor, weight: float, corner: NDArray[np.float64]) -> Tensor:
    """Mix two images by CutMix, ``(3, H, W)``: a rectangle of their shape and of area ``1 - weight`` comes
    from the partner.
    """
    side = np.sqrt(1 - weight)
    shape = np.array(image.shape[1:])
    top, left = (corner * (1 - side) * shape).round().astype(int)
    bottom, right = ((corner * (1 - side) + side) * shape).round().astype(int)
    out = image.clone()
    out[:, top:bottom, left:right] = partner[:, top:bottom, left:right]
    return out


def exchange_regions(regions: Tensor, partner: Tensor, weight: float, start: float) -> Tensor:
    """Return regions ``(K, D)`` of which a run of ``(1 - weight) K``, going round at the end, comes from the
    partner.
    """
    count = len(regions)
    run = (int(start * count) + torch.arange(round((1 - weight) * count))) % count
    return regions.index_copy(0, run, partner[run])
