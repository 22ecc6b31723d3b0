"""Square batches: for equations that set image ``i`` beside text ``i`` and image ``j`` beside text ``j``."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from workbench.records import Batch, Embedding


def one_caption_an_image(batch: Batch) -> tuple[Tensor, Tensor]:
    """Every image that has a caption, once, with that of its captions whose id is least.

    Which captions stand in the batch decides, and not their order. An image that stands there twice, by its
    id, is taken once.

    Args:
        batch: any batch.

    Returns:
        Image rows ``(N,)`` and caption rows ``(N,)``.
    """
    own = batch.own.tolist()
    chosen: dict[str, int] = {}
    for caption in sorted(range(len(own)), key=lambda row: batch.caption_ids[row]):
        chosen.setdefault(batch.image_ids[own[caption]], caption)
    captions = torch.tensor(sorted(chosen.values()), dtype=torch.long, device=batch.own.device)
    return batch.own[captions], captions


def rows_of(made: Embedding, rows: Tensor) -> Embedding:
    """Some rows of an embedding, its mean and its parts; variances and entities are left out.

    Args:
        made: ``N`` images or captions.
        rows: which of them, in any order and any number of times.
    """
    parts, mask = (None if value is None else value[rows] for value in (made.parts, made.mask))
    return replace(
        made, mean=made.mean[rows], parts=parts, mask=mask, log_var=None, entities=None, owner=None
    )
