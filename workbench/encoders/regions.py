"""Regions: pre-extracted features of an image -> linear layer with a residual MLP -> pooling -> unit vector.

The image side of VSE-infinity and of the papers that build on it (CORA, DIAS, AAHR). The features are
detector regions, or the grid of a frozen backbone.

Source: Chen et al., "Learning the best pooling strategy for visual semantic embedding", CVPR 2021, section
5.1. The released code of CORA drops features and numbers the regions that are left anew:
``feature_dropout=0.1, renumber=True``.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.encoders.base import Encoder
from workbench.encoders.packed import PackedIndex
from workbench.encoders.pooling import POOLINGS, LogVar, PoolingName, Projection, RegionAttention
from workbench.records import Batch, Embedding, require
from workbench.registry import Count, Dropped, Natural, Share


class Regions(Encoder):
    """Encodes images from ``batch.inputs["regions"]``.

    Args:
        in_dim: ``D_in`` of the features.
        embed_dim: ``D`` of the embedding.
        hidden_dim: width of the residual MLP's hidden layer; 0 = linear layer alone.
        pooling: ``"gpo"``, ``"max"`` or ``"mean"``.
        region_dropout: probability that a training pass leaves a region out; one region of an image always
            stays.
        attention_heads: the regions attend to one another, with so many heads, before they are pooled (CORA);
            0 = they do not.
        feature_dropout: share of the numbers of a feature that training drops before it is projected.
        renumber: where regions attend, the code of a region's place counts those that this pass sees; else
            all, so that a region has the same place in every pass.
        log_var: also say log sigma squared, by a head of its own over the projected regions.
    """

    image_input: str | None = "regions"

    # Nine options: each is a choice of its own that a config names, and a group of them would only hide it.
    def __init__(  # noqa: PLR0913
        self,
        *,
        in_dim: Natural = 2048,
        embed_dim: Natural = 1024,
        hidden_dim: Count = 512,
        pooling: PoolingName = "gpo",
        region_dropout: Share = 0.2,
        attention_heads: Count = 0,
        feature_dropout: Dropped = 0.0,
        renumber: bool = False,
        log_var: bool = False,
    ) -> None:
        super().__init__()
        self.in_dim = in_dim
        self.embed_dim = embed_dim
        self.region_dropout = region_dropout
        self.projection = Projection(in_dim, embed_dim, hidden_dim)
        self.feature_dropout = nn.Dropout(feature_dropout)
        self.attention = RegionAttention(embed_dim, attention_heads, renumber) if attention_heads else None
        self.pooling = POOLINGS[pooling]()
        self.log_var = LogVar(embed_dim, embed_dim, pooling) if log_var else None

    def encode_images(self, batch: Batch) -> Embedding:
        """Embed the images; ``parts`` are the projected regions, ``mask`` tells those that this pass has
        seen.

        Raises:
            ValueError: the features have another shape than ``(I, K, in_dim)``.
        """
        features: Tensor = batch.inputs["regions"]
        require(
            features.ndim == 3 and features.shape[2] == self.in_dim,
            f"regions: features must be (I, K, {self.in_dim}), got {tuple(features.shape)}; set in_dim",
        )
        index = PackedIndex(self.seen_mask(features))
        rows: Tensor = self.projection(self.feature_dropout(index.rows(features)))
        rows = rows if self.attention is None else self.attention(rows, index)
        log_var = self.log_var.pool_rows(rows, index) if self.log_var else None
        mean = normalize(self.pooling.pool_rows(rows, index), dim=-1)
        return Embedding(mean, log_var, index.pad(rows), index.mask)

    def seen_mask(self, features: Tensor) -> Tensor:
        """Return ``(I, K)`` True for the regions that this pass sees: all of them, unless in training. Rows
        of zeros are padding and no regions, but for an image that has no other.
        """
        real = features.ne(0).any(-1)
        real |= ~real.any(1, keepdim=True)
        if not self.training or self.region_dropout == 0:
            return real
        draw = torch.rand(features.shape[:2], device=features.device).masked_fill(~real, -1)
        # The region with the largest draw always stays, so that no image is left without any.
        return real & ((draw >= self.region_dropout) | (draw == draw.amax(1, keepdim=True)))


MEMBER = Regions
