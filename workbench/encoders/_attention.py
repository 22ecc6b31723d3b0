"""From local features and a global vector to one: guided attention pooling, a gate, and a layer in which
local features meet.

Source: AAHR, Eqs. 1-5; Fu et al., "Learning semantic relationship among instances for image-text matching"
(HREM), CVPR 2023, for the layer.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

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
