"""All runs of a root on one page and in one CSV file: a table for each test split, since numbers of different
splits do not compare. DataTables, which comes with ``itables``, sorts and searches them offline.
"""

import os
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.formatting import format_count
from workbench.io import write_text
from workbench.metrics.comparison import BETTER, WORSE, state_verdict
from workbench.metrics.seeds import t_interval
from workbench.progress import during
from workbench.records import MetricKey, require
from workbench.records.measurement import contracts_of, dense_labels, measurement_row, unit_of
from workbench.runs import by_query
from workbench.runs import store as runs
from workbench.runs.spellings import typed_settings
from workbench.views.pages import Cell, fill_template
from workbench.views.pages.query_links import link_to_queries
from workbench.views.pages.slice_tables import slice_tables

# columns around the numbers, with their heads: the first two always, the others where rows differ in them
BEFORE = {"run": "run", "objective": "model", "seed": "seed"}
BEHIND = {"options": "what differs", "notebook": "notebook", "status": "status"}
SEED = re.compile(r", seed=[^;]*")
# fields that have a column, that the heading of a table says, or that say nothing about a number
ELSEWHERE = ("objective", "seed", "run", "arm", "data", "data.root", "out", "device")
# the fields of a model that was trained elsewhere; the others are of a training
OF_EVALUATION = ("precision",)
FIRST = str(MetricKey("rsum"))
# where a tour writes its page, below the folder of all runs
TOUR = "tour/index.html"
SPLIT = ("dataset", "split", "images", "captions", "training", "content")
# checksums of a split that are known of vectors too
CONTENT = ("ids", "own", "captions")
# what the table keeps of a number beside its value
PARTS = ("low", "high", "face")

INTRO = (
    "One table for each test split. Its order is that of mAP@R by the truth, or by other judgements of "
    "more than annotated pairs, where all its runs have it, the mean of both directions; else that of "
    "RSUM. Numbers are percentages; RSUM is of 600. Brackets hold the 95 % interval, over images or over "
    "seeds. The reference of a table is its first run, in whatever order you sort the rows. The mark "
    "below a number compares the run with the reference and names it, by an interval that is widened for "
    "all numbers of the row (Holm's rule). A "
    "bold number on green is significantly better than the reference's. In the row of the reference it is "
    "significantly better than all others. The last column lists settings in which the runs differ."
)


class Mark(NamedTuple):
    """What a number has beside its value: the verdict that names the other run, and whether it is shaded."""

    text: str = ""
    best: bool = False


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


@during("writing the leaderboard")
def build(
    root: Path | str = "runs",
    *,
    out: Path | str = "",
    notebook: str = "*",
    tags: Sequence[str] = (),
    by: Sequence[str] = (),
) -> Leaderboard:
    """Write ``leaderboard.html`` and ``leaderboard.csv`` over all runs below a root.

    Runs on the same test split (data set, name, ids, pairs and texts) stand in one table, the best first and
    those without the number that orders it last, by their id. That number is mAP@R by judgements of more than
    annotated pairs where all runs of the table have it, else RSUM. What a run measured on other data stands
    apart from the runs that were trained there. Each has the arms of grids that it is, and the parameters in
    which it differs from others of its table. It is compared with the first, the reference, where both keep
    values by query. Runs that differ in their seed alone also have a row of their means, with Student's
    interval.
    Failed or unevaluated runs are left out and named.

    Args:
        root: where runs lie.
        out: folder to write to; empty = the root itself.
        notebook: only runs of this notebook.
        tags: only runs that have all of these.
        by: fields whose slices have tables of their own, see ``runs.slices``.

    Raises:
        KeyError: no data set of the runs has such a field.
        FileNotFoundError: there is no run with numbers below the root.
    """
    rows, left_out = _read_rows(root, notebook, tags)
    require(rows, f"no run with numbers below {root}; `workbench run 03_train` makes one", FileNotFoundError)
    # a table of runs without an RSUM is sorted by the splits alone
    table = pd.DataFrame(rows)
    if FIRST not in table:
        table[FIRST] = np.nan
    groups = table.sort_values(list(SPLIT), kind="stable").groupby(list(SPLIT), sort=False)
    parts = [_sort_runs(part) for _, part in groups]
    folder = Path(out or root)
    links = {"Table as CSV": "leaderboard.csv"} | ({"Tour": TOUR} if (folder / TOUR).is_file() else {})
    notes = [f"{Path(name).name} is left out: {reason}" for name, reason in left_out.items()]
    tables, reasons = _tables_by(parts, by, folder)
    text = fill_template(
        "views/pages/table.html.j2",
        title="Leaderboard",
        intro=INTRO,
        tables=[*(_table_group(part, folder) for part in parts), *tables],
        notes=notes + reasons,
        sortable=True,
        links=links,
        figure="",
    )
    values = pd.concat(parts).drop(columns="of").to_csv(index=False)
    html = write_text(folder / "leaderboard.html", text)
    csv = write_text(folder / "leaderboard.csv", values)
    return Leaderboard(html, csv, len(table), left_out)


def _read_rows(
    root: Path | str, notebook: str, tags: Sequence[str]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Return a row for each run with numbers, and why others are left out, by their folder."""
    known = {*metrics.all_metrics(), FIRST}
    rows: list[dict[str, Any]] = []
    left_out: dict[str, str] = {}
    for listed in runs.list_runs(root, notebook, tags):
        for run in (listed, *listed.evaluations_as_runs()):
            reason = _reason_left_out(run, known)
            if reason:
                left_out[str(run.folder)] = reason
            else:
                rows.append(_run_row(run))
    return rows, left_out


def _tables_by(
    parts: Sequence[pd.DataFrame], fields: Sequence[str], page_folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the tables of every data set in the slices of some fields, and why a data set has none.

    Raises:
        KeyError: no data set has such a field.
    """
    tables: list[dict[str, Any]] = []
    reasons: list[str] = []
    for by in fields:
        cut = len(tables)
        for part in parts:
            folders = [run.folder for run in part["of"]]
            try:
                tables += slice_tables(folders, _table_labels(part), by, _heading(part), page_folder)
            except (KeyError, ValueError, FileNotFoundError) as error:
                reasons.append(f"{_heading(part)}: not cut by {by}: {error.args[0]}")
        require(len(tables) > cut or not reasons, "; ".join(reasons), KeyError)
    return tables, reasons


def _ordering_labels(part: pd.DataFrame) -> list[str]:
    """Return the numbers whose mean orders a table: mAP@R by judgements of more than annotated pairs where
    every run has it, else RSUM, else the first one, as of a benchmark by its own scores.
    """
    dense = dense_labels(map(str, part))
    if dense and part[dense].notna().to_numpy().all():
        return dense
    if part[FIRST].notna().any():
        return [FIRST]
    return _table_labels(part)[:1] or [FIRST]


def _sort_runs(part: pd.DataFrame) -> pd.DataFrame:
    """Return the runs of one test split, the best first, with the settings in which they differ."""
    order = part[_ordering_labels(part)].mean(axis=1, skipna=False)
    part = part.loc[order.sort_values(ascending=False, kind="stable").index]
    return part.assign(options=_differing_settings(part["of"].tolist()))


def _reason_left_out(run: runs.Run, known: Collection[str]) -> str:
    if run.status not in ("ok", "unwatched"):
        return run.status
    try:  # what is read of it below, so that one bad file costs its own run alone
        runs.load(run.folder / runs.CONFIG)
        by_query.ByQuery.read(run.folder)
    except ValueError as error:
        return f"{runs.UNREADABLE}: {error}"
    numbers = [label for label, contract in contracts_of(run.results) if _is_known(label, contract, known)]
    if _model_name(run) and numbers:
        return ""
    return "no number of retrieval among its results"


def _is_known(label: str, contract: Mapping[str, Any], known: Collection[str]) -> bool:
    """Return whether a number is that of a metric, or of a benchmark that declares it."""
    return _metric_name(label) in known or bool(contract.get("beside"))


def _model_name(run: runs.Run) -> str:
    """Return the name of what was measured: of its objective, or of a model made elsewhere."""
    return str(run.results.get("objective") or run.results.get("model", ""))


def _metric_name(label: str) -> str:
    """Return the metric of a number; empty where the label is none of ours."""
    try:
        return MetricKey.parse(label).metric
    except ValueError:
        return ""


def _run_row(run: runs.Run) -> dict[str, Any]:
    split = {"name": "", "images": 0, "captions": 0, **run.results.get("split", {})}
    # a field as the run was made with it: of its configuration, else of its parameters
    settings = run.params | runs.load(run.folder / runs.CONFIG)
    dataset = _short_value(run.results.get("dataset", ""))
    arms = [f"{grid}: {label}" for grid, label in run.arms.items()]
    checksums = split.get("checksums", {})
    content = " ".join(checksums.get(part, "") for part in CONTENT)
    row: dict[str, Any] = {"of": run, "notebook": run.notebook, "run": run.name, "status": run.status}
    row |= {"objective": _model_name(run), "seed": run.results.get("seed", "")}
    row |= {name: settings.get(name, "") for name in ("train_images", "epochs")}
    row |= {"arm": "; ".join(arms), "tags": " ".join(run.about.tags), "note": run.about.note}
    row |= {"dataset": dataset, "training": _short_value(run.results.get("training", dataset))}
    row |= {"split": split["name"], "content": content.strip()}
    row |= {name: split[name] for name in ("images", "captions")}
    for label, contract in contracts_of(run.results):
        row[label] = contract["value"]
        row |= {f"{label} {part}": contract.get(part) for part in PARTS}
    return row


def _short_value(value: Any) -> Any:
    """Return a path by its last part, as of data that were named by different paths; any other value as it
    is.
    """
    path = Path(value) if isinstance(value, str) else None
    is_path = path and (path.is_absolute() or value.endswith("/") or value.startswith((".", "~")))
    return path.name if path and is_path else value


def _deciding_settings(run: runs.Run) -> dict[str, Any]:
    """Return the settings that decide the numbers of a run on its test split, by name."""
    known = typed_settings(run.params) | typed_settings(runs.load(run.folder / runs.CONFIG))
    names = OF_EVALUATION if run.kind == "evaluation" else [name for name in known if name not in ELSEWHERE]
    return {name: _short_value(known[name]) for name in names if name in known}


def _differing_settings(alike: Sequence[runs.Run]) -> list[str]:
    """Return the settings of every run in which the runs differ, of those that any of them was given; the
    others follow from these.
    """
    names: dict[str, None] = {}
    for run in alike:
        names |= dict.fromkeys(typed_settings(runs.load(run.folder / runs.GIVEN) or run.params))
    settings_of_runs = [_deciding_settings(run) for run in alike]
    differ = []
    for name in names:
        values = {repr(settings[name]) for settings in settings_of_runs if name in settings}
        if len(values) > 1:
            differ.append(name)
    texts = []
    for settings in settings_of_runs:
        shown = [name for name in differ if settings.get(name) is not None]
        texts.append(", ".join(f"{name}={settings[name]}" for name in shown))
    return texts


def _table_group(part: pd.DataFrame, page_folder: Path) -> dict[str, Any]:
    """Return the table of one test split: a row for each run and one for the mean of runs that differ in
    their seed alone, the best first.
    """
    labels = _table_labels(part)
    marks = _compare_runs(part, labels)
    first = part.iloc[0]["of"]
    before = [name for name in BEFORE if name != "seed" or part[name].nunique() > 1]
    behind = [name for name in BEHIND if part[name].nunique() > 1]
    rows = [*part.to_dict("records"), *_mean_rows(part, labels)]
    lines = []
    ordering = _ordering_labels(part)
    numbers = [float(np.mean([row[label] for label in ordering])) for row in rows]
    for place in sorted(range(len(rows)), key=lambda place: (np.isnan(numbers[place]), -numbers[place])):
        row = rows[place]
        run = row["of"]
        about = run.about.lines() if run else []
        notes = [row["arm"], *about, "reference" if len(part) > 1 and run is first else ""]
        link = _report_link(run, page_folder) if run else ""
        of_run = marks.get(run.folder, {}) if run else {}
        cells: list[str | Cell] = [Cell(row["run"], note="; ".join(filter(None, notes)), link=link)]
        cells += [str(row[name]) for name in before[1:]]
        cells += [_number_cell(row, label, of_run.get(label, Mark()), page_folder) for label in labels]
        cells += [str(row[name]) for name in behind]
        lines.append(cells)
    heads = [Cell(MetricKey.parse(label).title, hover=_hover_text(part, label)) for label in labels]
    names = [*(BEFORE[name] for name in before), *heads, *(BEHIND[name] for name in behind)]
    return {"heading": _heading(part), "names": names, "rows": lines}


def _heading(part: pd.DataFrame) -> str:
    """Return the data of a table, and what its runs were trained on where that is something else."""
    dataset, split, images, captions, training, _ = part.iloc[0][list(SPLIT)]
    named = split if split.startswith(dataset) else f"{dataset}, {split}"
    trained = "" if training == dataset else f", trained on {training}"
    return f"{named}: {format_count(images, 'image')}, {format_count(captions, 'caption')}{trained}"


def _compare_runs(part: pd.DataFrame, labels: Sequence[str]) -> dict[Path, dict[str, Mark]]:
    """Compare every run of a table with its reference, the first row of ``part``.

    Returns:
        Folder of a run -> number -> mark. The reference has one where all other runs are worse.
    """
    reference, *others = part["of"]
    name = part.iloc[0]["run"]
    if name == reference.id:  # long, and nobody chose it
        name = "the reference"
    elif (part["run"] == name).sum() > 1:
        name = f"{name}, the reference"
    read = lru_cache(by_query.ByQuery.read)
    marks: dict[Path, dict[str, Mark]] = {}
    worse = Counter[str]()
    for run in others:
        of_run = marks.setdefault(run.folder, {})
        for difference in by_query.paired_differences_of(reference, run, labels, read=read):
            verdict = difference.verdict
            of_run[difference.label] = Mark(state_verdict(verdict, name), verdict == BETTER)
            worse[difference.label] += verdict == WORSE
    leads = [label for label, count in worse.items() if count == len(others)]
    return marks | {
        reference.folder: dict.fromkeys(leads, Mark(state_verdict(BETTER, "all others"), best=True))
    }


def _hover_text(part: pd.DataFrame, label: str) -> str:
    """Return the key of a number, and what counts as a hit."""
    hits = [_contract(run, label).get("hit", "") for run in part["of"]]
    return ": ".join(filter(None, [label, *hits[:1]]))


def _contract(run: runs.Run | None, label: str) -> Mapping[str, Any]:
    """Return the contract of a number; empty for means over runs and runs of older versions."""
    known: Mapping[str, Any] = run.results.get("contracts", {}) if run else {}
    return known.get(label) or {}


def _table_labels(part: pd.DataFrame) -> list[str]:
    """Return the numbers of a table, those that every comparison takes; the others stand in the CSV file."""
    names = [name for name in map(str, part) if f"{name} low" in part and _metric_name(name)]
    return by_query.usual_numbers(name for name in names if part[name].notna().any())


def _mean_rows(part: pd.DataFrame, labels: Sequence[str]) -> list[dict[Any, Any]]:
    """Return, for runs that differ in their seed alone, a row of their means with Student's intervals."""

    def without_seed(run: runs.Run) -> str:
        source = [run.params.get(name) for name in ("model", "pretrained", "images", "texts")]
        settings = sorted(_deciding_settings(run).items(), key=repr)
        return repr((run.notebook, _model_name(run), source, settings))

    means = []
    for _, rows in part.groupby(part["of"].map(without_seed), sort=False):
        seeds = rows.groupby("seed", sort=False)
        row = rows.iloc[0].to_dict()
        if len(seeds) == 1:
            continue
        row |= {"of": None, "run": f"mean of {len(seeds)} seeds", "arm": SEED.sub("", str(row["arm"]))}
        row["seed"] = ", ".join(sorted(map(str, seeds.groups)))
        for label in labels:
            values = seeds[label].mean()
            ends = t_interval(values.to_numpy(np.float64), unit=unit_of(label))
            low, high = ends if values.notna().all() else (None, None)
            row |= {label: values.mean(skipna=False), f"{label} low": low, f"{label} high": high}
        means.append(row)
    return means


def _report_link(run: runs.Run, page_folder: Path) -> str:
    """Return where the run's report lies, seen from the page; empty where there is none."""
    # what was measured on other data lies within the run
    inside = run.folder.parent.name == runs.EVALUATIONS
    report = (run.folder.parents[1] if inside else run.folder) / "notebook.html"
    return Path(os.path.relpath(report, page_folder)).as_posix() if report.is_file() else ""


def _number_cell(row: Mapping[Any, Any], label: str, mark: Mark, page_folder: Path) -> Cell:
    """Return a number with its interval, sorted by its value; it leads to its queries."""
    if pd.isna(row[label]):
        return Cell("", order=-1e9)  # the last in falling order
    contract = {part: row[f"{label} {part}"] for part in PARTS}
    text = measurement_row(label, contract, row[label])["value"]
    method = _contract(row["of"], label).get("interval", "")
    run = row["of"]
    link, command = link_to_queries(run.folder, label, page_folder) if run else ("", "")
    hover = "; ".join(filter(None, [f"interval: {method}" if method else "", command]))
    return Cell(text, note=mark.text, order=row[label], best=mark.best, hover=hover, link=link)
