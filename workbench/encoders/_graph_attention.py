r"""Attention along the edges of many graphs at once: nodes of all captions lie in one tensor, and edges name
their rows.

.. math:: \alpha_{ij} = \mathrm{softmax}_j\, a_h^\top \mathrm{LeakyReLU}(W_t x_i + W_s x_j) + b_h, \qquad
   y_i = \mathrm{ReLU}(\mathrm{LayerNorm}(W_t x_i + \sum_j \alpha_{ij} W_v x_j))

Sources: Brody et al., "How attentive are graph attention networks?", ICLR 2022, Eq. 7; Pham et al.,
"Composing object relations and attributes for image-text matching" (CORA), CVPR 2024, section 3.3, and the
released code, which adds residual and LayerNorm.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu

SLOPE = 0.2


def segment_softmax(scores: Tensor, segment: Tensor, segments: int) -> Tensor:
    """Softmax over the rows that share a segment, in float32 at least.

    Args:
        scores: ``(E, H)``.
        segment: ``(E,)`` segment of each row.
        segments: how many there are.

    Returns:
        ``(E, H)``; the rows of a segment sum to 1 in every column.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    index = segment[:, None].expand_as(scores)
    highest = scores.new_full((segments, scores.shape[1]), -torch.inf).scatter_reduce(
        0, index, scores.detach(), "amax"
    )
    powers = (scores - highest[segment]).exp()
    return powers / powers.new_zeros(highest.shape).index_add(0, segment, powers)[segment]


def segment_mean(rows: Tensor, segment: Tensor, segments: int) -> Tensor:
    """``(segments, D)`` mean of the rows ``(E, D)`` of each segment; an empty segment has 0."""
    count = torch.bincount(segment, minlength=segments).clamp(min=1)
    return rows.new_zeros(segments, rows.shape[1]).index_add(0, segment, rows) / count[:, None].to(rows.dtype)


def attention_weights(
    target: Tensor, source: Tensor, affinity: Tensor, bias: Tensor, edges: Tensor
) -> Tensor:
    """Share of its attention that a node gives to each of its neighbours, head by head.

    Args:
        target: ``(N, H, d)`` nodes as those that attend, ``W_t x``.
        source: ``(N, H, d)`` nodes as those attended to, ``W_s x``.
        affinity: ``(H, d)`` the vector ``a`` of each head.
        bias: ``(H,)`` the number ``b`` of each head.
        edges: ``(2, E)`` node that attends, and node attended to.

    Returns:
        ``(E, H)``; the edges of a node sum to 1.
    """
    pair = leaky_relu(target[edges[0]] + source[edges[1]], SLOPE)
    return segment_softmax((pair * affinity).sum(-1) + bias, edges[0], len(target))


def aggregate(weights: Tensor, values: Tensor, edges: Tensor) -> Tensor:
    """``(N, H, d)`` sums of the neighbours' values ``(N, H, d)``, weighted by ``(E, H)``; a node without
    edges has 0.
    """
    carried = weights.to(values.dtype)[..., None] * values[edges[1]]
    return torch.zeros_like(values).index_add(0, edges[0], carried)


def edge_context(
    active: Tensor, passive: Tensor, subject: Tensor, thing: Tensor, nodes: int, *, mean: str
) -> Tensor:
    """What a node's relations tell about it, to be added to the node.

    Args:
        active: ``(R, D)`` each relation as its subject sees it.
        passive: ``(R, D)`` as its object sees it.
        subject: ``(R,)`` node that is the subject of each relation.
        thing: ``(R,)`` node that is its object.
        nodes: ``N``.
        mean: ``"joint"`` = one mean over a node's active and passive relations together (released code);
            ``"roles"`` = a mean of each kind, both added (the paper).

    Returns:
        ``(N, D)``; 0 for a node without relations.

    Source:
        CORA, section 3.3.2.
    """
    if mean == "roles":
        return segment_mean(active, subject, nodes) + segment_mean(passive, thing, nodes)
    return segment_mean(torch.cat([active, passive]), torch.cat([subject, thing]), nodes)


class GraphAttention(nn.Module):
    """One layer.

    Args:
        dim: ``D``, a multiple of ``heads``.
        heads: attention heads, concatenated.
        residual: as in the released code; ``False`` is the printed Eq. 3, the weighted sum of ``W_s x_j``
            alone.
        value_dropout: of ``W_v x``.

    Raises:
        ValueError: the heads do not divide the width.
    """

    def __init__(
        self, dim: int, *, heads: int = 16, residual: bool = True, value_dropout: float = 0.0
    ) -> None:
        super().__init__()
        if dim % heads:
            raise ValueError(
                f"graph attention: {heads} heads do not divide the width {dim}; choose heads that do"
            )
        self.heads, self.value_dropout = heads, value_dropout
        self.target, self.source = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim) if residual else None
        self.norm = nn.LayerNorm(dim) if residual else None
        bound = 1 / math.sqrt(dim // heads)
        self.affinity = nn.Parameter(torch.empty(heads, dim // heads).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(heads).uniform_(-bound, bound))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Let the nodes ``(N, D)`` attend along ``edges`` ``(2, E)``; returns ``(N, D)``."""
        target, source = self.target(nodes), self.source(nodes)
        values = dropout(
            source if self.value is None else self.value(nodes), self.value_dropout, self.training
        )
        split = (len(nodes), self.heads, nodes.shape[1] // self.heads)
        weights = attention_weights(target.view(split), source.view(split), self.affinity, self.bias, edges)
        gathered = aggregate(weights, values.view(split), edges).flatten(1)
        return (gathered if self.norm is None else self.norm(target + gathered)).relu()
