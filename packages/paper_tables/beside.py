"""One's own runs above the rows that the papers print, with whether they compare."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from paper_tables import published
from workbench.formatting import format_value
from workbench.metrics.evaluation import Evidence
from workbench.metrics.evaluation import evaluate as measured_by
from workbench.runs.measure import evaluate_split
from workbench.runs.result import Result

# printed rows that are not measured by a caption's own image, and the judgements that they are measured by,
# where we have them
OTHERS = {"ECCV Caption": "eccv", "CxC": "cxc", "HierarCaps": ""}


def rows_beside_printed(
    opened: Sequence[Result], rows: pd.DataFrame, *, folds: int = 1
) -> dict[str, list[str]]:
    """Return one's own runs above the papers' rows, in percent, with what is to be said beside each.

    Args:
        opened: open runs of one split.
        rows: what ``published.load`` gave, of one data set.
        folds: galleries of one's own numbers, from ``published.folds_of``.

    Returns:
        Columns of texts: ``paper``, ``group``, ``method``, one for each metric, ``beside``. A number that is
        not known is empty: of one's own runs R@K and RSUM by the split's own pairs are known, and ECCV
        Caption's and CxC's where the split has them.
    """
    wide, notes = published.wide_table(rows), published.remarks_by_row(rows)
    empty = [""] * len(opened)
    own = [_own_numbers(run, str(rows["dataset"].iloc[0]), folds) for run in opened]
    numbers = {}
    for metric in wide.columns:
        label = published.LABELS.get(metric, metric)
        values = [*(numbers_of_run.get(label, np.nan) for numbers_of_run in own), *wide[metric] / 100]
        numbers[label] = [_format_cell(value) for value in values]
    papers, tables, _, _, groups, methods = zip(*wide.index, strict=True)
    printed = [f"{paper}, table {number}" for paper, number in zip(papers, tables, strict=True)]
    heads = {
        "paper": ["measured here"] * len(own) + printed,
        "group": empty + list(groups),
        "method": [run.name for run in opened] + list(methods),
    }
    return heads | numbers | {"beside": empty + [notes[key] for key in wide.index]}


def _format_cell(value: float) -> str:
    return "" if np.isnan(value) else format_value(value)


def table_with_printed(
    opened: Sequence[Result], named: str
) -> tuple[dict[str, list[str]], dict[str, str], str]:
    """Return the papers' rows of one data set and protocol, with one's own runs above them where these
    compare.

    Args:
        opened: open runs of one split.
        named: data set and protocol, e.g. ``"MS-COCO 5K, full"``; empty takes no rows.

    Returns:
        Columns as of ``rows_beside_printed``; paper -> which of its rows compare; and why one's own do not
        compare with them, a sentence for each data set that runs were trained on, empty where they do; the
        runs are left out then.

    Raises:
        KeyError, ValueError: nothing is printed under this name.
    """
    if not named:
        return {}, {}, "No rows were asked for."
    dataset, _, protocol = named.partition(", ")
    rows = published.load(dataset=dataset, protocol=protocol)
    data, split = opened[0].dataset, opened[0].split
    folds = published.folds_of(dataset, protocol, len(split.image_ids))
    sizes = {"images": len(split.image_ids), "captions": len(split.captions), "folds": folds}
    trained = dict.fromkeys(run.trained_on for run in opened)
    reasons = [
        published.explain_mismatch(dataset, protocol, data=data, training=training, **sizes)
        for training in trained
    ]
    remarks = {paper: published.COMPARABLE[paper] for paper in rows["paper"].unique()}
    reason = "; ".join(filter(None, reasons))
    return rows_beside_printed([] if reason else opened, rows, folds=folds), remarks, reason


def _own_numbers(run: Result, dataset: str, folds: int) -> dict[str, float]:
    """Return key -> value, by the judgements that the data set's printed rows are measured by."""
    if dataset not in OTHERS:
        evidence = Evidence(run.scores, run.split.judgements["own"], run.split.own, folds=folds)
        measured = measured_by(evidence, ["R", "recall", "medr", "rsum"], rounds=0)
    elif OTHERS[dataset] in run.split.judgements:
        vectors = (run.image.mean.numpy(), run.text.mean.numpy())
        measured, _ = evaluate_split(run.scores, run.split, vectors=vectors, rounds=0)
    else:
        measured = []
    name = OTHERS.get(dataset, "own")
    return {m.key.local: m.value for m in measured if not m.key.subset and m.key.judgements == name}
