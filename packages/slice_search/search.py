"""The search: which slices are worse than the rest, or differ most between two models, each told once.

"All slices are compared with the rest, and their p values are adjusted for all of them together. The clearest
one is told first. Its queries are then left out, and all others are compared again: what was worse only since
it overlaps is not told twice. A slice of two conditions is told where either condition alone does not explain
it."

A condition explains a slice of two if its own effect is significant, and what it holds beside the slice is
significantly worse than the rest too. After the first slice, "the rest" are the queries outside the slice and
outside those that were told before it; effects, intervals and p values are of these queries.

Source: Y. Chung, T. Kraska, N. Polyzotis, K. Tae and S. Whang, Slice Finder: automated data slicing for model
validation, ICDE 2019 (conditions on fields, fewest conditions first, correction for what was searched).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from slice_search.candidates import Candidates
from slice_search.contrasts import Contrasts, Rule, adjust, contrast
from workbench.records import Mask, Rows, Values, require
from workbench.registry import require_known

LEVEL = 0.05
MOST = 10
RULES = {"holm": "Holm's rule", "bh": "Benjamini and Hochberg's rule"}


@dataclass(frozen=True)
class Slice:
    """One slice that is worse than the rest, or on which two models differ.

    Args:
        conditions: labels of its conditions.
        mask: ``(Q,)`` its queries.
        queries, images: its size; of those that count.
        alone: its queries outside the slices that were told before it.
        mean: of the value over all its queries.
        effect: mean minus that of the rest, outside the slices that were told before it.
        low, high: ends of the effect's interval, for this slice alone.
        p, p_adjusted: of the effect; for this slice alone, and for everything searched.
    """

    conditions: tuple[str, ...]
    mask: Mask
    queries: int
    images: int
    alone: int
    mean: float
    effect: float
    low: float
    high: float
    p: float
    p_adjusted: float

    @property
    def label(self) -> str:
        """Its conditions, as ``--by`` of other commands prints a slice."""
        return ", ".join(self.conditions)

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table, without its queries."""
        fields = {name: value for name, value in vars(self).items() if name not in ("mask", "conditions")}
        return {"slice": self.label, **fields}


@dataclass(frozen=True)
class Findings:
    """What a search reports.

    Args:
        slices: the clearest first.
        searched: how many slices were compared.
        rule: how p values were adjusted.
        level: from which on, downwards, a slice is told.
    """

    slices: Sequence[Slice]
    searched: int
    rule: Rule
    level: float

    def table(self) -> pd.DataFrame:
        """Return a row a slice."""
        names = [name for name in Slice.__dataclass_fields__ if name not in ("mask", "conditions")]
        return pd.DataFrame([part.row() for part in self.slices], columns=["slice", *names])


def search_slices(
    values: Values,
    image_rows: Rows,
    candidates: Candidates,
    *,
    worse: int = 0,
    rule: Rule = "holm",
    level: float = LEVEL,
    most: int = MOST,
) -> Findings:
    """Search slices.

    Args:
        values: ``(Q,)`` a value of each query, or the difference between two models; NaN = it does not count.
        image_rows: ``(Q,)`` image of each query.
        candidates: the slices that are compared.
        worse: sign of the effects that are told: -1 or 1; 0 tells both.
        rule: for what was searched: ``"holm"`` bounds the chance of any false slice, ``"bh"`` the share of
            false ones.
        level: of the rule.
        most: slices that are told at most.

    Raises:
        ValueError: no such rule, or values of other queries.
    """
    require_known("slices are adjusted by no rule", rule, RULES, ValueError)
    sizes = {len(values), len(image_rows), candidates.masks.shape[1]}
    require(
        len(sizes) == 1, f"values, image rows and slices are of {sorted(sizes)} queries; give one of each"
    )
    rest = ~np.isnan(values)
    slices: list[Slice] = []
    while len(slices) < most and rest.any():
        step = _Step(values, image_rows, candidates, rest, rule, level)
        row = step.clearest(worse)
        if row is None:
            break
        row = step.simplest(row)
        slices.append(_as_slice(row, step, values))
        rest = rest & ~candidates.masks[row]
    return Findings(slices, len(candidates.labels), rule, level)


class _Step:
    """All slices compared on the queries that are left.

    Args:
        values, image_rows, candidates, rule, level: see ``search``.
        rest: ``(Q,)`` the queries that are left.
    """

    def __init__(
        self,
        values: Values,
        image_rows: Rows,
        candidates: Candidates,
        rest: Mask,
        rule: Rule,
        level: float,
    ) -> None:
        self.candidates, self.level = candidates, level
        self.values, self.image_rows = values, image_rows
        self.rest = rest
        self.contrasts: Contrasts = contrast(values[rest], image_rows[rest], candidates.masks[:, rest])
        least = np.minimum(self.contrasts.images, self.contrasts.others)
        self.large = least >= candidates.minimum
        # what is too small by now is no discovery, and still counts among what was searched
        self.adjusted = adjust(np.where(self.large, self.contrasts.p, 1.0), rule)

    def clearest(self, worse: int) -> int | None:
        """Return the slice with the clearest effect of this sign, if one is significant."""
        strength = self.contrasts.strength
        matter = self.large & (self.adjusted <= self.level)
        if worse:
            matter &= np.sign(strength) == worse
        if not matter.any():
            return None
        return int(np.where(matter, np.abs(strength), -1.0).argmax())

    def simplest(self, row: int) -> int:
        """Return the condition that explains a slice of two conditions, else the slice."""
        parents = [parent for parent in self.candidates.parents[row] if self._explains(parent, row)]
        strength = np.abs(self.contrasts.strength)
        return max(parents, key=lambda parent: float(strength[parent]), default=row)

    def _explains(self, parent: int, row: int) -> bool:
        """Return whether a condition is significant, and what it holds beside a slice is worse than the rest
        too.
        """
        strength = self.contrasts.strength
        same_sign = np.sign(strength[parent]) == np.sign(strength[row])
        if not (same_sign and self.large[parent] and self.adjusted[parent] <= self.level):
            return False
        masks = self.candidates.masks
        compared = self.rest & ~masks[row]
        beside = contrast(self.values[compared], self.image_rows[compared], masks[parent][compared][None])
        alike = np.sign(beside.strength[0]) == np.sign(strength[row])
        return bool(alike and beside.p[0] <= self.level)


def _as_slice(row: int, step: _Step, values: Values) -> Slice:
    mask = step.candidates.masks[row]
    counted = mask & ~np.isnan(values)
    numbers = {name: float(getattr(step.contrasts, name)[row]) for name in ("effect", "low", "high", "p")}
    return Slice(
        step.candidates.labels[row],
        mask,
        queries=int(counted.sum()),
        images=len(np.unique(step.image_rows[counted])),
        alone=int(step.contrasts.queries[row]),
        mean=float(values[counted].mean()),
        p_adjusted=float(step.adjusted[row]),
        **numbers,
    )
