"""RINCE: Ranking Info Noise Contrastive Estimation, Boosting Contrastive Learning via Ranked Positives
(Hoffmann, Behrmann, Gall, Brox, Noroozi, AAAI 2022, arXiv 2201.11736).

``L = sum_i l_i``: the positives of rank ``i`` are contrasted with all that is ranked lower, at a temperature
that grows with the rank, and take no part in the terms of lower ranks.

Reads with: losses/ranked.py, objectives/parts/ranks.py.
Departures:
- the paper ranks images for an image; here images rank captions and captions rank images, half of the loss
  each;
- the paper sets the temperature of a rank by how similar its classes are; here they are evenly spread from
  that of rank 1 to that of the last rank;
- where a batch has several positives of a rank, the variant for one positive a rank draws one of them.
"""

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from torch import Tensor

from workbench.losses.ranked import Variant, ranked
from workbench.losses.terms import ScalarReduction
from workbench.objectives.base import Objective
from workbench.objectives.parts.ranks import Ranking
from workbench.records import Batch, Embedding, require
from workbench.registry import Group, NotNegative, Positive


class RINCE(Objective):
    """Contrasts each rank of positives with the ranks below it; with one rank it is InfoNCE.

    Equal scores leave the one annotated pair of a row a choice of one in two, ``log 2``:

    >>> images, texts = torch.eye(2), torch.tensor([[0.6, 0.8], [0.6, 0.8]])
    >>> RINCE(weights=(1.0, 0.0))(images, texts, torch.eye(2, dtype=torch.bool))
    {'i2t': tensor(0.6931)}

    Args:
        variant: ``"in"`` = the positives of a rank count together; ``"out"`` = each by itself; ``"out_in"`` =
            annotated pairs each by itself, other ranks together; ``"uni"`` = one positive a rank.
        temperatures: of rank 1 and of the last rank; the paper has .1 to .6 on CIFAR-100.
        weights: of image-to-text and text-to-image.
        ranks: options of ``Ranking``: ``relevance``, ``options``, ``thresholds``, ``false_below``. Without
            them, annotated pairs have rank 1 and other pairs of ``positives`` rank 2.
        reduction: over anchors.

    Raises:
        ValueError: a temperature that falls with the rank, or ranks that contradict one another.
    """

    def __init__(
        self,
        *,
        variant: Variant = "in",
        temperatures: tuple[Positive, Positive] = (0.1, 0.6),
        weights: tuple[NotNegative, NotNegative] = (0.5, 0.5),
        ranks: Annotated[Mapping[str, Any] | None, Group(Ranking)] = None,
        reduction: ScalarReduction = "mean",
    ) -> None:
        super().__init__()
        first, last = temperatures
        require(first <= last, f"temperatures are {first} and {last}; that of rank 1 is the smallest")
        self.ranking = Ranking(**(ranks or {}))
        self.temperatures: list[float] = torch.linspace(
            first, last, self.ranking.rank_count, dtype=torch.float64
        ).tolist()
        self.variant, self.reduction = variant, reduction
        self.weigh(dict(zip(("i2t", "t2i"), weights, strict=True)))

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Return the graded relevance that ranks pairs, if there is one."""
        return self.ranking.sources()

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``i2t`` and ``t2i``."""
        scores, ranks = self.scores(image, text), self.ranking.take(batch)
        how: dict[str, Any] = {
            "temperatures": self.temperatures,
            "variant": self.variant,
            "reduction": self.reduction,
        }
        return self.weighted_terms(
            i2t=lambda: ranked(scores, ranks, **how), t2i=lambda: ranked(scores.T, ranks.T, **how)
        )


MEMBER = RINCE
