"""How right each pair of a batch is, as a rank: annotated pairs first, then what judgements or a graded
relevance call right, then what they call less right.

Reads with: losses/ranked.py, objectives/rince.py, objectives/three_ranks.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise

import torch
from torch import Tensor

from workbench.losses.ranked import LEFT_OUT, NEGATIVE
from workbench.records import Batch, require

# the rank of an annotated pair, and the first of the others
ANNOTATED, RIGHT = 1, 2


@dataclass(frozen=True)
class Ranking:
    """Says which pairs have which rank.

    Rank 1 are the annotated pairs: the caption was written for the image. Rank 2 are the other pairs that
    the judgements of ``positives`` call right, and those whose graded relevance reaches the first threshold.
    Each further threshold makes a further rank. All else is negative.

    Args:
        relevance: graded relevance by name, such as ``"sentence"``, judgements of the training split
            included; empty = the annotated pairs and ``positives`` alone.
        options: of its maker.
        thresholds: least grades of rank 2, 3 and so on, descending.
        false_below: a pair whose grade is at least this, and below the last threshold, is neither positive
            nor negative; ``None`` = there are no such pairs.

    Raises:
        ValueError: thresholds without a relevance or the other way round, or in another order.
    """

    relevance: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    thresholds: tuple[float, ...] = ()
    false_below: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "thresholds", tuple(self.thresholds))
        require(
            bool(self.relevance) == bool(self.thresholds),
            f"ranks: relevance is {self.relevance!r} and thresholds are {list(self.thresholds)}; "
            "give both, or none of them",
        )
        levels = list(self.thresholds)
        if self.false_below is not None:
            require(levels, "ranks: false_below is a grade; name the relevance and its thresholds too")
            levels.append(self.false_below)
        for above, below in pairwise(levels):
            require(
                above > below,
                f"ranks: thresholds and false_below are {levels}; each must be below the one before it",
            )

    @property
    def rank_count(self) -> int:
        """How many ranks there may be."""
        return max(RIGHT, len(self.thresholds) + 1)

    def sources(self) -> dict[str, dict[str, object]]:
        """Return the relevance that is read, see ``Objective.relevance_sources``."""
        return {self.relevance: dict(self.options)} if self.relevance else {}

    def take(self, batch: Batch) -> Tensor:
        """Return the ranks ``(I, T)`` of a batch, as ``losses.ranked`` reads them: 1 for the closest
        positives, 0 for a negative, -1 for a pair that is in no sum.
        """
        ranks = torch.full(batch.belongs.shape, NEGATIVE, device=batch.own.device)
        if self.relevance:
            grades = batch.relevance[self.relevance].detach()
            if self.false_below is not None:
                ranks[grades >= self.false_below] = LEFT_OUT
            # the highest threshold is last, so that its rank stands
            for rank, least in reversed([*enumerate(self.thresholds, start=RIGHT)]):
                ranks[grades >= least] = rank
        ranks[batch.positives] = RIGHT
        ranks[batch.belongs] = ANNOTATED
        return ranks
