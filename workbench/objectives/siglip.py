"""SigLIP: Sigmoid Loss for Language Image Pre-Training (Zhai et al., ICCV 2023, arXiv 2303.15343).

``L = -1/I sum_i sum_t log sigmoid(z_it (k S_it + b))``, ``z = 1`` where image and caption belong together and
``-1`` elsewhere: every pair is a question of its own, and no softmax compares it with others.

Reads with: objectives/infonce.py, which compares a pair with the batch.
Departures: all captions of an image are its positives (the paper has one); of mixed images the labels are
soft.
"""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from workbench.losses.terms import ScalarReduction, full_precision
from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding
from workbench.registry import Positive


class SigLIP(Objective):
    """Whether a pair belongs together, asked of every pair by itself; scale and shift are learnt.

    A pair of equal vectors has the logit ``10 - 10``, one at right angles ``-10``: ``log 2 + log(1 +
    exp(-10))`` for each image.

    >>> SigLIP()(torch.eye(2), torch.eye(2), torch.eye(2, dtype=torch.bool))["sigmoid"].detach()
    tensor(0.6932)

    Args:
        scale: ``k`` at the start, 1 / temperature; learnt as its logarithm.
        shift: ``b`` at the start, which says that most pairs do not belong together.
        reduction: ``"mean"`` over the images of the sum over captions (the paper's), or ``"sum"``.
    """

    terms = ("sigmoid",)
    soft_labels = True

    def __init__(
        self, *, scale: Positive = 10.0, shift: float = -10.0, reduction: ScalarReduction = "mean"
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.log_scale, self.shift = (
            nn.Parameter(torch.tensor(start)) for start in (math.log(scale), float(shift))
        )

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Term ``sigmoid``."""
        logits = self.log_scale.exp() * full_precision(self.scores(image, text)) + self.shift
        targets = batch.targets.to(logits.dtype)
        total = binary_cross_entropy_with_logits(logits, targets, reduction="sum")
        return {"sigmoid": total / (len(image) if self.reduction == "mean" else 1)}


MEMBER = SigLIP
