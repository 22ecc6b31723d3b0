"""Ambiguity-Aware and High-Order Relation Learning for Multi-Grained Image-Text Matching, AAHR (J. Chen,
Y. Gao, M. Ge, M. Li, Knowledge-Based Systems 2025, arXiv 2507.09256).

``L = L_PGA + L_MCL + L_NSI``, all weights 1. Images and captions predict each other's assignment to shared
prototypes (PGA), are contrasted with banks of momentum outputs (MCL), and hear from the neighbourhood of the
batch (NSI: ``tri(v, t) + tri(v^, t^) + tri(v, t^) + tri(v^, t) + PGA(v^, t^)``), Eqs. 24-26. Retrieval uses
the plain ``v`` and ``t`` alone.

``variant="released"`` is the authors' code, which differs from the paper (METHODS 8.8): scores are dot
products of vectors of any length; the triplets draw one negative a pair by its distance, and are summed; the
contrast asks with local vectors, at temperature .07, a bank that does not hold the batch; prototypes weigh
.2, are written back as unit vectors, have no term on enhanced embeddings and begin at step 2,200; the
neighbourhood is ``parts/released_graph.py`` and begins at step 8,000. It needs
``fusion={"variant": "released"}`` of the encoders. The released code adds a term whose arguments are both
constants, and chooses its epoch on the test split; this package does neither.

Reads with: objectives/parts/{sinkhorn,bank,neighbourhood,released_graph}.py, encoders/multigrain.py.
Departures:
- the printed Eqs. 8-9 take a softmax twice, which leaves almost no signal: raw cosines by default
  (``form="printed"``);
- what Sinkhorn's algorithm is told is not stated: the settings of SwAV;
- a bank remembers the image of each entry, and what belongs to the anchor's image is no negative; means, not
  sums, over a batch;
- the batch may hold several captions of an image: all its images and captions are the nodes of the graph, and
  every caption with its image is a pair. Where each image has one caption, this is the paper's square batch;
- what a node hears is added to its plain embedding (``residual=False`` is the print: all nodes come out
  alike, and triplets of enhanced embeddings stay at twice the margin);
- regions and words are unit vectors in the graph and receive no gradient from it, and negative similarities
  are no neighbours;
- ``tri(v, t)`` stays when the neighbourhood is left out, as the rows of its Table 4 without it must train on
  something;
- the length of a prototype is free and only its direction is read, so that prototypes turn more slowly than
  those of the released form (``alignment={"unit": True}``).
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from workbench.losses.distance_weighted import drawn_triplets
from workbench.losses.similarity import cosine
from workbench.objectives.base import Objective, settings
from workbench.objectives.parts.attention import local_of
from workbench.objectives.parts.bank import Bank, Contrast, bank_contrast, id_numbers, momentum_contrast
from workbench.objectives.parts.neighbourhood import Graph, Neighbourhood
from workbench.objectives.parts.released_graph import ReleasedNeighbourhood
from workbench.objectives.parts.sinkhorn import Alignment, Prototypes
from workbench.records import Batch, Embedding
from workbench.registry import Group, NotNegative, Positive, merge

# what the released code sets otherwise than the paper, on Flickr30K
RELEASED: Mapping[str, Mapping[str, Any]] = {
    "alignment": {"epsilon": 0.1, "after": 2200, "unit": True},
    "contrast": {"tau": 0.07},
    "graph": {"alpha": 1.0, "heads": 16, "after": 8000},
}


class AAHR(Objective):
    """Prototype alignment, momentum contrast and neighbourhood interaction, beside a triplet loss.

    Each pair lies at right angles to the other and to its momentum output's bank: ``log(1 + 1 / e)`` a side.

    >>> vectors, loss = torch.eye(2), AAHR(triplet=0, pga=0, nsi=0, contrast={"tau": 1.0})
    >>> loss.setup(embed_dim=2)
    >>> loss(vectors, vectors, vectors > 0, momentum=(vectors, vectors))
    {'mcl': tensor(0.6265)}

    Args:
        triplet: weight of the plain triplet loss; 0 leaves it out, here as below.
        pga: weight of the prototype alignment; without it the neighbourhood has none either. ``None`` = 1,
            and .2 in the released form.
        mcl: weight of the momentum contrast.
        nsi: weight of the neighbourhood's terms.
        margin: of all triplets (gamma).
        alignment: options of ``Alignment``: ``prototypes``, ``tau``, ``epsilon``, ``iterations``, ``form``,
            ``after``, ``unit``.
        contrast: options of ``Contrast``: ``bank``, ``tau``, ``momentum``, ``reduction``.
        graph: options of ``Graph``: ``epsilon``, ``alpha``, ``layers``, ``heads``, ``dropout``,
            ``attention_dropout``, ``keep``, ``detach``, ``after``, ``cross``, ``residual``. The released form
            reads ``epsilon``, ``alpha``, ``heads``, both dropouts, ``after`` and ``cross``.
        variant: the ``"paper"``'s form, or the ``"released"`` one, whose settings fill what is not given.
        cutoff: in the released form, negatives at this distance or farther are not drawn: 1.7 for Flickr30K,
            1.9 for MS-COCO.

    Raises:
        TypeError: an unknown option; ValueError: all weights are 0, or an option is outside its range.
    """

    # Sinkhorn's assignment is a constant of a step.
    constant_targets = ("pga", "nsi_pga")
    recipe = settings(
        epochs=3,
        lr=2e-3,
        lr_warmup_steps=30,
        warmup_epochs=2,
        captions_per_image=2,
        image_encoder={"name": "multigrain"},
        text_encoder={"name": "multigrain"},
    )

    # Ten options: each is a choice of its own that a config names, and a group of them would only hide it.
    def __init__(  # noqa: PLR0913
        self,
        *,
        triplet: NotNegative = 1.0,
        pga: NotNegative | None = None,
        mcl: NotNegative = 1.0,
        nsi: NotNegative = 1.0,
        margin: NotNegative = 0.2,
        alignment: Annotated[Mapping[str, Any] | None, Group(Alignment)] = None,
        contrast: Annotated[Mapping[str, Any] | None, Group(Contrast)] = None,
        graph: Annotated[Mapping[str, Any] | None, Group(Graph)] = None,
        variant: Literal["paper", "released"] = "paper",
        cutoff: Positive = 1.7,
    ) -> None:
        super().__init__()
        self.released, self.cutoff = variant == "released", cutoff
        given = merge(
            RELEASED if self.released else {},
            {"alignment": alignment or {}, "contrast": contrast or {}, "graph": graph or {}},
        )
        self.alignment = Alignment(**given["alignment"])
        self.contrast = Contrast(**given["contrast"])
        self.graph = Graph(**given["graph"])
        if pga is None:
            pga = 0.2 if self.released else 1.0
        cross, with_pga = nsi * self.graph.cross, nsi if pga and not self.released else 0.0
        self.weigh(
            {"triplet": triplet, "pga": pga, "mcl": mcl, "nsi": nsi, "nsi_cross": cross, "nsi_pga": with_pga}
        )
        self.margin = margin
        self.steps = nn.Buffer(torch.zeros((), dtype=torch.int64))
        self.declare()

    def declare(self) -> None:
        """Need no momentum copy without the contrast, and no parts without the neighbourhood."""
        self.momentum = self.contrast.momentum if self.wants("mcl") else 0.0
        self.interacts = self.wants("nsi", "nsi_cross", "nsi_pga")
        reads = {"parts": self.interacts, "local": self.released and (self.interacts or bool(self.momentum))}
        self.inputs = tuple(name for name, read in reads.items() if read)

    def setup(self, embed_dim: int) -> None:
        """Make prototypes, banks and the layers of the neighbourhood."""
        if self.wants("pga", "nsi_pga"):
            self.prototypes = Prototypes(embed_dim, self.alignment)
        if self.wants("mcl"):
            self.images, self.texts = (Bank(self.contrast.bank, embed_dim) for _ in range(2))
        if self.interacts:
            kind = ReleasedNeighbourhood if self.released else Neighbourhood
            self.neighbourhood = kind(embed_dim, self.graph)

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``triplet``, ``pga``, ``mcl``, ``nsi`` (enhanced with enhanced), ``nsi_cross`` and
        ``nsi_pga``.
        """
        # Layers and similarities of the graph would be taken to half precision by an autocast around this.
        with torch.autocast(image.mean.device.type, enabled=False):
            contrast = self._released_contrast if self.released else self._contrast_with_banks
            terms = self.weighted_terms(
                triplet=lambda: self._triplet_loss(self.scores(image, text), batch),
                pga=lambda: self._alignment_loss(image.mean, text.mean, batch),
                mcl=lambda: contrast(image, text, batch),
            )
            return terms | self._neighbourhood_terms(image, text, batch) if self.interacts else terms

    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Count the step, write the prototypes back, and put the momentum outputs of the batch into the
        banks.
        """
        self.steps.add_(1)
        if self.wants("pga", "nsi_pga"):
            self.prototypes.write_back()
        if self.wants("mcl"):
            numbers = id_numbers(batch.image_ids, self.steps.device)
            for bank, made, ids in zip(
                (self.images, self.texts),
                _momentum_outputs(batch),
                (numbers, numbers[batch.own]),
                strict=True,
            ):
                bank.push(normalize(made, dim=1) if self.released else made, ids)

    def _has_begun(self, after: int) -> bool:
        return not after or int(self.steps) >= after

    def _triplet_loss(self, scores: Tensor, batch: Batch) -> Tensor:
        if self.released:
            return drawn_triplets(scores, batch.positives, margin=self.margin, cutoff=self.cutoff)
        return torch.stack([*self.triplets(scores, batch.positives, self.margin, "mean").values()]).sum()

    def _alignment_loss(self, v: Tensor, u: Tensor, batch: Batch) -> Tensor:
        if not self._has_begun(self.alignment.after):
            return v.sum() * 0
        return self.prototypes.forward(v[batch.own], u)

    def _contrast_with_banks(self, image: Embedding, text: Embedding, batch: Batch) -> Tensor:
        """Eqs. 12-15: images with the captions' bank and captions with the images' bank, the batch
        already in them.
        """
        v, u = image.mean, text.mean
        numbers, positives = id_numbers(batch.image_ids, v.device), batch.positives
        of_text = numbers[batch.own]
        seen, read = _momentum_outputs(batch)
        of_images = self._contrast_side(v, numbers, self.texts.with_new(read, of_text), positives)
        return of_images + self._contrast_side(u, of_text, self.images.with_new(seen, numbers), positives.T)

    def _released_contrast(self, image: Embedding, text: Embedding, batch: Batch) -> Tensor:
        """Return the released contrast: the local vectors of each pair ask for the other's momentum output
        among those of a full bank.
        """
        if any(int(bank.filled) < len(bank.vectors) for bank in (self.images, self.texts)):
            return image.mean.sum() * 0
        seen, read = (normalize(made, dim=1) for made in _momentum_outputs(batch))
        v, u = local_of(image)[batch.own], local_of(text)
        sides = ((v, read, self.texts), (u, seen[batch.own], self.images))
        losses = [
            bank_contrast(query, own, bank.vectors.to(query), self.contrast.tau) for query, own, bank in sides
        ]
        return torch.stack(losses).sum()

    def _contrast_side(
        self, anchors: Tensor, ids: Tensor, bank: tuple[Tensor, Tensor, Tensor], own: Tensor
    ) -> Tensor:
        keys, key_ids, usable = bank
        old = own.new_zeros(len(own), len(keys) - own.shape[1])
        return momentum_contrast(
            anchors @ keys.T.to(anchors.dtype),
            torch.cat([own, old], dim=1),
            ids[:, None] == key_ids,
            usable,
            tau=self.contrast.tau,
            reduction=self.contrast.reduction,
        )

    def _neighbourhood_terms(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        if not self._has_begun(self.graph.after):
            return self.weighted_terms(
                **dict.fromkeys(("nsi", "nsi_cross", "nsi_pga"), lambda: image.mean.sum() * 0)
            )
        v, u = self.neighbourhood(image, text)
        plain_v, plain_u = image.mean, text.mean
        if self.released:
            plain_v, plain_u = local_of(image), local_of(text)
        return self.weighted_terms(
            nsi=lambda: self._triplet_loss(cosine(v, u), batch),
            nsi_cross=lambda: (
                self._triplet_loss(cosine(plain_v, u), batch) + self._triplet_loss(cosine(v, plain_u), batch)
            ),
            nsi_pga=lambda: self.prototypes.forward(v[batch.own], u),
        )


def _momentum_outputs(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return what the momentum copies made of the batch's images and captions."""
    if batch.momentum is None:
        raise ValueError(
            "aahr: the batch holds no momentum outputs; train with workbench.training.fit, "
            "or leave them out with mcl=0"
        )
    return batch.momentum[0].mean.detach(), batch.momentum[1].mean.detach()


MEMBER = AAHR
