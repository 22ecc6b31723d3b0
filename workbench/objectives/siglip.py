"""SigLIP: Sigmoid Loss for Language Image Pre-Training (Zhai et al., ICCV 2023, arXiv 2303.15343).

``L = -1/I sum_i sum_t log sigmoid(z_it (k S_it + b))``, ``z = 1`` where image and caption belong together and
``-1`` elsewhere: every pair is a question of its own, and no softmax compares it with others.

Reads with: objectives/infonce.py, which compares a pair with the batch.
Departures: all captions of an image are its positives (the paper has one); of mixed images the labels are
soft.
"""

import math
from typing import Literal

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
        scale: ``k`` at the start, 1 / temperature; learnt as its logarithm. ``"model"`` = it and the shift
            are those of the model that the encoders begin from.
        shift: ``b`` at the start, which says that most pairs do not belong together.
        reduction: ``"mean"`` over the images of the sum over captions (the paper's), or ``"sum"``.
    """

    terms = ("sigmoid",)
    soft_labels = True
    reads_negatives = True

    def __init__(
        self,
        *,
        scale: Positive | Literal["model"] = 10.0,
        shift: float = -10.0,
        reduction: ScalarReduction = "mean",
    ) -> None:
        super().__init__()
        self.reduction = reduction
        self.from_model = scale == "model"
        first = 10.0 if scale == "model" else scale
        self.log_scale, self.shift = (
            nn.Parameter(torch.tensor(start)) for start in (math.log(first), float(shift))
        )

    @torch.no_grad()
    def begin(self, logits: tuple[float, float] | None) -> None:
        """Take over scale and shift of the model."""
        if not self.from_model:
            return
        if logits is None:
            raise ValueError("scale='model', and the image encoder begins from no model with a scale")
        scale, shift = logits
        self.log_scale.fill_(math.log(scale))
        self.shift.fill_(shift)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the term ``sigmoid``."""
        scores, targets = self.scores(image, text), batch.targets
        if (further := self.scores_of_negatives(image, batch)) is not None:
            scores = torch.cat([scores, further], dim=1)
            targets = torch.cat([targets, torch.zeros_like(further)], dim=1)
        logits = self.log_scale.exp() * full_precision(scores) + self.shift
        targets = targets.to(logits.dtype)
        total = binary_cross_entropy_with_logits(logits, targets, reduction="sum")
        return {"sigmoid": total / (len(image) if self.reduction == "mean" else 1)}


MEMBER = SigLIP
