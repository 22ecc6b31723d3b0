"""The command line: verbs only, and every verb calls one function of the library.

Heavy modules are imported inside the verbs, so that ``workbench --help`` answers at once. Exit codes: 0 ok, 1
the notebook or a check failed, 2 usage, 3 incomplete run, 138 the kernel was killed.
"""

import json
import os
import shlex
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from workbench.execution import executors, library
from workbench.execution.doctor import examine
from workbench.experiment import runs
from workbench.records import readable, require
from workbench.records.shown import fixed, heading, shown, with_interval
from workbench.registry import read_options

# read when torch is loaded: threads that wait asleep leave the cores to whatever else runs
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

app = typer.Typer(
    help="A notebook-first research workbench for image-text matching.",
    rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=False, no_args_is_help=True,
)  # fmt: skip

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Pairs = Annotated[
    list[str] | None, typer.Option("-p", "--parameter", metavar="NAME VALUE", help="Set one; repeatable.")
]
Every = Annotated[bool, typer.Option("--all", help="Not only the numbers to look at first.")]
Out = Annotated[str, typer.Option(help="Run folder; empty makes a new one.")]
Record = Annotated[
    Path | None, typer.Option(help="Write the numbers that the grid file records to this table.")
]
SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Keep good runs of the same parameters and code.")
]
Root = Annotated[str, typer.Option(help="Folder of all runs.")]

# What is wrong with words, values, files and packages.
USUAL = (ValueError, TypeError, LookupError, OSError, ModuleNotFoundError)
SHELVES = ("data", "encoders", "metrics", "objectives", "text")


class WithPairs(TyperCommand):
    """A command whose ``-p name value`` takes two words, as papermill's; ``-p name=value`` is the same."""

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
def usage(kinds: tuple[type[Exception], ...] = USUAL) -> Iterator[None]:
    """A wrong word ends the verb with its message and exit code 2.

    Args:
        kinds: the errors that say so.
    """
    try:
        yield
    except BrokenPipeError:  # whoever read the lines has enough of them: `workbench list metrics | head -3`
        raise
    except kinds as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        typer.echo(f"workbench: {message}", err=True)
        raise typer.Exit(2) from None


def writable(folder: Path | str) -> None:
    """Refuse a folder that cannot be written, without making it.

    Raises:
        OSError: it or the nearest folder above it cannot be written.
    """
    place = Path(folder).absolute()
    try:
        TemporaryFile(dir=next(one for one in (place, *place.parents) if one.exists())).close()
    except OSError as error:
        raise OSError(f"cannot write to {folder} ({error.strerror}); choose another folder") from None


def emit(value: Any, as_json: bool, lines: Iterable[str]) -> None:
    """Print the value as JSON, or the lines."""
    print(json.dumps(value, indent=2, default=str) if as_json else "\n".join(lines))


def columns(rows: Iterable[Iterable[object]]) -> list[str]:
    """Rows as lines whose cells stand below one another."""
    table = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, row, widths)).rstrip() for row in table]


def pairs(given: list[str] | None) -> dict[str, str]:
    """``["a=1"]`` as ``{"a": "1"}``."""
    return {name: value for name, _, value in (pair.partition("=") for pair in given or [])}


def numbers(found: Iterable[Any], *, every: bool = False) -> list[str]:
    """Measured numbers with their intervals and how many queries they are over, one a line.

    Args:
        found: of type ``Measurement``, or what ``results.json`` holds.
        every: all of them; else those to look at first, and a last line that counts the others.
    """
    found = readable.of_results(found) if isinstance(found, Mapping) else found
    rows = {row["number"]: row for row in readable.rows(found)}
    shown = list(rows) if every else readable.headline(rows)
    heads = ("number", "value", "in", "queries")
    lines = columns([heads, *([rows[label][head] for head in heads] for label in shown)]) if rows else []
    left = len(rows) - len(shown)
    return [*lines, f"and {left} more; --all shows them"] if left else lines


def facts(run: Any) -> dict[str, Any]:
    """A run as JSON values."""
    return {**asdict(run), "folder": str(run.folder)}


@app.command()
def tour(root: Root = "runs", as_json: AsJson = False) -> None:
    """Run the notebooks on the embedded world and write one page that shows what came out."""
    from workbench import tour as guided

    with usage():
        guided.check_stops(root)
        writable(root)
    result = guided.tour(root, say=lambda line: typer.echo(line, err=as_json))
    emit(asdict(result), as_json, [f"open {result.index}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=WithPairs)
def run(
    notebook: str,
    parameter: Pairs = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="YAML or JSON file of parameters.")
    ] = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook strictly: by path or by name."""
    from workbench.execution import notebook as execution
    from workbench.execution import parameters

    with usage():
        path = library.find(notebook)
        known = parameters.inspect(path)
        shared = read_options(library.find(file, "parameter file")) if file else {}
        values = parameters.lay(known, shared, parameters.spelt(known, pairs(parameter)))
        execution.check(path, values)
        writable(root)
    result = execution.run_notebook(path, values, root=root, progress=sys.stderr.isatty() and not as_json)
    for note in filter(None, (result.error, *result.warnings)):
        typer.echo(note, err=True)
    emit(asdict(result), as_json, [f"{result.status}  {fixed(result.seconds, 0)} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


@app.command()
def explore(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs of one data set; none takes the shipped encoder.")
    ] = None,
    root: Root = "runs",
    prepare: Annotated[bool, typer.Option("--prepare", help="Write the notebook, open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open JupyterLab on the retrieval explorer, with several runs side by side."""
    from workbench.execution import lab

    with usage():
        path = lab.explorer(run or [], root=root)
    emit({"notebook": str(path)}, as_json, [str(path)])
    if not prepare:
        raise typer.Exit(lab.open_lab(path))


@app.command()
@usage()
def notebooks(folder: Path, as_json: AsJson = False) -> None:
    """Copy the notebooks, configurations and grids into a folder, to change them there."""
    written = library.lay_out(folder)
    emit([str(path) for path in written], as_json, [f"{len(written)} files  {folder}"])


@app.command(cls=WithPairs)
def grid(  # noqa: PLR0913 - typer reads the options from the signature
    notebook: str,
    file: Path,
    parameter: Pairs = None,
    executor: Annotated[str, typer.Option(help="local, submitit or dask.")] = "local",
    jobs: Annotated[int, typer.Option(help="Runs at a time, with the local executor.")] = 1,
    skip_existing: SkipExisting = False,
    record: Record = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook once for every arm of a grid file; -p goes over the values of all arms.

    A grid file that says which table of a paper it is ends in that table.
    """
    from workbench.execution import grid as execution

    with usage():
        described, changes, arms = _planned(notebook, file, parameter)
        options = {**(described.get("executor") or {}), **({"jobs": jobs} if executor == "local" else {})}
        executors.check(executor, options)
        asked = "does not say what to record; name numbers, as in record: [rsum]"
        require(not record or described.get("record"), f"{file} {asked}")
        for place in (root, record.parent if record else root):
            writable(place)
    with usage((executors.ExecutorError,)):
        done = execution.run_grid(
            notebook, arms, root=root, name=library.find(file, "grid").stem, executor=executor,
            options=options, skip_existing=skip_existing,
        )  # fmt: skip
    lines = columns((o.label, "kept" if o.skipped else o.status, o.folder, o.error) for o in done)
    emit([asdict(outcome) for outcome in done], as_json, lines)
    code = max(one.exit_code for one in done)
    if record and code:
        typer.echo(f"{record} is not written, since an arm failed", err=True)
    elif record:
        words = [notebook, str(file), *(f"-p={pair}" for pair in parameter or ()), "--record", str(record)]
        with usage():
            execution.record(described, done, record, shlex.join(["workbench", "grid", *words]))
    good = [one.folder for one in done if not one.exit_code]
    if good and "table" in described:
        with usage():
            typer.echo("\n".join(write_table(file, changes, root, good)[2]), err=as_json)
    raise typer.Exit(code)


def _planned(notebook: str, file: Path, parameter: Pairs) -> tuple[Any, dict[str, Any], Any]:
    """The grid that is run, the values that go over all arms, and the parameters of every arm."""
    from workbench.execution import grid as execution
    from workbench.execution import parameters
    from workbench.execution import table as tables

    path = library.find(file, "grid")
    described = execution.read_grid(path)
    changes = parameters.spelt(parameters.inspect(library.find(notebook)), pairs(parameter))
    described = execution.over_seeds(described, changes)
    if "table" in described:
        tables.read(described, path)
    return described, changes, execution.plan(notebook, described, changes)


def write_table(
    file: Path | str, changes: Mapping[str, Any], root: str, ended: Sequence[Path] = ()
) -> tuple[Any, Any, list[str]]:
    """Write the table of a grid below the runs, after the runs that have ended now were measured where it asks
    for it: the table, its files, and lines to print.
    """
    from workbench.execution import grid as execution
    from workbench.execution import table as tables
    from workbench.views.pages import tables as pages

    tables.complete(execution.read_grid(library.find(file, "grid")), ended)
    made = tables.make(file, changes, root=root)
    files = pages.write(made, Path(root) / "tables")
    return made, files, [pages.markdown(made).rstrip(), *map(str, files.values())]


@app.command(cls=WithPairs)
def table(file: str, parameter: Pairs = None, root: Root = "runs", as_json: AsJson = False) -> None:
    """The table of a grid from finished runs, with the -p of that grid; exit code 3: arms are missing."""
    with usage():
        made, files, lines = write_table(file, pairs(parameter), root)
    emit({"files": {end: str(path) for end, path in files.items()}, **asdict(made)}, as_json, lines)
    raise typer.Exit(3 if made.missing else 0)


@app.command(cls=WithPairs)
def train(
    config: Annotated[
        Path | None, typer.Argument(help="JSON or YAML file of fields; none takes the defaults.")
    ] = None,
    parameter: Pairs = None,
    out: Out = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train and evaluate one experiment: a file of configuration fields, -p, or the defaults alone."""
    from workbench import experiment
    from workbench.execution import parameters
    from workbench.experiment import standalone

    with usage():
        values = read_options(library.find(config, "configuration")) if config else {}
        standalone.check_folder(out, resume)
        chosen = experiment.Config(**parameters.lay((), values, parameters.spelt({}, pairs(parameter))))
        writable(out or "runs")
        ready = experiment.prepare(chosen, progress=standalone.leads())
    folder = standalone.train(ready, out=out, resume=resume)
    if standalone.leads():
        found = runs.read(folder)
        emit(facts(found), as_json, [*numbers(found.results), f"{found.status}  {found.folder}"])


@app.command(cls=WithPairs)
@usage()
def evaluate(
    run: list[str],
    data: Annotated[
        str, typer.Option(help="Other data: a name, a JSON or YAML file, or {...}; -p gives options.")
    ] = "",
    split: Annotated[str, typer.Option(help="Of the data; empty takes the test split.")] = "",
    parameter: Pairs = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Measure the model of a finished run again, on its own data or on others, of which the numbers are kept
    beside the run; of several runs, measure their ensemble (the mean of their scores).
    """
    from workbench.execution import parameters
    from workbench.experiment import Target, standalone

    options = parameters.lay((), parameters.spelt({}, pairs(parameter)))
    require(data or not options, "-p gives options of other data; name it with --data")
    folders = [runs.find(name, root).folder for name in run]
    target = Target.read(data, options, split) if data else None
    if target and len(folders) == 1:
        one = standalone.evaluate_on(folders[0], target)
        kept = str(folders[0] / runs.EVALUATIONS / target.name)
        measurements, about = one.measurements, [_about(one.as_dict()), kept]
    else:
        measurements = standalone.evaluate_run(*folders, split=split or "test", target=target)
        about = ["an ensemble belongs to no run folder: nothing is stored"] if target else []
    emit([m.as_dict() for m in measurements], as_json, [*numbers(measurements, every=True), *about])


def _about(results: Mapping[str, Any]) -> str:
    """What an evaluation on other data is."""
    return f"measured on {results['split']['name']}, trained on {results['training']}"


@app.command()
@usage()
def params(notebook: str, as_json: AsJson = False) -> None:
    """The parameters of a notebook: name, type, default, help."""
    from workbench.execution.parameters import inspect

    found = inspect(library.find(notebook)).values()
    emit(
        [asdict(p) for p in found], as_json, columns((p.name, p.type, repr(p.default), p.help) for p in found)
    )


@app.command()
def ls(notebook: str = "*", root: Root = "runs", as_json: AsJson = False) -> None:
    """List the runs, oldest first: when, what, how it ended, and the number to look at first."""
    found = runs.list_runs(root, notebook)
    heads = ("when", "run", "notebook", "status", "data", "objective", "seed", "queries", "headline")
    rows = [line for run in found for line in (_line(run), *map(_line_on, run.elsewhere()))]
    emit([facts(run) for run in found], as_json, columns([heads, *rows]))


def _line(run: Any) -> tuple[object, ...]:
    """A run in the list, with its first number: what the results say, else what the parameters ask for."""
    day, clock = run.id[:8], run.id[9:13]
    when = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:]}" if (day + clock).isdigit() else ""
    known = {**run.params, **run.results}
    about = (known.get("dataset", known.get("data", "")), known.get("objective", ""), known.get("seed", ""))
    found = dict(readable.of_results(run.results))
    first = [readable.readable(label, found[label]) for label in readable.headline(found)[:1]]
    shown = [(row["queries"], f"{row['number']} {row['value']} {row['in']}") for row in first]
    return when, run.id, run.notebook, run.status, *about, *(shown or [("", "")])[0]


def _line_on(run: Any) -> tuple[object, ...]:
    """The line of an evaluation on other data, below its run."""
    return "", f"  {run.folder.name}", "evaluate", *_line(run)[3:]


@app.command()
@usage()
def show(run: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """One run: parameters, and the numbers to look at first, each with its interval and its queries."""
    found = runs.find(run, root)
    parameters = columns((f"  {name}", value) for name, value in found.params.items())
    about = columns((f"  {name}", value) for name, value in runs.flat(found.env).items()) if every else []
    lines = numbers(found.results, every=every)
    for results in found.evaluations.values():
        lines += [_about(results), *numbers(results, every=every)]
    arms = columns((f"  arm of {grid}", label) for grid, label in found.arms.items())
    emit(facts(found), as_json, [f"{found.folder}  {found.status}", *arms, *parameters, *lines, *about])


@app.command()
@usage()
def diff(first: str, second: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """What differs between two runs: parameters, and the numbers to look at first."""
    one, two = runs.find(first, root), runs.find(second, root)
    found = runs.diff(one, two)
    parts = found if every else {"params": found["params"]}
    rows = [(f"{part}: {key}", a, b) for part, keys in parts.items() for key, (a, b) in keys.items()]
    numbers, compared = _changed(one, two, every)
    changed = [*columns(rows), *numbers] if any(found.values()) else ["no difference"]
    emit(found | {"differences": compared}, as_json, changed)


def _changed(first: Any, second: Any, every: bool) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The numbers that differ between two runs, beside each other, as lines; and the paired difference, with
    its interval and verdict, of each number of which both runs keep values by query of the same images.
    """
    one, two = (dict(readable.of_results(run.results)) for run in (first, second))
    labels = list(one | two) if every else readable.headline(one | two)
    paired = {found.key: found for found in runs.differences(first, second, labels)}
    rows = [("number", "A", "B", "B - A", "in", "verdict")]
    for label in labels:
        a, b = (found.get(label, {}).get("value") for found in (one, two))
        if a != b:
            unit, told = readable.unit_of(label, one.get(label, two.get(label))), paired.get(label)
            alone = None if a is None or b is None else b - a, None, None
            value, low, high = (told.value, told.low, told.high) if told else alone
            verdict = f"{told.mark} {told.verdict}" if told else ""
            values = shown(a, unit), shown(b, unit), with_interval(value, low, high, unit, sign=True)
            rows.append((label, *values, heading(unit), verdict))
    return columns(rows) if len(rows) > 1 else [], {label: one.row() for label, one in paired.items()}


@app.command("list")
@usage()
def list_shelf(shelf: str, as_json: AsJson = False) -> None:
    """The members of a shelf: data, encoders, metrics, objectives, text; or the papers' tables: tables."""
    if shelf == "tables":
        from workbench.execution import table as tables

        found = tables.listed()
        lines = [line for one in found for line in _of_table(one)]
        emit([one._asdict() for one in found], as_json, lines)
        return
    known = ", ".join((*SHELVES, "tables"))
    require(shelf in SHELVES, f"no shelf {shelf!r}; choose one of {known}", KeyError)
    names = import_module(f"workbench.{shelf}").names()
    emit(names, as_json, names)


def _of_table(one: Any) -> list[str]:
    """A table of a paper as lines: what it shows, the command that makes it, and what it lacks."""
    return [f"{one.table}: {one.shows}", *(f"    {text}" for text in (one.command, one.remark) if text)]


@app.command(cls=WithPairs)
@usage()
def data(name: str, parameter: Pairs = None, split: str = "test", as_json: AsJson = False) -> None:
    """One split of a data set: how many images and captions, and its notes."""
    from workbench import data as shelf
    from workbench.execution import parameters

    found = shelf.load(name, split=split, **parameters.lay((), parameters.spelt({}, pairs(parameter))))
    about = {"name": found.name, **found.fingerprint(), "judgements": sorted(found.judgements)}
    about["notes"] = list(found.notes)
    emit(about, as_json, columns(about.items()))


@app.command()
@usage()
def build(root: Root = "runs", notebook: str = "*", out: Out = "", as_json: AsJson = False) -> None:
    """A leaderboard of all good runs: one page and one CSV file."""
    from workbench.views.pages import leaderboard

    made = leaderboard.build(root, out=out, notebook=notebook)
    emit(asdict(made), as_json, [f"{made.runs} runs  {made.html}", str(made.csv)])


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether this machine has what a first run needs."""
    found = examine()
    emit([asdict(f) for f in found], as_json, columns((f.state, f.name, f.detail) for f in found))
    raise typer.Exit(any(f.state == "missing" for f in found))
