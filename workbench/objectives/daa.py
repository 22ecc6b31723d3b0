"""DAA: A Differentiable Semantic Metric Approximation in Probabilistic Embedding for Cross-Modal Retrieval.

Li et al., NeurIPS 2022. ``L = L_triplet + weight (1 - ASP(S, Y)) + weight (1 - ASP(S', Y'))``. Average semantic precision
compares two rankings of the same candidates, by score and by relevance Y: ``ASP = mean over queries and candidates of
min(r_S, r_Y) / max(r_S, r_Y)``. The loss has a sigmoid in place of the step that counts who ranks above.

Reads with: text/tfidf.py, losses/triplet.py.
Departures:
- the released code compares column q of the scores with entry (q, c), for lack of a transpose, so that its ranks are not those of
  the definition; the default is the definition, ``ranks="released"`` the code, in which every caption brings its image's row;
- the paper speaks of CIDEr, its code takes the mean TF-IDF cosine; the default is the code's, ``relevance="cider"`` the paper's;
- captions of the same image are never negatives of the triplet.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from workbench.losses._terms import choose, full_precision
from workbench.losses.triplet import triplet
from workbench.objectives._base import Objective
from workbench.records import Batch, Embedding

# Entries of a block of comparisons: 16 MiB in float32.
BLOCK = 1 << 22


def soft_ranks(others: Tensor, values: Tensor, *, temperature: float, clip: float) -> Tensor:
    """Eq. 7: the rank of every candidate, ``1 + sum over o != c of sigmoid((x_o - x_c) / temperature)``.

    Args:
        others: ``(Q, C)`` values that a candidate is compared with.
        values: ``(Q, C)`` the candidates' own values; the same tensor, unless a released code is emulated.
        temperature: the smaller, the closer to counting.
        clip: largest absolute exponent.

    Returns:
        ``(Q, C)`` ranks between 1 and C; a tie counts one half.
    """
    exponents = ((others[:, None, :] - values[:, :, None]) / temperature).clamp(-clip, clip)
    itself = torch.eye(values.shape[1], dtype=torch.bool, device=values.device)
    return 1 + exponents.sigmoid().masked_fill(itself, 0).sum(dim=2)


def average_semantic_precision(
    scores: Tensor,
    relevance: Tensor,
    *,
    temperature: float,
    clip: float = 50.0,
    ranks: Literal["definition", "released"] = "definition",
) -> Tensor:
    """Eq. 8: agreement of two rankings; rows are queries.

    Args:
        scores: ``(Q, C)``, larger = more alike.
        relevance: ``(Q, C)``, larger = more relevant; no gradient.
        temperature: of the soft ranks.
        clip: of the soft ranks.
        ranks: ``"definition"``, or ``"released"`` for square matrices: candidates are compared with the query's column.

    Returns:
        A scalar in (0, 1]; 1 where both rank alike. Queries are taken some at a time, and their comparisons made anew in the
        backward pass, so that memory is bounded by a block and not by ``Q C C``.
    """
    queries, candidates = scores.shape
    step = max(1, BLOCK // candidates**2)

    def of_block(x: Tensor, begin: int) -> Tensor:
        rows = x[begin : begin + step]
        others = x.T[begin : begin + step] if ranks == "released" else rows
        return soft_ranks(others, rows, temperature=temperature, clip=clip)

    total = scores.new_zeros(())
    for begin in range(0, queries, step):
        with torch.no_grad():
            wanted = of_block(relevance, begin)
        found = checkpoint(of_block, scores, begin, use_reentrant=False, preserve_rng_state=False)
        total = total + (torch.minimum(found, wanted) / torch.maximum(found, wanted)).sum()
    return total / (queries * candidates)


class DAA(Objective):
    """Hardest-negative triplet, summed over pairs, and the disagreement of scores and relevance in both directions.

    Args:
        weight: of ``1 - ASP``, 25 for MS-COCO and 10 for Flickr30K in the released code.
        temperature: of the soft ranks, .001 in the released code, where few comparisons have a gradient.
        clip: largest absolute exponent in the sigmoid.
        ranks: ``"definition"`` or ``"released"``.
        margin: of the triplet.
        relevance: by name, ``"tfidf"``, ``"cider"`` or any other, judgements of the training split included.
        relevance_options: of its maker.
    """

    terms = ("i2t", "t2i", "asp_i2t", "asp_t2i")

    def __init__(
        self,
        *,
        weight: float = 10.0,
        temperature: float = 1e-3,
        clip: float = 50.0,
        ranks: Literal["definition", "released"] = "definition",
        margin: float = 0.2,
        relevance: str = "tfidf",
        relevance_options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        choose("ranks", ranks, ("definition", "released"))
        if not temperature > 0:
            raise ValueError(f"temperature is {temperature}; it must be greater than 0")
        self.weight, self.temperature, self.clip, self.ranks, self.margin = weight, temperature, clip, ranks, margin
        self.relevance, self.relevance_options = relevance, dict(relevance_options or {})

    def relevances(self) -> dict[str, dict[str, object]]:
        """The relevance whose order the scores shall have."""
        return {self.relevance: self.relevance_options}

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Terms ``i2t`` and ``t2i`` of the triplet, ``asp_i2t`` and ``asp_t2i``."""
        scores, positives = full_precision(self.scores(image, text)), batch.positives
        which: Literal["all", "hardest"] = "all" if self.warming else "hardest"
        relevance = batch.relevance[self.relevance].detach().to(scores.dtype)
        terms = {
            "i2t": triplet(scores, positives, margin=self.margin, negatives=which, reduction="sum"),
            "t2i": triplet(scores.T, positives.T, margin=self.margin, negatives=which, reduction="sum"),
        }
        if self.ranks == "released":
            scores, relevance = scores[batch.own], relevance[batch.own]
        for name, s, y in (("asp_i2t", scores, relevance), ("asp_t2i", scores.T, relevance.T)):
            if self.wants(name):
                terms[name] = self.weight * (1 - self._asp(s, y))
        return terms

    def _asp(self, scores: Tensor, relevance: Tensor) -> Tensor:
        return average_semantic_precision(scores, relevance, temperature=self.temperature, clip=self.clip, ranks=self.ranks)


MEMBER = DAA
