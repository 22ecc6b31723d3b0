"""Tables in a terminal: numbers of runs, differences between two of them, outcomes of a grid."""

import os
import shutil
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.formatting import format_count, format_interval, format_value, unit_heading
from workbench.records.measurement import (
    Measurement,
    baseline_remarks,
    chance_warning,
    contracts_of,
    headline,
    is_part_of_metric,
    measurement_row,
    measurement_rows,
    remarks,
    unit_of,
)
from workbench.runs import by_query, same_data
from workbench.runs.weights import NOTE, RANDOM


def screen_width() -> int:
    """Return how long a line may be: as wide as the terminal, or as ``COLUMNS`` says; without limit where the
    lines go into a file or to another command.
    """
    limited = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if limited else sys.maxsize


def cut_lines(lines: Iterable[str]) -> list[str]:
    """Return lines that end where the screen does."""
    width = screen_width()
    return [_cut_line(line, width) for line in lines]


def _cut_line(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: width - 1]}…"


def align_columns(rows: Iterable[Iterable[object]]) -> list[str]:
    """Return rows as lines whose cells stand below one another."""
    table = [list(map(str, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def number_lines(
    found: Iterable[Any],
    *,
    every: bool = False,
    most: int | None = None,
    usual: Container[str] | None = None,
) -> list[str]:
    """Return measured numbers with their intervals and how many queries they are over, one a line.

    Args:
        found: of type ``Measurement``, or what ``results.json`` holds.
        every: all of them, but for parts of usual metrics that are left to `show --all`; else those to look
            at first, and a last line that counts the others.
        most: of those to look at first, this many; ``None`` = all.
        usual: see ``headline``; ``None`` = no part is left out.
    """
    found = list(contracts_of(found) if isinstance(found, Mapping) else found)
    rows = {row["number"]: row for row in measurement_rows(found)}
    shown = list(rows) if every else headline(rows, usual=usual)[:most]
    if every and usual is not None:
        shown = [label for label in shown if not is_part_of_metric(label, usual)]
    heads = ("number", "value", "in", "chance", "queries")
    table: list[Iterable[object]] = [heads]
    for label in shown:
        table.append([rows[label][head] for head in heads])
    lines = align_columns(table) if rows else []
    by_label = {_measured_label(measured): measured for measured in found}
    lines += remarks(by_label[label] for label in shown)
    lines += baseline_remarks(by_label[label] for label in rows if label not in shown)
    left = len(rows) - len(shown)
    return [*lines, f"and {left} more; `workbench show RUN --all` shows them"] if left else lines


def result_lines(measurements: Sequence[Measurement], *, every: bool, usual: Container[str]) -> list[str]:
    """Return the numbers of a result as lines, and below them those of its slices, a table a number.

    Args:
        measurements: all that were made.
        every: see ``number_lines``; of slices those are shown that every comparison takes.
        usual: see ``number_lines``.
    """
    whole = [measured for measured in measurements if not measured.by]
    lines = number_lines(whole, every=every, usual=usual)
    labels = by_query.usual_numbers(measured.label for measured in whole)
    tables: dict[tuple[str, str], list[Measurement]] = {}
    for measured in measurements:
        label = str(replace(measured.key, subset=""))
        if measured.by and label in labels:
            tables.setdefault((measured.by, label), []).append(measured)
    for (by, label), slices in tables.items():
        lines += ["", *_slice_lines(f"{label} by {by}", slices)]
    return lines


def _slice_lines(title: str, slices: Sequence[Measurement]) -> list[str]:
    """Return one number in each slice, a slice a line."""
    heads = ("value", "chance", "queries", "gallery")
    rows = [(measured.key.subset, measurement_row(measured.label, measured.as_dict())) for measured in slices]
    table: list[list[str]] = [[title, f"value, {rows[0][1]['in']}", *heads[1:]]]
    for name, row in rows:
        table.append([name, *(row[head] for head in heads)])
    return align_columns(table)


def comparison_lines(comparison: Any) -> list[str]:
    """Return a comparison as lines: its table, and what explains its intervals."""
    table = comparison.text_table().fillna("").reset_index(names="number")
    return [*align_columns([list(table), *table.to_numpy().tolist()]), *comparison.remarks()]


def _measured_label(measured: Any) -> str:
    return str(measured[0] if isinstance(measured, tuple) else measured.label)


def training_lines(results: Mapping[str, Any]) -> list[str]:
    """Return which epoch a run kept, if it trained, and that its numbers are not above chance where they are
    not.

    Args:
        results: what ``results.json`` holds.
    """
    chance = list(filter(None, [chance_warning(dict(contracts_of(results)))]))
    if not (kept := results.get("kept")):
        return chance
    which = "the best" if kept[0] else "the untrained model, since none was better"
    what = f"epoch {kept[0]}, {which} by validation {results['select']}"
    if len(kept) > 1:
        what = f"the mean of epochs {kept[0]} to {kept[-1]}"
    return [f"kept: {what}; {len(results['history']) - 1} were trained", *chance]


def changed_numbers(first: Any, second: Any, every: bool) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """Return the numbers that differ between two runs, beside each other, as lines; and the paired
    difference, with its interval and verdict, of each number of which both runs keep values by query of the
    same images.

    Args:
        first: of type ``store.Run``.
        second: likewise.
        every: all numbers; else those that every comparison takes.
    """
    # what the help of a verb need not load
    from workbench.metrics.comparison import explain_widening

    of_a, of_b = dict(contracts_of(first.results)), dict(contracts_of(second.results))
    shared = of_a.keys() & of_b.keys()
    if (of_a or of_b) and not shared:
        return ["no metric in common (different data, or one run failed)"], {}
    labels = list(of_a | of_b) if every else by_query.usual_numbers(of_a | of_b)
    paired = {
        difference.label: difference for difference in by_query.paired_differences_of(first, second, labels)
    }
    rows = [("number", "A", "B", "B - A", "in", "verdict")]
    for label in labels:
        a, b = of_a.get(label, {}).get("value"), of_b.get(label, {}).get("value")
        if a != b:
            unit = unit_of(label, of_a.get(label, of_b.get(label)))
            shown = format_value(a, unit), format_value(b, unit)
            rows.append((label, *shown, *_difference_cells(a, b, unit, paired.get(label))))
    lines = align_columns(rows) if len(rows) > 1 else []
    left = [label for label in shared - set(labels) if of_a[label] != of_b[label]]
    if left:
        lines.append(f"and {format_count(len(left), 'other number')} that differ; --all compares them too")
    lines += filter(None, [explain_widening(len(paired))])
    lines += _notes_on(first.results, second.results)
    return lines, {label: difference.row() for label, difference in paired.items()}


def _difference_cells(a: float | None, b: float | None, unit: str, paired: Any) -> tuple[str, str, str]:
    """Return by how much B is above A, the unit, and the verdict of the paired comparison where there is
    one.
    """
    from workbench.metrics.comparison import state_verdict

    if paired:
        interval = format_interval(paired.value, paired.low, paired.high, unit, sign=True)
        return interval, unit_heading(unit), state_verdict(paired.verdict, "A")
    value = None if a is None or b is None else b - a
    return format_interval(value, None, None, unit, sign=True), unit_heading(unit), ""


def _notes_on(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[str]:
    """Return what two runs were measured on, and computed with, where it differs."""
    differ = same_data.differing_facts(first.get("split"), second.get("split"))
    notes = []
    if "data" in differ:
        described = same_data.describe_data(first), same_data.describe_data(second)
        notes.append(f"A and B were measured on other data: {described[0]} and {described[1]}")
    words = [same_data.PARTS[part] for part in differ if part != "data"]
    if words:
        notes.append(f"between A and B {', and '.join(words)}")
    threads = [results.get("threads") for results in (first, second)]
    if threads[0] != threads[1] and all(threads):
        notes.append(
            f"A was computed with {threads[0]} and B with {threads[1]} threads, by which alone numbers differ"
        )
    return notes


def outcome_lines(done: Iterable[Any]) -> list[str]:
    """Return how the arms of a grid ended, one a line, and the tracebacks of those that raised.

    Args:
        done: from ``grid.run_grid``.
    """
    rows, tracebacks = [], []
    for outcome in done:
        status = "kept" if outcome.skipped else outcome.status
        rows.append((outcome.label, status, outcome.folder, outcome.error))
        if outcome.traceback:
            tracebacks.append(f"\n{outcome.label}:\n{outcome.traceback}")
    return align_columns(rows) + tracebacks


def describe_evaluation(results: Mapping[str, Any]) -> str:
    """Return what an evaluation on other data is."""
    words = f"measured on {results['split']['name']}"
    return f"{words}, trained on {results['training']}" if results.get("training") else words


def report_evaluations(
    results: Sequence[Any], folders: Sequence[Path], tables: Iterable[str]
) -> tuple[dict[str, Any], list[str]]:
    """Return results of models made elsewhere as JSON values, and as lines; what is said of random weights is
    first.

    Args:
        results: of type ``Result``.
        folders: where each lies.
        tables: lines of their numbers.
    """
    values = []
    notes = dict[str, None]()
    for result, folder in zip(results, folders, strict=True):
        numbers = [measurement.as_dict() for measurement in result.measurements]
        own = {"name": result.name, "folder": str(folder), **result.as_dict(), "numbers": numbers}
        values.append(own)
        notes |= dict.fromkeys(note for note in result.split.notes if note != NOTE)
    random = list(dict.fromkeys(result.name for result in results if result.has_random_weights))
    warned = [f"{name}{NOTE.removeprefix(RANDOM)}" for name in random]
    return {"random_weights": random, "results": values}, [*warned, *tables, *notes, *map(str, folders)]
