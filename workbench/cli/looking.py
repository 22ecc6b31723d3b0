"""Verbs that look at what is there: runs, parameters, shelves, data, the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import typer

from workbench.cli._common import (
    AsJson,
    Out,
    Pairs,
    Root,
    WithPairs,
    app,
    columns,
    emit,
    facts,
    metrics,
    pairs,
    usage,
)

SHELVES = ("data", "encoders", "metrics", "objectives", "text")


@app.command()
def params(notebook: str, as_json: AsJson = False) -> None:
    """The parameters of a notebook: name, type, default, help."""
    from workbench.execution.notebook import find
    from workbench.execution.parameters import inspect

    with usage():
        found = inspect(find(notebook)).values()
    emit(
        [asdict(p) for p in found], as_json, columns((p.name, p.type, repr(p.default), p.help) for p in found)
    )


@app.command()
def ls(notebook: str = "*", root: Root = "runs", as_json: AsJson = False) -> None:
    """List the runs, oldest first."""
    from workbench.experiment import runs

    found = runs.list_runs(root, notebook)
    rows = [(r.notebook, r.id, r.status, r.params.get("objective", ""), _rsum(r.results)) for r in found]
    emit(
        [facts(r) for r in found],
        as_json,
        columns([("notebook", "run", "status", "objective", "rsum"), *rows]),
    )


def _rsum(results: Mapping[str, Any]) -> str:
    value = results.get("metrics", {}).get("rsum")
    return "" if value is None else f"{100 * value:.1f}"


@app.command()
def show(run: str, root: Root = "runs", as_json: AsJson = False) -> None:
    """One run: parameters, metrics with their intervals, environment."""
    from workbench.experiment import runs

    with usage():
        found = runs.find(run, root)
    parameters = columns((f"  {name}", value) for name, value in found.params.items())
    emit(facts(found), as_json, [f"{found.folder}  {found.status}", *parameters, *metrics(found.results)])


@app.command()
def diff(first: str, second: str, root: Root = "runs", as_json: AsJson = False) -> None:
    """What differs between two runs: parameters, results, environment."""
    from workbench.experiment import runs

    with usage():
        found = runs.diff(runs.find(first, root), runs.find(second, root))
    rows = [(f"{part}: {key}", a, b) for part, keys in found.items() for key, (a, b) in keys.items()]
    emit(found, as_json, columns(rows) or ["no difference"])


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
