"""The command line: verbs only, and every verb calls one function of the library.

Heavy modules are imported inside the verbs, so that ``workbench --help`` answers at once. Exit codes: 0 ok, 1 the notebook or a
check failed, 2 usage, 3 incomplete run, 138 the kernel was killed.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

app = typer.Typer(
    help="A notebook-first research workbench for image-text matching.",
    rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=True,
)  # fmt: skip

SHELVES = ("data", "encoders", "metrics", "objectives", "text")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Pairs = Annotated[list[str] | None, typer.Option("-p", "--parameter", metavar="NAME VALUE", help="Set one; repeatable.")]
FromFile = Annotated[Path | None, typer.Option("-f", "--file", help="YAML or JSON file of parameters.")]
Out = Annotated[str, typer.Option(help="Run folder; empty makes a new one.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")]
Root = Annotated[str, typer.Option(help="Folder of all runs.")]
Executor = Annotated[str, typer.Option(help="local, submitit or dask.")]
Jobs = Annotated[int, typer.Option(help="Runs at a time, with the local executor.")]
SkipExisting = Annotated[bool, typer.Option("--skip-existing", help="Keep good runs of the same parameters and code.")]


class WithPairs(TyperCommand):
    """A command whose ``-p name value`` takes two words, as papermill's does; ``-p name=value`` is the same."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Join the two words before the option is read."""
        joined, words = [], iter(args)
        for word in words:
            joined.append(word)
            if word in ("-p", "--parameter"):
                name = next(words, "")
                joined.append(name if "=" in name else f"{name}={next(words, '')}")
        return super().parse_args(ctx, joined)


@contextmanager
def _usage() -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError, LookupError, OSError, ModuleNotFoundError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        typer.echo(f"workbench: {message}", err=True)
        raise typer.Exit(2) from None


def _emit(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    print(json.dumps(value, indent=2, default=str) if as_json else "\n".join(lines))


def _columns(rows: Iterable[Iterable[object]]) -> list[str]:
    table = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in table]


def _pairs(given: list[str] | None) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in given or [])


@app.command()
def tour(root: Root = "runs", as_json: AsJson = False) -> None:
    """Run the notebooks on the embedded world and write one page that shows what came out."""
    from workbench.tour import check_stops
    from workbench.tour import tour as take

    with _usage():
        check_stops(root)
    result = take(root, say=lambda line: typer.echo(line, err=as_json))
    _emit(asdict(result), as_json, [f"open {result.index}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=WithPairs)
def run(notebook: str, parameter: Pairs = None, file: FromFile = None, root: Root = "runs", as_json: AsJson = False) -> None:
    """Run one notebook strictly: by path, or by its name in notebooks/."""
    from workbench.execution import notebook as execution
    from workbench.execution.parameters import read_file

    with _usage():
        path, values = execution.find(notebook), {**(read_file(file) if file else {}), **_pairs(parameter)}
        execution.check(path, values)
    result = execution.run_notebook(path, values, root=root, progress=sys.stderr.isatty() and not as_json)
    for note in (result.error, *result.warnings):
        typer.echo(note, err=True) if note else None
    _emit(asdict(result), as_json, [f"{result.status}  {result.seconds:.0f} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=WithPairs)
def grid(
    notebook: str, file: Path, parameter: Pairs = None, executor: Executor = "local", jobs: Jobs = 1,
    skip_existing: SkipExisting = False, root: Root = "runs", as_json: AsJson = False,
) -> None:  # fmt: skip
    """Run one notebook once for every arm of a grid file; -p goes over the values of all arms."""
    from workbench.execution import executors
    from workbench.execution import grid as execution

    with _usage():
        executors.check(executor)
        described = execution.read_grid(file)
        arms = execution.plan(notebook, described, {name: _literal(text) for name, text in _pairs(parameter).items()})
    options = {**described.get("executor", {}), **({"jobs": jobs} if executor == "local" else {})}
    done = execution.run_grid(notebook, arms, root=root, executor=executor, options=options, skip_existing=skip_existing)
    rows = ((o.label, "kept" if o.skipped else o.status, o.folder, o.error) for o in done)
    _emit([asdict(outcome) for outcome in done], as_json, _columns(rows))
    raise typer.Exit(max(outcome.exit_code for outcome in done))


@app.command()
def params(notebook: str, as_json: AsJson = False) -> None:
    """The parameters of a notebook: name, type, default, help."""
    from workbench.execution.notebook import find
    from workbench.execution.parameters import inspect

    with _usage():
        found = inspect(find(notebook)).values()
    _emit([asdict(p) for p in found], as_json, _columns((p.name, p.type, repr(p.default), p.help) for p in found))


@app.command(cls=WithPairs)
def train(config: Path, parameter: Pairs = None, out: Out = "", resume: Resume = False, as_json: AsJson = False) -> None:
    """Train and evaluate one experiment from a JSON file of configuration fields."""
    from workbench import runs, standalone

    with _usage():
        settings = standalone.read_config(config, {name: _literal(text) for name, text in _pairs(parameter).items()})
        standalone.check_folder(out, resume)
    folder = standalone.train(settings, out=out, resume=resume)
    if not standalone.leads():
        return
    found = runs.read(folder)
    _emit(_facts(found), as_json, [*_metrics(found.results), f"{found.status}  {found.folder}"])


def _literal(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return text


@app.command()
def evaluate(run: list[str], split: str = "test", root: Root = "runs", as_json: AsJson = False) -> None:
    """Measure the model of a finished run again; of several runs, their ensemble (the mean of their scores)."""
    from workbench import runs, standalone

    with _usage():
        measurements = standalone.evaluate_run(*(runs.find(name, root).folder for name in run), split=split)
    rows = [asdict(m) for m in measurements]
    _emit(rows, as_json, _columns((m.label, f"{m.value:.4f}", _interval(asdict(m))) for m in measurements))


def _interval(contract: Mapping[str, Any]) -> str:
    return "" if contract.get("low") is None else f"[{contract['low']:.4f}, {contract['high']:.4f}]"


def _metrics(results: Mapping[str, Any]) -> list[str]:
    contracts = results.get("contracts", {})
    return _columns((k, f"{v:.4f}", _interval(contracts.get(k, {}))) for k, v in results.get("metrics", {}).items())


def _facts(run: Any) -> dict[str, Any]:
    return {**asdict(run), "folder": str(run.folder)}


@app.command()
def ls(notebook: str = "*", root: Root = "runs", as_json: AsJson = False) -> None:
    """List the runs, oldest first."""
    from workbench import runs

    found = runs.list_runs(root, notebook)
    rows = [(r.notebook, r.id, r.status, r.params.get("objective", ""), _rsum(r.results)) for r in found]
    _emit([_facts(r) for r in found], as_json, _columns([("notebook", "run", "status", "objective", "rsum"), *rows]))


def _rsum(results: Mapping[str, Any]) -> str:
    value = results.get("metrics", {}).get("rsum")
    return "" if value is None else f"{100 * value:.1f}"


@app.command()
def show(run: str, root: Root = "runs", as_json: AsJson = False) -> None:
    """One run: parameters, metrics with their intervals, environment."""
    from workbench import runs

    with _usage():
        found = runs.find(run, root)
    parameters = _columns((f"  {name}", value) for name, value in found.params.items())
    _emit(_facts(found), as_json, [f"{found.folder}  {found.status}", *parameters, *_metrics(found.results)])


@app.command()
def diff(first: str, second: str, root: Root = "runs", as_json: AsJson = False) -> None:
    """What differs between two runs: parameters, results, environment."""
    from workbench import runs

    with _usage():
        found = runs.diff(runs.find(first, root), runs.find(second, root))
    rows = [(f"{part}: {key}", a, b) for part, keys in found.items() for key, (a, b) in keys.items()]
    _emit(found, as_json, _columns(rows) or ["no difference"])


@app.command("list")
def list_shelf(shelf: str, as_json: AsJson = False) -> None:
    """The members of a shelf: data, encoders, metrics, objectives, text."""
    from importlib import import_module

    with _usage():
        if shelf not in SHELVES:
            raise KeyError(f"no shelf {shelf!r}; choose one of {', '.join(SHELVES)}")
        names = import_module(f"workbench.{shelf}").names()
    _emit(names, as_json, names)


@app.command(cls=WithPairs)
def data(name: str, parameter: Pairs = None, split: str = "test", as_json: AsJson = False) -> None:
    """One split of a data set: how many images and captions, and its notes."""
    from workbench import data as shelf

    with _usage():
        found = shelf.load(name, split=split, **{key: _literal(text) for key, text in _pairs(parameter).items()})
    facts = {"name": found.name, **found.fingerprint(), "judgements": sorted(found.judgements), "notes": list(found.notes)}
    _emit(facts, as_json, _columns(facts.items()))


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether this machine has what a first run needs."""
    from workbench.doctor import examine

    found = examine()
    _emit([asdict(f) for f in found], as_json, _columns((f.state, f.name, f.detail) for f in found))
    raise typer.Exit(any(f.state == "missing" for f in found))
