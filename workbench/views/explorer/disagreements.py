"""The questions on which runs disagree: captions of the split whose own image stands at different ranks, or
whose first images have different grades where the data know the truth.
"""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from workbench.metrics.blocks import best_items, by_rows
from workbench.records import require
from workbench.registry import require_known
from workbench.runs import compare
from workbench.runs.result import Result

MOST = 100


def disagreements(runs: Sequence[Result], by: Literal["rank", "grade"] = "rank") -> list[dict[str, Any]]:
    """Return the hundred captions on which the runs differ most, one an image, most different first.

    Args:
        runs: over one split.
        by: ``"rank"`` = by the ratio of the worst to the best rank of the caption's own image, as
            ``07_compare`` lists them; ``"grade"`` = by the difference between the grades of the images that
            the runs put first.

    Returns:
        ``Difference`` of ``types.d.ts``; no grades where none were asked for.

    Raises:
        ValueError: fewer than two runs, an unknown ``by``, or grades that the data do not have.
    """
    require_known("disagreements go by rank or grade, not by", by, ["rank", "grade"], ValueError)
    require(len(runs) > 1, "one run has nothing to disagree with; open the explorer on two or more")
    split = runs[0].split
    ranks = compare.ranks(runs, "t2i")
    if by == "grade":
        grades = _first_grades(runs)
    else:
        grades = {row: [] for _, row in compare.choose_queries(ranks, split, "t2i", (), MOST)}
    differences = []
    for row, of_first in grades.items():
        difference = {
            "row": row,
            "text": split.captions[row],
            "thumbnail": str(split.own[row]),
            "ranks": ranks[:, row].astype(int).tolist(),
            "grades": of_first,
        }
        differences.append(difference)
    return differences


def _first_grades(runs: Sequence[Result]) -> dict[int, list[float | None]]:
    """Return caption rows with the grades of the runs' first images, where these differ, one an image."""
    split = runs[0].split
    grade = compare.make_grader(split)
    if grade is None:
        raise ValueError(f"{split.name} knows no grades; ask for disagreements by rank")
    first = np.stack([best_items(by_rows(run.any_scores()).T, 1)[1][:, 0] for run in runs])
    differ = np.flatnonzero((first != first[0]).any(axis=0))
    graded = [grade(first[:, row], np.array([row]))[:, 0] for row in differ]
    table = pd.DataFrame(graded, differ, range(len(runs)), dtype=float)
    gap = table.max(axis=1) - table.min(axis=1)
    rows = gap[gap > 0].sort_values(ascending=False, kind="stable").index.to_numpy(dtype=int)
    repeated = pd.Series(split.own[rows]).duplicated().to_numpy()
    chosen = rows[~repeated][:MOST].tolist()
    known = table.loc[chosen].astype(object).where(table.loc[chosen].notna(), None)
    return dict(zip(chosen, known.to_numpy().tolist(), strict=True))
