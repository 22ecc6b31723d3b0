"""Regions: pre-extracted features of an image -> linear layer with a residual MLP -> pooling -> unit vector.

The image side of VSE-infinity and of the papers that build on it (CORA, DIAS, AAHR). The features are detector regions, or
the grid of a frozen backbone.

Source: Chen et al., "Learning the best pooling strategy for visual semantic embedding", CVPR 2021, section 5.1, and its
released code for the residual MLP.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders._base import Encoder
from workbench.encoders._pooling import pool
from workbench.records import Batch, Embedding


class Regions(Encoder):
    """Encodes images from ``batch.inputs["regions"]``.

    Args:
        in_dim: ``D_in`` of the features.
        embed_dim: ``D`` of the embedding.
        hidden_dim: width of the residual MLP's hidden layer.
        pooling: ``"gpo"``, ``"max"`` or ``"mean"``.
        region_dropout: share of an image's regions that a training pass leaves out; one always stays.
    """

    image_input: ClassVar[str | None] = "regions"

    def __init__(
        self,
        *,
        in_dim: int = 2048,
        embed_dim: int = 1024,
        hidden_dim: int = 512,
        pooling: str = "gpo",
        region_dropout: float = 0.2,
    ) -> None:
        super().__init__()
        self.in_dim, self.embed_dim, self.region_dropout = in_dim, embed_dim, region_dropout
        self.linear = nn.Linear(in_dim, embed_dim)
        self.expand = nn.Linear(in_dim, hidden_dim)
        self.norm = nn.BatchNorm1d(hidden_dim)
        self.contract = nn.Linear(hidden_dim, embed_dim)
        self.pooling = pool(pooling)

    def images(self, batch: Batch) -> Embedding:
        """Embed the images; ``parts`` are the projected regions, ``mask`` those that this pass has seen.

        Raises:
            ValueError: the features have another width than ``in_dim``.
        """
        features = batch.inputs["regions"]
        if features.ndim != 3 or features.shape[2] != self.in_dim:
            raise ValueError(f"regions: features must be (I, K, {self.in_dim}), got {tuple(features.shape)}; set in_dim")
        parts = self.project(features)
        mask = self.seen(features)
        return Embedding(normalize(self.pooling(parts, mask), dim=-1), parts=parts, mask=mask)

    def project(self, features: Tensor) -> Tensor:
        """``(I, K, D_in)`` -> ``(I, K, D)``: linear layer plus MLP; batch statistics run over all regions."""
        flat = features.flatten(0, 1)
        hidden = torch.relu(self.norm(self.expand(flat)))
        return (self.linear(flat) + self.contract(hidden)).unflatten(0, features.shape[:2])

    def seen(self, features: Tensor) -> Tensor:
        """``(I, K)`` bool: the regions of this pass. In training each is left out with probability ``region_dropout``."""
        draw = torch.rand(features.shape[:2], device=features.device) if self.training else None
        if draw is None or self.region_dropout == 0:
            return torch.ones(features.shape[:2], dtype=torch.bool, device=features.device)
        # The region with the largest draw always stays, so that no image is left without any.
        return (draw >= self.region_dropout) | (draw == draw.amax(1, keepdim=True))


MEMBER = Regions
