"""Verbs that look at what is there: runs, parameters, shelves, data, the machine."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from workbench.cli._common import (
    AsJson,
    Every,
    Out,
    Pairs,
    Root,
    WithPairs,
    app,
    columns,
    emit,
    facts,
    headline,
    pairs,
    usage,
)

SHELVES = ("data", "encoders", "metrics", "objectives", "text")


@app.command()
def params(notebook: str, as_json: AsJson = False) -> None:
    """The parameters of a notebook: name, type, default, help."""
    from workbench.execution.library import find
    from workbench.execution.parameters import inspect

    with usage():
        found = inspect(find(notebook)).values()
    emit(
        [asdict(p) for p in found], as_json, columns((p.name, p.type, repr(p.default), p.help) for p in found)
    )


@app.command()
def ls(notebook: str = "*", root: Root = "runs", as_json: AsJson = False) -> None:
    """List the runs, oldest first: when, what, how it ended, and the number to look at first."""
    from workbench.experiment import runs

    found = runs.list_runs(root, notebook)
    heads = ("when", "run", "notebook", "status", "data", "objective", "seed", "queries", "headline")
    emit([facts(run) for run in found], as_json, columns([heads, *map(_line, found)]))


def _line(run: Any) -> tuple[object, ...]:
    """A run in the list, with its first number: what the results say, else what the parameters ask for."""
    from workbench.records import readable

    day, clock = run.id[:8], run.id[9:13]
    when = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:]}" if (day + clock).isdigit() else ""
    known = {**run.params, **run.results}
    about = (known.get("dataset", known.get("data", "")), known.get("objective", ""), known.get("seed", ""))
    found = dict(readable.of_results(run.results))
    first = [readable.readable(label, found[label]) for label in readable.headline(found)[:1]]
    shown = [(row["queries"], f"{row['number']} {row['value']} {row['in']}") for row in first]
    return when, run.id, run.notebook, run.status, *about, *(shown or [("", "")])[0]


@app.command()
def show(run: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """One run: parameters, and the numbers to look at first, each with its interval and its queries."""
    from workbench.experiment import runs

    with usage():
        found = runs.find(run, root)
    parameters = columns((f"  {name}", value) for name, value in found.params.items())
    about = columns((f"  {name}", value) for name, value in runs.flat(found.env).items()) if every else []
    lines = headline(found.results, every=every)
    emit(facts(found), as_json, [f"{found.folder}  {found.status}", *parameters, *lines, *about])


@app.command()
def diff(first: str, second: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """What differs between two runs: parameters, and the numbers to look at first."""
    from workbench.experiment import runs

    with usage():
        one, two = runs.find(first, root), runs.find(second, root)
    found = runs.diff(one, two)
    parts = found if every else {"params": found["params"]}
    rows = [(f"{part}: {key}", a, b) for part, keys in parts.items() for key, (a, b) in keys.items()]
    lines = columns(rows) + _changed(one, two, every)
    emit(found, as_json, lines if any(found.values()) else ["no difference"])


def _changed(first: Any, second: Any, every: bool) -> list[str]:
    """The numbers that differ between two runs, beside each other, and their difference: with interval and
    verdict where both runs keep values by query of the same images.
    """
    from workbench.experiment import runs
    from workbench.records import readable
    from workbench.records.shown import heading, shown, with_interval

    one, two = (dict(readable.of_results(run.results)) for run in (first, second))
    labels = list(one | two) if every else readable.headline(one | two)
    told = {found.key: found for found in runs.differences(first, second, labels)}
    rows = [("number", "A", "B", "B - A", "in", "verdict")]
    for label in labels:
        unit = readable.unit_of(label, one.get(label, two.get(label)))
        a, b = (found.get(label, {}).get("value") for found in (one, two))
        if a != b:
            change = "" if a is None or b is None else shown(b - a, unit, sign=True)
            verdict = ""
            if label in told:
                paired = told[label]
                change = with_interval(paired.value, paired.low, paired.high, unit, sign=True)
                verdict = f"{paired.mark} {paired.verdict}"
            rows.append((label, shown(a, unit), shown(b, unit), change, heading(unit), verdict))
    return columns(rows) if len(rows) > 1 else []


@app.command("list")
def list_shelf(shelf: str, as_json: AsJson = False) -> None:
    """The members of a shelf: data, encoders, metrics, objectives, text."""
    from importlib import import_module

    with usage():
        if shelf not in SHELVES:
            raise KeyError(f"no shelf {shelf!r}; choose one of {', '.join(SHELVES)}")
        names = import_module(f"workbench.{shelf}").names()
    emit(names, as_json, names)


@app.command(cls=WithPairs)
def data(name: str, parameter: Pairs = None, split: str = "test", as_json: AsJson = False) -> None:
    """One split of a data set: how many images and captions, and its notes."""
    from workbench import data as shelf
    from workbench.execution import parameters

    with usage():
        options = parameters.lay((), parameters.spelt({}, pairs(parameter)))
        found = shelf.load(name, split=split, **options)
    facts = {
        "name": found.name,
        **found.fingerprint(),
        "judgements": sorted(found.judgements),
        "notes": list(found.notes),
    }
    emit(facts, as_json, columns(facts.items()))


@app.command()
def build(root: Root = "runs", notebook: str = "*", out: Out = "", as_json: AsJson = False) -> None:
    """A leaderboard of all good runs: one page and one CSV file."""
    from workbench.views.pages import leaderboard

    with usage():
        made = leaderboard.build(root, out=out, notebook=notebook)
    emit(asdict(made), as_json, [f"{made.runs} runs  {made.html}", str(made.csv)])


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether this machine has what a first run needs."""
    from workbench.execution.doctor import examine

    found = examine()
    emit([asdict(f) for f in found], as_json, columns((f.state, f.name, f.detail) for f in found))
    raise typer.Exit(any(f.state == "missing" for f in found))
