"""Size augmentation: in training, sets of tokens lose a few of their members, so that no single one is relied
on.

Source: Chen, Hu, Wu, Jiang, Wang, "Learning the best pooling strategy for visual semantic embedding", CVPR
2021, section 4; the rates are those of the released code of PCME++ (Chun, ICLR 2024), which DITM follows.
"""

from __future__ import annotations

import torch
from torch import Tensor

from workbench.encoders._open_clip_tokens import lengths
from workbench.encoders._word_augmentation import close_up


def drop_tokens(mask: Tensor) -> Tensor:
    """Drop image tokens: an image with a draw ``u > 0.2`` drops each of its tokens with probability ``0.2
    u``.

    Args:
        mask: ``(N, P)`` True where a token is real.

    Returns:
        ``(N, P)`` True where a token is real and kept; an image keeps at least one.
    """
    u = torch.rand(len(mask), 1, device=mask.device)
    dropped = (torch.rand(mask.shape, device=mask.device) < 0.2 * u) & (u > 0.2)
    kept = mask & ~dropped
    return torch.where(kept.any(1, keepdim=True), kept, mask)


def touch_words(ids: Tensor, mask_id: int) -> Tensor:
    """Touch 20 % of the words of each text: of those, half are masked, a tenth is erased and the rest stays.

    Args:
        ids: ``(N, L)`` int64, 0 = padding; the first and the last id of a text mark its start and end and are
            left alone.
        mask_id: the id that a masked word gets.

    Returns:
        ``(N, L)`` ids; what follows an erased word moves up, and the row is padded with 0.
    """
    place, length = torch.arange(ids.shape[1], device=ids.device), lengths(ids)[:, None]
    word = (place > 0) & (place < length - 1)
    draw = torch.where(word, torch.rand(ids.shape, device=ids.device) / 0.2, torch.inf)
    ids = ids.masked_fill(draw < 0.5, mask_id)
    erased = (draw >= 0.5) & (draw < 0.6)
    return close_up(ids, (place < length) & ~erased)[0]
