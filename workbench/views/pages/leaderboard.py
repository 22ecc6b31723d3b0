"""All runs of a root in one page and one table: a group for each test split, since numbers of different
splits do not compare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workbench import metrics
from workbench.experiment import runs
from workbench.metrics.comparison import BETTER, WORSE
from workbench.records import MetricKey, require
from workbench.records.readable import headline, of_results, readable
from workbench.records.shown import count
from workbench.views.pages import page

ABOUT = ("notebook", "run", "status", "objective", "seed", "train_images", "epochs")
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

    Runs on the same test split (data set, name, images, captions) stand in one table, the best RSUM first;
    what a run measured on other data stands apart from the runs that were trained there.
    Each is held against the first on the same queries, where both keep values by query. A run that did not
    end well or measured no RSUM is left out and named.

    Args:
        root: where runs lie.
        out: folder to write to; empty = the root itself.
        notebook: only runs of this notebook.

    Raises:
        FileNotFoundError: there is no run with numbers below the root.
    """
    every = [one for run in runs.list_runs(root, notebook) for one in (run, *run.elsewhere())]
    found = {str(run.folder): (run, _unfit(run)) for run in every}
    rows = {folder: _row(run) for folder, (run, reason) in found.items() if not reason}
    left_out = {folder: reason for folder, (_, reason) in found.items() if reason}
    require(rows, f"no run with an RSUM below {root}; `workbench run 03_train` makes one", FileNotFoundError)
    table, order = pd.DataFrame(rows.values(), index=list(rows)), [True] * len(SPLIT) + [False]
    table = table.sort_values([*SPLIT, "rsum"], ascending=order, kind="stable")
    text = page(
        "views/pages/leaderboard.html.j2",
        groups=[_group(key, part) for key, part in table.groupby(list(SPLIT), sort=False)],
        left_out=[(Path(name).name, reason) for name, reason in left_out.items()],
    )
    folder = Path(out or root)
    return Leaderboard(
        runs.write_text(folder / "leaderboard.html", text),
        runs.write_text(folder / "leaderboard.csv", table.to_csv(index=False)),
        len(table),
        left_out,
    )


def _unfit(run: runs.Run) -> str:
    if run.status not in ("ok", "unwatched"):
        return run.status
    return "" if "rsum" in run.results.get("metrics", {}) else "no RSUM among its results"


def _row(run: runs.Run) -> dict[str, Any]:
    split = {"name": "", "images": 0, "captions": 0, **run.results.get("split", {})}
    row: dict[str, Any] = {
        "notebook": run.notebook,
        "run": run.id,
        "status": run.status,
        **{name: run.results.get(name, "") for name in ("objective", "seed")},
        **{name: run.params.get(name, "") for name in ("train_images", "epochs")},
        "dataset": (dataset := run.results.get("dataset", "")),
        "training": run.results.get("training", dataset),
        "split": split["name"],
        **{name: split[name] for name in ("images", "captions")},
    }
    for label, contract in of_results(run.results):
        row[label] = contract["value"]
        row |= {f"{label} {end}": contract.get(end) for end in ("low", "high")}
    return row


def _group(key: Any, part: pd.DataFrame) -> dict[str, Any]:
    """One test split: its name, the names of the columns, and a line a run."""
    dataset, split, images, captions, training = key
    trained = "" if training == dataset else f", trained on {training}"
    measured = [name for name in part if f"{name} low" in part and part[name].notna().any()]
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
             "values": [(_value(row, label), of.get(label), label in bold) for label in labels]}
            for row, of, bold in zip(part.to_dict("records"), [{}, *compared], shaded, strict=True)
        ],
    }  # fmt: skip


def _value(row: Mapping[Any, Any], label: str) -> str:
    contract = {end: row[f"{label} {end}"] for end in ("low", "high")}
    return "" if pd.isna(row[label]) else readable(label, contract, row[label])["value"]
