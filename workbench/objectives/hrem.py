"""HREM: Learning Semantic Relationship among Instances for Image-Text Matching (Z. Fu, Z. Mao, Y. Song,
Y. Zhang, CVPR 2023).

``L = tri(v, t) + tri(v^, t^) + tri(v, t^) + tri(v^, t) + 10 KL``. All images and captions of the batch hear
from one another in a transformer layer, whose attention adds how relevant they are and leaves out the lower
half of each row: ``exp(-|v_i - v_j|)`` within a modality; across, a learnt function of the best matches of
regions and words beside their mean. The divergence draws the learnt relevance to ``exp(-|v - t|)``. Each
triplet draws one negative a pair by its distance, and sums. Retrieval uses the plain ``v`` and ``t`` alone.

Constants and the divergence are those of the released code. DIAS draws its triplets as this does, and the
neighbourhood of AAHR is built on it.

Reads with: losses/distance_weighted.py, objectives/parts/released_graph.py, objectives/dias.py,
objectives/aahr.py.
Departures:
- who hears whom within a modality is chosen by the relevance there; the released code reads cosines across;
- the upper half of an odd number of neighbours includes the middle one;
- the batch may hold several captions of an image, and all its images and captions are nodes;
- a set of fewer parts than ``best`` is filled with zeros;
- the neighbourhood begins at step 30, early in the short runs of the embedded world; ``after=8000`` is the
  released code's.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from annotated_types import Interval
from torch import Tensor, nn
from torch.nn.functional import kl_div, log_softmax, normalize, pad

from workbench.encoders.pooling import meeting_layer
from workbench.losses.distance_weighted import NEAREST, drawn_triplets
from workbench.losses.similarity import cosine, distance
from workbench.objectives.base import Objective
from workbench.objectives.parts.neighbourhood import attention_bias, join_blocks
from workbench.objectives.parts.released_graph import best_matches, mean_matches, similarity_within
from workbench.records import Batch, Embedding
from workbench.registry import Count, Natural, NotNegative

WEIGHTS = {"triplet": 1.0, "enhanced": 1.0, "cross": 1.0, "kl": 10.0}
DROPOUT = 0.1


class HREM(Objective):
    """Triplets of plain embeddings and of embeddings that have heard from the batch.

    Of four anchors each positive leads by .2 where .5 is asked:

    >>> images, texts = torch.eye(2), torch.tensor([[0.8, 0.6], [0.6, 0.8]])
    >>> HREM(margin=0.5, weights={"enhanced": 0, "cross": 0, "kl": 0})(images, texts, images > 0)
    {'triplet': tensor(1.2000)}

    Args:
        weights: of the terms ``triplet``, ``enhanced`` (both sides have heard), ``cross`` (one side has) and
            ``kl``; those left out keep 1, 1, 1 and 10, and a term of weight 0 is not computed.
        margin: of all triplets.
        cutoff: distance beyond which no negative is drawn; 1.7 for Flickr30K, 1.9 for MS-COCO.
        alpha: weight of the relevance in the attention.
        heads: of the attention; as many as divide the width, up to this.
        best: matches of regions and words from which relevance is learnt.
        after: steps of training before the neighbourhood takes part.
    """

    # The divergence is drawn to a constant of the step.
    constant_targets = ("kl",)

    def __init__(
        self,
        *,
        weights: Mapping[Literal["triplet", "enhanced", "cross", "kl"], NotNegative] | None = None,
        margin: NotNegative = 0.2,
        cutoff: Annotated[float, Interval(gt=NEAREST, lt=2)] = 1.7,
        alpha: float = 1.0,
        heads: Natural = 16,
        best: Natural = 10,
        after: Count = 30,
    ) -> None:
        super().__init__()
        self.weigh(WEIGHTS | dict(weights or {}))
        self.margin, self.cutoff = margin, cutoff
        self.alpha, self.heads = alpha, heads
        self.best, self.after = best, after
        self.steps = nn.Buffer(torch.zeros((), dtype=torch.int64))
        self.declare()

    def declare(self) -> None:
        """Need no parts without the neighbourhood."""
        self.inputs = ("parts",) if self.wants("enhanced", "cross", "kl") else ()

    def setup(self, embed_dim: int) -> None:
        """Make the layer, and what learns relevance from best matches."""
        if self.inputs:
            self.layer = meeting_layer(embed_dim, self.heads, embed_dim, DROPOUT)
            self.to_text, self.to_image = (
                nn.Sequential(nn.Linear(self.best, self.best), nn.ReLU(), nn.Linear(self.best, 1))
                for _ in range(2)
            )

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``triplet``, ``enhanced``, ``cross`` and ``kl``."""
        # Layers and relevance would be taken to half precision by an autocast around this.
        with torch.autocast(image.mean.device.type, enabled=False):
            terms = self.weighted_terms(triplet=lambda: self._triplet_loss(self.scores(image, text), batch))
            if not self.inputs:
                return terms
            if int(self.steps) < self.after:
                return terms | self.weighted_terms(
                    **dict.fromkeys(("enhanced", "cross", "kl"), lambda: image.mean.sum() * 0)
                )
            plain, learnt = self.relevance(image, text)
            v, u = self.attend_to_neighbours(image.mean, text.mean, plain, learnt)
            return terms | self.weighted_terms(
                enhanced=lambda: self._triplet_loss(cosine(v, u), batch),
                cross=lambda: (
                    self._triplet_loss(cosine(image.mean, u), batch)
                    + self._triplet_loss(cosine(v, text.mean), batch)
                ),
                kl=lambda: relevance_divergence(image.mean, text.mean, learnt),
            )

    def relevance(
        self, image: Embedding, text: Embedding
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Return the mean and learnt relevance: each of captions to images ``(I, T)`` and of images to
        captions.
        """
        matches = best_matches(image, text)
        plain, learnt = mean_matches(matches, image, text), []
        for values, learns in zip(matches, (self.to_text, self.to_image), strict=True):
            filled = pad(values, (0, max(self.best - values.shape[-1], 0)), value=-torch.inf)
            largest = filled.topk(self.best).values
            learnt.append(learns(largest.masked_fill(largest.isinf(), 0))[..., 0])
        return plain, (plain[0] + learnt[0], plain[1] + learnt[1].T)

    def attend_to_neighbours(
        self, image: Tensor, text: Tensor, plain: tuple[Tensor, Tensor], learnt: tuple[Tensor, Tensor]
    ) -> tuple[Tensor, Tensor]:
        """Return unit vectors that have attended to the upper half by ``plain`` relevance, weighed by the
        learnt.
        """
        own = similarity_within(image), similarity_within(text)
        chosen, whole = (join_blocks(own[0], *sides, own[1]) for sides in (plain, learnt))
        kept = attention_bias(chosen, len(image), alpha=1.0, keep="row").isfinite()
        bias = (self.alpha * whole).masked_fill(~kept, -torch.inf)
        made = normalize(self.layer(torch.cat([image, text])[None], src_mask=bias)[0], dim=1)
        return made[: len(image)], made[len(image) :]

    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Count the step."""
        self.steps.add_(1)

    def _triplet_loss(self, scores: Tensor, batch: Batch) -> Tensor:
        return drawn_triplets(scores, batch.positives, margin=self.margin, cutoff=self.cutoff)


def relevance_divergence(image: Tensor, text: Tensor, learnt: tuple[Tensor, Tensor]) -> Tensor:
    """Return the mean over rows of ``KL(softmax(learnt) || softmax(guide))``, both directions summed; the
    guide ``exp(-|v - t|)`` is a constant.

    Args:
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors.
        learnt: relevance ``(I, T)`` and ``(T, I)``.
    """
    guide = (-distance(cosine(image, text))).exp().detach()
    # kl_div(a, b) is the divergence of b from a
    both = [
        kl_div(log_softmax(target, dim=1), log_softmax(row, dim=1), reduction="batchmean", log_target=True)
        for target, row in zip((guide, guide.T), learnt, strict=True)
    ]
    return torch.stack(both).sum()


MEMBER = HREM
