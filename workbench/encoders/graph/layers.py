r"""The graphs of a batch end to end, and attention along their edges.

The nodes of all captions lie in one tensor, and edges name their rows.

::

    \alpha_{ij} = \mathrm{softmax}_j\, a_h^\top \mathrm{LeakyReLU}(W_t x_i + W_s x_j) + b_h, \qquad
    y_i = \mathrm{ReLU}(\mathrm{LayerNorm}(W_t x_i + \sum_j \alpha_{ij} W_v x_j))

Sources: Brody et al., "How attentive are graph attention networks?", ICLR 2022, Eq. 7; Pham et al.,
"Composing object relations and attributes for image-text matching" (CORA), CVPR 2024, section 3.3, and the
released code, which adds residual and LayerNorm.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, leaky_relu

from workbench.records import require


@dataclass(frozen=True)
class Graphs:
    """``N`` objects, ``M`` attributes and ``R`` relations of ``T`` captions. A phrase is a number of the
    signal ``graph_tokens``.

    Args:
        captions: ``T``.
        objects: ``(N,)`` phrases, caption by caption; ``owner``: ``(N,)`` caption of each.
        attributes: ``(N, A)`` phrases of an object's attributes, 0 = none.
        relations: ``(R,)`` phrases; ``subject``, ``thing``: ``(R,)`` rows of the objects that they relate.
    """

    captions: int
    objects: Tensor
    owner: Tensor
    attributes: Tensor
    relations: Tensor
    subject: Tensor
    thing: Tensor

    @property
    def mask(self) -> Tensor:
        """``(T, O)`` bool, True for each object of a caption; their order is that of ``objects``."""
        counts = torch.bincount(self.owner, minlength=self.captions)
        return torch.arange(int(counts.max()), device=counts.device) < counts[:, None]

    def stars(self) -> tuple[Tensor, Tensor]:
        """Return every attribute as a node after the objects.

        Returns:
            ``(M,)`` phrases of the attributes, and ``(2, E)`` edges over ``N + M`` nodes: each object attends
            to itself and to its attributes, an attribute to its object alone.
        """
        holder, column = self.attributes.nonzero(as_tuple=True)
        node = len(self.objects) + torch.arange(len(holder), device=holder.device)
        loops = torch.arange(len(self.objects), device=holder.device)
        edges = torch.stack([torch.cat([loops, holder, node]), torch.cat([loops, node, holder])])
        return self.attributes[holder, column], edges

    def links(self) -> Tensor:
        """Return ``(2, E)`` edges between objects that are related, both ways, each once, and a loop at each
        object.
        """
        loops = torch.arange(len(self.objects), device=self.objects.device)
        ends = torch.cat([loops, self.subject, self.thing]), torch.cat([loops, self.thing, self.subject])
        distinct: Tensor = torch.unique(torch.stack(ends), dim=1)
        return distinct


def same_caption(owner: Tensor) -> Tensor:
    """Return ``(2, E)`` all pairs of nodes of the same caption, a node with itself among them; ``owner`` is
    ``(N,)``.
    """
    return (owner[:, None] == owner[None, :]).nonzero().T


def pack(signal: Mapping[str, Tensor]) -> Graphs:
    """Return the graphs of a batch, from what the signal ``graph_tokens`` gives."""
    real = signal["objects"] != 0
    row = (real.flatten().cumsum(0) - 1).view_as(real)
    caption, number = (signal["relations"][..., 1] != 0).nonzero(as_tuple=True)
    subject, relation, thing = signal["relations"][caption, number].T.contiguous()
    owner = real.nonzero(as_tuple=True)[0]
    objects = signal["objects"][real]
    attributes = signal["attributes"][real]
    ends = row[caption, subject], row[caption, thing]
    return Graphs(len(real), objects, owner, attributes, relation, *ends)


def drop_at_random(graphs: Graphs, *, objects: float, attributes: float, relations: float) -> Graphs:
    """Leave objects, attributes and relations out at random; one object of a caption always stays.

    Args:
        graphs: a batch.
        objects: probability to leave one out, with its attributes and relations.
        attributes: probability to leave one out.
        relations: probability to leave one out.

    Source:
        CORA, released code (``prob_drop_entity``, ``prob_drop_attribute``, ``prob_drop_relation``).
    """
    draw = torch.rand(graphs.objects.shape, device=graphs.objects.device)
    largest = draw.new_zeros(graphs.captions).scatter_reduce(0, graphs.owner, draw, "amax")
    stays = (draw >= objects) | (draw == largest[graphs.owner])
    row = stays.cumsum(0) - 1
    lost = torch.rand(graphs.attributes.shape, device=draw.device) < attributes
    related = torch.rand(graphs.relations.shape, device=draw.device) >= relations
    related &= stays[graphs.subject] & stays[graphs.thing]
    fewer = replace(
        graphs,
        objects=graphs.objects[stays],
        owner=graphs.owner[stays],
        attributes=graphs.attributes.masked_fill(lost, 0)[stays],
    )
    subject = row[graphs.subject[related]]
    thing = row[graphs.thing[related]]
    return replace(fewer, relations=graphs.relations[related], subject=subject, thing=thing)


def limit_attributes(graphs: Graphs, most: int, *, at_random: bool) -> Graphs:
    """Return at most so many attributes of each object.

    Args:
        graphs: a batch.
        most: that an object keeps.
        at_random: which, where an object has more; else the first ones. Those that stay keep their order.

    Source:
        CORA, released code, which draws after ``drop_at_random`` has left some out.
    """
    there = graphs.attributes != 0
    if there.shape[1] <= most:
        return graphs
    draw = torch.rand(there.shape, device=there.device) if at_random else there.cumsum(1) / there.shape[1]
    # what an object has goes before what it lacks
    chosen = torch.where(there, draw, 2.0).argsort(dim=1, stable=True)[:, :most].sort(1).values
    return replace(graphs, attributes=graphs.attributes.gather(1, chosen))


SLOPE = 0.2


def segment_softmax(scores: Tensor, segment: Tensor, segments: int) -> Tensor:
    """Return the softmax over the rows that share a segment, in float32 at least.

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
    """Return ``(segments, D)`` mean of the rows ``(E, D)`` of each segment; an empty segment has 0."""
    count = torch.bincount(segment, minlength=segments).clamp(min=1)
    return rows.new_zeros(segments, rows.shape[1]).index_add(0, segment, rows) / count[:, None].to(rows.dtype)


def attention_weights(
    target: Tensor, source: Tensor, affinity: Tensor, bias: Tensor, edges: Tensor
) -> Tensor:
    """Return the share of its attention that a node gives to each of its neighbours, head by head.

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
    """Return ``(N, H, d)`` sums of the neighbours' values ``(N, H, d)``, weighted by ``(E, H)``; a node
    without edges has 0.
    """
    carried = weights.to(values.dtype)[..., None] * values[edges[1]]
    return torch.zeros_like(values).index_add(0, edges[0], carried)


def edge_context(
    active: Tensor, passive: Tensor, subject: Tensor, thing: Tensor, nodes: int, *, mean: str
) -> Tensor:
    """Return what a node's relations tell about it, to be added to the node.

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
        require(
            dim % heads == 0,
            f"graph attention: {heads} heads do not divide the width {dim}; choose heads that do",
        )
        self.heads = heads
        self.value_dropout = value_dropout
        self.target = nn.Linear(dim, dim)
        self.source = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim) if residual else None
        self.norm = nn.LayerNorm(dim) if residual else None
        bound = 1 / math.sqrt(dim // heads)
        self.affinity = nn.Parameter(torch.empty(heads, dim // heads).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(heads).uniform_(-bound, bound))

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        """Let the nodes ``(N, D)`` attend along ``edges`` ``(2, E)``; returns ``(N, D)``."""
        target = self.target(nodes)
        source = self.source(nodes)
        values = dropout(
            source if self.value is None else self.value(nodes), self.value_dropout, self.training
        )
        split = (len(nodes), self.heads, nodes.shape[1] // self.heads)
        weights = attention_weights(target.view(split), source.view(split), self.affinity, self.bias, edges)
        gathered = aggregate(weights, values.view(split), edges).flatten(1)
        return (gathered if self.norm is None else self.norm(target + gathered)).relu()
