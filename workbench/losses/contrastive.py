"""Contrastive cross-entropy (InfoNCE), one direction: ``-log(exp(S_ip) / sum_c exp(S_ic))``, in log space.

Source: van den Oord et al., "Representation Learning with Contrastive Predictive Coding", 2018, Eq. 4; in
both directions Radford et al., "Learning Transferable Visual Models From Natural Language Supervision", ICML
2021, Fig. 3.
Departure: an anchor may have several positives; ``extra_positives`` says how they share.
"""

from typing import Literal

import torch
from torch import Tensor

from workbench.losses.terms import Reduction, check, full_precision, reduce, require_choice


def contrastive(
    scores: Tensor,
    positives: Tensor,
    *,
    reduction: Reduction,
    extra_positives: Literal["uniform", "mask"] = "uniform",
) -> Tensor:
    """Compute the contrastive loss of one direction; rows are anchors. Both directions: ``f(S, P) + f(S.T,
    P.T)``.

    With one positive an anchor, both rules are the cross-entropy of the row. An anchor without a positive has
    no term; an anchor with one positive and no negative contributes a differentiable zero.

    Args:
        scores: ``(A, C)`` scores, already multiplied by the scale (divided by the temperature), larger = more
            alike.
        positives: ``(A, C)`` bool, the candidate belongs to the anchor.
        reduction: over the anchors that have a positive; ``"none"`` keeps them, in the order of the rows.
        extra_positives: ``"uniform"`` = cross-entropy against the uniform distribution over the anchor's
            positives, which is at least the log of their number; ``"mask"`` = each positive against the
            negatives only, averaged over the anchor's positives, which may fall to zero.

    Returns:
        A scalar, or ``(anchors,)`` with ``reduction="none"``.

    Raises:
        ValueError: shapes that differ, or an unknown option.

    Example:
        Equal scores leave a choice of one in two, ``log 2``, in the first row; the second is ``log(1 +
        exp(-3))``.

        >>> scores = torch.tensor([[1.0, 1.0], [0.0, 3.0]])
        >>> contrastive(scores, torch.eye(2, dtype=torch.bool), reduction="none")
        tensor([0.6931, 0.0486])
    """
    check(scores, positives)
    require_choice("extra_positives", extra_positives, ("uniform", "mask"))
    anchors = positives.any(dim=1)
    logits, own = full_precision(scores[anchors]), positives[anchors]
    if extra_positives == "uniform":
        terms = logits.logsumexp(dim=1, keepdim=True) - logits
    else:
        negatives = logits.masked_fill(own, -torch.inf).logsumexp(dim=1, keepdim=True)
        terms = torch.logaddexp(logits, negatives) - logits
    return reduce(terms.masked_fill(~own, 0).sum(dim=1) / own.sum(dim=1), reduction)
