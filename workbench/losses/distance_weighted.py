"""Distance-weighted triplet: the sum of ``max(0, m - S_ap + S_an)`` over pairs of an anchor ``a`` and its
positive ``p``, with one negative ``n`` drawn for every pair.

A negative at distance ``D`` is drawn with probability proportional to ``1 / q(D)``, where
``q(D) = D^(n-2) (1 - D^2/4)^((n-3)/2)`` is how often random points of the unit sphere in ``n`` dimensions lie
that far apart.

Source: Wu et al., "Sampling Matters in Deep Embedding Learning", ICCV 2017, Eqs. 2-4; constants as in the
released code of Fu et al., "Learning Semantic Relationship Among Instances for Image-Text Matching" (HREM),
CVPR 2023.
Departures: what belongs to the anchor is never its negative; an anchor may have several positives, and each
of them is a pair.
"""

import torch
from torch import Tensor

from workbench.losses.terms import Reduction, both_ways, check, full_precision, reduce

DIMENSIONS = 512
NEAREST = 0.5


def draw_probabilities(
    scores: Tensor, positives: Tensor, *, cutoff: float, dimensions: int = DIMENSIONS
) -> Tensor:
    """Return how likely each candidate is to be drawn as the negative of each anchor; no gradient.

    In 512 dimensions the closest negative is drawn almost surely, except that all negatives nearer than 0.5
    are equally likely.

    Args:
        scores: ``(A, C)`` cosines.
        positives: ``(A, C)`` bool, the candidate belongs to the anchor.
        cutoff: negatives at this distance or farther are never drawn; 1.7 (Flickr30K) and 1.9 (COCO) in HREM,
            less than 2.
        dimensions: ``n``; 512 in the released code, whatever the width of the embedding.

    Returns:
        ``(A, C)`` float64 rows that sum to 1, or to 0 where an anchor has no negative within the cutoff.

    Raises:
        ValueError: the cutoff is not between the nearest distance 0.5 and 2.

    Example:
        Distances .447 and .490 count as .5 alike; the third negative is at .632.

        >>> negatives = torch.zeros(1, 3, dtype=torch.bool)
        >>> draw_probabilities(torch.tensor([[0.9, 0.88, 0.8]]), negatives, cutoff=1.7).round(decimals=6)
        tensor([[0.5000, 0.5000, 0.0000]], dtype=torch.float64)
    """
    if not NEAREST < cutoff < 2:
        raise ValueError(
            f"cutoff is {cutoff}; it must be a distance of unit vectors above {NEAREST} and below 2"
        )
    true_distance = (2 - 2 * scores.detach().double()).clamp(min=0).sqrt()
    allowed = ~positives & (true_distance < cutoff)
    distance = true_distance.clamp(NEAREST, cutoff)
    log_weight = (2 - dimensions) * distance.log() - (dimensions - 3) / 2 * (1 - distance.square() / 4).log()
    drawn = log_weight.masked_fill(~allowed, torch.finfo(torch.float64).min).softmax(dim=1)
    return drawn.masked_fill(~allowed, 0)


def distance_weighted(
    scores: Tensor,
    positives: Tensor,
    *,
    margin: float,
    cutoff: float,
    reduction: Reduction,
    dimensions: int = DIMENSIONS,
) -> Tensor:
    """Compute the triplet loss of one direction with drawn negatives; rows are anchors. Both directions:
    ``f(S, P) + f(S.T, P.T)``.

    Draws from PyTorch's global generator, once for every pair. A pair whose anchor has no negative within the
    cutoff contributes a differentiable zero.

    Args:
        scores: ``(A, C)`` cosines of anchors and candidates, larger = more alike.
        positives: ``(A, C)`` bool, the candidate belongs to the anchor.
        margin: lead that a positive must have over the negative; 0.2 in HREM.
        cutoff: see ``draw_probabilities``.
        reduction: over pairs; ``"none"`` keeps them, row by row; HREM's is ``"sum"``.
        dimensions: see ``draw_probabilities``.

    Returns:
        A scalar, or ``(pairs,)`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that differ, or an unknown option.
    """
    check(scores, positives)
    anchor, positive = positives.nonzero(as_tuple=True)
    if not len(anchor):
        return reduce(scores[anchor, positive], reduction)
    chances = draw_probabilities(scores, positives, cutoff=cutoff, dimensions=dimensions)[anchor]
    none = chances.sum(dim=1) == 0
    # The draw needs some candidate even where none is allowed; that pair's hinge is blanked below.
    negative = torch.multinomial(chances + none[:, None], 1)[:, 0]
    pairs = full_precision(scores)
    hinge = (margin - pairs[anchor, positive] + pairs[anchor, negative]).clamp(min=0)
    return reduce(hinge.masked_fill(none, 0), reduction)


def drawn_triplets(scores: Tensor, positives: Tensor, *, margin: float, cutoff: float) -> Tensor:
    """Return HREM's triplets: ``distance_weighted`` of images and of captions, summed over pairs and
    directions to a scalar.

    Args:
        scores: ``(I, T)``.
        positives: ``(I, T)`` bool.
        margin: see ``distance_weighted``.
        cutoff: see ``draw_probabilities``.
    """
    both = both_ways(distance_weighted, scores, positives, margin=margin, cutoff=cutoff, reduction="sum")
    return torch.stack(both).sum()
