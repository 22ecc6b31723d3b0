"""VSE++: Improving Visual-Semantic Embeddings with Hard Negatives (Faghri et al., BMVC 2018, arXiv
1707.05612).

``L = sum over pairs of max_t' [m - s(i,t) + s(i,t')]+ + max_i' [m - s(i,t) + s(i',t)]+``; with
``negatives="sum"`` the maximum is a sum and the loss is that of VSE0.

Reads with: losses/triplet.py.
Departures: captions of the same image are never negatives (the released code masks the diagonal only).
"""

from typing import Literal

from torch import Tensor

from workbench.losses.terms import ScalarReduction
from workbench.objectives.base import Objective, settings
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative


class VSEPP(Objective):
    """Triplet loss in both directions; in warm-up epochs over all negatives.

    The second caption scores .6 with its image and .8 with the other:

    >>> import torch
    >>> images, texts = torch.eye(2), torch.tensor([[1.0, 0.0], [0.8, 0.6]])
    >>> VSEPP()(images, texts, torch.eye(2, dtype=torch.bool))["t2i"]
    tensor(0.4000)

    Args:
        margin: lead that a positive must have over a negative, in cosine.
        negatives: ``"hardest"`` (VSE++) or ``"sum"`` (VSE0).
        reduction: over pairs; the paper's is ``"sum"``.
    """

    terms = ("i2t", "t2i")
    reads_negatives = True
    recipe = settings(epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=2, captions_per_image=2)

    def __init__(
        self,
        *,
        margin: NotNegative = 0.2,
        negatives: Literal["hardest", "sum"] = "hardest",
        reduction: ScalarReduction = "sum",
    ) -> None:
        super().__init__()
        self.margin, self.negatives = margin, negatives
        self.reduction = reduction

    @property
    def mining(self) -> Literal["all", "hardest"]:
        """All negatives in warm-up epochs and in VSE0."""
        return "all" if self.negatives == "sum" else super().mining

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t`` and ``t2i``."""
        scores, further = self.scores(image, text), self.scores_of_negatives(image, batch)
        return self.triplets(scores, batch.positives, self.margin, self.reduction, negatives=further)


MEMBER = VSEPP
