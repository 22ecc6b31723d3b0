"""Embeddings as diagonal Gaussians: what the probabilistic objectives read from them."""

import torch
from torch import Tensor

from workbench.losses.bottleneck import bottleneck
from workbench.losses.terms import Reduction
from workbench.records import Embedding


def log_var(embedding: Embedding) -> Tensor:
    """``(N, D)`` log sigma squared.

    Raises:
        ValueError: the encoder gave none; an experiment finds that out before it trains.
    """
    if embedding.log_var is None:
        raise ValueError("the embedding has no log_var; set log_var=true in the options of both encoders")
    return embedding.log_var


def both_bottlenecks(image: Embedding, text: Embedding, reduction: Reduction) -> Tensor:
    """The information bottleneck of images and of captions, added; a scalar."""
    return torch.stack(
        [bottleneck(one.mean, log_var(one), reduction=reduction) for one in (image, text)]
    ).sum()
