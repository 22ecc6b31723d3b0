"""Bridging the Modality Gap: Dimension Information Alignment and Sparse Spatial Constraint for Image-Text
Matching, DIAS (X. Ma, X. Li, L. Fang, C. Zhang, ACM Multimedia 2024, arXiv 2410.16853).

``L = L_loc + 10 L_dim + 0.05 L_inter + 0.1 L_intra``. A dimension of an image correlates with the same
dimension of its captions and with no other (alignment); image ``i`` is as far from text ``j`` as image ``j``
from text ``i`` (inter), and two images as far from one another as their texts (intra), asked of pairs that
are likely to correlate (sparse selection).

Reads with: objectives/parts/selection.py, objectives/parts/attention.py, losses/distance_weighted.py. The
paper's batches
hold neighbouring images: ``sampler="clusters"`` of the configuration.
Departures:
- no code is public; margin and cutoff are those of HREM, whose sampling the paper cites;
- the embedding of an image would depend on the caption it is compared with; by default each side is pooled
  alone (``scorer="dual"``), and ``"cross"`` is the paper's;
- Eq. 4 correlates columns with one entry a region and columns with one entry a word, which differ in length;
  here a row is a pair (``rows="mean"``), or a region beside what it sees in the words and a word beside what
  it sees in the regions (``"attended"``);
- the denominators of Eq. 6 sum absolute correlations, since sums of signed ones cross zero
  (``denominators="printed"``);
- the constraints need as many captions as images: of every image the caption with the least id is taken;
- for the selection see objectives/parts/selection.py.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from annotated_types import Interval
from torch import Tensor, nn

from workbench.losses import similarity
from workbench.losses.distance_weighted import NEAREST, distance_weighted
from workbench.losses.terms import Reduction, ScalarReduction, full_precision, reduce
from workbench.losses.triplet import triplet
from workbench.objectives.base import Objective, settings
from workbench.objectives.parts.attention import ByParts, CrossAttention, masked_mean, parts_of
from workbench.objectives.parts.selection import Rule, Selections, constraint_loss, rule_by_name
from workbench.records import Batch, Embedding, require
from workbench.registry import Group, NotNegative

WEIGHTS = {"loc": 1.0, "dim": 10.0, "inter": 0.05, "intra": 0.1}
LEAST = 1e-12


def correlation(image: Tensor, text: Tensor) -> Tensor:
    """Eq. 4. Cosine of every column of the images with every column of the texts; nothing is centred.

    Args:
        image: ``(N, D)`` rows.
        text: ``(N, D)`` rows, paired with those of the images.

    Returns:
        ``(D, D)``; a column of zeros correlates with nothing.

    Raises:
        ValueError: the two differ in shape.
    """
    require(
        image.shape == text.shape,
        f"dimension alignment compares {tuple(image.shape)} image rows with {tuple(text.shape)} text "
        f"rows; give both encoders the same embed_dim",
    )
    # A product in half precision would leave two digits of a correlation.
    with torch.autocast(image.device.type, enabled=False):
        return nn.functional.normalize(full_precision(image), dim=0).T @ nn.functional.normalize(
            full_precision(text), dim=0
        )


def alignment(
    correlations: Tensor, *, denominators: Literal["absolute", "printed"], reduction: Reduction
) -> Tensor:
    """Eq. 6. Minus the share that each dimension's own correlation has of its row, and of its column.

    Args:
        correlations: ``(D, D)``.
        denominators: sums of ``"absolute"`` values, or of signed ones as ``"printed"``; they agree where
            nothing is negative.
        reduction: over dimensions; the paper's is ``"sum"``.

    Returns:
        A scalar; its least value under ``"absolute"`` and ``"sum"`` is ``-2 D``. ``(D,)`` with
        ``reduction="none"``.
    """
    own = correlations.diagonal()
    if denominators == "printed":
        terms = own / correlations.sum(dim=1) + own / correlations.sum(dim=0)
    else:
        sizes = correlations.abs()
        terms = own / sizes.sum(dim=1).clamp(min=LEAST) + own / sizes.sum(dim=0).clamp(min=LEAST)
    return -reduce(terms, reduction)


def inter_difference(scores: Tensor) -> Tensor:
    """Return ``X - X^T``: image ``i`` to text ``j`` against image ``j`` to text ``i``.

    Args:
        scores: ``(N, N)`` of images and texts, where row and column ``i`` are one pair.
    """
    return scores - scores.T


def intra_difference(image: Tensor, text: Tensor) -> Tensor:
    """Return ``Y - Z``: similarity of images ``i, j`` against that of their texts.

    Args:
        image: ``(N, D)`` unit vectors.
        text: ``(N, D)`` unit vectors of the images' texts.
    """
    return similarity.cosine(image, image) - similarity.cosine(text, text)


def first_captions(batch: Batch) -> tuple[Tensor, Tensor]:
    """Return every image that has a caption, once, with that of its captions whose id is least.

    Which captions stand in the batch decides, and not their order. An image that stands there twice, by its
    id, is taken once.

    Args:
        batch: any batch.

    Returns:
        Image rows ``(N,)`` and caption rows ``(N,)``.
    """
    own = batch.own.tolist()
    chosen: dict[str, int] = {}
    for caption in sorted(range(len(own)), key=lambda row: batch.caption_ids[row]):
        chosen.setdefault(batch.image_ids[own[caption]], caption)
    captions = torch.tensor(sorted(chosen.values()), dtype=torch.long, device=batch.own.device)
    return batch.own[captions], captions


class DIAS(Objective):
    """Triplet with drawn negatives, dimension alignment, and two spatial constraints.

    Dimensions that correlate with themselves alone are aligned: -2 for each, times the weight 10.

    >>> vectors = torch.eye(2)
    >>> DIAS(rows="pooled")(vectors, vectors, vectors > 0)["dim"]
    tensor(-40.)

    Args:
        scorer: ``"dual"`` = cosine of the pooled embeddings; the others compare parts, see
            ``CrossAttention``, whose options may be given beside its name, e.g. ``{"name": "cross",
            "attention": "relu"}``.
        weights: of the terms ``loc``, ``dim``, ``inter`` and ``intra``; those left out keep the paper's, 1,
            10, 0.05 and 0.1. A term of weight 0 is not computed. Valid for sums.
        margin: of the triplet.
        cutoff: distance beyond which no negative is drawn; 1.7 for Flickr30K, 1.9 for COCO (HREM).
        rows: what dimensions are correlated over: ``"mean"`` = the mean part of each pair's image and
            caption, ``"attended"`` = every part beside what it sees, ``"pooled"`` = the embeddings
            themselves, for encoders without parts.
        denominators: of the alignment, ``"absolute"`` or ``"printed"``.
        selection: of both constraints, a rule of ``Selection`` or a mapping of its fields, ``{"rule":
            "top_k", "keep": 0.1}``; ``{"inter": "dense", "intra": "p"}`` chooses for each.
        reduction: ``"sum"`` (the paper's) or ``"mean"``, over pairs, dimensions, and pairs of different
            instances.

    Raises:
        ValueError: no term is left.
        TypeError: an unknown field of a mapping.
    """

    recipe = settings(
        epochs=3,
        lr=4e-3,
        lr_warmup_steps=30,
        warmup_epochs=2,
        captions_per_image=2,
        sampler="clusters",
        clusters=32,
    )

    def __init__(
        self,
        *,
        scorer: Annotated[Literal["dual", ByParts] | Mapping[str, Any], Group(CrossAttention)] = "dual",
        weights: Mapping[Literal["loc", "dim", "inter", "intra"], NotNegative] | None = None,
        margin: NotNegative = 0.2,
        cutoff: Annotated[float, Interval(gt=NEAREST, lt=2)] = 1.7,
        rows: Literal["mean", "attended", "pooled"] = "mean",
        denominators: Literal["absolute", "printed"] = "absolute",
        selection: Annotated[Rule | Mapping[str, Any], Group(Selections)] = "p",
        reduction: ScalarReduction = "sum",
    ) -> None:
        super().__init__()
        self.margin, self.cutoff = margin, cutoff
        self.rows, self.denominators = rows, denominators
        self.reduction = reduction
        self.weigh(WEIGHTS | dict(weights or {}))
        self.selections = Selections(**rule_by_name(selection)).in_order()
        # of inter and intra, each of rows (images) and of columns (captions)
        start = torch.tensor([[selection.start] * 2 for selection in self.selections])
        learned = any(selection.has_learned_beta for selection in self.selections)
        self.beta = nn.Parameter(start) if learned else nn.Buffer(start, persistent=False)
        self.declare()
        if scorer != "dual":
            self.score_by(scorer)

    @property
    def attention(self) -> CrossAttention:
        """How the parts of a pair see one another: as in ``scores`` where these compare parts."""
        return self.local_scorer if isinstance(self.local_scorer, CrossAttention) else CrossAttention()

    def declare(self) -> None:
        """Ask for parts only where they are read."""
        by_parts = self.scores_parts and (self.selected is None or self.wants("loc", "inter", "intra"))
        self.inputs = ("parts",) if by_parts or (self.wants("dim") and self.rows != "pooled") else ()

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``loc``, ``dim``, ``inter`` and ``intra``."""
        images, captions = first_captions(batch)
        if self.wants("loc", "inter"):
            scores = full_precision(self.scores(image, text))
        return self.weighted_terms(
            loc=lambda: (
                self._triplet_loss(scores, batch.positives) + self._triplet_loss(scores.T, batch.positives.T)
            ),
            dim=lambda: alignment(
                correlation(*self._correlated_rows(image.take(batch.own), text)),
                denominators=self.denominators,
                reduction=self.reduction,
            ),
            inter=lambda: self._constraint_loss(0, inter_difference(scores[images][:, captions])),
            intra=lambda: self._constraint_loss(
                1, intra_difference(*self._unit_vectors(image.take(images), text.take(captions)))
            ),
        )

    def _triplet_loss(self, scores: Tensor, positives: Tensor) -> Tensor:
        how: dict[str, Any] = {"margin": self.margin, "reduction": self.reduction}
        if self.warming:
            return triplet(scores, positives, negatives="all", **how)
        return distance_weighted(scores, positives, cutoff=self.cutoff, **how)

    def _constraint_loss(self, which: int, difference: Tensor) -> Tensor:
        difference = full_precision(difference)
        return constraint_loss(difference, self.selections[which], self.beta[which], reduction=self.reduction)

    def _correlated_rows(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        """Return rows of images and captions over which dimensions are correlated; the arguments are
        pairs.
        """
        if self.rows == "pooled":
            return image.mean, text.mean
        (regions, seen), (words, read) = parts_of(image), parts_of(text)
        if self.rows == "mean":
            return masked_mean(regions, seen), masked_mean(words, read)
        of_words, of_regions = self.attention.attended_pairs(image, text)
        # Nothing is added to a product by rows of zeros, so padding is zeroed and not taken out.
        real = torch.cat([seen, read], dim=1)[..., None]
        sides = torch.cat([regions, of_regions], dim=1), torch.cat([of_words, words], dim=1)
        return sides[0].masked_fill(~real, 0).flatten(0, 1), sides[1].masked_fill(~real, 0).flatten(0, 1)

    def _unit_vectors(self, image: Embedding, text: Embedding) -> tuple[Tensor, Tensor]:
        """Return one unit vector for each image and caption of the given pairs."""
        if not self.scores_parts:
            return image.mean, text.mean
        of_words, of_regions = self.attention.attended_pairs(image, text)
        pooled = masked_mean(of_words, parts_of(image)[1]), masked_mean(of_regions, parts_of(text)[1])
        return nn.functional.normalize(pooled[0], dim=-1), nn.functional.normalize(pooled[1], dim=-1)


MEMBER = DIAS
