"""How a picture becomes the pixels that a model was trained on, up to uint8: deterministic, so that pixels
can be cached.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from PIL import Image
from torch import Tensor

RESIZES = ("shortest", "squash", "longest")
INTERPOLATIONS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "nearest": Image.Resampling.NEAREST,
}


@dataclass(frozen=True)
class Preparation:
    """Resize and crop.

    Args:
        size: ``(height, width)`` of the result.
        resize: ``"shortest"`` scales the shorter side and crops the middle, ``"squash"`` changes the aspect
            ratio, ``"longest"`` scales the longer side and pads with black.
        interpolation: ``"bicubic"``, ``"bilinear"`` or ``"nearest"``.
    """

    size: tuple[int, int]
    resize: str
    interpolation: str

    def __call__(self, image: Image.Image) -> Tensor:
        """``PIL.Image`` -> ``(3, H, W)`` uint8."""
        height, width = self.size
        image = image.convert("RGB")
        scales = (width / image.width, height / image.height)
        scale = {"shortest": (max(scales),) * 2, "longest": (min(scales),) * 2, "squash": scales}[self.resize]
        new = (max(round(image.width * scale[0]), 1), max(round(image.height * scale[1]), 1))
        if new != image.size:
            image = image.resize(new, INTERPOLATIONS[self.interpolation])
        left, top = (image.width - width) // 2, (image.height - height) // 2
        if (left, top) != (0, 0) or image.size != (width, height):
            # Outside the picture, crop fills with black, which is the padding of "longest".
            image = image.crop((left, top, left + width, top + height))
        return torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1).contiguous()
