"""The command line: verbs only, and every verb calls one function of the library.

Heavy modules are imported inside the verbs, so that ``workbench --help`` answers at once. Exit codes: 0 ok, 1
the notebook or a check failed, 2 usage, 3 incomplete run, 124 the time was up, 130 Ctrl-C, 138 the kernel was
killed, 143 SIGTERM.
"""

import json
import os
import shlex
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from workbench.cli import papers, shelves
from workbench.cli.lines import changed, columns, numbers
from workbench.execution import executors, library
from workbench.execution.doctor import examine, speed
from workbench.experiment import runs
from workbench.records import readable, require, stopping
from workbench.records.foreign import read_options
from workbench.records.sealed import SealError
from workbench.records.shown import fixed

# read when torch is loaded: threads that wait asleep leave the cores to whatever else runs
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


class Verbs(TyperGroup):
    """Verbs that SIGTERM stops as Ctrl-C does, with the exit code that shells give a signal."""

    def invoke(self, ctx: Any) -> Any:
        """Call the verb."""
        try:
            with stopping.heard():
                return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            typer.echo("workbench: interrupted; the same command goes on (train: with --resume)", err=True)
            raise typer.Exit(stopping.exit_code(stop)) from None


app = typer.Typer(
    cls=Verbs,
    rich_markup_mode=None, pretty_exceptions_enable=False, no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)  # fmt: skip

Bench = Annotated[bool, typer.Option("--bench", help="How fast it is, beside references; minutes.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Pairs = Annotated[
    list[str] | None, typer.Option("-p", "--parameter", metavar="NAME VALUE", help="Set one; repeatable.")
]
Every = Annotated[bool, typer.Option("--all", help="Not only the numbers to look at first.")]
Out = Annotated[str, typer.Option(help="Run folder; empty makes a new one.")]
Record = Annotated[
    Path | None, typer.Option(help="Write the numbers that the grid file records to this table.")
]
TimeLimit = Annotated[
    float | None, typer.Option(min=0, metavar="SECONDS", help="End a run after so long; none by default.")
]
SkipExisting = Annotated[
    bool, typer.Option("--skip-existing", help="Keep good runs of the same parameters and code.")
]
Root = Annotated[str, typer.Option(help="Folder of all runs.")]

NOTHING = "does not say what to record; name numbers, as in record: [rsum]"
# What is wrong with words, values, files and packages.
USUAL = (ValueError, TypeError, LookupError, OSError, ModuleNotFoundError)


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


def _told(as_json: bool) -> Callable[[str], None]:
    """What takes a line of progress."""
    return lambda line: None if as_json else typer.echo(line, err=True)


def pairs(given: list[str] | None) -> dict[str, str]:
    """``["a=1"]`` as ``{"a": "1"}``."""
    return {name: value for name, _, value in (pair.partition("=") for pair in given or [])}


def facts(run: Any) -> dict[str, Any]:
    """A run as JSON values."""
    return {**asdict(run), "folder": str(run.folder)}


@app.callback(invoke_without_command=True)
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    """A notebook-first research workbench for image-text matching."""
    if version:
        from workbench import __version__

        typer.echo(f"itm-workbench {__version__}")
        raise typer.Exit


@app.command(epilog="Example: workbench tour --root runs")
def tour(root: Root = "runs", as_json: AsJson = False) -> None:
    """Run the notebooks and write one page that shows what came out.

    They run on the embedded world; it takes minutes and downloads nothing.
    """
    from workbench import tour as guided

    with usage():
        guided.check_stops(root)
        writable(root)
    result = guided.tour(root, say=lambda line: typer.echo(line, err=as_json))
    emit(asdict(result), as_json, [f"open {result.index}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=WithPairs, epilog="Example: workbench run 03_train -p objective ditm -p epochs 5")
def run(
    notebook: str,
    parameter: Pairs = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="YAML or JSON file of parameters.")
    ] = None,
    time_limit: TimeLimit = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook strictly: by path or by name.

    One that was cut off is gone on with: same parameters, same code.
    """
    from workbench.execution import notebook as execution
    from workbench.execution import parameters

    with usage():
        path = library.find(notebook)
        known = parameters.inspect(path)
        shared = read_options(library.find(file, "parameter file")) if file else {}
        values = parameters.lay(known, shared, parameters.spelt(known, pairs(parameter)))
        execution.check(path, values)
        writable(root)
    with usage((OSError,)):
        result = execution.run_notebook(path, values, root=root, time_limit=time_limit, say=_told(as_json))
    for note in filter(None, (result.error, *result.warnings)):
        typer.echo(note, err=True)
    emit(asdict(result), as_json, [f"{result.status}  {fixed(result.seconds, 0)} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


@app.command(epilog="Example: workbench explore vsepp-run ditm-run")
def explore(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs of one data set; none takes the shipped encoder.")
    ] = None,
    root: Root = "runs",
    prepare: Annotated[bool, typer.Option("--prepare", help="Write the notebook, open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open JupyterLab on the retrieval explorer.

    Several runs of one data set stand side by side.
    """
    from workbench.execution import lab

    with usage():
        path = lab.explorer(run or [], root=root)
    emit({"notebook": str(path)}, as_json, [str(path)])
    if not prepare:
        raise typer.Exit(lab.open_lab(path))


@app.command(epilog="Example: workbench notebooks mine")
@usage()
def notebooks(folder: Path, as_json: AsJson = False) -> None:
    """Copy notebooks, configurations and grids, to change them."""
    written = library.lay_out(folder)
    emit([str(path) for path in written], as_json, [f"{len(written)} files  {folder}"])


@app.command(cls=WithPairs, epilog="Example: workbench grid 03_train ditm_table4 --skip-existing")
def grid(  # noqa: PLR0913 - typer reads the options from the signature
    notebook: str,
    file: Path,
    parameter: Pairs = None,
    executor: Annotated[str, typer.Option(help="local, submitit or dask.")] = "local",
    jobs: Annotated[int, typer.Option(help="Runs at a time, with the local executor.")] = 1,
    skip_existing: SkipExisting = False,
    time_limit: TimeLimit = None,
    record: Record = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook once for every arm of a grid file.

    What -p gives is laid over the values of all arms. A grid file that says which table of a paper it is ends
    in that table.
    """
    from workbench.execution import grid as execution

    with usage():
        described, changes, arms = papers.planned(notebook, file, pairs(parameter))
        given = {"jobs": jobs if executor == "local" else None, executors.TIME_LIMIT: time_limit}
        options = {**(described.get("executor") or {}), **{k: v for k, v in given.items() if v is not None}}
        executors.check(executor, options)
        require(not record or described.get("record"), f"{file} {NOTHING}")
        for place in (root, record.parent if record else root):
            writable(place)
    with usage((executors.ExecutorError,)):
        done = execution.run_grid(
            notebook, arms, root=root, name=library.find(file, "grid").stem, executor=executor,
            options=options, skip_existing=skip_existing, say=_told(as_json),
        )  # fmt: skip
    emit([asdict(outcome) for outcome in done], as_json, papers.ended(done))
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
            typer.echo("\n".join(papers.write_table(file, changes, root, good)[2]), err=as_json)
    raise typer.Exit(code)


@app.command(cls=WithPairs, epilog="Example: workbench table ditm_table4")
def table(file: str, parameter: Pairs = None, root: Root = "runs", as_json: AsJson = False) -> None:
    """The table of a grid, from finished runs.

    Give the -p of that grid; exit code 3: arms are missing.
    """
    with usage():
        made, files, lines = papers.write_table(file, pairs(parameter), root)
    emit({"files": {end: str(path) for end, path in files.items()}, **asdict(made)}, as_json, lines)
    raise typer.Exit(3 if made.missing else 0)


@app.command(cls=WithPairs, epilog="Example: workbench train -p objective=ditm --out runs/mine")
def train(
    config: Annotated[
        Path | None, typer.Argument(help="JSON or YAML file of fields; none takes the defaults.")
    ] = None,
    parameter: Pairs = None,
    out: Out = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train and evaluate one experiment.

    It is described by a file of configuration fields, by -p, or by the defaults alone.
    """
    from workbench import experiment
    from workbench.execution import parameters
    from workbench.experiment import standalone

    with usage():
        values = read_options(library.find(config, "configuration")) if config else {}
        standalone.check_folder(out, resume)
        chosen = experiment.Config(**parameters.lay((), values, parameters.spelt({}, pairs(parameter))))
        writable(out or "runs")
        ready = experiment.prepare(chosen, progress=standalone.leads())
    with usage((SealError, BlockingIOError)):
        folder = standalone.train(ready, out=out, resume=resume)
    if standalone.leads():
        found = runs.read(folder)
        emit(facts(found), as_json, [*numbers(found.results), f"{found.status}  {found.folder}"])


@app.command(cls=WithPairs, epilog="Example: workbench evaluate runs/mine --data coco --split val")
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
    """Measure the model of a finished run again.

    On its own data or on others, of which the numbers are kept beside the run. Several runs are measured as
    one ensemble: the mean of their scores.
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


@app.command(epilog="Example: workbench params 03_train")
@usage()
def params(notebook: str, as_json: AsJson = False) -> None:
    """The parameters of a notebook: name, type, default, help."""
    from workbench.execution.parameters import inspect

    found = inspect(library.find(notebook)).values()
    emit(
        [asdict(p) for p in found], as_json, columns((p.name, p.type, repr(p.default), p.help) for p in found)
    )


@app.command(epilog="Example: workbench ls --notebook 03_train")
def ls(notebook: str = "*", root: Root = "runs", as_json: AsJson = False) -> None:
    """List the runs, oldest first.

    When, what, how it ended, and the number to look at first.
    """
    found = runs.list_runs(root, notebook)
    heads = ("when", "run", "notebook", "status", "data", "objective", "seed", "queries", "headline")
    rows = [line for run in found for line in (_line(run), *map(_line_on, run.elsewhere()))]
    bad = [f"{run.folder} is {run.status}" for run in found if run.status.startswith(runs.UNREADABLE)]
    emit([facts(run) for run in found], as_json, [*columns([heads, *rows]), *bad])


def _line(run: Any) -> tuple[object, ...]:
    """A run in the list, with its first number: what the results say, else what the parameters ask for."""
    day, clock = run.id[:8], run.id[9:13]
    when = f"{day[:4]}-{day[4:6]}-{day[6:]} {clock[:2]}:{clock[2:]}" if (day + clock).isdigit() else ""
    known = {**run.params, **run.results}
    about = (known.get("dataset", known.get("data", "")), known.get("objective", ""), known.get("seed", ""))
    found = dict(readable.of_results(run.results))
    first = [readable.readable(label, found[label]) for label in readable.headline(found)[:1]]
    shown = [(row["queries"], f"{row['number']} {row['value']} {row['in']}") for row in first]
    ended = runs.UNREADABLE if run.status.startswith(runs.UNREADABLE) else run.status
    return when, run.id, run.notebook, ended, *about, *(shown or [("", "")])[0]


def _line_on(run: Any) -> tuple[object, ...]:
    """The line of an evaluation on other data, below its run."""
    return "", f"  {run.folder.name}", "evaluate", *_line(run)[3:]


@app.command(epilog="Example: workbench show runs/mine --all")
@usage()
def show(run: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """One run: parameters, and the numbers to look at first.

    Each number with its interval and the count of its queries; --all shows every number.
    """
    found = runs.find(run, root)
    parameters = columns((f"  {name}", value) for name, value in found.params.items())
    about = columns((f"  {name}", value) for name, value in runs.flat(found.env).items()) if every else []
    lines = numbers(found.results, every=every)
    for results in found.evaluations.values():
        lines += [_about(results), *numbers(results, every=every)]
    arms = columns((f"  arm of {grid}", label) for grid, label in found.arms.items())
    emit(facts(found), as_json, [f"{found.folder}  {found.status}", *arms, *parameters, *lines, *about])


@app.command(epilog="Example: workbench diff runs/mine runs/other")
@usage()
def diff(first: str, second: str, every: Every = False, root: Root = "runs", as_json: AsJson = False) -> None:
    """What differs between two runs.

    Parameters, and the numbers to look at first, with the paired difference where both runs kept values by
    query; --all shows every number.
    """
    one, two = runs.find(first, root), runs.find(second, root)
    found = runs.diff(one, two)
    parts = found if every else {"params": found["params"]}
    rows = [(f"{part}: {key}", a, b) for part, keys in parts.items() for key, (a, b) in keys.items()]
    measured, compared = changed(one, two, every)
    lines = [*columns(rows), *measured] if any(found.values()) else ["no difference"]
    emit(found | {"differences": compared}, as_json, lines)


@app.command("list", epilog="Example: workbench list objectives")
@usage()
def list_shelf(shelf: str, as_json: AsJson = False) -> None:
    """The members of a shelf, one a line.

    The shelves are data, encoders, metrics, objectives and text; tables are
    the tables and figures of the papers, each with its command.
    """
    if shelf == "tables":
        found, lines = papers.listed()
    else:
        known = ", ".join((*shelves.KINDS, "tables"))
        require(shelf in shelves.KINDS, f"no shelf {shelf!r}; choose one of {known}", KeyError)
        found = shelves.rows(shelf)
        lines = shelves.lines(found, shutil.get_terminal_size().columns)
    emit(found, as_json, lines)


@app.command(epilog="Example: workbench explain map_at_r")
@usage()
def explain(name: str, as_json: AsJson = False) -> None:
    """What a member of a shelf computes, and its options.

    The name is that of a member, module:Class, or the key of a number.
    """
    found = shelves.explain(name)
    emit(found, as_json, found)


@app.command(cls=WithPairs, epilog="Example: workbench data folder -p root=photos --split train")
@usage()
def data(name: str, parameter: Pairs = None, split: str = "test", as_json: AsJson = False) -> None:
    """One split of a data set: its size and its notes."""
    from workbench import data as shelf
    from workbench.execution import parameters

    found = shelf.load(name, split=split, **parameters.lay((), parameters.spelt({}, pairs(parameter))))
    about = {"name": found.name, **found.fingerprint(), "judgements": sorted(found.judgements)}
    about["notes"] = list(found.notes)
    emit(about, as_json, columns(about.items()))


@app.command(epilog="Example: workbench build --root runs")
@usage()
def build(root: Root = "runs", notebook: str = "*", out: Out = "", as_json: AsJson = False) -> None:
    """A leaderboard of all good runs: one page and one CSV file."""
    from workbench.views.pages import leaderboard

    made = leaderboard.build(root, out=out, notebook=notebook)
    emit(asdict(made), as_json, [f"{made.runs} runs  {made.html}", str(made.csv)])


@app.command(epilog="Example: workbench doctor --bench")
def doctor(bench: Bench = False, as_json: AsJson = False) -> None:
    """Look whether this machine has what a first run needs, or measure how fast it is."""
    if bench:
        rows, lines = speed()
        return emit(rows, as_json, columns(lines))
    found = examine()
    emit([asdict(f) for f in found], as_json, columns((f.state, f.name, f.detail) for f in found))
    raise typer.Exit(any(f.state == "missing" for f in found))
