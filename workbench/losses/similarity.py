"""Score matrices. Larger = more alike; a distance is negated here and nowhere else."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from workbench.losses.terms import block_entries, full_precision


def cosine(image: Tensor, text: Tensor) -> Tensor:
    """Return the cosine of unit vectors.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors.

    Returns:
        ``(I, T)`` scores in [-1, 1].
    """
    # a few captions against many images come first in the product, so that their scores lie in one piece
    return image @ text.T if len(image) <= len(text) else (text @ image.T).T


def distance(scores: Tensor) -> Tensor:
    """Return the Euclidean distance between unit vectors from their cosine, ``sqrt(2 - 2 s)``; its square is
    at least 1e-12, since the root has an infinite slope at 0.

    Args:
        scores: cosines, any shape.

    Returns:
        Distances, same shape; larger = less alike.
    """
    return (2 - 2 * scores).clamp(min=1e-12).sqrt()


def squared_distance(image: Tensor, text: Tensor) -> Tensor:
    """Return the squared Euclidean distance of all pairs, ``|v|^2 + |u|^2 - 2 v u``, in float32 even under
    autocast.

    Args:
        image: ``(I, D)``, of any length.
        text: ``(T, D)``, of any length.

    Returns:
        ``(I, T)``; rounding may leave a distance of 0 a little below it.
    """
    image, text = full_precision(image), full_precision(text)
    with torch.autocast(image.device.type, enabled=False):
        return image.square().sum(1)[:, None] + text.square().sum(1)[None, :] - 2 * image @ text.T


def closed_form(image: Tensor, image_log_var: Tensor, text: Tensor, text_log_var: Tensor) -> Tensor:
    """Return the closed-form sampled distance of Gaussians, negated: the expected squared distance of a
    sample of each.

    ``CSD = |mu_v - mu_u|^2 + sum_d sigma_v^2 + sum_d sigma_u^2``.

    Args:
        image: ``(I, D)`` means.
        image_log_var: ``(I, D)`` log sigma squared.
        text: ``(T, D)`` means.
        text_log_var: ``(T, D)`` log sigma squared.

    Returns:
        ``(I, T)`` scores ``-CSD``.

    Source:
        Chun, "Improved probabilistic image-text representations", ICLR 2024, Eq. 1.
    """
    spread = (
        full_precision(image_log_var).exp().sum(1)[:, None]
        + full_precision(text_log_var).exp().sum(1)[None, :]
    )
    return -(squared_distance(image, text) + spread)


def wasserstein(image: Tensor, image_log_var: Tensor, text: Tensor, text_log_var: Tensor) -> Tensor:
    """Return the squared 2-Wasserstein distance of Gaussians, negated: ``-(|mu_v - mu_u|^2 + |sigma_v -
    sigma_u|^2)``.

    Args:
        image: ``(I, D)`` means.
        image_log_var: ``(I, D)`` log sigma squared.
        text: ``(T, D)`` means.
        text_log_var: ``(T, D)`` log sigma squared.

    Returns:
        ``(I, T)`` scores. Two equal Gaussians score 0 however wide they are, which is why PCME++ prefers
        ``closed_form``.
    """
    deviations = [(full_precision(log_var) / 2).exp() for log_var in (image_log_var, text_log_var)]
    return -(squared_distance(image, text) + squared_distance(*deviations))


def match_log_odds(
    image: Tensor,
    text: Tensor,
    *,
    scale: Tensor,
    shift: Tensor,
    floor: float,
    added: float = 0.0,
) -> Tensor:
    """Return the log odds that a pair matches, by the mean of ``sigmoid(2 s)`` over all pairs of samples, ``s
    = -scale distance + shift``.

    The log odds rank as the mean does and, unlike it, do not run into 1 where a pair surely matches.

    Args:
        image: ``(I, J, D)`` samples.
        text: ``(T, J, D)`` samples.
        scale: of the distance, a scalar.
        shift: a scalar.
        floor: the squared distance is at least this, since the root has an infinite slope at 0.
        added: is added to the squared distance.

    Returns:
        ``(I, T)`` scores ``log(p / (1 - p))``.

    Source:
        Chun et al., "Probabilistic embeddings for cross-modal retrieval", CVPR 2021, Eqs. 1-4.
    """
    samples, candidates = text.shape[1], text.flatten(0, 1)
    size = max(block_entries(image) // max(candidates.shape[0] * image.shape[1], 1), 1)
    out = []
    for part in torch.split(image, size):
        squared = squared_distance(part.flatten(0, 1), candidates).view(len(part), -1, len(text), samples)
        s = shift - scale * (squared + added).clamp(min=floor).sqrt()
        out.append(logsigmoid(2 * s).logsumexp((1, 3)) - logsigmoid(-2 * s).logsumexp((1, 3)))
    return torch.cat(out)
