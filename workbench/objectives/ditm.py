"""DITM: Descriptive Image-Text Matching with Graded Contextual Similarity (Jang, Lee, Sohn, 2025, arXiv
2505.09997).

``L = L_triplet + weight * L_order``. A caption that says more about its image is pushed further from what
does not match (adaptive triplet), and drawn closer to the image than a caption that says less
(generic-to-specific ordering).

Reads with: text/descriptiveness.py, losses/triplet.py.
Departures:
- descriptiveness is by default the sum of an L2-normalised TF-IDF vector: the printed formula ranks one-word
  phrases highest, against the paper's own figure (``scorer="printed"`` is the formula);
- the logarithm of the ordering needs a positive descriptiveness, and the least descriptive caption has 0:
  clamped at ``eps``;
- a batch holds two or more captions of an image, each pair of which is ordered once; the paper does not say
  where they come from. Captions that judgements call right for the image are positives of the triplet and are
  not ordered: nobody wrote them for it, and their pairs, whose number grows as a square, would drown the
  triplet in a sum.
"""

from typing import Literal

import torch
from torch import Tensor

from workbench.losses import similarity
from workbench.losses.terms import Reduction, ScalarReduction, full_precision, reduce
from workbench.losses.triplet import triplet
from workbench.objectives.base import Objective, settings
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative, Positive

CONSTANT_MARGIN = 0.2


def image_to_text_margin(positive: Tensor, delta: Tensor, tau: float) -> Tensor:
    """Eq. 4, first line: the mean descriptiveness of both captions, on a scale set by ``tau``.

    Args:
        positive: ``(P,)`` descriptiveness of each pair's own caption.
        delta: ``(T,)`` descriptiveness of the captions it is compared with.
        tau: divisor, 6 in the paper.

    Returns:
        ``(P, T)`` margins ``(delta(t) + delta(t-)) / tau``.
    """
    return (positive[:, None] + delta[None, :]) / tau


def text_to_image_margin(positive: Tensor, tau: float) -> Tensor:
    """Eq. 4, second line: both compared pairs contain the same caption, hence twice its descriptiveness.

    Args:
        positive: ``(P,)`` descriptiveness of each pair's caption.
        tau: divisor, 6 in the paper.

    Returns:
        ``(P, 1)`` margins ``2 delta(t) / tau``, the same against every image.
    """
    return 2 * positive[:, None] / tau


def caption_pairs(belongs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Every unordered pair of captions of the same image.

    Args:
        belongs: ``(I, T)`` bool.

    Returns:
        Image row, first caption and second caption of each pair, three tensors ``(Q,)``.
    """
    image, caption = belongs.nonzero(as_tuple=True)
    first, second = (image[:, None] == image[None, :]).triu(diagonal=1).nonzero(as_tuple=True)
    return image[first], caption[first], caption[second]


def ordering(scores: Tensor, belongs: Tensor, delta: Tensor, *, eps: float, reduction: Reduction) -> Tensor:
    """Generic-to-specific ordering: ``{log(d(v,t) / d(v,t+)) - log(delta(t+) / delta(t))}^2`` over caption
    pairs of an image.

    It asks that distance times descriptiveness be the same for all captions of an image. Unchanged when every
    ``delta`` is multiplied by one number.

    Args:
        scores: ``(I, T)`` cosines.
        belongs: ``(I, T)`` bool.
        delta: ``(T,)`` descriptiveness, not negative.
        eps: least descriptiveness that enters the logarithm.
        reduction: over caption pairs.

    Returns:
        A scalar, or ``(Q,)`` with ``reduction="none"``; zero where no image has two captions.
    """
    image, first, second = caption_pairs(belongs)
    level = similarity.distance(full_precision(scores)).log() + delta.clamp(min=eps).log()
    return reduce((level[image, first] - level[image, second]).square(), reduction)


class DITM(Objective):
    """Adaptive triplet and generic-to-specific ordering.

    Args:
        tau: divisor of the adaptive margins.
        weight: of the ordering (lambda); valid for sums, rescale it with ``reduction="mean"``.
        scorer: descriptiveness by ``"l2_sum"``, ``"raw_sum"`` or ``"printed"``.
        ratio_on: the ordering compares ``"minmax"`` (as printed) or ``"raw"`` descriptiveness, which is never
            0.
        eps: least descriptiveness in the ordering.
        adaptive: ``False`` = a constant margin of 0.2, as VSE++.
        ordering: ``False`` leaves the ordering out.
        reduction: over pairs and over caption pairs alike; the paper's is ``"sum"``.
    """

    needs = ("descriptiveness",)
    recipe = settings(epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=2, captions_per_image=2)

    def __init__(
        self,
        *,
        tau: Positive = 6.0,
        weight: NotNegative = 0.07,
        scorer: Literal["l2_sum", "raw_sum", "printed"] = "l2_sum",
        ratio_on: Literal["minmax", "raw"] = "minmax",
        eps: Positive = 1e-2,
        adaptive: bool = True,
        ordering: bool = True,
        reduction: ScalarReduction = "sum",
    ) -> None:
        super().__init__()
        self.tau, self.weight, self.eps = tau, weight, eps
        self.scorer, self.ratio_on, self.reduction = scorer, ratio_on, reduction
        self.adaptive = adaptive
        self.terms = ("i2t", "t2i", "ordering") if ordering else ("i2t", "t2i")
        self.declare()

    def declare(self) -> None:
        """Without the ordering, one caption an image is enough."""
        self.ordering = self.wants("ordering")
        self.captions_per_image = 2 if self.ordering else 1

    def text_features(self) -> dict[str, dict[str, object]]:
        """Descriptiveness by this objective's scorer, with the un-normalised values where the ordering
        compares those.
        """
        return {
            "descriptiveness": {
                "scorer": self.scorer,
                "scale": "both" if self.ratio_on == "raw" else "minmax",
            }
        }

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Terms ``i2t``, ``t2i`` and ``ordering``."""
        scores, positives = self.scores(image, text), batch.positives
        terms = self._triplet(scores, positives, self._delta(batch, "minmax"))
        if self.ordering:
            delta = self._delta(batch, self.ratio_on)
            order = ordering(scores, batch.belongs, delta, eps=self.eps, reduction=self.reduction)
            terms["ordering"] = self.weight * order
        return terms

    def _triplet(self, scores: Tensor, positives: Tensor, delta: Tensor) -> dict[str, Tensor]:
        # The margin depends on the negative, so the most similar negative is not the one that violates most:
        # similarity decides.
        margins: list[float | Tensor] = [CONSTANT_MARGIN, CONSTANT_MARGIN]
        if self.adaptive:
            caption, own = positives.nonzero(as_tuple=True)[1], positives.T.nonzero(as_tuple=True)[0]
            margins = [
                image_to_text_margin(delta[caption], delta, self.tau),
                text_to_image_margin(delta[own], self.tau),
            ]
        return {
            name: triplet(rows, own, margin=margin, negatives=self.mining, reduction=self.reduction)
            for name, rows, own, margin in zip(
                ("i2t", "t2i"), (scores, scores.T), (positives, positives.T), margins, strict=True
            )
        }

    def _delta(self, batch: Batch, scale: str) -> Tensor:
        signal = batch.signals["descriptiveness"]
        delta: Tensor = signal if isinstance(signal, Tensor) else signal[scale]
        return delta.detach()

    @torch.no_grad()
    def diagnostics(self, batch: Batch) -> dict[str, float]:
        """What a batch asks of the loss, apart from its terms.

        Args:
            batch: a training batch.

        Returns:
            ``caption_pairs`` that are ordered, ``clamped_pairs`` of them with a descriptiveness below ``eps``
            on at least one side, and the ``mean_margin`` of text-to-image.
        """
        _, first, second = caption_pairs(batch.belongs)
        ratio, delta = self._delta(batch, self.ratio_on), self._delta(batch, "minmax")
        clamped = (torch.minimum(ratio[first], ratio[second]) < self.eps).sum()
        margin = text_to_image_margin(delta, self.tau).mean() if self.adaptive else CONSTANT_MARGIN
        return {
            "caption_pairs": float(len(first)),
            "clamped_pairs": float(clamped),
            "mean_margin": float(margin),
        }


MEMBER = DITM
