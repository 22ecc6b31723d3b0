"""All runs of a root in one page and one table: a group for each test split, since numbers of different
splits do not compare.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.experiment import runs
from workbench.records import MetricKey
from workbench.records.readable import headline, readable
from workbench.records.shown import count
from workbench.views.pages import page

ABOUT = ("notebook", "run", "status", "objective", "seed", "train_images", "epochs")
SPLIT = ("dataset", "split", "images", "captions")


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

    Runs on the same test split (data set, name, images, captions) stand in one table, the best RSUM first. A
    run that did not end well or measured no RSUM is left out and named.

    Args:
        root: where runs lie.
        out: folder to write to; empty = the root itself.
        notebook: only runs of this notebook.

    Raises:
        FileNotFoundError: there is no run with numbers below the root.
    """
    rows, left_out = [], {}
    for run in runs.list_runs(root, notebook):
        reason = _unfit(run)
        if reason:
            left_out[str(run.folder)] = reason
        else:
            rows.append(_row(run))
    if not rows:
        raise FileNotFoundError(f"no run with an RSUM below {root}; `workbench run 03_train` makes one")
    order = [True] * len(SPLIT) + [False]
    table = pd.DataFrame(rows).sort_values([*SPLIT, "rsum"], ascending=order, kind="stable")
    groups = [_group(key, part) for key, part in table.groupby(list(SPLIT), sort=False)]
    names = [(Path(name).name, reason) for name, reason in left_out.items()]
    text = page("views/pages/leaderboard.html.j2", groups=groups, left_out=names)
    folder = Path(out) if str(out) else Path(root)
    html = runs.write_text(folder / "leaderboard.html", text)
    csv = runs.write_text(folder / "leaderboard.csv", table.to_csv(index=False))
    return Leaderboard(html, csv, len(table), left_out)


def _unfit(run: runs.Run) -> str:
    if run.status not in ("ok", "unwatched"):
        return run.status
    return "" if "rsum" in run.results.get("metrics", {}) else "no RSUM among its results"


def _row(run: runs.Run) -> dict[str, Any]:
    split, contracts = run.results.get("split", {}), run.results.get("contracts", {})
    row: dict[str, Any] = {"notebook": run.notebook, "run": run.id, "status": run.status}
    row |= {"objective": run.results.get("objective", ""), "seed": run.results.get("seed", "")}
    row |= {name: run.params.get(name, "") for name in ("train_images", "epochs")}
    row |= {"dataset": run.results.get("dataset", ""), "split": split.get("name", "")}
    row |= {name: split.get(name, 0) for name in ("images", "captions")}
    for label, value in run.results["metrics"].items():
        contract = contracts.get(label, {})
        row |= {label: value, f"{label} low": contract.get("low"), f"{label} high": contract.get("high")}
    return row


def _group(key: Any, part: pd.DataFrame) -> dict[str, Any]:
    """One test split: its name, the names of the columns, and a line a run."""
    dataset, split, images, captions = key
    measured = [name for name in part if f"{name} low" in part and part[name].notna().any()]
    labels = [label for label in headline(measured) if _shown(MetricKey.parse(label))]
    title = f"{dataset}, {split}: {count(images, 'image')}, {count(captions, 'caption')}"
    rows = [
        {"about": [row[name] for name in ABOUT], "values": [_value(row, label) for label in labels]}
        for row in part.to_dict("records")
    ]
    return {"title": title, "names": [*ABOUT, *labels], "rows": rows}


def _shown(key: MetricKey) -> bool:
    """RSUM and the first ranks; the deeper ones stand in the CSV file."""
    return key.k in (None, 1)


def _value(row: Mapping[Any, Any], label: str) -> str:
    contract = {end: row[f"{label} {end}"] for end in ("low", "high")}
    return "" if pd.isna(row[label]) else readable(label, contract, row[label])["value"]
