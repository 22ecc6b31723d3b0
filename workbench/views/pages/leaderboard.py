"""All runs of a root in one page and one table: a group for each test split, since numbers of different
splits do not compare.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.experiment import runs
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey, require
from workbench.records.readable import headline, of_results, readable
from workbench.records.sealed import flat
from workbench.records.shown import count
from workbench.views.pages import page

ABOUT = ("notebook", "run", "status", "objective", "seed", "train_images", "epochs", "arm", "options")
# where a run lies says nothing about its numbers
PLACES = ("out", "device")
FIRST = str(MetricKey("rsum"))
SPLIT = ("dataset", "split", "images", "captions", "training")


@dataclass(frozen=True)
class Leaderboard:
    """What was written.

    Args:
        html: the page.
        csv: the table: one row a run, every number with the ends of its interval.
        runs: runs in it.
        left_out: folders of runs without numbers of retrieval, with the reason.
    """

    html: Path
    csv: Path
    runs: int
    left_out: dict[str, str]


def build(root: Path | str = "runs", *, out: Path | str = "", notebook: str = "*") -> Leaderboard:
    """Write ``leaderboard.html`` and ``leaderboard.csv`` over all runs below a root.

    Runs on the same test split (data set, name, images, captions) stand in one table, the best RSUM first
    and those without an RSUM last, by their id; what a run measured on other data stands apart from the runs
    that were trained there. Each has the arms of grids that it is, and the parameters in which it differs
    from others of its table. It is held against the first on the same queries, where both keep values by
    query. A run that did not end well or measured nothing is left out and named.

    Args:
        root: where runs lie.
        out: folder to write to; empty = the root itself.
        notebook: only runs of this notebook.

    Raises:
        FileNotFoundError: there is no run with numbers below the root.
    """
    every = [one for run in runs.list_runs(root, notebook) for one in (run, *run.elsewhere())]
    known = {*metrics.rows(), FIRST}
    found = {str(run.folder): (run, _unfit(run, known)) for run in every}
    rows = {folder: _row(run) for folder, (run, reason) in found.items() if not reason}
    left_out = {folder: reason for folder, (_, reason) in found.items() if reason}
    require(rows, f"no run with numbers below {root}; `workbench run 03_train` makes one", FileNotFoundError)
    # a table of runs without an RSUM is sorted by the splits alone
    table = pd.DataFrame(rows.values(), index=list(rows)).assign(**{FIRST: lambda of: of.get(FIRST, np.nan)})
    table = table.sort_values([*SPLIT, FIRST], ascending=[True] * len(SPLIT) + [False], kind="stable")
    parts = dict(iter(table.groupby(list(SPLIT), sort=False)))
    for part in parts.values():
        part["options"] = _options([found[str(folder)][0] for folder in part.index])
    table = pd.concat(parts.values())
    text = page(
        "views/pages/leaderboard.html.j2",
        groups=[_group(key, part) for key, part in parts.items()],
        left_out=[(Path(name).name, reason) for name, reason in left_out.items()],
    )
    folder = Path(out or root)
    return Leaderboard(
        runs.write_text(folder / "leaderboard.html", text),
        runs.write_text(folder / "leaderboard.csv", table.to_csv(index=False)),
        len(table),
        left_out,
    )


def _unfit(run: runs.Run, known: Collection[str]) -> str:
    if run.status not in ("ok", "unwatched"):
        return run.status
    try:  # what is read of it below, so that one bad file costs its own run alone
        runs.load(run.folder / runs.CONFIG)
        runs.ByQuery.read(run.folder)
    except ValueError as error:
        return f"{runs.UNREADABLE}: {error}"
    found = (label for label in run.results.get("metrics", {}) if _metric(label) in known)
    return "" if "objective" in run.results and any(found) else "no number of retrieval among its results"


def _metric(label: str) -> str:
    """The metric of a number; empty where the label is none of ours."""
    try:
        return MetricKey.parse(label).metric
    except ValueError:
        return ""


def _row(run: runs.Run) -> dict[str, Any]:
    split = {"name": "", "images": 0, "captions": 0, **run.results.get("split", {})}
    row: dict[str, Any] = {
        "notebook": run.notebook,
        "run": run.id,
        "status": run.status,
        **{name: run.results.get(name, "") for name in ("objective", "seed")},
        **{name: run.params.get(name, "") for name in ("train_images", "epochs")},
        "arm": "; ".join(f"{grid}: {label}" for grid, label in run.arms.items()),
        "dataset": (dataset := run.results.get("dataset", "")),
        "training": run.results.get("training", dataset),
        "split": split["name"],
        **{name: split[name] for name in ("images", "captions")},
    }
    for label, contract in of_results(run.results):
        row[label] = contract["value"]
        row |= {f"{label} {end}": contract.get(end) for end in ("low", "high")}
    return row


def _options(alike: Sequence[runs.Run]) -> list[str]:
    """Of every run the parameters in which the runs differ, other than those that have a column."""
    resolved = [flat(runs.load(run.folder / runs.CONFIG)) for run in alike]
    given = [{name.removeprefix("settings."): one for name, one in flat(run.params).items()} for run in alike]
    differ = {}
    for name in dict.fromkeys(name for one in given for name in one if name not in (*ABOUT, *PLACES)):
        values = [config.get(name, one.get(name)) for config, one in zip(resolved, given, strict=True)]
        if len({repr(value) for value in values}) > 1:
            differ[name] = values
    return [
        ", ".join(f"{name}={values[i]}" for name, values in differ.items() if values[i] is not None)
        for i in range(len(alike))
    ]


def _group(key: Any, part: pd.DataFrame) -> dict[str, Any]:
    """One test split: its name, the names of the columns, and a line a run."""
    dataset, split, images, captions, training = key
    trained = "" if training == dataset else f", trained on {training}"
    measured = [
        name
        for name in map(str, part)
        if f"{name} low" in part and _metric(name) and part[name].notna().any()
    ]
    usual = {name for name, row in metrics.rows().items() if row.default}
    # the deeper ranks stand in the CSV file
    labels = [one for one in headline(map(str, measured), usual=usual) if MetricKey.parse(one).k in (None, 1)]
    first, *others = map(runs.read, part.index)
    compared = [{told.key: told for told in runs.differences(first, other, labels)} for other in others]
    verdicts = [{label: told.verdict for label, told in of.items()} for of in compared]
    best = [label for label in labels if verdicts and all(of.get(label) == WORSE for of in verdicts)]
    shaded = [best, *([label for label in of if of[label] == BETTER] for of in verdicts)]
    return {
        "title": f"{dataset}, {split}: {count(images, 'image')}, {count(captions, 'caption')}"
        + trained,
        "names": [*ABOUT, *labels],
        "rows": [
            {"about": [row[name] for name in ABOUT],
             "values": [(*_value(row, label), of.get(label), label in bold) for label in labels]}
            for row, of, bold in zip(part.to_dict("records"), [{}, *compared], shaded, strict=True)
        ],
    }  # fmt: skip


def _value(row: Mapping[Any, Any], label: str) -> tuple[str, Any]:
    """A number as text with its interval, and what its column is sorted by."""
    if pd.isna(row[label]):
        return "", ""
    contract = {end: row[f"{label} {end}"] for end in ("low", "high")}
    return readable(label, contract, row[label])["value"], row[label]
