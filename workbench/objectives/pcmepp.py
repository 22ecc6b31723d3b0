"""PCME++: Improved Probabilistic Image-Text Representations (Chun, ICLR 2024, arXiv 2305.18171).

``L = 2 L_match(M) + alpha [L_match(M_i2t) + L_match(M_t2i)] + beta [VIB(image) + VIB(text)]``, where
``L_match`` is the binary cross-entropy of ``-a CSD + b`` and the pseudo-positives ``M_i2t`` and ``M_t2i``
count what lies nearer than the labelled caption or image as matching too. Mixed images, the third part of the
paper's recipe, come with ``mix`` of the training settings.

Reads with: similarity.py (closed_form), losses/bottleneck.py, training/mixing.py.
Departures: an anchor may have several positives, and what lies nearer than the furthest of them is a
pseudo-positive; the released code takes the first of them. A bottleneck above 10,000 is not dropped. In
warm-up epochs there are no pseudo-positives: they come from the model's own scores, and a model that has
learnt nothing would call half of all pairs positive and stay there.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from workbench.losses import similarity
from workbench.losses.terms import ScalarReduction, full_precision
from workbench.objectives.base import Objective, settings
from workbench.objectives.parts.gaussian import both_bottlenecks, log_var, matching_loss
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative, Positive, Share


def pseudo_labels(logits: Tensor, labels: Tensor) -> Tensor:
    """Sect. 3.3: what scores no less than the anchor's labelled positive gets the anchor's largest
    label.

    Args:
        logits: ``(A, C)``; rows are anchors.
        labels: ``(A, C)`` in [0, 1], possibly soft.

    Returns:
        ``(A, C)`` labels, without gradient. Of several positives with the largest label the lowest score
        decides. An anchor with no label above 0 keeps its row.
    """
    largest = labels.amax(1, keepdim=True)
    positive = logits.detach().masked_fill(labels < largest, torch.inf).amin(1, keepdim=True)
    return torch.where(logits.detach() >= positive, largest, labels)


def smooth_labels(labels: Tensor, epsilon: float) -> Tensor:
    """Move labels a little towards each other: 1 becomes ``1 - epsilon`` and 0 becomes ``epsilon``."""
    return labels * (1 - 2 * epsilon) + epsilon


class PCMEPP(Objective):
    """Matching by the closed-form sampled distance, with pseudo-positives and an information bottleneck.

    Squared distances 0 and 2 have log odds 1 and -1, so that every pair costs ``log(1 + 1 / e)``, twice:

    >>> v, loss = torch.eye(2), PCMEPP(scale=1.0, shift=1.0, alpha=0, label_smoothing=0, distance="mean_only")
    >>> loss(v, v, v > 0)
    {'match': tensor(0.6265, grad_fn=<MulBackward0>)}

    Args:
        scale, shift: what ``a`` and ``b`` start from; both are learnt.
        alpha: weight of the pseudo-positives; 0 leaves them out.
        beta: weight of the bottleneck; 0 leaves it out.
        label_smoothing: see ``smooth_labels``.
        distance: ``"csd"``; ``"wasserstein"``, the paper's ablation; or ``"mean_only"``, the squared distance
            of the means, which needs no variances.
        reduction: over all pairs, and over all entries of the bottleneck; the paper's is ``"mean"``.
    """

    soft_labels = True
    recipe = settings(
        image_encoder={"pooling": "mean"},
        text_encoder={"pooling": "mean"},
        warmup_epochs=5,
        epochs=6,
        lr=1e-3,
        lr_warmup_steps=30,
        captions_per_image=2,
    )

    def __init__(
        self,
        *,
        scale: Positive = 5.0,
        shift: float = 5.0,
        alpha: NotNegative = 0.1,
        beta: NotNegative = 1e-4,
        label_smoothing: Share = 1e-4,
        distance: Literal["csd", "wasserstein", "mean_only"] = "csd",
        reduction: ScalarReduction = "mean",
    ) -> None:
        super().__init__()
        self.scale, self.shift = (nn.Parameter(torch.tensor(float(start))) for start in (scale, shift))
        self.label_smoothing = label_smoothing
        self.distance, self.reduction = distance, reduction
        self.inputs = () if distance == "mean_only" else ("log_var",)
        self.weigh({"match": 2.0, "pseudo": alpha, "vib": beta if self.inputs else 0.0})

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return ``(I, T)`` negated distances; by ``"csd"`` an uncertain image is far from every caption."""
        if self.distance == "mean_only":
            return -similarity.squared_distance(image.mean, text.mean)
        score = similarity.closed_form if self.distance == "csd" else similarity.wasserstein
        return score(image.mean, log_var(image), text.mean, log_var(text))

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``match``, ``pseudo`` (0 in warm-up epochs) and ``vib``."""
        logits = self.scale * full_precision(self.scores(image, text)) + self.shift
        labels = smooth_labels(batch.targets.to(logits.dtype), self.label_smoothing)
        return self.weighted_terms(
            match=lambda: matching_loss(logits, labels, self.reduction),
            pseudo=lambda: self._pseudo_loss(logits, labels),
            vib=lambda: both_bottlenecks(image, text, self.reduction),
        )

    def _pseudo_loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        """Compute the matching loss with the pseudo-positives of both directions."""
        if self.warming:
            return logits.new_zeros(())
        of_rows, of_columns = pseudo_labels(logits, labels), pseudo_labels(logits.T, labels.T)
        return matching_loss(logits, of_rows, self.reduction) + matching_loss(
            logits.T, of_columns, self.reduction
        )


MEMBER = PCMEPP
