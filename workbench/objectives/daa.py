"""DAA: A Differentiable Semantic Metric Approximation in Probabilistic Embedding for Cross-Modal Retrieval.

Li et al., NeurIPS 2022. ``L = L_triplet + weight (1 - ASP(S, Y)) + weight (1 - ASP(S', Y'))``. Average
semantic precision compares two rankings of the same candidates, by score and by relevance Y: ``ASP = mean
over queries and candidates of min(r_S, r_Y) / max(r_S, r_Y)``. The loss has a sigmoid in place of the step
that counts who ranks above.

Reads with: text/tfidf.py, losses/triplet.py.
Departures:
- the released code compares column q of the scores with entry (q, c), for lack of a transpose, so that its
  ranks are not those of the definition; the default is the definition, ``ranks="released"`` the code, in
  which every caption brings its image's row;
- the paper speaks of CIDEr, its code takes the mean TF-IDF cosine; the default is the code's,
  ``relevance="cider"`` the paper's;
- captions of the same image are never negatives of the triplet.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from workbench.losses.terms import block_entries, full_precision
from workbench.objectives.base import Objective, settings
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative, Positive


class _CountAbove(torch.autograd.Function):
    """``sum over o of sigmoid((others_o - values_c) / temperature)``; comparisons are made anew in the
    backward pass.
    """

    @staticmethod
    def forward(ctx: Any, others: Tensor, values: Tensor, temperature: float, clip: float) -> Tensor:
        ctx.save_for_backward(others, values)
        ctx.options = temperature, clip
        return torch.cat(
            [_soft_comparison(o, v, temperature, clip).sum(dim=2) for o, v in _row_blocks(others, values)]
        )

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        temperature, clip = ctx.options
        # At the clip the slope of the sigmoid is e^-clip / (1 + e^-clip)^2; what is not above it was clipped.
        floor = 1.0001 * math.exp(-clip) / (1 + math.exp(-clip)) ** 2
        to_others, to_values = [], []
        for others, values, rows in _row_blocks(*ctx.saved_tensors, gradient):
            p = _soft_comparison(others, values, temperature, clip)
            slope = torch.threshold_(p.mul_(1 - p), floor, 0.0).mul_(rows[:, :, None] / temperature)
            to_others.append(slope.sum(dim=1))
            to_values.append(-slope.sum(dim=2))
        return torch.cat(to_others), torch.cat(to_values), None, None


def _row_blocks(*of_queries: Tensor) -> Iterator[tuple[Tensor, ...]]:
    step = max(1, block_entries(of_queries[0]) // of_queries[0].shape[1] ** 2)
    return zip(*(torch.split(rows, step) for rows in of_queries), strict=True)


def _soft_comparison(others: Tensor, values: Tensor, temperature: float, clip: float) -> Tensor:
    """Return ``(q, C, C)``: how surely candidate o (last axis) stands above candidate c."""
    return (others[:, None, :] - values[:, :, None]).div_(temperature).clamp_(-clip, clip).sigmoid_()


def soft_ranks(others: Tensor, values: Tensor, *, temperature: float, clip: float) -> Tensor:
    """Eq. 7: the rank of every candidate, ``1 + sum over o != c of sigmoid((x_o - x_c) /
    temperature)``.

    Memory is bounded by a block of comparisons and not by ``Q C C``.

    Args:
        others: ``(Q, C)`` values that a candidate is compared with.
        values: ``(Q, C)`` the candidates' own values; the same tensor, unless the released code is emulated.
        temperature: the smaller, the closer to counting.
        clip: largest absolute exponent; beyond it a comparison has no gradient.

    Returns:
        ``(Q, C)`` ranks between 1 and C; a tie counts one half.
    """
    counted: Tensor = _CountAbove.apply(others, values, temperature, clip)
    return 1 + counted - ((others - values) / temperature).clamp(-clip, clip).sigmoid()


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
        relevance: ``(Q, C)``, larger = more relevant.
        temperature: of the soft ranks.
        clip: of the soft ranks.
        ranks: ``"definition"``, or ``"released"`` for square matrices: candidates are compared with the
            query's column.

    Returns:
        A scalar in (0, 1]; 1 where both rank alike.
    """

    def ranked(values: Tensor) -> Tensor:
        others = values.T if ranks == "released" else values
        return soft_ranks(others, values, temperature=temperature, clip=clip)

    by_score, by_relevance = ranked(scores), ranked(relevance)
    return (torch.minimum(by_score, by_relevance) / torch.maximum(by_score, by_relevance)).mean()


class DAA(Objective):
    """Hardest-negative triplet, summed over pairs, and the disagreement of scores and relevance in both
    directions.

    Scores that rank as the relevance does disagree with it in nothing:

    >>> vectors = torch.eye(2)
    >>> DAA()(vectors, vectors, vectors > 0, tfidf=vectors)["asp_i2t"]
    tensor(0.)

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
    recipe = settings(epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=1, captions_per_image=2)

    def __init__(
        self,
        *,
        weight: NotNegative = 10.0,
        temperature: Positive = 1e-3,
        clip: Positive = 50.0,
        ranks: Literal["definition", "released"] = "definition",
        margin: NotNegative = 0.2,
        relevance: str = "tfidf",
        relevance_options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self.ranks, self.margin = ranks, margin
        self.weights = {"asp_i2t": weight, "asp_t2i": weight}
        self.asp: dict[str, Any] = {"temperature": temperature, "clip": clip, "ranks": ranks}
        self.relevance, self.relevance_options = relevance, dict(relevance_options or {})

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Return the relevance whose order the scores shall have."""
        return {self.relevance: self.relevance_options}

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t`` and ``t2i`` of the triplet, ``asp_i2t`` and ``asp_t2i``."""
        scores = full_precision(self.scores(image, text))
        relevance = batch.relevance[self.relevance].detach().to(scores.dtype)
        terms = self.triplets(scores, batch.positives, self.margin)
        if self.ranks == "released":
            scores, relevance = scores[batch.own], relevance[batch.own]
        turned = scores.T  # made first, since gradients add up in the order of what was made
        return terms | self.weighted_terms(
            asp_i2t=lambda: 1 - average_semantic_precision(scores, relevance, **self.asp),
            asp_t2i=lambda: 1 - average_semantic_precision(turned, relevance.T, **self.asp),
        )


MEMBER = DAA
