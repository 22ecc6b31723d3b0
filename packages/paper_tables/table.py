"""The table of a paper from the runs of a grid: the paper's rows in its order and under its labels, mean and
interval over seeds, and the printed values beside.

``layout`` reads which table a grid is. A number that a run has not measured on its own data, or
that a part has from another data set, is taken from what the run was measured on elsewhere (``workbench
evaluate``).

Printed rows that no arm makes stand in the table too, with printed values alone.
"""

import csv
import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path
from typing import Any

import numpy as np

from paper_tables import derived, needs, published
from paper_tables import layout as layouts
from paper_tables.differences import describe_differences, differences_from_first
from paper_tables.layout import Layout, Part
from workbench import assets
from workbench.data.reading import VARIABLE
from workbench.execution import grid as grids
from workbench.execution import parameters
from workbench.execution.library import find_file
from workbench.formatting import format_count, format_value
from workbench.io import json_value
from workbench.metrics.comparison import Difference
from workbench.metrics.seeds import t_interval
from workbench.records import MetricKey, require
from workbench.records.measurement import unit_of
from workbench.runs import store as runs
from workbench.runs.spellings import name_of, options_of

# letters of the changes that the name of a table's files says
MOST_SAID = 120
SAME, OTHER = "same test set", "another test set"
CEILING = 0.95  # of d_corr, from where on it tells no rows apart
UNSAID = "protocol not said"
# heading in the layout, what was measured beside a run's own data, and the keys whose mean or sum a column is
Source = tuple[str, str, list[str]]
# mean and the ends of its interval; None = not known
Interval = tuple[float | None, float | None, float | None]


@dataclass(frozen=True)
class Row:
    """One row.

    Args:
        name: label of the arm, or the printed name where no arm makes it.
        printed: its name in the printed table, if it has one.
        seeds: runs that are there; 0 with a label of the grid says that they are missing.
        values: column -> mean and the ends of its interval (none with one seed), as stored.
        ours: whether an arm of the grid makes it.
    """

    name: str
    printed: str | None
    seeds: int = 0
    values: dict[str, Interval] = field(default_factory=dict)
    ours: bool = True


@dataclass(frozen=True)
class Table:
    """A paper's table, made here.

    Args:
        name: of its files: that of the grid and of the data.
        title: the paper and its table.
        columns: column -> its unit, of those that a run has measured.
        rows: in the paper's order.
        parts: the printed values.
        missing: label of an arm -> why its number is not there.
        notes: sentences below the table.
        curves: name of a parameter -> row -> what it sets the parameter to.
        differences: of the rows from the first one.
    """

    name: str
    title: str
    columns: dict[str, str]
    rows: list[Row]
    parts: list[Part]
    missing: dict[str, str]
    notes: list[str]
    curves: dict[str, dict[str, float]] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)


def list_tables() -> list[dict[str, str]]:
    """Return all tables and figures of the papers, in their order.

    Returns:
        Of each ``table``, its name, e.g. ``"DITM Table IV"``; ``shows``, what it shows; ``command``, the one
        that makes it, in which ``RUNS`` stands for finished runs, as a list; and ``remark``, what is not made
        here, such as rows of another's model, or what the runs must be of.
    """
    with assets.path("tables.tsv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def make(
    file: Path | str,
    changes: Mapping[str, Any] | None = None,
    *,
    root: Path | str = "runs",
    measure: bool = False,
    paper: bool = False,
) -> Table:
    """Return the table of a grid from the runs that are there; nothing is trained.

    A run belongs to an arm if it was made by the same notebook with the same parameters; of several the
    latest good one counts.

    Args:
        file: the grid file, by path or by name.
        changes: values that went over those of every arm when the grid was run, or command-line text.
        root: where the runs lie.
        measure: measure rows that are made from other rows' runs, where that is not stored yet.
        paper: in the settings of its paper.

    Raises:
        FileNotFoundError: no such grid, or no good run of any of its arms.
        ParameterError, KeyError, TypeError, ValueError: as ``read`` and ``grid.plan``.
    """
    path = find_file(file, "grid")
    described = grids.read_grid(path)
    notebook = str(described.get("notebook", "03_train"))
    words = {name: value for name, value in (changes or {}).items() if isinstance(value, str)}
    known = parameters.read_parameters(find_file(notebook))
    changes = {**(changes or {}), **parameters.parse_values(known, words)}
    grid = grids.prepare_grid(described, changes, path, paper=paper)
    arms, layout = grids.plan(notebook, grid, changes), layouts.read(grid, path)
    by_arm = runs_of(arms, runs.list_runs(root, notebook))
    good = {label: run for label, run in by_arm.items() if run and run.status == "ok"}
    typed = " ".join(["", *(shlex.join(["-p", *pair]) for pair in parameters.as_words(changes))])
    typed += " --paper" * paper
    require(
        good,
        f"no finished run of {path.stem} below {root}{_describe_other_runs(path.stem, notebook, root)}; "
        f"`workbench grid {notebook} {file}{typed}` makes them",
        FileNotFoundError,
    )
    missing = {}
    for label, run in by_arm.items():
        if label not in good:
            missing[label] = run.status if run else "no run"
    rows = grids.row_labels(grid)
    by_row: dict[str, list[runs.Run]] = {row: [] for row in rows.values()}
    for label, run in good.items():
        by_row[rows[label]].append(run)
    for row, how in layout.derived.items():
        by_row[row] = derived.derived_runs(how, by_row[how.arm], root, measure=measure)
        if by_row[how.arm] and not by_row[row]:
            missing[row] = "not measured; the grid with --skip-existing does it"
    filled = _make_table(path.stem, layout, by_row, list(good.values()), _trained_runs(grid, by_row))
    return replace(filled, name=filled.name + _changes_ending(changes) + "_paper" * paper, missing=missing)


def _trained_runs(
    grid: Mapping[str, Any], by_row: Mapping[str, Sequence[runs.Run]]
) -> dict[str, Sequence[runs.Run]]:
    """Return the runs of the rows that are trained, those of a reference last."""
    references = grid.get("reference") or {}
    names = list(dict.fromkeys(grids.row_labels(grid).values()))
    return {row: by_row[row] for row in sorted(names, key=references.__contains__)}


def _describe_other_runs(name: str, notebook: str, root: Path | str) -> str:
    """Return how many finished runs of a grid there are with other values, as part of a sentence."""
    others = [run for run in runs.list_runs(root, notebook) if name in run.arms and run.status == "ok"]
    if not others:
        return ""
    return f" with these values ({format_count(len(others), 'run')} of it with other -p or another file)"


def _changes_ending(changes: Mapping[str, Any]) -> str:
    """Return the ending of a table's files that tells its changes apart: their names and values, or a short
    key where these are long. The data stand in the name already.
    """
    changed = [f"_{name}-{value}" for name, value in parameters.as_words(changes) if name != "data"]
    plain = re.sub(r"[^\w.-]", "", "".join(changed))
    return plain if plain == "".join(changed) and len(plain) < MOST_SAID else f"_{runs.run_key(changes, '')}"


def _make_table(
    name: str,
    layout: Layout,
    by_row: Mapping[str, Sequence[runs.Run]],
    every: Sequence[runs.Run],
    trained: Mapping[str, Sequence[runs.Run]],
) -> Table:
    contracts, data = every[0].results.get("contracts", {}), every[0].results.get("dataset", "data")
    parts = [_with_place(part, every[0]) for part in layout.parts]
    columns = _columns(layout, parts, every)
    units = {}
    for column, (head, _, keys) in columns.items():
        units[column] = "sum" if head in layout.sums else unit_of(keys[0], contracts.get(keys[0]))
    filled = []
    for row, several in by_row.items():
        numbers = {}
        for column, (head, place, keys) in columns.items():
            numbers[column] = _interval(several, place, keys, total=head in layout.sums)
        filled.append(Row(row, layout.rows[row], len(several), numbers))
    printed = list(dict.fromkeys(chain.from_iterable(part.values for part in parts)))
    kind = "" if layout.number.startswith("Fig") else "Table "
    title = f"{layout.paper}, {kind}{layout.number}" if layout.paper else name
    title += f": {layout.part}" if layout.part else ""
    notes = _notes(layout, parts, columns, every) + _notes_on_gaps(columns, filled)
    notes += _notes_on_equal_rows(filled) + _notes_at_ceiling(columns, filled)
    single = [keys[0] for _, place, keys in columns.values() if len(keys) == 1 and not place]
    differences, rest = differences_from_first(trained, single)
    notes += describe_differences(
        differences, rest, len({str(run.params.get(grids.SEED, "")) for run in every})
    )
    rows = rows_in_order(filled, printed)
    return Table(f"{name}_{data}", title, units, rows, parts, {}, notes, layout.curves, differences)


def runs_of(arms: grids.Arms, there: Sequence[runs.Run]) -> dict[str, runs.Run | None]:
    """Return the run of every arm, found by its parameters: the latest good one, else the latest."""
    by_params: dict[str, runs.Run] = {}
    for run in sorted(there, key=lambda run: (run.status == "ok", run.id)):
        by_params[json.dumps(run.params, sort_keys=True)] = run
    return {
        label: by_params.get(json.dumps(json_value(values, label), sort_keys=True))
        for label, values in arms.items()
    }


def _with_place(part: Part, run: runs.Run) -> Part:
    """Return the part, and say whether a run's numbers were measured where the paper's were."""
    if part.on not in published.PROTOCOLS:
        return replace(part, word=UNSAID)
    return replace(part, word=OTHER if _why_not(part, run) else SAME)


def _place_of_part(part: Part, run: runs.Run) -> str:
    """Return the data set on which the part was measured, where it is not the run's own; else empty."""
    protocol = published.PROTOCOLS.get(part.on)
    return "" if protocol is None or protocol.data == run.results.get("dataset") else protocol.data


def _why_not(part: Part, run: runs.Run) -> str:
    elsewhere = _other_places(run, _place_of_part(part, run)) if _place_of_part(part, run) else []
    results = (elsewhere or [run.results])[0]
    split, data = {"images": 0, "captions": 0, **results.get("split", {})}, str(results.get("dataset", ""))
    images = int(split["images"])
    folds = published.folds_of(*part.on, images)
    folds = folds if folds in {MetricKey.parse(key).folds for key in results.get("metrics", {})} else 1
    captions, training = int(split["captions"]), str(results.get("training", data))
    return published.explain_mismatch(
        *part.on, data=data, images=images, captions=captions, folds=folds, training=training
    )


def _other_places(run: runs.Run, place: str) -> list[dict[str, Any]]:
    """Return what the run was measured on beside its own data: on one data set, or on any."""
    return [results for results in run.evaluations.values() if place in ("", results.get("dataset"))]


def _results_at_place(run: runs.Run, place: str, keys: Sequence[str]) -> Mapping[str, Any]:
    """Return the results of a run whose numbers hold all keys: its own where no place is asked for, else
    those of the first evaluation on other data that has them; nothing where none has.
    """
    candidates = [*([] if place else [run.results]), *_other_places(run, place)]
    return next((results for results in candidates if results.get("metrics", {}).keys() >= set(keys)), {})


def _columns(layout: Layout, parts: Sequence[Part], good: Sequence[runs.Run]) -> dict[str, Source]:
    """Return column -> where it was measured, and keys, of those that a run has: the whole gallery of its own
    data, then the data sets and folds that a part was measured in, unless the first numbers are from there
    already.
    """
    known = [(part, protocol.folds) for part in parts if (protocol := published.PROTOCOLS.get(part.on))]
    places = [("", 1), *((_place_of_part(part, good[0]), folds) for part, folds in known)]
    out, seen = dict[str, Source](), set[tuple[str, str, str]]()
    for place, number in dict.fromkeys(places):
        for head, keys in layout.columns.items():
            named = [str(replace(MetricKey.parse(key), folds=number)) for key in keys]
            measured = {str(results.get("dataset", "")) for results in _all_results(good, place, named)}
            new = set(product([head], named, measured)) - seen
            if new:
                folds = format_count(number, "fold") if number > 1 else ""
                out[", ".join(filter(None, (head, place, folds)))] = head, place, named
                seen |= new
    return out


def _all_results(several: Sequence[runs.Run], place: str, keys: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the results of those runs that have all keys there."""
    return [results for run in several if (results := _results_at_place(run, place, keys))]


def _mean_of_keys(metrics: Mapping[str, float], keys: Sequence[str]) -> float:
    return float(np.mean([metrics[key] for key in keys]))


def _interval(
    several: Sequence[runs.Run], place: str, keys: Sequence[str], *, total: bool = False
) -> Interval:
    means = [_mean_of_keys(results["metrics"], keys) for results in _all_results(several, place, keys)]
    values = np.array(means) * (len(keys) if total else 1)
    if not len(values):
        return None, None, None
    unit = "sum" if total else unit_of(keys[0])
    low, high = t_interval(values, unit=unit)
    if np.isnan(low):
        return float(values.mean()), None, None
    return float(values.mean()), low, high


def measure_missing(grid: Mapping[str, Any], folders: Sequence[Path]) -> list[str]:
    """Measure finished runs on the other data that the table asks for, those that were not measured there.

    Args:
        grid: from ``grid.read_grid``.
        folders: of the runs.

    Returns:
        A sentence for each data set that is not there, or that the models cannot read, with the reason.

    Raises:
        KeyError, TypeError: data or options that are not known.
    """
    evaluated, lacking = (grid.get("table") or {}).get("evaluate"), dict[str, str]()
    for run in map(runs.read, folders if evaluated else ()):
        from workbench.runs.evaluate import evaluate

        for target in needs.targets(grid, str(run.results.get("dataset")), run.params):
            if target.name in run.evaluations or target.data.name in lacking:
                continue
            try:
                evaluate(run.folder, target).save(run.folder / runs.EVALUATIONS / target.name)
            except (OSError, ModuleNotFoundError, ValueError) as error:  # the table is made without them
                reason = _without_place(error).removeprefix(f"{target.data.name}: ")
                lacking[target.data.name] = f"Not measured on {target.data.name}: {reason}"
    return list(lacking.values())


def _without_place(error: Exception) -> str:
    """Return what an error says, the folder of the data by the name that every machine has for it."""
    place = os.environ.get(VARIABLE, "")
    return str(error).replace(place, VARIABLE) if place else str(error)


def rows_in_order(rows: Sequence[Row], printed: Sequence[str]) -> list[Row]:
    """Return rows in the order of the paper: each printed name with the arms that make it; an arm that is not
    printed follows the arm before it in the grid.

    Args:
        rows: in the order of the grid.
        printed: names in the order of the paper.

    >>> found = rows_in_order([Row("b", "B"), Row("own", None), Row("a", "A")], ["A", "B", "C"])
    >>> [row.name for row in found]
    ['a', 'b', 'own', 'C']
    """
    out: list[Row] = []
    for name in printed:
        out += [row for row in rows if row.printed == name] or [Row(name, name, ours=False)]
    before: Row | None = None
    for row in rows:
        if row not in out:
            out.insert(out.index(before) + 1 if before else 0, row)
        before = row
    return out


def _notes(
    layout: Layout, parts: Sequence[Part], columns: Mapping[str, Source], good: Sequence[runs.Run]
) -> list[str]:
    """Return what is to be known beside the numbers."""
    seeds = sorted({str(run.params.get(grids.SEED, "")) for run in good})
    split = {"images": 0, "captions": 0, **good[0].results.get("split", {})}
    sizes = f"{format_count(split['images'], 'image')} and {format_count(split['captions'], 'caption')}"
    several = (
        f"the mean over a row's seeds (of {', '.join(seeds)}), with Student's 95 % interval of that mean in "
        "brackets, none where they agree"
    )
    scatter = several if len(seeds) > 1 else f"seed {seeds[0]} alone, whose scatter is not known"
    out = [f"Measured here on the test split of {good[0].results.get('dataset', '')}, {sizes}: {scatter}."]
    out += _notes_on_other_data(columns, good)
    for column, (head, _, keys) in columns.items():
        if len(keys) > 1:
            way = "sum" if head in layout.sums else "mean"
            out.append(f"{column}: the {way} of {', '.join(keys)}.")
    out += [f"{row}: {how}." for row, how in layout.derived.items()]
    sources = {head for head, *_ in columns.values()}
    left = [head for head in layout.columns if head not in sources]
    out += [f"Not measured on these data: {', '.join(left)}."] if left else []
    reasons = {part.heading: _why_not(part, good[0]) for part in parts}
    out += [f"{heading}: {reason}." for heading, reason in reasons.items() if reason]
    configs = [config for run in good if (config := runs.load(run.folder / runs.CONFIG))]
    out += [_describe_budget(configs)] if configs else []
    encoders = {f"{_encoder(config, 'image')} and {_encoder(config, 'text')}" for config in configs}
    out += [f"Encoders here: {'; '.join(sorted(encoders))}."] if encoders else []
    out += [f"Printed: {published.COMPARABLE[layout.paper]}."] if parts else []
    codes = {run.env.get("code") for run in good}
    return out + ([f"The runs were made by {len(codes)} versions of the code."] if len(codes) > 1 else [])


def _notes_on_other_data(columns: Mapping[str, Source], good: Sequence[runs.Run]) -> list[str]:
    """Return which columns were measured on other data than the runs' own, or by chains of captions."""
    own, where = good[0].results.get("dataset", ""), dict[str, list[str]]()
    for column, (_, place, keys) in columns.items():
        results = next((measured for run in good if (measured := _results_at_place(run, place, keys))), {})
        split = {"name": "", "images": 0, "captions": 0, **results.get("split", {})}
        chains = MetricKey.parse(keys[0]).judgements == "chains"
        if results.get("dataset", own) != own:
            sizes = (
                f"{format_count(split['images'], 'image')} and {format_count(split['captions'], 'caption')}"
            )
            where.setdefault(f"Measured on {split['name']}, {sizes}", []).append(column)
        elif chains:
            where.setdefault(f"Measured on the chains of captions of {own}", []).append(column)
    return [f"{on}: {', '.join(heads)}." for on, heads in where.items()]


def _notes_on_gaps(columns: Mapping[str, Source], rows: Sequence[Row]) -> list[str]:
    """Return which rows lack a number that others have, and how those on other data are measured."""
    lacking: dict[tuple[str, str], list[str]] = {}
    for row in (row for row in rows if row.seeds):
        for place in dict.fromkeys(place for _, place, _ in columns.values()):
            of_place = [head for head, (_, on, _) in columns.items() if on == place]
            heads = [head for head in of_place if row.values[head][0] is None]
            if heads:
                lacking.setdefault((place, ", ".join(heads)), []).append(row.name)
    out = []
    for (place, numbers), names in lacking.items():
        remedy = ""
        if place:
            remedy = f" Where {place} is there, the same `workbench grid --skip-existing` measures it."
        out.append(f"Not measured of {'; '.join(names)}: {numbers}.{remedy}")
    return out


def _notes_on_equal_rows(rows: Sequence[Row]) -> list[str]:
    """Return which rows have the same numbers throughout, as arms have that differ in nothing."""
    alike: dict[str, list[str]] = {}
    for row in rows:
        if any(value is not None for value, *_ in row.values.values()):
            alike.setdefault(repr(row.values), []).append(row.name)
    return [
        f"The same in every number, so that nothing told them apart in this training: {'; '.join(names)}."
        for names in alike.values()
        if len(names) > 1
    ]


def _notes_at_ceiling(columns: Mapping[str, Source], rows: Sequence[Row]) -> list[str]:
    """Return where d_corr is near 1 in every row: a word count would have that as well."""
    out = []
    for column, (_, _, keys) in columns.items():
        values = [value for row in rows if (value := row.values.get(column, (None,))[0]) is not None]
        if MetricKey.parse(keys[0]).metric == "d_corr_image" and values and min(values) > CEILING:
            out.append(
                f"{column} is at the ceiling in every row, {format_value(min(values), 'correlation')} or "
                "more: it tells no rows apart. Read what it is with the images of other chains, and the "
                "difference."
            )
    return out


def _describe_budget(configs: Sequence[Mapping[str, Any]]) -> str:
    images = sorted({int(config.get("train_images", 0)) for config in configs})
    epochs = sorted({int(config.get("epochs", 0)) for config in configs})
    shares = sorted({float(options_of(config.get("data")).get("share") or 1) for config in configs})
    sizes = [format_count(number, "image") for number in images if number]
    seen = " or ".join(sizes if all(images) else ["all images", *sizes])
    if shares != [1]:
        percents = " or ".join(f"{format_value(share)} percent" for share in shares)
        seen = f"{percents} of the images" if images == [0] else f"{seen}, taken from {percents} of all"
    trained = f"Trained here on {seen} for {' or '.join(format_count(number, 'epoch') for number in epochs)}"
    warm = sorted(
        min(int(config.get("warmup_epochs", 0)), int(config.get("epochs", 0))) for config in configs
    )
    several = "" if warm[0] == warm[-1] else "up to "
    return trained + (
        f"; {several}{format_count(warm[-1], 'epoch')} with hinges over all negatives." if warm[-1] else "."
    )


def _encoder(config: Mapping[str, Any], side: str) -> str:
    encoder = config.get(f"{side}_encoder", "")
    name = str(name_of(encoder))
    features = config.get("features") if side == "image" else options_of(encoder).get("features")
    return f"{name} on {features}" if features and name != "towers" else name
