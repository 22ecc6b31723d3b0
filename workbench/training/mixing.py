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

from workbench.records import Batch, Rows
from workbench.training.batches import Source

ALPHA, CUT = 2.0, 0.5


@dataclass(frozen=True)
class Recipe:
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
        """``(I, T)`` float labels: those of the image and those of the other one, by weight."""
        own, weight = positives.float(), torch.from_numpy(self.weight).float()[:, None].to(positives.device)
        return weight * own + (1 - weight) * own[torch.from_numpy(self.partner).to(positives.device)]


def recipe(captions: Rows, images: int, *, share: float, seed: int) -> Recipe:
    """Draw how a batch is mixed.

    Args:
        captions: the batch's caption rows, which set the draw apart from those of other batches.
        images: ``I``.
        share: of the images that are mixed; at least one of two is.
        seed: of the run.
    """
    rng = np.random.default_rng([seed, *captions.tolist()])
    partner, weight = np.arange(images), np.ones(images)
    chosen = rng.permutation(images)[: max(round(share * images), 1) if images > 1 else 0]
    partner[chosen] = (chosen + rng.integers(1, max(images, 2), len(chosen))) % images
    weight[chosen] = rng.beta(ALPHA, ALPHA, len(chosen))
    return Recipe(partner, weight, rng.random(images) < CUT, rng.random((images, 2)))


def of_images(source: Source, images: Rows, places: Rows, how: Recipe) -> Batch:
    """Some of a batch's images, mixed; only these and their partners are read.

    Args:
        source: where images come from.
        images: ``(I,)`` image rows of the whole batch.
        places: places in the batch of the images that are wanted.
        how: of the whole batch.
    """
    needed = np.union1d(places, how.partner[places])
    read = source.of_images(images[needed])
    own, other = np.searchsorted(needed, places), np.searchsorted(needed, how.partner[places])
    inputs = {name: _mixed(value, own, other, places, how) for name, value in read.inputs.items()}
    return Batch([read.image_ids[row] for row in own], [], read.own, inputs)


def _mixed(values: Tensor, own: Rows, other: Rows, places: Rows, how: Recipe) -> Tensor:
    out = values[own].clone()
    for row in np.flatnonzero(own != other):
        place, partner = places[row], values[other[row]]
        weight, corner = float(how.weight[place]), how.corner[place]
        if values.ndim == 3:
            out[row] = exchanged(out[row], partner, weight, corner[0])
        elif how.cut[place]:
            out[row] = pasted(out[row], partner, weight, corner)
        else:
            out[row] = blended(out[row], partner, weight)
    return out


def blended(image: Tensor, partner: Tensor, weight: float) -> Tensor:
    """Mixup of two images ``(3, H, W)``; integers are rounded."""
    mixed = weight * image + (1 - weight) * partner
    return mixed if image.is_floating_point() else mixed.round().to(image.dtype)


def pasted(image: Tensor, partner: Tensor, weight: float, corner: NDArray[np.float64]) -> Tensor:
    """CutMix of two images ``(3, H, W)``: a rectangle of their shape and of area ``1 - weight`` comes from
    the partner.
    """
    side = np.sqrt(1 - weight)
    (top, bottom), (left, right) = (
        (round(start * (1 - side) * length), round((start * (1 - side) + side) * length))
        for start, length in zip(corner, image.shape[1:], strict=True)
    )
    out = image.clone()
    out[:, top:bottom, left:right] = partner[:, top:bottom, left:right]
    return out


def exchanged(regions: Tensor, partner: Tensor, weight: float, start: float) -> Tensor:
    """Regions ``(K, D)`` of which a run of ``(1 - weight) K``, going round at the end, comes from the
    partner.
    """
    count = len(regions)
    run = (int(start * count) + torch.arange(round((1 - weight) * count))) % count
    out = regions.clone()
    out[run] = partner[run]
    return out
