"""Words touched in training: masked, replaced or deleted."""

from __future__ import annotations

import torch
from torch import Tensor

MASKED, REPLACED = 0.5, 0.6


def touch(
    words: Tensor, mask: Tensor, untouchable: Tensor, blank: Tensor, share: float
) -> tuple[Tensor, Tensor]:
    """Touch each word with probability ``share``: half of those are masked, a tenth replaced, the rest
    deleted.

    Args:
        words: ``(N, L)`` ids or ``(N, L, D)`` features.
        mask: ``(N, L)`` True where a word is real; real words come first.
        untouchable: ``(N, L)`` True for signs that are no words.
        blank: id or ``(D,)`` vector of a masked word.
        share: probability.

    Returns:
        Words and mask; deleted words are gone and the rest has closed up. A replaced word becomes some other
        word of the batch.

    Source:
        Chen et al., "Learning the best pooling strategy for visual semantic embedding", CVPR 2021, released
        code.
    """
    chosen = (torch.rand(mask.shape, device=mask.device) < share) & mask & ~untouchable
    fate = torch.rand(mask.shape, device=mask.device)
    others = words[mask & ~untouchable]
    if len(others) == 0:
        return words, mask
    pick = torch.randint(len(others), mask.shape, device=mask.device)
    shape = (*mask.shape, *[1] * (words.ndim - 2))
    words = torch.where((chosen & (fate < MASKED)).view(shape), blank, words)
    words = torch.where((chosen & (fate >= MASKED) & (fate < REPLACED)).view(shape), others[pick], words)
    return close_up(words, mask & ~(chosen & (fate >= REPLACED)))


def close_up(words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Move the real words to the front, in order; padding becomes 0."""
    order = (~mask).to(torch.uint8).argsort(dim=1, stable=True)
    index = order.view(*mask.shape, *[1] * (words.ndim - 2)).expand_as(words)
    kept = torch.arange(mask.shape[1], device=mask.device) < mask.sum(1, keepdim=True)
    moved = words.gather(1, index)
    return moved.masked_fill(~kept.view(*mask.shape, *[1] * (words.ndim - 2)), 0), kept
