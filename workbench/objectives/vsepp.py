"""VSE++: Improving Visual-Semantic Embeddings with Hard Negatives (Faghri et al., BMVC 2018, arXiv
1707.05612).

``L = sum over pairs of max_t' [m - s(i,t) + s(i,t')]+ + max_i' [m - s(i,t) + s(i',t)]+``; with
``negatives="sum"`` the maximum is a sum and the loss is that of VSE0.

Reads with: losses/triplet.py.
Departures: captions of the same image are never negatives (the released code masks the diagonal only).
"""

from typing import Literal

from torch import Tensor

from workbench.losses.terms import ScalarReduction, both_ways
from workbench.losses.triplet import triplet
from workbench.objectives.base import Objective, settings
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative


class VSEPP(Objective):
    """Triplet loss in both directions; in warm-up epochs over all negatives.

    Args:
        margin: lead that a positive must have over a negative, in cosine.
        negatives: ``"hardest"`` (VSE++) or ``"sum"`` (VSE0).
        reduction: over pairs; the paper's is ``"sum"``.
    """

    terms = ("i2t", "t2i")
    recipe = settings(epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=2, captions_per_image=2)

    def __init__(
        self,
        *,
        margin: NotNegative = 0.2,
        negatives: Literal["hardest", "sum"] = "hardest",
        reduction: ScalarReduction = "sum",
    ) -> None:
        super().__init__()
        self.margin, self.negatives, self.reduction = margin, negatives, reduction

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Terms ``i2t`` and ``t2i``."""
        i2t, t2i = both_ways(
            triplet, self.scores(image, text), batch.positives, margin=self.margin,
            negatives="all" if self.negatives == "sum" else self.mining, reduction=self.reduction,
        )  # fmt: skip
        return {"i2t": i2t, "t2i": t2i}


MEMBER = VSEPP
