"""Late interaction: every vector of a query takes the item's vector that fits it best.

``MaxSim(q, d) = sum_k max_l <q_k, d_l>`` over the query's vectors ``q_k`` and the item's vectors ``d_l``, all
of length 1 (Khattab and Zaharia, "ColBERT: Efficient and effective passage search via contextualized late
interaction over BERT", SIGIR 2020, Eq. 3; Faysse et al., "ColPali: Efficient document retrieval with vision
language models", ICLR 2025, Eq. 1). FILIP takes the mean over the query's vectors, and scores each direction
by the side that asks there (Yao et al., "FILIP: Fine-grained interactive language-image pre-training", ICLR
2022, Eqs. 4-5).

Departures: one matrix serves both directions here, so that FILIP's two scores are chosen by ``query``:
``"text"`` is its Eq. 5, ``"image"`` its Eq. 4, and ``"both"`` the mean of the two.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.losses.terms import block_entries, full_precision
from workbench.records import Embedding

# vectors of queries that are compared at a time
QUERY_VECTORS = 512


@dataclass(frozen=True)
class MaxSim:
    """How a pair is scored by the best match of each of its query's vectors.

    Args:
        name: of the form.
        query: the side whose vectors each take their best: ``"text"``, ``"image"``, or ``"both"`` = the
            mean of the two scores.
        reduction: ``"mean"`` over the query's vectors, as FILIP, or their ``"sum"``, as ColBERT. Either ranks
            the items of a query alike.
    """

    reads: ClassVar[tuple[str, ...]] = ("parts",)
    name: Literal["maxsim"] = "maxsim"
    query: Literal["text", "image", "both"] = "text"
    reduction: Literal["mean", "sum"] = "mean"

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` scores of all pairs, in blocks of bounded memory. An embedding without parts has
        one vector an item, its mean.
        """
        images, texts = _Vectors(image), _Vectors(text)
        if self.query == "text":
            return self._late_interaction(texts, images).T
        by_images = self._late_interaction(images, texts)
        return (
            by_images if self.query == "image" else (by_images + self._late_interaction(texts, images).T) / 2
        )

    def _late_interaction(self, queries: "_Vectors", items: "_Vectors") -> Tensor:
        """Return ``(Q, N)`` scores of queries with items."""
        gallery = items.filled()
        rows = []
        for vectors, lengths in queries.in_blocks():
            step = max(1, block_entries(vectors) // max(1, len(vectors) * gallery.shape[1]))
            columns = [_sum_of_best(vectors, part, lengths) for part in torch.split(gallery, step)]
            summed = torch.cat(columns, dim=1)
            rows.append(summed / lengths.clamp(min=1)[:, None] if self.reduction == "mean" else summed)
        return torch.cat(rows)


class _Vectors:
    """The vectors of one side at length 1.

    Args:
        side: images or texts.
    """

    def __init__(self, side: Embedding) -> None:
        parts = side.mean[:, None] if side.parts is None else side.parts
        whole = torch.ones(parts.shape[:2], dtype=torch.bool, device=parts.device)
        self.mask = whole if side.mask is None else side.mask
        self.unit = normalize(full_precision(parts), dim=-1)

    def filled(self) -> Tensor:
        """Return ``(N, P, D)`` with the first real vector in place of padding, which changes no maximum;
        zeros where nothing is real.
        """
        if self.mask.all():
            return self.unit
        first = self.mask.int().argmax(dim=1)
        real = self.mask.any(dim=1)
        firsts = self.unit[torch.arange(len(first), device=first.device), first] * real[:, None]
        return torch.where(self.mask[..., None], self.unit, firsts[:, None])

    def in_blocks(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield real vectors ``(W, D)`` of some rows at a time, and ``(n,)`` how many each row has."""
        step = max(1, QUERY_VECTORS // max(1, self.unit.shape[1]))
        blocks = zip(torch.split(self.unit, step), torch.split(self.mask, step), strict=True)
        for unit, mask in blocks:
            yield unit[mask], mask.sum(dim=1)


def _sum_of_best(vectors: Tensor, items: Tensor, lengths: Tensor) -> Tensor:
    """Return ``(n, N)`` sums of the best cosines.

    Args:
        vectors: ``(W, D)`` of the queries, one query after the other.
        items: ``(N, P, D)``.
        lengths: ``(n,)`` how many vectors each query has.
    """
    products = full_precision(vectors @ items.flatten(0, 1).T)
    cosines = products.view(len(vectors), *items.shape[:2])
    # of the maximum, values alone would keep all cosines for the gradient
    best = cosines.max(dim=2).values if cosines.requires_grad else cosines.amax(dim=2)
    sums: Tensor = torch.segment_reduce(best, "sum", lengths=lengths, axis=0, initial=0)
    return sums
