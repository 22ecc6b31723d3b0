"""Which entries of a matrix of similarity differences a spatial constraint of DIAS looks at.

The chance that two instances correlate is ``P = sigmoid(-|L|)``; an entry is kept where ``P`` exceeds the
mean plus ``beta`` standard deviations of its row and of its column.

Reads with: objectives/dias.py.
Departures:
- Eq. 14 compares ``|L|`` with a threshold on ``P``, which keeps next to nothing, and the least alike at that;
  the default compares ``P`` (``rule="printed"`` is the formula);
- the diagonal, where ``P`` is always 1/2, counts for no threshold (``diagonal=True`` counts it);
- ``beta`` is fixed: a threshold has no gradient, and one through a soft mask always asks for fewer entries,
  so that the constraint switches itself off. ``beta="learned"`` therefore comes with a price on a share of
  kept entries other than ``keep``. What is priced is the share that the threshold keeps, with the slope of
  the soft mask: in a space of many dimensions ``P`` varies less than the soft mask is wide, and a price on
  its share, which then hardly changes, lets the threshold keep nothing;
- a learned ``beta`` is one number for a constraint and a modality; the paper has one an instance, which
  random batches never meet twice.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from annotated_types import Interval
from torch import Tensor

from workbench.losses.terms import ScalarReduction
from workbench.records import require
from workbench.registry import Group

Rule = Literal["p", "printed", "top_k", "l1", "dense"]
SLOPE = 0.05


@dataclass(frozen=True)
class Selection:
    """Which entries are kept.

    Args:
        rule: ``"p"`` = above the thresholds, ``"printed"`` = Eq. 14 to the letter, ``"top_k"`` = among the
            largest ``P`` of their row and of their column, ``"l1"`` = all, with absolute values for squares,
            ``"dense"`` = all.
        beta: standard deviations above the mean, or ``"learned"``, which begins at 0.
        keep: share of the other instances that ``"top_k"`` keeps in a row, and that a learned ``beta`` aims
            at.
        diagonal: the diagonal counts towards the thresholds.

    Raises:
        ValueError: ``beta="learned"`` with a rule that has no thresholds.
    """

    rule: Rule = "p"
    beta: float | Literal["learned"] = 0.0
    keep: Annotated[float, Interval(gt=0, le=1)] = 0.25
    diagonal: bool = False

    def __post_init__(self) -> None:
        require(
            not self.has_learned_beta or self.rule in ("p", "printed"),
            f"beta='learned' is for the rules 'p' and 'printed', and the rule is {self.rule!r}",
        )

    @property
    def has_learned_beta(self) -> bool:
        """Whether ``beta`` is a parameter."""
        return self.beta == "learned"

    @property
    def start(self) -> float:
        """What ``beta`` is where it is not learned, and begins at where it is."""
        return 0.0 if self.beta == "learned" else float(self.beta)

    def mask(self, difference: Tensor, beta: Tensor) -> Tensor:
        """Return ``(N, N)`` bool, the entries that are kept; never the diagonal where it does not count.

        Args:
            difference: ``(N, N)`` ``L``.
            beta: ``(2,)`` of rows and columns.
        """
        others = self.threshold_mask(difference)
        if self.rule in ("l1", "dense"):
            return others
        if self.rule == "top_k":
            return others & _is_among_largest(
                probability(difference).masked_fill(~others, -1), math.ceil(self.keep * (len(others) - 1))
            )
        return others & (self.lead(difference, beta) > 0)

    def soft_mask(self, difference: Tensor, beta: Tensor) -> Tensor:
        """Return ``(N, N)`` in [0, 1], the thresholds as slopes, so that ``beta`` has a gradient;
        ``difference`` gets none.
        """
        return (
            (self.lead(difference.detach(), beta) / SLOPE)
            .sigmoid()
            .masked_fill(~self.threshold_mask(difference), 0)
        )

    def lead(self, difference: Tensor, beta: Tensor) -> Tensor:
        """Return by how much each entry exceeds the higher one of its two thresholds."""
        chance, counted = probability(difference), self.threshold_mask(difference)
        rows, columns = thresholds(chance, counted, beta[0]), thresholds(chance.T, counted.T, beta[1])
        compared = difference.abs() if self.rule == "printed" else chance
        return compared - torch.maximum(rows[:, None], columns[None, :])

    def threshold_mask(self, difference: Tensor) -> Tensor:
        """Return ``(N, N)`` bool, what the thresholds are made from."""
        whole = torch.ones_like(difference, dtype=torch.bool)
        return whole if self.diagonal else whole.fill_diagonal_(False)


@dataclass(frozen=True)
class Selections(Selection):
    """What the two constraints of an objective keep.

    Args:
        inter, intra: a rule, or fields of ``Selection``, for one of them; the rest is that of both.
    """

    inter: Annotated[Rule | Mapping[str, Any], Group(Selection)] = field(default_factory=dict)
    intra: Annotated[Rule | Mapping[str, Any], Group(Selection)] = field(default_factory=dict)

    def in_order(self) -> tuple[Selection, Selection]:
        """Return those of ``inter`` and of ``intra``."""
        both = {name: getattr(self, name) for name in ("rule", "beta", "keep", "diagonal")}
        inter, intra = (Selection(**both | rule_by_name(part)) for part in (self.inter, self.intra))
        return inter, intra


def rule_by_name(given: Rule | Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule alone as a field by its name."""
    return {"rule": given} if isinstance(given, str) else dict(given)


def constraint_loss(
    difference: Tensor, selection: Selection, beta: Tensor, *, reduction: ScalarReduction
) -> Tensor:
    """Return the sum of the squared differences that are kept (of their absolute values under ``"l1"``).

    Args:
        difference: ``(N, N)``.
        selection: what is kept.
        beta: ``(2,)``; with a gradient where it is learned, and then a price on the share of kept entries is
            added, as large for every entry as ``(share - keep)^2``, with the soft mask's slope.
        reduction: ``"sum"`` (the paper's), or ``"mean"`` over the pairs of different instances.

    Returns:
        A scalar; zero for one pair.
    """
    with torch.no_grad():
        kept = selection.mask(difference, beta).to(difference.dtype)
    size = difference.abs() if selection.rule == "l1" else difference.square()
    pairs = len(difference) * (len(difference) - 1)
    total = (kept * size).sum()
    if selection.has_learned_beta:
        soft = selection.soft_mask(difference, beta)
        # Values are those of the hard mask; slopes in beta are those of the soft one.
        slope = soft - soft.detach()
        share = (kept + slope).sum() / max(pairs, 1)
        total = total + (slope * size.detach()).sum() + pairs * (share - selection.keep).square()
    return total if reduction == "sum" else total / max(pairs, 1)


def probability(difference: Tensor) -> Tensor:
    """Return how likely two instances correlate, ``sigmoid(-|L|)``, in (0, 1/2].

    Args:
        difference: ``L``, any shape.
    """
    return (-difference.abs()).sigmoid()


def thresholds(chance: Tensor, counted: Tensor, beta: Tensor) -> Tensor:
    """Return the mean plus ``beta`` population standard deviations of every row.

    Args:
        chance: ``(N, N)`` ``P``.
        counted: ``(N, N)`` bool, what enters mean and deviation.
        beta: scalar.

    Returns:
        ``(N,)``; 0 for a row in which nothing counts.
    """
    number = counted.sum(dim=1).clamp(min=1)
    mean = chance.masked_fill(~counted, 0).sum(dim=1) / number
    spread = (chance - mean[:, None]).square().masked_fill(~counted, 0).sum(dim=1) / number
    return mean + beta * spread.sqrt()


def _is_among_largest(values: Tensor, count: int) -> Tensor:
    """Return whether each value is among the ``count`` largest of its row and of its column."""
    if count == 0:
        return torch.zeros_like(values, dtype=torch.bool)
    rows, columns = (side.topk(count, dim=1).values[:, -1:] for side in (values, values.T))
    return (values >= rows) & (values >= columns.T)
