"""All runs of a root in one page and one table: a group for each test split, since numbers of different
splits do not compare.
"""

import os
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench import metrics
from workbench.formatting import display_value, format_count, format_interval, unit_heading
from workbench.io import flat, write_text
from workbench.metrics.comparison import BETTER, WORSE, Difference
from workbench.metrics.seeds import t_interval
from workbench.records import MetricKey, require
from workbench.records.measurement import contracts_of, headline, measurement_row, unit_of
from workbench.runs import store as runs
from workbench.views.pages import page

# what stands before the numbers of a run, and behind them where any run has it
BEFORE = ("objective", "run", "seed")
BEHIND = ("train_images", "epochs", "options", "notebook", "status")
SEED = re.compile(r", seed=[^;]*")
# where a run lies says nothing about its numbers
PLACES = ("out", "device")
FIRST = str(MetricKey("rsum"))
SPLIT = ("dataset", "split", "images", "captions", "training")
# so many of the best runs of a table are held against one another, every other against the first alone
PAIRED = 10
VALIDATED = "val/"
# what the table keeps of a number beside its value
PARTS = ("low", "high", "face")


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
    from others of its table. It is held against the first on the same queries, where both keep values by
    query, and so are any two of the ten best. Runs that differ in their seed alone stand under a line of
    their means, with Student's interval. A run that did not end well or measured nothing is left out and
    named.

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
    text = page(
        "views/pages/leaderboard.html.j2",
        groups=[
            _group(key, part, [found[str(name)][0] for name in part.index], folder)
            for key, part in parts.items()
        ],
        left_out=[(Path(name).name, reason) for name, reason in left_out.items()],
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
    """One test split: its name, the names of the columns, a line a run under the line of its seeds, and what
    the script shows of chosen runs.
    """
    dataset, split, images, captions, training = key
    named = split if split.startswith(dataset) else f"{dataset}, {split}"
    trained = "" if training == dataset else f", trained on {training}"
    labels = _labels(part)
    compared = _compared(found, labels)
    against = [compared.get((0, other), {}) for other in range(1, len(found))]
    verdicts = [{label: told.verdict for label, told in of.items()} for of in against]
    best = [label for label in labels if verdicts and all(of.get(label) == WORSE for of in verdicts)]
    shaded = [best, *([label for label in of if of[label] == BETTER] for of in verdicts)]
    behind = [name for name in BEHIND if set(part[name]) - ({"", "ok"} if name == "status" else {""})]
    lines = [
        {"before": [row[name] for name in BEFORE], "behind": [row[name] for name in behind],
         "arm": row["arm"], "number": number, "link": _link(run, page_folder),
         "values": [(*_value(row, label), of.get(label), label in bold) for label in labels]}
        for number, (row, run, of, bold)
        in enumerate(zip(part.to_dict("records"), found, [{}, *against], shaded, strict=True))
    ]  # fmt: skip
    return {
        "title": f"{named}: {format_count(images, 'image')}, {format_count(captions, 'caption')}" + trained,
        "names": [*BEFORE, *labels, *behind],
        "families": _families(part, found, lines, labels, behind),
        "data": {
            "runs": [{"name": run.id, "about": _named(run), "curves": _curves(run)} for run in found],
            "pairs": {f"{one} {other}": _told(of) for (one, other), of in compared.items() if of},
        },
    }


def _labels(part: pd.DataFrame) -> list[str]:
    """The numbers of a table; the deeper ranks stand in the CSV file."""
    names = [name for name in map(str, part) if f"{name} low" in part and _metric(name)]
    measured = [name for name in names if part[name].notna().any()]
    usual = {name for name, row in metrics.rows().items() if row.default}
    return [one for one in headline(measured, usual=usual) if MetricKey.parse(one).k in (None, 1)]


def _compared(
    found: Sequence[runs.Run], labels: Sequence[str]
) -> dict[tuple[int, int], dict[str, Difference]]:
    """Every run against the first, and any two of the best, by their places in the table."""
    pairs = dict.fromkeys(
        [*((0, other) for other in range(1, len(found))), *combinations(range(min(PAIRED, len(found))), 2)]
    )
    read = lru_cache(PAIRED + 1)(runs.ByQuery.read)
    return {
        (one, other): {
            told.label: told for told in runs.differences(found[one], found[other], labels, read=read)
        }
        for one, other in pairs
    }


def _told(of: Mapping[str, Difference]) -> list[tuple[str, str, str, str]]:
    """Paired differences as texts: number, difference with its interval, unit, verdict."""
    return [
        (key, format_interval(one.value, one.low, one.high, one.face, sign=True), unit_heading(one.face),
         f"{one.mark} {one.verdict}")
        for key, one in of.items()
    ]  # fmt: skip


def _families(
    part: pd.DataFrame,
    found: Sequence[runs.Run],
    lines: Sequence[dict[str, Any]],
    labels: Sequence[str],
    behind: Sequence[str],
) -> list[dict[str, Any]]:
    """Runs that differ in their seed alone stand together under a line of their means; the best first."""
    alike: dict[str, list[int]] = {}
    for number, run in enumerate(found):
        given = {name: one for name, one in flat(run.params).items() if name not in ("seed", *PLACES)}
        same = repr((run.notebook, run.results["objective"], sorted(given.items(), key=repr)))
        alike.setdefault(same, []).append(number)
    made: list[tuple[float, dict[str, Any]]] = []
    for numbers in alike.values():
        rows, own = part.iloc[numbers], [lines[number] for number in numbers]
        seeds = rows.groupby("seed", sort=False)
        if len(seeds) == 1:
            made += [(first, {"lead": None, "lines": [line]}) for first, line in zip(rows[FIRST], own)]
            continue
        named = {
            "run": format_count(len(seeds), "seed"),
            "seed": ", ".join(sorted(map(str, seeds.groups))),
        }
        about = {**rows.iloc[0], **named}
        before, after = ([about[name] for name in names] for names in (BEFORE, behind))
        values = [(*_mean(seeds[label].mean(), label, about), None, False) for label in labels]
        arm = SEED.sub("", str(about["arm"]))
        lead = {"before": before, "arm": arm, "behind": after, "link": "", "values": values}
        made.append((float(seeds[FIRST].mean().mean()), {"lead": lead, "lines": own}))
    made.sort(key=lambda one: (np.isnan(one[0]), -one[0]))
    return [family for _, family in made]


def _mean(values: pd.Series, label: str, first: Mapping[Any, Any]) -> tuple[str, Any]:
    """The mean over seeds as text with its interval, and what its column is sorted by."""
    if values.isna().any():
        return "", ""
    low, high = t_interval(values.to_numpy(np.float64))
    contract, mean = {"low": low, "high": high, "face": first[f"{label} face"]}, float(values.mean())
    return measurement_row(label, contract, mean)["value"], mean


def _curves(run: runs.Run) -> dict[str, list[tuple[int, float]]]:
    """The loss after each epoch and what validation found, as they are shown."""
    curves: dict[str, list[tuple[int, float]]] = {}
    contracts = run.results.get("contracts", {})
    for row in run.results.get("history", []):
        for name in (name for name in row if name.startswith(VALIDATED) or name == "loss"):
            key = name.removeprefix(VALIDATED)
            unit = "" if name == "loss" else unit_of(key, contracts.get(key))
            value = display_value(row[name], unit) if unit else row[name]
            if np.isfinite(value):
                told = f"{name}, {unit_heading(unit)}" if unit else name
                curves.setdefault(told, []).append((int(row["epoch"]), round(value, 3)))
    return curves


def _named(run: runs.Run) -> str:
    """A run in the key of the curves."""
    return f"{run.results['objective']}, seed {run.results.get('seed', '')}, {run.id}"


def _link(run: runs.Run, page_folder: Path) -> str:
    """Where the run's report lies, seen from the page; empty where there is none."""
    # what was measured on other data lies within the run
    inside = run.folder.parent.name == runs.EVALUATIONS
    report = (run.folder.parents[1] if inside else run.folder) / "notebook.html"
    return Path(os.path.relpath(report, page_folder)).as_posix() if report.is_file() else ""


def _value(row: Mapping[Any, Any], label: str) -> tuple[str, Any]:
    """A number as text with its interval, and what its column is sorted by."""
    if pd.isna(row[label]):
        return "", ""
    contract = {part: row[f"{label} {part}"] for part in PARTS}
    return measurement_row(label, contract, row[label])["value"], row[label]
