"""The graphs of a batch end to end: nodes of all captions in one row, edges as pairs of rows; and graphs
thinned in training.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor


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
    def place(self) -> Tensor:
        """``(N,)`` place of each object in its caption, from 0."""
        counts = torch.bincount(self.owner, minlength=self.captions)
        return (
            torch.arange(len(self.owner), device=self.owner.device) - (counts.cumsum(0) - counts)[self.owner]
        )

    @property
    def labels(self) -> Tensor:
        """``(N, 1 + A)`` what each entity says: the phrase of its object, then those of its attributes."""
        return torch.cat([self.objects[:, None], self.attributes], dim=1)

    def stars(self) -> tuple[Tensor, Tensor]:
        """Every attribute as a node after the objects.

        Returns:
            ``(M,)`` phrases of the attributes, and ``(2, E)`` edges over ``N + M`` nodes: each object attends
            to itself and to its attributes, an attribute to its object alone.
        """
        holder, column = self.attributes.nonzero(as_tuple=True)
        node = len(self.objects) + torch.arange(len(holder), device=holder.device)
        loops = torch.arange(len(self.objects), device=holder.device)
        edges = torch.stack([torch.cat([loops, holder, node]), torch.cat([loops, node, holder])])
        return self.attributes[holder, column], edges

    def links(self, *, fully_connected: bool = False) -> Tensor:
        """``(2, E)`` edges between objects, both ways, each once, and a loop at each object.

        Args:
            fully_connected: all objects of a caption, whether related or not.
        """
        if fully_connected:
            return same_caption(self.owner)
        loops = torch.arange(len(self.objects), device=self.objects.device)
        ends = torch.cat([loops, self.subject, self.thing]), torch.cat([loops, self.thing, self.subject])
        distinct: Tensor = torch.unique(torch.stack(ends), dim=1)
        return distinct


def same_caption(owner: Tensor) -> Tensor:
    """``(2, E)`` all pairs of nodes of the same caption, a node with itself among them; ``owner`` is
    ``(N,)``.
    """
    return (owner[:, None] == owner[None, :]).nonzero().T


def pack(signal: Mapping[str, Tensor]) -> Graphs:
    """The graphs of a batch, from what the signal ``graph_tokens`` gives."""
    real = signal["objects"] != 0
    row = (real.flatten().cumsum(0) - 1).view_as(real)
    caption, number = (signal["relations"][..., 1] != 0).nonzero(as_tuple=True)
    subject, relation, thing = signal["relations"][caption, number].T.contiguous()
    return Graphs(
        len(real),
        signal["objects"][real],
        real.nonzero(as_tuple=True)[0],
        signal["attributes"][real],
        relation,
        row[caption, subject],
        row[caption, thing],
    )


def thin(graphs: Graphs, *, objects: float, attributes: float, relations: float) -> Graphs:
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
    kept = (draw >= objects) | (draw == largest[graphs.owner])
    row = kept.cumsum(0) - 1
    lost = torch.rand(graphs.attributes.shape, device=draw.device) < attributes
    related = (
        kept[graphs.subject]
        & kept[graphs.thing]
        & (torch.rand(graphs.relations.shape, device=draw.device) >= relations)
    )
    return replace(
        graphs,
        objects=graphs.objects[kept],
        owner=graphs.owner[kept],
        attributes=graphs.attributes.masked_fill(lost, 0)[kept],
        relations=graphs.relations[related],
        subject=row[graphs.subject[related]],
        thing=row[graphs.thing[related]],
    )
