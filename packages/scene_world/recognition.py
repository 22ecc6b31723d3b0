"""The network of the recognition backbone ``"scenes_backbone"``: from pixels to a grid of features, and from
these to names of what lies where.

Strided and residual convolutions with batch normalisation; the plan and its widths are ours. Twelve of the
192 channels are no features but the cell's place, one channel for each row and each column of the grid: what
is learnt later from a set of cells can tell left from right and above from below.
"""

from collections.abc import Mapping
from pathlib import Path

import torch
from einops import rearrange
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn.functional import one_hot

from workbench.encoders.backbones import Backbone, Preparation

WEIGHTS = Path(__file__).parent / "assets" / "scenes_backbone" / "model.safetensors"

SIDE, GRID = 192, 6
FINER, WIDTH = 2, 180


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(outputs)
    )


class _Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.branch = nn.Sequential(_convolution(width, width, 3), nn.ReLU(), _convolution(width, width, 3))

    def forward(self, maps: Tensor) -> Tensor:
        return torch.relu(maps + self.branch(maps))


class Recognition(nn.Module):
    """Features of the cells of a grid, and logits of what lies in each quarter of a cell.

    Args:
        classes: answers that the head weighs, of all questions together.
    """

    place: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        first, second = 96, WIDTH
        plans = ((3, 32, 7, 4), (32, 64, 3, 2), (64, first, 3, 2), (first, second, 3, 2))
        *steps, last = (nn.Sequential(_convolution(*plan), nn.ReLU()) for plan in plans)
        self.body = nn.Sequential(*steps, _Residual(first), last, _Residual(second))
        self.head = nn.Linear(WIDTH, FINER**2 * classes)
        rows, columns = one_hot(torch.cartesian_prod(torch.arange(GRID), torch.arange(GRID))).unbind(1)
        self.register_buffer("place", torch.cat([rows, columns], dim=1).float(), persistent=False)

    @classmethod
    def from_weights(cls, weights: Mapping[str, Tensor]) -> "Recognition":
        """Return the network with these weights, as ``state_dict`` names them, in evaluation mode."""
        network = cls(len(weights["head.bias"]) // FINER**2)
        network.load_state_dict(weights)
        return network.eval()

    def forward(self, pixels: Tensor) -> Tensor:
        """Map normalised pixels ``(n, 3, 192, 192)`` to features ``(n, 36, 192)``, row by row of the grid."""
        cells = rearrange(self.body(pixels), "n d y x -> n (y x) d")
        return torch.cat([cells, self.place.to(cells).expand(len(cells), -1, -1)], dim=-1)

    def logits(self, features: Tensor) -> Tensor:
        """Map features to logits ``(n, classes, 12, 12)``; the place of a feature is not read."""
        logits: Tensor = self.head(features[..., :WIDTH])
        return rearrange(logits, "n (y x) (r s c) -> n c (y r) (x s)", y=GRID, r=FINER, s=FINER)


def backbone(weights: Path = WEIGHTS) -> Backbone:
    """Return the backbone of the synthetic scenes, with the weights of this file."""
    network, half = Recognition.from_weights(load_file(weights)), (0.5,) * 3
    preparation = Preparation((SIDE, SIDE), "squash", "bilinear")
    return Backbone("scenes_backbone", network, network, preparation, half, half)
