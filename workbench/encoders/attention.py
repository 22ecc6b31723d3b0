"""Attention among the parts of one thing: regions that look at one another, a global vector that says how
much each part counts, and a gate that mixes both.

Sources: AAHR, Eqs. 1-5; Fu et al., "Learning semantic relationship among instances for image-text matching"
(HREM), CVPR 2023, for the layer in which local features meet; Pham et al., "Composing object relations and
attributes for image-text matching" (CORA), CVPR 2024, section 3.2, and the released code, for regions (a code
of each region's place, one attention layer, a feed-forward layer of the same width, both with a residual).
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from workbench.encoders.pooling import position_code

HEADS = (16, 8, 6, 5, 4, 3, 2, 1)


class GuidedPooling(nn.Module):
    """Global-guided local attention (GGLA): a global vector says how much each local feature counts.

    Cosines of the mapped global vector with the mapped local features, averaged over ``maps`` pairs of maps,
    go through a softmax; the weights sum the local features as they are. There is no temperature, so that
    with 36 features the largest weight is at most ``e^2`` times the smallest, and the result stays close to
    the mean.

    Args:
        embed_dim: ``D``.
        maps: pairs of linear maps; the paper does not state how many.
        map_dim: what they map to.
    """

    def __init__(self, embed_dim: int, maps: int, map_dim: int) -> None:
        super().__init__()
        self.maps = maps
        self.of_guide, self.of_parts = (nn.Linear(embed_dim, maps * map_dim, bias=False) for _ in range(2))

    def weights(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """Weights of the local features.

        Args:
            guide: ``(N, D)`` global vectors.
            parts: ``(N, P, D)``.
            mask: ``(N, P)`` True where a part is real.

        Returns:
            ``(N, P)``; a row sums to 1 and is 0 where a part is not real. The lengths of all vectors make no
            difference.
        """
        asked, found = (
            maps(side).unflatten(-1, (self.maps, -1))
            for maps, side in ((self.of_guide, guide), (self.of_parts, parts))
        )
        # Half precision would round the cosines to steps of 1/256, and the weights with them.
        precise = torch.promote_types(asked.dtype, torch.float32)
        cosines = cosine_similarity(asked[:, None].to(precise), found.to(precise), dim=-1).mean(-1)
        return cosines.masked_fill(~mask, -torch.inf).softmax(-1).to(parts.dtype)

    def forward(self, guide: Tensor, parts: Tensor, mask: Tensor) -> Tensor:
        """``(N, D)``: the weighted sum of the parts."""
        return torch.einsum("np,npd->nd", self.weights(guide, parts, mask), parts)


class Gate(nn.Module):
    """``g = sigmoid(W [local; guide] + b)``, and ``g * local + (1 - g) * guide``, which lies between the two.

    Args:
        embed_dim: ``D``.
        scalar: one gate for all dimensions, where the default has one for each.
    """

    def __init__(self, embed_dim: int, *, scalar: bool = False) -> None:
        super().__init__()
        self.linear = nn.Linear(2 * embed_dim, 1 if scalar else embed_dim)

    def forward(self, local: Tensor, guide: Tensor) -> Tensor:
        """Mix ``(N, D)`` with ``(N, D)``."""
        gate = self.linear(torch.cat([local, guide], dim=-1)).sigmoid()
        out: Tensor = gate * local + (1 - gate) * guide
        return out


def fitting_heads(embed_dim: int, most: int) -> int:
    """As many attention heads as divide the width, up to ``most``."""
    return next(count for count in HEADS if count <= most and embed_dim % count == 0)


def meeting(embed_dim: int, heads: int, hidden_dim: int, dropout: float) -> nn.TransformerEncoderLayer:
    """One transformer layer over a set; as many heads as divide the width, up to ``heads``."""
    return nn.TransformerEncoderLayer(
        embed_dim, fitting_heads(embed_dim, heads), hidden_dim, dropout, batch_first=True
    )


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
