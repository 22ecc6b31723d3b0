"""InfoNCE in both directions, as CLIP has it (Radford et al., ICML 2021, arXiv 2103.00020, Fig. 3).

``L = w1 mean_i CE(k S[i, :]) + w2 mean_t CE(k S[:, t])`` with ``w1 = w2 = 1/2``.

Reads with: losses/contrastive.py.
A batch's further texts (``Batch.negatives``) are columns of the first term alone, as in NegCLIP (Yuksekgonul
et al., ICLR 2023, section 4): ``S`` is ``(I, T + N)`` there and ``(I, T)`` in the second.
Departures: several captions of an image share the target (``extra_positives``); the paper has one.
"""

import math
from typing import Literal

import torch
from torch import Tensor, nn

from workbench.losses.contrastive import contrastive
from workbench.losses.terms import ScalarReduction, both_ways, full_precision
from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding, require
from workbench.registry import NotNegative

INITIAL = {"learnable_exp": 1 / 0.07, "learnable_linear": 1.0, "fixed": 1 / 0.07}
CAP = 100.0


class InfoNCE(Objective):
    """Softmax over the batch; the scale of the scores is learnt or fixed.

    Equal scores leave a choice of one in two, ``log 2``:

    >>> images, texts = torch.eye(2), torch.tensor([[0.6, 0.8], [0.6, 0.8]])
    >>> InfoNCE(scale="fixed", weights=(1.0, 0.0))(images, texts, torch.eye(2, dtype=torch.bool))
    {'i2t': tensor(0.6931)}

    Args:
        scale: ``"learnable_exp"`` = ``exp`` of a parameter, at most 100 (CLIP); ``"learnable_linear"`` = a
            bare parameter, as the released PCME++ code has it for the comparison that DITM follows;
            ``"fixed"``.
        initial: the scale at the start, 1 / temperature; ``None`` = 1 / 0.07, or 1 for
            ``"learnable_linear"``; ``"model"`` = that of the model that the encoders begin from.
        weights: of image-to-text and text-to-image.
        extra_positives: how several positives share, see ``losses/contrastive.py``.
        reduction: over anchors; the paper's is ``"mean"``.

    Raises:
        ValueError: an initial scale that is not positive or exceeds the cap.
    """

    reads_negatives = True

    def __init__(
        self,
        *,
        scale: Literal["learnable_exp", "learnable_linear", "fixed"] = "learnable_exp",
        initial: float | Literal["model"] | None = None,
        weights: tuple[NotNegative, NotNegative] = (0.5, 0.5),
        extra_positives: Literal["uniform", "mask"] = "uniform",
        reduction: ScalarReduction = "mean",
    ) -> None:
        super().__init__()
        start = INITIAL[scale] if initial in (None, "model") else float(initial or 0)
        self.from_model = initial == "model"
        require(
            0 < start < math.inf and (scale != "learnable_exp" or start <= CAP),
            f"initial is {start}; it must be positive, and at most {CAP} where the scale is learnable_exp",
        )
        self.kind, self.reduction = scale, reduction
        self.extra_positives = extra_positives
        self.weigh(dict(zip(("i2t", "t2i"), weights, strict=True)))
        first = torch.tensor(math.log(start) if scale == "learnable_exp" else start)
        self.parameter = nn.Buffer(first) if scale == "fixed" else nn.Parameter(first)

    @torch.no_grad()
    def begin(self, logits: tuple[float, float] | None) -> None:
        """Take over the scale of the model, at most 100."""
        if not self.from_model:
            return
        if logits is None:
            raise ValueError("initial='model', and the image encoder begins from no model with a scale")
        scale = min(logits[0], CAP)
        self.parameter.fill_(math.log(scale) if self.kind == "learnable_exp" else scale)

    @property
    def scale(self) -> Tensor:
        """What the scores are multiplied with, a scalar."""
        return self.parameter.exp() if self.kind == "learnable_exp" else self.parameter

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t`` and ``t2i``."""
        logits = self.scale * full_precision(self.scores(image, text))
        further = self.scores_of_negatives(image, batch)
        i2t, t2i = both_ways(
            contrastive,
            logits,
            batch.positives,
            negatives=None if further is None else self.scale * full_precision(further),
            reduction=self.reduction,
            extra_positives=self.extra_positives,
        )
        return self.weighted_terms(i2t=lambda: i2t, t2i=lambda: t2i)

    @torch.no_grad()
    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Keep a learnt exponential scale at most 100. A clamp in ``forward`` would cut its gradient and hold
        it there.
        """
        if self.kind == "learnable_exp":
            self.parameter.clamp_(max=math.log(CAP))


MEMBER = InfoNCE
