"""All runs of a root on one page and in one CSV file: a table for each test split, since numbers of different
splits do not compare. DataTables, which comes with ``itables``, sorts and searches them offline.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.formatting import format_count
from workbench.io import flat, write_text
from workbench.metrics.comparison import BETTER, WORSE, Difference
from workbench.metrics.seeds import t_interval
from workbench.records import MetricKey, require
from workbench.records.measurement import contracts_of, headline, measurement_row
from workbench.runs import store as runs
from workbench.views.pages import Cell, page

# columns of their own before the numbers of a run, and behind them where any run has it
BEFORE = ("objective", "run", "seed")
BEHIND = ("train_images", "epochs", "options", "notebook", "status")
SEED = re.compile(r", seed=[^;]*")
# where a run lies says nothing about its numbers
PLACES = ("out", "device")
FIRST = str(MetricKey("rsum"))
SPLIT = ("dataset", "split", "images", "captions", "training")
# what the table keeps of a number beside its value
PARTS = ("low", "high", "face")

INTRO = (
    "One table for each test split, the best RSUM first. Numbers are percentages, RSUM is of 600. Brackets "
    "hold the 95 % bootstrap interval over images, or Student's over seeds. Below a number stands the "
    "verdict of its paired difference from the first run. A shaded number is better than the first run's. "
    "One of the first run is shaded where all others are worse."
)


@dataclass(frozen=True)
class Leaderboard:
    """What was written.

    Args:
        html: the page.
        csv: the table: one row a run, every number with the ends of its interval and how it is shown.
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
    from others of its table. It is compared with the first on the same queries, where both keep values by
    query. Runs that differ in their seed alone also have a row of their means, with Student's interval.
    Failed or unevaluated runs are left out and named.

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
    folder = Path(out or root)
    groups = [
        _group(key, part, [found[name][0] for name in part.index], folder) for key, part in parts.items()
    ]
    notes = [f"{Path(name).name} is left out: {reason}" for name, reason in left_out.items()]
    text = page(
        "views/pages/table.html.j2",
        title="Leaderboard",
        intro=INTRO,
        tables=groups,
        notes=notes,
        sortable=True,
        figure="",
    )
    return Leaderboard(
        write_text(folder / "leaderboard.html", text),
        write_text(folder / "leaderboard.csv", table.to_csv(index=False)),
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
        **{name: _used(run, name) for name in ("train_images", "epochs")},
        "arm": "; ".join(f"{grid}: {label}" for grid, label in run.arms.items()),
        "dataset": (dataset := run.results.get("dataset", "")),
        "training": run.results.get("training", dataset),
        "split": split["name"],
        **{name: split[name] for name in ("images", "captions")},
    }
    for label, contract in contracts_of(run.results):
        row[label] = contract["value"]
        row |= {f"{label} {part}": contract.get(part) for part in PARTS}
    return row


def _used(run: runs.Run, name: str) -> Any:
    """A field as the run was made with it: of its configuration, else of its parameters."""
    return runs.load(run.folder / runs.CONFIG).get(name, run.params.get(name, ""))


def _options(alike: Sequence[runs.Run]) -> list[str]:
    """Of every run the parameters in which the runs differ, other than those that have a column."""
    resolved = [flat(runs.load(run.folder / runs.CONFIG)) for run in alike]
    given = [{name.removeprefix("settings."): one for name, one in flat(run.params).items()} for run in alike]
    differ = {}
    for name in dict.fromkeys(
        name for one in given for name in one if name not in (*BEFORE, *BEHIND, *PLACES, "arm")
    ):
        values = [config.get(name, one.get(name)) for config, one in zip(resolved, given, strict=True)]
        if len({repr(value) for value in values}) > 1:
            differ[name] = values
    return [
        ", ".join(f"{name}={values[i]}" for name, values in differ.items() if values[i] is not None)
        for i in range(len(alike))
    ]


def _group(key: Any, part: pd.DataFrame, found: Sequence[runs.Run], page_folder: Path) -> dict[str, Any]:
    """The table of one test split: a row for each run and one for the mean of runs that differ in their seed
    alone, the best RSUM first.
    """
    dataset, split, images, captions, training = key
    named = split if split.startswith(dataset) else f"{dataset}, {split}"
    trained = "" if training == dataset else f", trained on {training}"
    labels = _labels(part)
    read = lru_cache(runs.ByQuery.read)
    differences = [
        {one.label: one for one in runs.differences(found[0], run, labels, read=read)} for run in found[1:]
    ]
    # the first is the best in a number in which all others are worse
    first = {label for label in labels if differences and all(_is(of, label, WORSE) for of in differences)}
    behind = [name for name in BEHIND if set(part[name]) - ({"", "ok"} if name == "status" else {""})]
    names = ["run", "objective", "seed", *labels, *behind]
    lines = []
    for row, run, of in zip(part.to_dict("records"), found, [{}, *differences], strict=True):
        cells: list[str | Cell] = [Cell(row["run"], note=row["arm"], link=_link(run, page_folder))]
        cells += [str(row["objective"]), str(row["seed"])]
        for label in labels:
            verdict = f"{of[label].mark} {of[label].verdict}" if label in of else ""
            best = label in first if run is found[0] else _is(of, label, BETTER)
            cells.append(_number(row, label, verdict, best))
        lines.append((row[FIRST], [*cells, *(str(row[name]) for name in behind)]))
    lines += _means(part, found, labels, behind)
    lines.sort(key=lambda line: (np.isnan(line[0]), -line[0]))
    title = f"{named}: {format_count(images, 'image')}, {format_count(captions, 'caption')}{trained}"
    return {"heading": title, "names": names, "rows": [cells for _, cells in lines]}


def _is(differences: Mapping[str, Difference], label: str, verdict: str) -> bool:
    return label in differences and differences[label].verdict == verdict


def _labels(part: pd.DataFrame) -> list[str]:
    """The numbers of a table; the deeper ranks stand in the CSV file."""
    names = [name for name in map(str, part) if f"{name} low" in part and _metric(name)]
    measured = [name for name in names if part[name].notna().any()]
    usual = {name for name, row in metrics.rows().items() if row.default}
    return [one for one in headline(measured, usual=usual) if MetricKey.parse(one).k in (None, 1)]


def _means(
    part: pd.DataFrame, found: Sequence[runs.Run], labels: Sequence[str], behind: Sequence[str]
) -> list[tuple[float, list[str | Cell]]]:
    """Runs that differ in their seed alone: RSUM, and a row of their means with Student's intervals."""
    families: dict[str, list[int]] = {}
    for number, run in enumerate(found):
        given = {name: one for name, one in flat(run.params).items() if name not in ("seed", *PLACES)}
        same = repr((run.notebook, run.results["objective"], sorted(given.items(), key=repr)))
        families.setdefault(same, []).append(number)
    lines = []
    for numbers in families.values():
        rows = part.iloc[numbers]
        seeds, about = rows.groupby("seed", sort=False), rows.iloc[0].to_dict()
        if len(seeds) == 1:
            continue
        name = Cell(f"mean of {len(seeds)} seeds", note=SEED.sub("", str(about["arm"])))
        cells: list[str | Cell] = [name, str(about["objective"]), ", ".join(sorted(map(str, seeds.groups)))]
        for label in labels:
            values = seeds[label].mean()
            low, high = t_interval(values.to_numpy(np.float64)) if values.notna().all() else (None, None)
            mean = float(values.mean()) if values.notna().all() else np.nan
            cells.append(_number({**about, label: mean, f"{label} low": low, f"{label} high": high}, label))
        lines.append((float(seeds[FIRST].mean().mean()), [*cells, *(str(about[name]) for name in behind)]))
    return lines


def _link(run: runs.Run, page_folder: Path) -> str:
    """Where the run's report lies, seen from the page; empty where there is none."""
    # what was measured on other data lies within the run
    inside = run.folder.parent.name == runs.EVALUATIONS
    report = (run.folder.parents[1] if inside else run.folder) / "notebook.html"
    return Path(os.path.relpath(report, page_folder)).as_posix() if report.is_file() else ""


def _number(row: Mapping[Any, Any], label: str, verdict: str = "", best: bool = False) -> Cell:
    """A number with its interval, sorted by its value."""
    if pd.isna(row[label]):
        return Cell("", order=-1e9)  # the last in falling order
    contract = {part: row[f"{label} {part}"] for part in PARTS}
    text = measurement_row(label, contract, row[label])["value"]
    return Cell(text, note=verdict, order=row[label], best=best)
