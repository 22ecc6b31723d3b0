"""CORA: Composing Object Relations and Attributes for Image-Text Matching (Pham et al., CVPR 2024, arXiv
2406.11820).

``L = 4 L_HARD + L_CON + 11 L_SPEC``. The image is drawn to its captions and to the *entities* of its captions
(an object with its attributes) against those of other images; and a caption, which says more, shall lie
nearer to its image than its entities do.

Reads with: encoders/graph/, text/graph_tokens.py, losses/contrastive.py, losses/triplet.py,
objectives/parts/attention.py. Departures:
- the printed contrastive loss has no temperature and is unbounded below: as in the released code, the
  temperature is .01 and an item's own exponential stands in its denominator;
- the printed contrastive loss is a sum over images and entities; here, as in the released code, it is a mean;
- the released code adds 1e-9 (images) and 1e-6 (texts) inside the logarithm, which at this temperature pushes
  what has no competitor; here the loss is computed in log space, and ``epsilon="released"`` is that code's;
- weights, margins and the temperature are those of the released configuration; the paper defers them to a
  supplement;
- what the released code does beside the paper are options: of ``regions`` ``feature_dropout=0.1`` and
  ``renumber=True``; of the graph's ``augmentation`` ``draw_attributes`` and ``mask_relations``; of training
  ``text_backbone_decay=0.01`` with ``text_backbone_lr=0.1`` where BERT is trained.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn

from workbench.losses import similarity
from workbench.losses.contrastive import contrastive
from workbench.losses.terms import both_ways, full_precision, reduce
from workbench.objectives.base import Objective, settings
from workbench.objectives.parts.attention import with_entities
from workbench.records import Batch, Embedding
from workbench.registry import NotNegative, Positive, Share

RELEASED = (1e-9, 1e-6)
BETAS = tuple(step / 20 for step in range(20, -1, -1))


def captions_saying(labels: Tensor, objects: Tensor, attributes: Tensor) -> Tensor:
    """Return which captions say what an entity says: they have an object of its name that has all its
    attributes.

    Args:
        labels: ``(E, 1 + A)`` object and attributes of each entity as numbers, 0 = none.
        objects: ``(T, O)`` objects of each caption's whole graph.
        attributes: ``(T, O, A)`` their attributes.

    Returns:
        ``(T, E)`` bool.

    Source:
        Released code: an entity with that name and a subset of those attributes is a positive of the image.
    """
    caption, place = objects.nonzero(as_tuple=True)
    entity, node = (labels[:, :1] == objects[caption, place]).nonzero(as_tuple=True)
    asked, has = labels[entity, 1:], attributes[caption[node], place[node]]
    holds = ((asked[:, :, None] == has[:, None, :]).any(2) | (asked == 0)).all(1)
    out = torch.zeros(len(objects), len(labels), dtype=torch.bool, device=labels.device)
    out[caption[node[holds]], entity[holds]] = True
    return out


def joint_contrastive(
    scores: Tensor, positives: Tensor, *, tau: float, epsilon: Literal["none", "released"]
) -> Tensor:
    """Compute ``L_CON``, images against captions and entities together: each positive against the negatives,
    in both directions.

    Args:
        scores: ``(I, U)`` cosines of images with captions and entities.
        positives: ``(I, U)`` bool.
        tau: temperature.
        epsilon: ``"released"`` adds the released code's constants inside the logarithm, after the maximum is
            taken off.

    Returns:
        The mean over images plus the mean over captions and entities.
    """
    logits = full_precision(scores) / tau
    if epsilon == "released":
        of_images = _contrast_with_floor(logits, positives, RELEASED[0])
        return of_images + _contrast_with_floor(logits.T, positives.T, RELEASED[1])
    both = both_ways(contrastive, logits, positives, reduction="mean", extra_positives="mask")
    return both[0] + both[1]


def _contrast_with_floor(logits: Tensor, positives: Tensor, floor: float) -> Tensor:
    """Return the loss ``contrastive`` with a constant among the negatives: ``floor`` times the largest
    exponential of the row.
    """
    constant = logits.detach().amax(1, keepdim=True) + math.log(floor)
    negatives = logits.masked_fill(positives, -torch.inf).logsumexp(1, keepdim=True)
    terms = torch.logaddexp(logits, torch.logaddexp(negatives, constant)) - logits
    return (terms.masked_fill(~positives, 0).sum(1) / positives.sum(1)).mean()


def specificity(
    scores: Tensor, entity_scores: Tensor, own: Tensor, owner: Tensor, *, margin: float
) -> Tensor:
    """Compute ``L_SPEC``, the mean of ``[margin + s(v, e) - s(v, t)]+`` over entities ``e`` of a caption
    ``t`` of the image ``v``.

    Args:
        scores: ``(I, T)`` cosines with captions.
        entity_scores: ``(I, E)`` cosines with entities.
        own: ``(T,)`` image row of each caption.
        owner: ``(E,)`` caption of each entity.
        margin: by how much the caption shall lead.
    """
    entity = torch.arange(len(owner), device=owner.device)
    lead = full_precision(scores[own[owner], owner]) - full_precision(entity_scores[own[owner], entity])
    return reduce((margin - lead).clamp(min=0), "mean")


class CORA(Objective):
    """Hardest triplet, joint contrastive loss over captions and entities, and specificity.

    A caption that equals its image leads its one entity by .4 and shall lead it by .5:

    >>> image, entity = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.6, 0.8]])
    >>> loss = CORA(hard=0, contrastive=0, specificity=1, margin=0.5)
    >>> loss(image, image, image[:, :1] > 0, entities=entity, owner=torch.tensor([0]))
    {'specificity': tensor(0.1000)}

    Args:
        hard: weight of the hardest triplet, averaged over pairs; 0 leaves a term out.
        contrastive: weight of the contrastive loss.
        specificity: weight of the specificity loss.
        margin: of triplet and specificity.
        tau: temperature of the contrastive loss.
        epsilon: ``"none"`` or ``"released"``, see ``joint_contrastive``.
        positives: ``"graphs"`` = an entity belongs to every image whose captions say it; ``"own"`` = to its
            own image alone.
        beta: share of the caption's score in evaluation, see ``with_entities``; ``None`` = chosen on the
            validation split.

    Raises:
        ValueError: no term is left.
    """

    recipe = settings(
        epochs=6,
        lr=8e-3,
        lr_warmup_steps=100,
        warmup_epochs=0,
        captions_per_image=1,
        text_encoder={"name": "graph"},
    )

    def __init__(
        self,
        *,
        hard: NotNegative = 4.0,
        contrastive: NotNegative = 1.0,
        specificity: NotNegative = 11.0,
        margin: NotNegative = 0.35,
        tau: Positive = 0.01,
        epsilon: Literal["none", "released"] = "none",
        positives: Literal["graphs", "own"] = "graphs",
        beta: Share | None = 1.0,
    ) -> None:
        super().__init__()
        self.weigh({"hard": hard, "contrastive": contrastive, "specificity": specificity})
        self.margin, self.tau = margin, tau
        self.epsilon, self.positives = epsilon, positives
        self.calibrates = beta is None
        self.beta = nn.Buffer(torch.tensor(1.0 if beta is None else beta, dtype=torch.float64))
        self.declare()

    def declare(self) -> None:
        """Need no entities for the triplet alone, and for specificity no other caption's graph."""
        local = self.wants("contrastive", "specificity")
        self.inputs = ("entities",) if local or self.calibrates or float(self.beta) != 1 else ()
        self.needs = ("graph_tokens",) if self.wants("contrastive") and self.positives == "graphs" else ()

    def scores(self, image: Embedding, text: Embedding) -> Tensor:
        """Return cosines; where the captions come with entities and ``beta`` is not 1, re-ranked by the least
        of them.
        """
        return with_entities(super().scores(image, text), image, text, float(self.beta))

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``hard``, ``contrastive`` and ``specificity``, those that have a weight."""
        plain = self.scores(image, replace(text, entities=None, owner=None, labels=None))
        positives = batch.positives
        terms = self.weighted_terms(
            hard=lambda: torch.stack([*self.triplets(plain, positives, self.margin, "mean").values()]).sum()
        )
        if text.entities is None or text.owner is None or not self.wants("contrastive", "specificity"):
            return terms
        owner, found = text.owner, similarity.cosine(image.mean, text.entities)
        return terms | self.weighted_terms(
            contrastive=lambda: joint_contrastive(
                torch.cat([plain, found], dim=1),
                torch.cat([positives, self.entity_positives(text, owner, batch)], dim=1),
                tau=self.tau,
                epsilon=self.epsilon,
            ),
            specificity=lambda: specificity(plain, found, batch.own, owner, margin=self.margin),
        )

    def entity_positives(self, text: Embedding, owner: Tensor, batch: Batch) -> Tensor:
        """Return ``(I, E)`` bool, entities of an image: those of its captions, and those that its captions
        say as well.
        """
        positives = batch.positives
        own = positives[:, owner]
        if self.positives == "own" or text.labels is None:
            return own
        graphs = batch.signals["graph_tokens"]
        said = captions_saying(text.labels, graphs["objects"], graphs["attributes"])
        return own | (positives.float() @ said.float() > 0)

    def calibrate(self, image: Embedding, text: Embedding, quality: Callable[[Tensor], float]) -> None:
        """Choose the best ``beta`` among 1, .95, ..., 0; of equally good ones the largest."""
        scores = super().scores(image, text)
        self.beta.fill_(max(BETAS, key=lambda beta: quality(with_entities(scores, image, text, beta))))


MEMBER = CORA
