"""Re-ranking by entities: an image that lacks one of a caption's things is not the caption's image.

Source: Pham et al., "Composing object relations and attributes for image-text matching" (CORA), CVPR 2024,
Table 4.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from workbench.losses import similarity
from workbench.records import Embedding

BETAS = tuple(step / 20 for step in range(20, -1, -1))
BLOCK = 512


def rerank(scores: Tensor, image: Embedding, text: Embedding, beta: float) -> Tensor:
    """``beta s(v, t) + (1 - beta) min_k s(v, e_k)``: a caption is as good as the least of its entities lets
    it be.

    Args:
        scores: ``(I, T)`` cosines with captions.
        image: images.
        text: captions; without entities the ranking stays as it is, and so it does for a caption that has
            none.
        beta: share of the caption; 1 = the plain ranking.

    Returns:
        ``(I, T)``.
    """
    if text.entities is None or text.owner is None or beta == 1:
        return scores
    done = []
    for start in range(0, len(scores), BLOCK):
        part = scores[start : start + BLOCK]
        found = similarity.cosine(image.mean[start : start + BLOCK], text.entities)
        least = torch.full_like(part, torch.inf).scatter_reduce(1, text.owner.expand_as(found), found, "amin")
        done.append(beta * part + (1 - beta) * torch.where(least.isinf(), part, least))
    return torch.cat(done)


def choose_beta(image: Embedding, text: Embedding, quality: Callable[[Tensor], float]) -> float:
    """The share of ``rerank`` that is best on a split, among 1, .95, ..., 0; of equally good ones the
    largest.

    Args:
        image: the split's images.
        text: its captions with their entities.
        quality: of ``(I, T)`` scores, larger = better.
    """
    scores = similarity.cosine(image.mean, text.mean)
    return max(BETAS, key=lambda beta: quality(rerank(scores, image, text, beta)))
