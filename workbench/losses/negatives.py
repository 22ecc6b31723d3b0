"""Which negative a pair is compared with: the hardest, the furthest, or a random one."""

from typing import Literal

import torch
from torch import Tensor

Negative = Literal["closest", "furthest", "random"]


def pick(scores: Tensor, taboo: Tensor, which: Negative = "closest") -> Tensor:
    """Return one candidate for each row.

    Args:
        scores: ``(P, C)`` scores, larger = more alike.
        taboo: ``(P, C)`` bool, what must not be taken.
        which: ``"closest"`` = the largest score (the hardest negative), ``"furthest"`` = the smallest,
            ``"random"`` = any, by PyTorch's global generator: processes that share a batch are seeded alike.

    Returns:
        ``(P,)`` columns; of no meaning where everything is taboo.

    Example:
        >>> scores = torch.tensor([[0.9, 0.2, 0.5]])
        >>> pick(scores, torch.tensor([[True, False, False]])), pick(scores, scores > 1, "furthest")
        (tensor([2]), tensor([1]))
    """
    key = torch.rand_like(scores) if which == "random" else scores.detach()
    return (-key if which == "furthest" else key).masked_fill(taboo, -torch.inf).argmax(dim=1)
