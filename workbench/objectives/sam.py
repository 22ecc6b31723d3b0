"""SAM: Is an Image Worth Five Sentences? A New Look into Semantics for Image-Text Matching (Biten et al.,
WACV 2022).

``L = L_triplet + weight * sum over pairs of [a_i2t + s(p,m) - s(p,t)]+ + [a_t2i + s(l,t) - s(p,t)]+`` for an
image p, its caption t, one sampled negative caption m and one sampled negative image l. The margins ask what
captions say: from the right caption to the wrong one, ``phi(p, c)``, the CIDEr of a caption c against the
captions of p, falls by ``tau`` times the margin.

Reads with: text/cider.py, losses/triplet.py.
Departures:
- the printed margins are swapped (a_i2t reads the negative image, a_t2i the negative caption); the default
  follows the sentence below the equation, ``variant="printed"`` the equation, ``variant="released"`` the
  authors' code with what it does besides;
- no margin is above ``cap=1.0``, as in the released code; the paper names no such limit, which at tau 3 and 5
  cuts many margins;
- a negative image with several captions in the batch stands for their mean;
- captions of the same image are never negatives (the released code leaves out the pair itself only).
"""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from workbench.losses.negatives import Negative, pick
from workbench.losses.terms import full_precision
from workbench.objectives.base import Objective, settings
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative, Positive

RELEASED_WEIGHT = 5 / 3


def relevance_of_images(phi: Tensor, own: Tensor) -> Tensor:
    """Return ``phi`` of an image against another image, which its captions in the batch stand for.

    Args:
        phi: ``(I, T)`` relevance.
        own: ``(T,)`` row of each caption's image.

    Returns:
        ``(I, I)`` mean of ``phi`` over the captions of the column's image; 0 where it has none.
    """
    member = torch.nn.functional.one_hot(own, len(phi)).to(phi.dtype)
    return phi @ (member / member.sum(dim=0).clamp(min=1))


def released_terms(
    scores: Tensor, phi: Tensor, own: Tensor, *, sampling: Negative, tau: float, cap: float
) -> tuple[Tensor, Tensor]:
    """Return the terms as the authors' code has them: one row and one column a pair, and the pair itself the
    only non-negative.

    Its option "soft" is the second-largest entry of a row (here ``"closest"``), "hard" the second-smallest
    (``"furthest"``), which may be the pair itself. Margins are swapped, and a margin is added to the column
    of its pair, so that anchor i with negative k gets the margin of pair k. The negative image of pair i is
    picked from row i too: anchor and negative change places.

    Args:
        scores: ``(I, T)`` scores.
        phi: ``(I, T)`` relevance.
        own: ``(T,)`` row of each caption's image.
        sampling: which negative.
        tau: divisor of the margins.
        cap: greatest margin.

    Returns:
        ``(T,)`` terms of both directions.
    """
    scores, phi = scores[own], phi[own]
    lead = scores.diagonal()
    if len(own) < 2:
        return lead * 0, lead * 0
    anchor, gaps = torch.arange(len(own), device=own.device), (scores - lead[:, None], scores - lead[None, :])
    if sampling == "random":
        alone = torch.eye(len(own), dtype=torch.bool, device=own.device)
        first, second = pick(scores, alone, sampling), pick(scores, alone, sampling)
    else:
        first, second = (gap.topk(2, dim=1, largest=sampling == "closest").indices[:, 1] for gap in gaps)
    # The negative captions give the second margin and the negative images the first.
    i2t, t2i = (
        (gap + ((phi.diagonal() - phi[anchor, of]) / tau).clamp(max=cap)).clamp(min=0)
        for gap, of in zip(gaps, (second, first), strict=True)
    )
    return i2t[anchor, first], t2i[anchor, second]


class SAM(Objective):
    """Margins from what captions say, beside the ordinary triplet or alone; sums over pairs.

    Captions lead by .1 and shall lead by their CIDEr over ``tau``, .5 (each of the two pairs, weight 1):

    >>> images, texts = torch.eye(2), torch.tensor([[0.5, 0.4], [0.4, 0.5]])
    >>> SAM(weight=1.0, tau=2.0)(images, texts, images > 0, cider=images)["semantic_i2t"]
    tensor(0.8000)

    Args:
        variant: ``"intended"``, ``"printed"`` (margins swapped) or ``"released"`` (the authors' code).
        sampling: the negative of a pair is the ``"closest"`` or the ``"furthest"`` by score, or a
            ``"random"`` one. The paper calls the furthest "soft negatives"; its code's option "soft" takes
            the closest.
        tau: divisor of the margins; 3, 5 and 10 in the paper.
        cap: margins are at most this; no least margin.
        weight: of the semantic terms. The released code has 5 beside 3 for the triplet on the same embedding.
        margin: of the kept triplet; ``None`` drops it.
        phi: relevance by name, ``"cider"`` or any other, judgements of the training split included.
        phi_options: of its maker, e.g. ``{"leave_one_out": true}``: without, a caption is among its own
            references.
    """

    recipe = settings(epochs=3, lr=4e-3, lr_warmup_steps=30, warmup_epochs=2, captions_per_image=2)

    def __init__(
        self,
        *,
        variant: Literal["intended", "printed", "released"] = "intended",
        sampling: Negative = "closest",
        tau: Positive = 10.0,
        cap: float = 1.0,
        weight: NotNegative = RELEASED_WEIGHT,
        margin: NotNegative | None = 0.2,
        phi: str = "cider",
        phi_options: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__()
        self.variant, self.sampling = variant, sampling
        self.tau, self.cap = tau, cap
        self.weight, self.margin = weight, margin
        self.phi, self.phi_options = phi, dict(phi_options or {})
        self.terms = (*(("i2t", "t2i") if margin is not None else ()), "semantic_i2t", "semantic_t2i")

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Return the relevance ``phi``."""
        return {self.phi: self.phi_options}

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t`` and ``t2i`` of the kept triplet, ``semantic_i2t`` and ``semantic_t2i``."""
        scores = full_precision(self.scores(image, text))
        terms = {} if self.margin is None else self.triplets(scores, batch.positives, self.margin)
        i2t, t2i = self.semantic(scores, batch)
        return terms | {"semantic_i2t": self.weight * i2t.sum(), "semantic_t2i": self.weight * t2i.sum()}

    def semantic(self, scores: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Eqs. 6-8: the unweighted terms of every pair, in the order of ``batch.positives.nonzero()``.

        Args:
            scores: ``(I, T)`` scores.
            batch: own images, positives and relevance.

        Returns:
            Image-to-text and text-to-image, each ``(P,)``; a pair without a negative has 0.
        """
        phi = batch.relevance[self.phi].detach().to(scores.dtype)
        if self.variant == "released":
            return released_terms(scores, phi, batch.own, sampling=self.sampling, tau=self.tau, cap=self.cap)
        positives = batch.positives
        image, caption = positives.nonzero(as_tuple=True)
        negative = pick(scores[image], positives[image], self.sampling)
        other = pick(scores.T[caption], positives.T[caption], self.sampling)
        lead, right = scores[image, caption], phi[image, caption]
        margins = [right - phi[image, negative], right - relevance_of_images(phi, batch.own)[image, other]]
        if self.variant == "printed":
            margins.reverse()
        i2t, t2i = (
            ((margin / self.tau).clamp(max=self.cap) + (found - lead)).clamp(min=0)
            for margin, found in zip(margins, (scores[image, negative], scores[other, caption]), strict=True)
        )
        return (
            i2t.masked_fill(positives[image].all(dim=1), 0),
            t2i.masked_fill(positives.T[caption].all(dim=1), 0),
        )


MEMBER = SAM
