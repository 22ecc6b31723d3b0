"""One's own runs above the rows that papers print."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from workbench.experiment.evaluation import measure
from workbench.experiment.opened import OpenRun
from workbench.metrics import published
from workbench.metrics.table import Evidence
from workbench.metrics.table import measure as measured

# printed rows that are not measured by a caption's own image, and the judgements that they are measured by,
# where we have them
OTHERS = {"ECCV Caption": "eccv", "CxC": "cxc", "HierarCaps": ""}


def beside_printed(spaces: Sequence[OpenRun], rows: pd.DataFrame, *, folds: int = 1) -> dict[str, list[str]]:
    """One's own runs above the papers' rows, in percent, with what is to be said beside each.

    Args:
        spaces: open runs of one split.
        rows: what ``published.load`` gave, of one data set.
        folds: galleries of one's own numbers, from ``published.folds_of``.

    Returns:
        Columns of texts: ``paper``, ``group``, ``method``, one for each metric, ``beside``. A number that is
        not known is empty:
        of one's own runs R@K and RSUM by the split's own pairs are known, and ECCV Caption's and CxC's where
        the split has them.
    """
    wide = published.wide(rows)
    labels = {metric: published.LABELS.get(metric, metric) for metric in wide.columns}
    own = [_own_numbers(space, str(rows["dataset"].iloc[0]), folds) for space in spaces]
    notes = published.beside(rows)
    numbers = {
        label: [_percent(found.get(label)) for found in own] + [_percent(value) for value in wide[metric]]
        for metric, label in labels.items()
    }
    about = list(zip(*wide.index, strict=True))
    heads = {
        "paper": ["measured here"] * len(own)
        + [f"{p}, table {t}" for p, t in zip(about[0], about[1], strict=True)]
    }
    heads |= {
        "group": [""] * len(own) + list(about[4]),
        "method": [space.name for space in spaces] + list(about[5]),
    }
    return heads | numbers | {"beside": [""] * len(own) + [notes[key] for key in wide.index]}


def _own_numbers(space: OpenRun, dataset: str, folds: int) -> dict[str, float]:
    """Key -> percent, by the judgements that the data set's printed rows are measured by."""
    if dataset in OTHERS:
        vectors = (space.image.mean.numpy(), space.text.mean.numpy())
        every = (
            measure(space.scores, space.split, vectors=vectors, rounds=0)
            if OTHERS[dataset] in space.split.judgements
            else []
        )
        found = [m for m in every if m.judgements == OTHERS[dataset]]
    else:
        evidence = Evidence(space.scores, space.split.judgements["own"], space.split.own, folds=folds)
        found = measured(evidence, ["R", "recall", "medr", "rsum"], rounds=0)
    return {m.key.local: 100 * m.value for m in found}


def _percent(value: float | None) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.1f}"
