"""The page of a suite: a tab a task, a row a model, a number with its interval, and any two models compared.

It is one file that reads offline. A number opens what it is (hit, ties, chance, what a resample draws), the
run folder that it is in, and the commands that show its queries.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmark_sets.cells import TABS, leading_numbers
from benchmark_sets.suites import Cell, Suite
from workbench.formatting import format_bytes, format_count, format_interval, format_number, format_value
from workbench.io import checksum, format_from_user, write_json, write_text
from workbench.metrics.comparison import BETTER, WORSE, Difference, state_verdict
from workbench.progress import Task
from workbench.records import MetricKey
from workbench.records.measurement import contracts_of, measurement_row, unit_of
from workbench.runs import store
from workbench.runs.by_query import ByQuery, paired_differences_of
from workbench.views.pages import fill_template
from workbench.views.pages.query_links import link_to_queries

TEMPLATE, SCRIPT = (Path(__file__).with_name(name) for name in ("suite.html.j2", "suite.js"))
PAGE = "suite.html"
# differences that were computed
COMPARED = "differences.json"
# columns of a model, and the number in ``Suite.models`` behind each
OF_MODEL = {
    "parameters": "parameters",
    "size": "bytes",
    "images a second": "images_per_second",
    "texts a second": "texts_per_second",
}
SAID_AS = {BETTER: WORSE, WORSE: BETTER}
# benchmark -> pair of models -> differences of the second from the first
Pairs = dict[str, dict[tuple[str, str], list[Difference]]]


def write_page(suite: Suite) -> Path:
    """Write ``suite.html`` into the folder of a suite.

    Args:
        suite: with one cell at least.
    """
    pairs = compare_models(suite)
    used = {cell.tab for cell in suite.cells}
    tabs = [_tab(suite, tab, pairs) for tab in TABS if tab in used]
    text = fill_template(
        TEMPLATE,
        title="Suite",
        summary=suite.summary(),
        tabs=tabs,
        models=list(suite.models),
        data={"cells": _contracts(suite), "differences": _difference_rows(suite, pairs)},
        problems=suite.problems(),
        script=SCRIPT.read_text(encoding="utf-8"),
    )
    return write_text(suite.folder / PAGE, text)


def compare_models(suite: Suite) -> Pairs:
    """Compare every two models of a suite on the leading numbers of each benchmark, query by query.

    Intervals are widened for the numbers of two models on one benchmark. What was compared is kept beside the
    cells, and compared again where a cell has changed.
    """
    read = lru_cache(ByQuery.read)
    file = suite.folder / COMPARED
    earlier = store.load(file)
    compared: dict[str, Any] = {}
    pairs: Pairs = {}
    couples: list[tuple[Cell, Cell]] = []
    for cells in _by_benchmark(suite).values():
        couples += combinations([cell for cell in cells if cell.status == "ok"], 2)
    with Task("comparing models", len(couples), "pairs") as task:
        for first, second in couples:
            name = f"{first.folder.name} {second.folder.name} {_stamp(first)} {_stamp(second)}"
            compared[name] = earlier.get(name) or [
                {**asdict(difference), "key": difference.label}
                for difference in _compare(first, second, read)
            ]
            differences = [_read_difference(row) for row in compared[name]]
            pairs.setdefault(first.benchmark, {})[first.model, second.model] = differences
            task.update()
    write_json(file, compared)
    return pairs


def _compare(first: Cell, second: Cell, read: Callable[[Path], ByQuery | None]) -> list[Difference]:
    """Return the differences of the second cell from the first."""
    labels = leading_numbers(list(first.results()["metrics"]), first.tab)
    return paired_differences_of(store.read(first.folder), store.read(second.folder), labels, read=read)


def _stamp(cell: Cell) -> str:
    """Return a checksum of the values by query of a cell; empty = it has none."""
    file = cell.folder / store.VALUES
    return checksum(file)[:16] if file.is_file() else ""


def _read_difference(row: Mapping[str, Any]) -> Difference:
    """Return a difference that was kept."""
    return Difference(**{**row, "key": MetricKey.parse(row["key"])})


def _by_benchmark(suite: Suite) -> dict[str, list[Cell]]:
    """Return the cells of each benchmark."""
    cells: dict[str, list[Cell]] = {}
    for cell in suite.cells:
        cells.setdefault(cell.benchmark, []).append(cell)
    return cells


def _tab(suite: Suite, tab: str, pairs: Pairs) -> dict[str, Any]:
    """Return what the template needs of a tab."""
    groups = []
    columns: list[tuple[str, str]] = []
    heads = []
    for benchmark, cells in _by_benchmark(suite).items():
        here = [cell for cell in cells if cell.tab == tab]
        if not here:
            continue
        labels = _labels(here)
        groups.append({"name": benchmark, "columns": max(1, len(labels))})
        columns += [(benchmark, label) for label in labels] or [(benchmark, "")]
        heads += [_head(here, label) for label in labels] or [
            {"title": "not measured", "note": "", "hover": ""}
        ]
    rows = []
    for model in suite.models:
        cells_of_model = {cell.benchmark: cell for cell in suite.cells if cell.model == model}
        numbers = [_cell(cells_of_model.get(name), label, pairs, suite.folder) for name, label in columns]
        about = suite.models[model]
        random = bool(about.get("random_weights"))
        rows.append({"name": model, "random": random, "facts": _facts(about), "cells": numbers})
    return {"name": tab, "id": tab.replace(" ", "-"), "groups": groups, "heads": heads, "rows": rows}


def _labels(cells: Sequence[Cell]) -> list[str]:
    """Return the numbers of a benchmark that stand in the table."""
    labels: dict[str, None] = {}
    for cell in cells:
        labels |= dict.fromkeys(leading_numbers(list(cell.results().get("metrics", {})), cell.tab))
    return list(labels)


def _head(cells: Sequence[Cell], label: str) -> dict[str, str]:
    """Return the head of a number: its name, and below it unit and chance."""
    contracts = [dict(contracts_of(cell.results())).get(label) for cell in cells]
    contract = next(filter(None, contracts))
    row = measurement_row(label, contract)
    chance = f"chance {row['chance']}" if row["chance"] else ""
    note = ", ".join(filter(None, [row["in"], chance]))
    hover = ": ".join(filter(None, [label, row["a hit is"]]))
    return {"title": MetricKey.parse(label).title, "note": note, "hover": hover}


def _facts(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return size and speed of a model; empty where they are not known."""
    facts = []
    for name in OF_MODEL.values():
        value = about.get(name)
        text = ""
        if value is not None:
            text = format_bytes(value) if name == "bytes" else format_number(value, 0)
        facts.append({"text": text, "order": value if value is not None else -1})
    return facts


def _cell(cell: Cell | None, label: str, pairs: Pairs, folder: Path) -> dict[str, Any]:
    """Return a number as the template needs it, or why there is none."""
    empty = {"text": "", "order": -1e9, "best": False, "link": "", "key": "", "hover": ""}
    if cell is None:
        return empty
    contract = dict(contracts_of(cell.results())).get(label)
    if contract is None:
        reason = "no data" if cell.status == "missing" else "failed"
        return empty | {"text": "" if cell.status == "ok" else reason, "hover": cell.error}
    queries, _ = link_to_queries(cell.folder, label, folder)
    link = queries or f"{Path(os.path.relpath(cell.folder, folder)).as_posix()}/"
    text = measurement_row(label, contract)["value"]
    best = _is_best(cell, label, pairs.get(cell.benchmark, {}))
    shown = {"text": text, "order": contract["value"], "best": best}
    return {**empty, **shown, "link": link, "key": _key(cell, label)}


def _key(cell: Cell, label: str) -> str:
    """Return what tells a number of the page from others."""
    return f"{cell.folder.name}/{label}"


def _is_best(cell: Cell, label: str, pairs: Mapping[tuple[str, str], Sequence[Difference]]) -> bool:
    """Return whether a model is significantly better than all others that were measured."""
    verdicts = []
    for (first, second), differences in pairs.items():
        if cell.model not in (first, second):
            continue
        found = [difference.verdict for difference in differences if difference.label == label]
        verdict = found[0] if found else ""
        verdicts.append(verdict if cell.model == second else SAID_AS.get(verdict, verdict))
    return bool(verdicts) and set(verdicts) == {BETTER}


def _contracts(suite: Suite) -> dict[str, dict[str, Any]]:
    """Return what each shown number is, where it is, and the commands that lead to its queries."""
    shown: dict[str, dict[str, Any]] = {}
    for cell in suite.cells:
        contracts = dict(contracts_of(cell.results()))
        for label in leading_numbers(list(contracts), cell.tab):
            title = f"{cell.model} on {cell.benchmark}: {label}"
            facts, commands = _describe_number(label, contracts[label]), _commands(suite, cell, label)
            shown[_key(cell, label)] = {"title": title, "facts": facts, "commands": commands}
    return shown


def _describe_number(label: str, contract: Mapping[str, Any]) -> dict[str, str]:
    """Return the contract of a number as texts by name."""
    row = measurement_row(label, contract)
    facts = {"value": f"{row['value']} {row['in']}".rstrip(), "chance": row["chance"]}
    facts |= {"a hit is": row["a hit is"], "ties": contract.get("ties", "")}
    facts |= {"queries": row["queries"], "gallery": row["gallery"]}
    facts["a resample draws"] = contract.get("unit", "")
    for name, value in (contract.get("beside") or {}).items():
        facts[name] = format_value(value)
    return {name: text for name, text in facts.items() if text}


def _commands(suite: Suite, cell: Cell, label: str) -> list[str]:
    """Return the commands that show a cell and the queries of a number."""
    place = format_from_user(cell.folder)
    commands = [f"workbench show {place} --all"]
    if (cell.folder / store.KIND).is_file():
        _, queries = link_to_queries(cell.folder, label, suite.folder)
        commands.append(queries or f"workbench explore {place}")
    return commands


def _difference_rows(suite: Suite, pairs: Pairs) -> list[dict[str, Any]]:
    """Return a row for each number of two models, in both orders."""
    rows = []
    for benchmark, cells in _by_benchmark(suite).items():
        by_model = {cell.model: cell for cell in cells}
        for (first, second), differences in pairs.get(benchmark, {}).items():
            for difference in differences:
                for of, against in ((second, first), (first, second)):
                    rows.append(_difference_row(difference, by_model[of], by_model[against]))
    return rows


def _difference_row(difference: Difference, cell: Cell, against: Cell) -> dict[str, Any]:
    """Return the difference of one cell from another as texts."""
    label = difference.label
    unit = unit_of(label, {"face": difference.face})
    ends = difference.value, difference.low, difference.high
    verdict = difference.verdict
    if difference.against != against.folder.name:
        ends = -difference.value, _negative(difference.high), _negative(difference.low)
        verdict = SAID_AS.get(verdict, verdict)
    values = []
    for each in (cell, against):
        values.append(measurement_row(label, dict(contracts_of(each.results()))[label])["value"])
    texts = {"difference": format_interval(*ends, unit, sign=True)}
    texts |= {"verdict": state_verdict(verdict, against.model), "command": _errors_command(cell, against)}
    texts |= {"benchmark": cell.benchmark, "number": label}
    texts["queries"] = format_count(difference.queries, "query")
    models = [cell.model, against.model]
    return {**texts, "models": models, "values": values, "better": verdict == BETTER}


def _errors_command(cell: Cell, against: Cell) -> str:
    """Return the command that lists what one model answers rightly and the other wrongly; empty = there is
    no ranking.
    """
    has_recall = str(MetricKey("R", "i2t", k=1)) in cell.results()["metrics"]
    if not has_recall or not (cell.folder / store.KIND).is_file():
        return ""
    both = [format_from_user(each.folder) for each in (against, cell)]
    return f"workbench errors {' '.join(both)}"


def _negative(value: float | None) -> float | None:
    return None if value is None else -value
