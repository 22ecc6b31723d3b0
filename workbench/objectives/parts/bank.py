"""Memory banks: the last outputs of the momentum encoders, first in, first out, each with the id of its
image.

Source: He et al., "Momentum contrast for unsupervised visual representation learning", CVPR 2020, section
3.2; AAHR, Eqs. 12-15.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Interval
from torch import Tensor, nn

from workbench.io import text_stamp
from workbench.losses.contrastive import contrastive
from workbench.losses.terms import Reduction, ScalarReduction, full_precision
from workbench.registry import Natural, Positive


@dataclass(frozen=True)
class Contrast:
    """How pairs are contrasted with what the banks remember.

    Args:
        bank: entries of each bank, 2,048 for Flickr30K; 4,096 for MS-COCO in the text, though its best row
            has 2,048.
        tau: temperature.
        momentum: share of itself that the momentum copy of the encoders keeps after a step; to go without,
            leave the contrast out with ``mcl=0``.
        reduction: over anchors; ``"sum"`` as Eqs. 13-14 print it, ``"mean"`` as the other losses of the
            paper.
    """

    bank: Natural = 2048
    tau: Positive = 0.1
    momentum: Annotated[float, Interval(gt=0, lt=1)] = 0.999
    reduction: ScalarReduction = "mean"


def id_numbers(ids: Sequence[str], device: torch.device) -> Tensor:
    """Return ``(N,)`` int64, one number an id, the same in every process and every run."""
    return torch.tensor([text_stamp(one) for one in ids], dtype=torch.int64, device=device)


class Bank(nn.Module):
    """The last vectors, oldest first, in buffers that only ``push`` writes.

    Args:
        size: entries that it holds.
        embed_dim: ``D``.
    """

    def __init__(self, size: int, embed_dim: int) -> None:
        super().__init__()
        self.vectors = nn.Buffer(torch.zeros(size, embed_dim))
        self.image_ids = nn.Buffer(torch.zeros(size, dtype=torch.int64))
        self.filled = nn.Buffer(torch.zeros((), dtype=torch.int64))

    def with_new(self, vectors: Tensor, image_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return what the bank will hold once a batch is in it, the batch first; nothing is written.

        Args:
            vectors: ``(n, D)`` of the batch.
            image_ids: ``(n,)`` numbers of their images.

        Returns:
            Vectors ``(n + size, D)``, ids ``(n + size,)``, and which of them are in the bank ``(n + size,)``;
            the whole batch is, even where it is larger than the bank, since the positives are in it.
        """
        n, size = len(vectors), len(self.vectors)
        age = torch.arange(size - 1, -1, -1, device=self.vectors.device)
        kept = (age < self.filled) & (age < size - n)
        return (
            torch.cat([vectors, self.vectors.to(vectors.dtype)]),
            torch.cat([image_ids, self.image_ids]),
            torch.cat([kept.new_ones(n), kept]),
        )

    @torch.no_grad()
    def push(self, vectors: Tensor, image_ids: Tensor) -> None:
        """Put a batch in; the oldest entries fall out."""
        size = len(self.vectors)
        self.vectors.copy_(torch.cat([self.vectors, vectors.to(self.vectors.dtype)])[-size:])
        self.image_ids.copy_(torch.cat([self.image_ids, image_ids])[-size:])
        self.filled.copy_((self.filled + len(vectors)).clamp(max=size))


def momentum_contrast(
    scores: Tensor, own: Tensor, same_image: Tensor, usable: Tensor, *, tau: float, reduction: Reduction
) -> Tensor:
    """Eqs. 12-15, one direction: each pair against the bank, ``-log(e^{s+/tau} / (e^{s+/tau} + sum of
    negatives))``.

    Args:
        scores: ``(A, C)`` cosines of anchors with momentum outputs.
        own: ``(A, C)`` bool, the momentum output belongs to the anchor and to this batch; each is a positive.
        same_image: ``(A, C)`` bool, it belongs to the anchor's image; if it is older than this batch it takes
            no part.
        usable: ``(C,)`` bool, there is such an entry.
        tau: temperature.
        reduction: over anchors; the positives of an anchor are averaged.

    Returns:
        A scalar, or ``(anchors,)`` with ``reduction="none"``.
    """
    logits = (scores / tau).masked_fill(~(own | (usable & ~same_image)), -torch.inf)
    return contrastive(logits, own, reduction=reduction, extra_positives="mask")


def bank_contrast(anchors: Tensor, own: Tensor, bank: Tensor, tau: float) -> Tensor:
    """Return one direction of AAHR's released contrast (METHODS 8.8): each anchor's own key against a bank
    that does not hold it.

    Args:
        anchors: ``(N, D)`` unit vectors.
        own: ``(N, D)`` momentum outputs that belong to them; no gradient.
        bank: ``(B, D)`` older momentum outputs, of whatever image.
        tau: temperature.

    Returns:
        The mean over anchors.
    """
    positive = (anchors * own).sum(1, keepdim=True)
    logits = full_precision(torch.cat([positive, anchors @ bank.T], dim=1)) / tau
    return -logits.log_softmax(dim=1)[:, 0].mean()
