"""Prototypes shared by images and captions, and the balanced assignment of samples to them.

Source: Caron et al., "Unsupervised learning of visual features by contrasting cluster assignments" (SwAV),
NeurIPS 2020, section 3, whose settings are the defaults here; AAHR, Eqs. 8-11.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from workbench.losses.terms import full_precision
from workbench.registry import Count, Natural, Positive


@dataclass(frozen=True)
class Alignment:
    """How samples are aligned with prototypes.

    Args:
        prototypes: ``k``, 384 for Flickr30K and 768 for MS-COCO in the paper.
        tau: temperature of the predictions.
        epsilon: entropy of Sinkhorn's assignment; the paper does not state it.
        iterations: of Sinkhorn's algorithm.
        form: ``"swav"`` predicts from cosines; ``"printed"`` from probabilities, a softmax of a softmax, as
            Eqs. 8-9 have it.
        after: steps of training before it takes part; 2,200 in the released code.
        unit: whether each step writes the prototypes back as unit vectors, as SwAV and the released code do.
            Else their length is free and only their direction is read, so that they turn more slowly.
    """

    prototypes: Natural = 384
    tau: Positive = 0.1
    epsilon: Positive = 0.05
    iterations: Count = 3
    form: Literal["swav", "printed"] = "swav"
    after: Count = 0
    unit: bool = False


@torch.no_grad()
def sinkhorn(scores: Tensor, *, epsilon: float, iterations: int) -> Tensor:
    """Compute the soft assignment of samples to prototypes that uses all prototypes alike; no gradient
    passes.

    Args:
        scores: ``(B, k)`` of samples and prototypes.
        epsilon: small = each sample goes to few prototypes.
        iterations: each makes the prototypes' shares equal, then lets every sample sum to 1.

    Returns:
        ``(B, k)``; rows sum to 1, and columns to ``B / k`` once it has converged.
    """
    # In log space, where a small epsilon overflows nothing; the last step decides the scale, so that no other
    # is kept.
    log_share = full_precision(scores) / epsilon
    for _ in range(iterations):
        log_share = log_share - log_share.logsumexp(dim=0, keepdim=True)
        log_share = log_share - log_share.logsumexp(dim=1, keepdim=True)
    return log_share.exp()


def prediction_loss(targets: Tensor, scores: Tensor, tau: float) -> Tensor:
    """Return the cross-entropy of each row's softmax of ``scores / tau`` against ``targets``; ``(B, k)``
    both, ``(B,)`` returned.
    """
    return -(targets * (full_precision(scores) / tau).log_softmax(dim=1)).sum(dim=1)


class Prototypes(nn.Module):
    """Trainable prototypes on the unit sphere.

    Args:
        embed_dim: ``D``.
        alignment: number of prototypes, and how samples are aligned with them.
    """

    def __init__(self, embed_dim: int, alignment: Alignment) -> None:
        super().__init__()
        self.alignment = alignment
        self.vectors = nn.Parameter(torch.randn(alignment.prototypes, embed_dim))
        self.write_back()

    @torch.no_grad()
    def write_back(self) -> None:
        """Make the stored prototypes unit vectors, where they are written back."""
        if self.alignment.unit:
            self.vectors.copy_(nn.functional.normalize(self.vectors, dim=1))

    def scores(self, samples: Tensor) -> Tensor:
        """Return ``(B, k)`` cosines of unit vectors ``(B, D)`` with the prototypes; their softmax in the
        ``"printed"`` form. Prototypes that are written back receive the gradient of a plain product.
        """
        if self.alignment.unit:
            directions = self.vectors / self.vectors.detach().norm(dim=1, keepdim=True)
        else:
            directions = nn.functional.normalize(self.vectors, dim=1)
        cosines = full_precision(samples @ directions.T)
        return cosines.softmax(dim=1) if self.alignment.form == "printed" else cosines

    def forward(self, image: Tensor, text: Tensor) -> Tensor:
        """Compute the swapped prediction: each side of a pair predicts the assignment of the other.

        Args:
            image: ``(B, D)`` unit vectors.
            text: ``(B, D)`` unit vectors, row by row the captions of ``image``.

        Returns:
            The mean over pairs of the sum of both directions.
        """
        a = self.alignment
        of_image, of_text = self.scores(image), self.scores(text)
        to_image, to_text = (
            sinkhorn(side, epsilon=a.epsilon, iterations=a.iterations) for side in (of_image, of_text)
        )
        return (prediction_loss(to_text, of_image, a.tau) + prediction_loss(to_image, of_text, a.tau)).mean()
