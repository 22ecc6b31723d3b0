"""Ranking information noise contrastive estimation (RINCE), one direction: each rank of positives against all
that is ranked lower.

``l_i = -log(sum_{p in P_i} exp(S_ap / tau_i) / (sum_{p in P_i} exp(S_ap / tau_i) + sum_{n in N_i} exp(S_an /
tau_i)))`` where the positives of a rank count together, and ``l_i = -mean_{p in P_i} log(exp(S_ap / tau_i) /
(exp(S_ap / tau_i) + sum_{n in N_i} exp(S_an / tau_i)))`` where each counts by itself. ``N_i`` holds the lower
ranks and the negatives. The loss of an anchor is the sum over its ranks.

Source: Hoffmann et al., "Ranking Info Noise Contrastive Estimation", AAAI 2022, arXiv 2201.11736, Sect. 3.
Departures: the released code takes the mean over ranks, and leaves out probabilities below 1e-7; here it is
the paper's sum, in log space, and nothing is left out.
"""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from workbench.losses.negatives import pick
from workbench.losses.terms import Reduction, full_precision, reduce, require_choice

Variant = Literal["in", "out", "out_in", "uni"]
VARIANTS: tuple[Variant, ...] = ("in", "out", "out_in", "uni")
# entries of ranks that are no rank: a negative, and a pair that is in no sum
NEGATIVE, LEFT_OUT = 0, -1


def contrast_with(scores: Tensor, positives: Tensor, negatives: Tensor, *, together: bool) -> Tensor:
    """Contrast positives with negatives, and leave other candidates out; rows are anchors.

    Args:
        scores: ``(A, C)`` scores, already divided by the temperature.
        positives: ``(A, C)`` bool.
        negatives: ``(A, C)`` bool.
        together: the positives of an anchor share one probability; else each has its own against the
            negatives, and the anchor has the mean of their terms.

    Returns:
        ``(A,)`` terms; 0 for an anchor without a positive or without a negative.

    Example:
        Of two equal positives and two equal negatives, half the probability is the positives' together; each
        alone has a third.

        >>> positives = torch.tensor([[True, True, False, False]])
        >>> contrast_with(torch.zeros(1, 4), positives, ~positives, together=True)
        tensor([0.6931])
        >>> contrast_with(torch.zeros(1, 4), positives, ~positives, together=False)
        tensor([1.0986])
    """
    anchors = positives.any(dim=1)
    logits = full_precision(scores[anchors])
    chosen = positives[anchors]
    below = logits.masked_fill(~negatives[anchors], -torch.inf).logsumexp(dim=1)
    if together:
        terms = -logsigmoid(logits.masked_fill(~chosen, -torch.inf).logsumexp(dim=1) - below)
    else:
        each = -logsigmoid(logits - below[:, None])
        terms = each.masked_fill(~chosen, 0).sum(dim=1) / chosen.sum(dim=1)
    return logits.new_zeros(len(scores)).masked_scatter(anchors, terms)


def ranked(
    scores: Tensor,
    ranks: Tensor,
    *,
    temperatures: Sequence[float],
    variant: Variant,
    reduction: Reduction,
) -> Tensor:
    """Compute the ranked contrastive loss of one direction; rows are anchors. Both directions: ``f(S, R) +
    f(S.T, R.T)``.

    Args:
        scores: ``(A, C)`` scores, larger = more alike.
        ranks: ``(A, C)`` whole numbers: 1 for the closest positives of the anchor, then 2, and so on; 0 for a
            negative; -1 for a pair that is in no sum.
        temperatures: of each rank, 1 first.
        variant: ``"in"`` = the positives of a rank count together; ``"out"`` = each by itself; ``"out_in"`` =
            those of rank 1 each by itself, the others together; ``"uni"`` = one positive of each rank, drawn
            by PyTorch's global generator, and the others of that rank are in no sum.
        reduction: over the anchors that have a positive; ``"none"`` keeps them, in the order of the rows.

    Returns:
        A scalar, or ``(anchors,)`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that differ, a rank without a temperature, or an unknown option.

    Example:
        Equal scores: rank 1 has one in four against rank 2 and two negatives, rank 2 one in three.

        >>> ranks = torch.tensor([[1, 2, 0, 0]])
        >>> ranked(torch.zeros(1, 4), ranks, temperatures=(0.1, 0.6), variant="in", reduction="none")
        tensor([2.4849])
    """
    _check_shapes(scores, ranks, len(temperatures))
    require_choice("variant", variant, VARIANTS)
    if variant == "uni":
        ranks = _keep_one_per_rank(ranks, len(temperatures))
    scores = full_precision(scores)
    total = scores.new_zeros(len(scores))
    for rank, temperature in enumerate(temperatures, start=1):
        lower = (ranks > rank) | (ranks == NEGATIVE)
        together = variant == "in" or (variant == "out_in" and rank > 1)
        total = total + contrast_with(scores / temperature, ranks == rank, lower, together=together)
    return reduce(total[(ranks > 0).any(dim=1)], reduction)


def _check_shapes(scores: Tensor, ranks: Tensor, number: int) -> None:
    """Raise if the arguments do not fit together."""
    if scores.shape != ranks.shape:
        raise ValueError(f"scores {tuple(scores.shape)} and ranks {tuple(ranks.shape)} must have one shape")
    most = int(ranks.max()) if ranks.numel() else 0
    if most > number:
        raise ValueError(f"a pair has rank {most}, and there are {number} temperatures; give one for each")


def _keep_one_per_rank(ranks: Tensor, number: int) -> Tensor:
    """Keep one positive of each rank of every anchor, drawn at random."""
    single = ranks.masked_fill(ranks > 0, LEFT_OUT)
    for rank in range(1, number + 1):
        positives = ranks == rank
        anchors = positives.any(dim=1).nonzero()[:, 0]
        drawn = pick(torch.zeros(ranks.shape, device=ranks.device), ~positives, "random")
        single[anchors, drawn[anchors]] = rank
    return single
