"""Hinge triplet: the sum of ``agg_n max(0, m - S_ap + S_an)`` over pairs of an anchor ``a`` and its positive
``p``.

``agg`` is the sum over the anchor's negatives ``n``, or the value at the hardest of them.

Source: Faghri et al., "VSE++: Improving Visual-Semantic Embeddings with Hard Negatives", BMVC 2018, Sect.
3.2, losses SH and MH.
Departures: what belongs to the anchor is never its negative (the released code masks the diagonal only); an
anchor may have several positives, and each of them is a pair; the margin may differ from pair to pair and
from negative to negative.
"""

from typing import Literal

from torch import Tensor

from workbench.losses.negatives import pick
from workbench.losses.terms import Reduction, check, full_precision, reduce, require_choice


def triplet(
    scores: Tensor,
    positives: Tensor,
    *,
    margin: float | Tensor,
    negatives: Literal["hardest", "all"],
    reduction: Reduction,
) -> Tensor:
    """Compute the hinge triplet loss of one direction; rows are anchors. Both directions: ``f(S, P) + f(S.T,
    P.T)``.

    A pair is an entry of ``positives``; pairs are counted row by row. A pair whose anchor has no negative
    contributes a differentiable zero.

    Args:
        scores: ``(A, C)`` scores of anchors and candidates, larger = more alike.
        positives: ``(A, C)`` bool, the candidate belongs to the anchor.
        margin: a number, or a tensor that broadcasts to ``(pairs, C)``: the margin of each pair against each
            candidate.
        negatives: ``"hardest"`` = the negative with the largest *score*, whatever its margin; ``"all"`` = the
            sum over them.
        reduction: over pairs; ``"none"`` keeps them.

    Returns:
        A scalar, or ``(pairs,)`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that differ, or an unknown option.

    Example:
        Row 0 misses its margin by ``.2 - .8 + .7 = .1``; row 1 leads by ``.6 - .3 = .3`` and is satisfied.

        >>> import torch
        >>> scores = torch.tensor([[0.8, 0.7], [0.3, 0.6]])
        >>> triplet(scores, torch.eye(2, dtype=torch.bool), margin=0.2, negatives="hardest", reduction="none")
        tensor([0.1000, 0.0000])
    """
    check(scores, positives)
    require_choice("negatives", negatives, ("hardest", "all"))
    anchor, positive = positives.nonzero(as_tuple=True)
    # shape: (pairs, C)
    candidates, taboo = full_precision(scores[anchor]), positives[anchor]
    lead = candidates.gather(1, positive[:, None]) - candidates
    hinge = (margin - lead).clamp(min=0).masked_fill(taboo, 0)
    if negatives == "all":
        return reduce(hinge.sum(dim=1), reduction)
    return reduce(hinge.gather(1, pick(candidates, taboo)[:, None])[:, 0], reduction)
