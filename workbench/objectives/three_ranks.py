"""Three ranks: annotated pairs above other right pairs, and these above wrong ones. A loss of this workbench.

``L = mean_q l(k1 s; own and right against wrong) + weight * mean_q l(k2 s; own against all others)``, where
``l`` is the mean over positives of ``-log(e^s / (e^s + sum of e^s over negatives))``, over queries of both
directions.

It is no variant of RINCE (``objectives/rince.py``): its first term takes both ranks of positives together,
and other right pairs are negatives of the annotated ones in its second.

Reads with: losses/ranked.py, objectives/parts/ranks.py, objectives/infonce.py.
Departures: there is no paper; ranked positives are those of Hoffmann et al., AAAI 2022.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from annotated_types import Interval
from torch import Tensor, nn

from workbench.losses.ranked import NEGATIVE, contrast_with
from workbench.losses.terms import ScalarReduction, full_precision, reduce
from workbench.objectives.base import Objective
from workbench.objectives.parts.ranks import ANNOTATED, Ranking
from workbench.records import Batch, Embedding
from workbench.registry import Group, NotNegative

# where CLIP starts its scale, and the most that it lets it grow to
START, CAP = 1 / 0.07, 100.0
Scale = Annotated[float, Interval(gt=0, le=CAP)]


class ThreeRanks(Objective):
    """Annotated pairs above other right pairs above wrong ones; ``positives`` says which others are right.

    Where no other pair is right both terms are InfoNCE. Equal scores leave a choice of one in two, ``log 2``:

    >>> vectors = torch.ones(2, 1)
    >>> ThreeRanks(weight=0.0)(vectors, vectors, torch.eye(2, dtype=torch.bool))["right"].detach()
    tensor(0.6931)

    Args:
        weight: of the term ``own``; 0 leaves it out, so that there are two ranks.
        rivals: what an annotated pair is contrasted with in that term: ``"all"`` others, or the other
            ``"right"`` ones alone.
        scales: k1 and k2 at the start, 1 / temperature; both are learnt as their logarithms and held at most
            100.
        ranks: options of ``Ranking``: ``relevance``, ``options``, ``thresholds``, ``false_below``. Without
            them, the other right pairs are those of ``positives``.
        reduction: over queries.

    Raises:
        ValueError: a scale above 100, or ranks that contradict one another.
    """

    def __init__(
        self,
        *,
        weight: NotNegative = 1.0,
        rivals: Literal["all", "right"] = "all",
        scales: tuple[Scale, Scale] = (START, START),
        ranks: Annotated[Mapping[str, Any] | None, Group(Ranking)] = None,
        reduction: ScalarReduction = "mean",
    ) -> None:
        super().__init__()
        self.ranking = Ranking(**(ranks or {}))
        self.rivals, self.reduction = rivals, reduction
        self.weigh({"right": 1.0, "own": weight})
        self.log_scales = nn.Parameter(torch.tensor(scales).log())

    def relevance_sources(self) -> dict[str, dict[str, object]]:
        """Return the graded relevance that says what is right, if there is one."""
        return self.ranking.sources()

    def forward(self, image: Embedding, text: Embedding, batch: Batch) -> dict[str, Tensor]:
        """Return the terms ``right`` and ``own``."""
        scores, ranks = full_precision(self.scores(image, text)), self.ranking.take(batch)
        first, second = self.log_scales.exp()
        own, wrong = ranks == ANNOTATED, ranks == NEGATIVE
        right = ranks > ANNOTATED
        rivals = right if self.rivals == "right" else right | wrong
        return self.weighted_terms(
            right=lambda: self._loss_both_ways(first * scores, own | right, wrong),
            own=lambda: self._loss_both_ways(second * scores, own, rivals),
        )

    def _loss_both_ways(self, logits: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        """Return the mean of both directions."""
        i2t = self._loss_one_way(logits, positives, negatives)
        return (i2t + self._loss_one_way(logits.T, positives.T, negatives.T)) / 2

    def _loss_one_way(self, logits: Tensor, positives: Tensor, negatives: Tensor) -> Tensor:
        terms = contrast_with(logits, positives, negatives, together=False)
        return reduce(terms[positives.any(dim=1)], self.reduction)

    @torch.no_grad()
    def after_step(self, image: Embedding, text: Embedding, batch: Batch) -> None:
        """Clamp the scales at 100, as CLIP does."""
        self.log_scales.clamp_(max=math.log(CAP))


MEMBER = ThreeRanks
