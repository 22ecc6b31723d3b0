"""What the probabilistic objectives share: embeddings as diagonal Gaussians, and matching by log odds."""

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from workbench.losses.bottleneck import bottleneck
from workbench.losses.terms import Reduction, full_precision
from workbench.records import Embedding


def log_var(embedding: Embedding) -> Tensor:
    """Return ``(N, D)`` log sigma squared.

    Raises:
        ValueError: the encoder gave none; an experiment finds that out before it trains.
    """
    if embedding.log_var is None:
        raise ValueError("the embedding has no log_var; set log_var=true in the options of both encoders")
    return embedding.log_var


def both_bottlenecks(image: Embedding, text: Embedding, reduction: Reduction) -> Tensor:
    """Return the information bottleneck of images and of captions, added; a scalar."""
    return torch.stack(
        [bottleneck(side.mean, log_var(side), reduction=reduction) for side in (image, text)]
    ).sum()


def matching_loss(logits: Tensor, labels: Tensor, reduction: Reduction = "mean") -> Tensor:
    """Compute the binary cross-entropy of all pairs, PCME++ Eq. 2: log odds ``(I, T)`` against labels in [0,
    1].
    """
    logits = full_precision(logits)
    return binary_cross_entropy_with_logits(logits, labels.to(logits.dtype), reduction=reduction)
