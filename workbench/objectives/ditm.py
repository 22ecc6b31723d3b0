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

from typing import Any, Literal

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
    """Eq. 4, second line: both compared pairs contain the same caption, hence twice its
    descriptiveness.

    Args:
        positive: ``(P,)`` descriptiveness of each pair's caption.
        tau: divisor, 6 in the paper.

    Returns:
        ``(P, 1)`` margins ``2 delta(t) / tau``, the same against every image.
    """
    return 2 * positive[:, None] / tau


def caption_pairs(belongs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return every unordered pair of captions of the same image.

    Args:
        belongs: ``(I, T)`` bool.

    Returns:
        Image row, first caption and second caption of each pair, three tensors ``(Q,)``.
    """
    image, caption = belongs.nonzero(as_tuple=True)
    first, second = (image[:, None] == image[None, :]).triu(diagonal=1).nonzero(as_tuple=True)
    return image[first], caption[first], caption[second]


def ordering_loss(
    scores: Tensor, belongs: Tensor, delta: Tensor, *, eps: float, reduction: Reduction
) -> Tensor:
    """Compute the generic-to-specific ordering loss: ``{log(d(v,t) / d(v,t+)) - log(delta(t+) /
    delta(t))}^2`` over caption pairs of an image.

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

    The margins of images are the mean descriptiveness over ``tau``, (.2 + 1) / 6; both captions fit alike.

    >>> import torch
    >>> images, texts = torch.eye(2), torch.tensor([[0.6, 0.6], [0.6, 0.6]])
    >>> DITM()(images, texts, images > 0, descriptiveness=torch.tensor([0.2, 1.0]))["i2t"]
    tensor(0.4000)

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
        self.tau, self.eps = tau, eps
        self.adaptive, self.weights = adaptive, {"ordering": weight}
        self.scorer, self.ratio_on = scorer, ratio_on
        self.reduction = reduction
        self.terms = ("i2t", "t2i", "ordering") if ordering else ("i2t", "t2i")
        self.declare()

    def declare(self) -> None:
        """Need one caption an image without the ordering, and several with it."""
        self.captions_per_image = 2 if self.wants("ordering") else 1

    def text_features(self) -> dict[str, dict[str, object]]:
        """Return descriptiveness by this objective's scorer, with raw values where the ordering compares
        those.
        """
        scale = "both" if self.ratio_on == "raw" else "minmax"
        return {"descriptiveness": {"scorer": self.scorer, "scale": scale}}

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t``, ``t2i`` and ``ordering_loss``."""
        scores, positives = self.scores(image, text), batch.positives
        of_image, of_text = self._margins(positives, self._descriptiveness(batch, "minmax"))
        how: dict[str, Any] = {"negatives": self.mining, "reduction": self.reduction}
        turned = scores.T  # made first, since gradients add up in the order of what was made
        terms = {
            "i2t": triplet(scores, positives, margin=of_image, **how),
            "t2i": triplet(turned, positives.T, margin=of_text, **how),
        }
        return terms | self.weighted_terms(
            ordering=lambda: ordering_loss(
                scores,
                batch.belongs,
                self._descriptiveness(batch, self.ratio_on),
                eps=self.eps,
                reduction=self.reduction,
            )
        )

    def _margins(self, positives: Tensor, delta: Tensor) -> tuple[float | Tensor, float | Tensor]:
        # The margin depends on the negative, so the most similar negative is not the one that violates most:
        # similarity decides.
        if not self.adaptive:
            return CONSTANT_MARGIN, CONSTANT_MARGIN
        caption, own = positives.nonzero(as_tuple=True)[1], positives.T.nonzero(as_tuple=True)[0]
        of_image = image_to_text_margin(delta[caption], delta, self.tau)
        return of_image, text_to_image_margin(delta[own], self.tau)

    def _descriptiveness(self, batch: Batch, scale: str) -> Tensor:
        signal = batch.signals["descriptiveness"]
        delta: Tensor = signal if isinstance(signal, Tensor) else signal[scale]
        return delta.detach()


MEMBER = DITM
