"""Regions that look at one another before they are pooled.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
section 3.2, and the released code (a code of each region's place, one attention layer, a feed-forward layer
of the same width, both with a residual).
"""

from __future__ import annotations

from torch import Tensor, nn

from workbench.encoders._pooling import position_code

CODE, DROPOUT = 16, 0.1


class RegionAttention(nn.Module):
    """One layer of self-attention among the regions of an image.

    Args:
        dim: ``D``, a multiple of ``heads``.
        heads: attention heads.
    """

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.code, self.dropout = nn.Linear(CODE, dim), nn.Dropout(DROPOUT)
        self.before, self.between = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed_forward = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, parts: Tensor, mask: Tensor) -> Tensor:
        """Regions ``(N, P, D)`` in the light of the real ones, ``mask (N, P)``; a region that is not real is
        0.
        """
        code = self.dropout(self.code(position_code(parts.shape[1], CODE).to(parts)))
        seen = self.before(parts + code)
        parts = parts + self.attention(seen, seen, seen, key_padding_mask=~mask, need_weights=False)[0]
        made: Tensor = parts + self.feed_forward(self.between(parts))
        return made.masked_fill(~mask[..., None], 0)
