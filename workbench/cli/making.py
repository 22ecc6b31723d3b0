"""Verbs that make something: runs of notebooks and experiments, pages, reports."""

import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli import _common
from workbench.cli._common import app, emit, usage


@app.command()
def tour(root: _common.Root = "runs", as_json: _common.AsJson = False) -> None:
    """Run the notebooks on the embedded world and write one page that shows what came out."""
    from workbench import tour as guided

    with usage():
        guided.check_stops(root)
        _common.writable(root)
    result = guided.tour(root, say=lambda line: typer.echo(line, err=as_json))
    emit(asdict(result), as_json, [f"open {result.index}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=_common.WithPairs)
def run(
    notebook: str,
    parameter: _common.Pairs = None,
    file: _common.FromFile = None,
    root: _common.Root = "runs",
    as_json: _common.AsJson = False,
) -> None:
    """Run one notebook strictly: by path or by name."""
    from workbench.execution import library, parameters
    from workbench.execution import notebook as execution
    from workbench.registry import read_options

    with usage():
        path = library.find(notebook)
        known = parameters.inspect(path)
        shared = read_options(library.find(file, "parameter file")) if file else {}
        values = parameters.lay(known, shared, parameters.spelt(known, _common.pairs(parameter)))
        execution.check(path, values)
        _common.writable(root)
    result = execution.run_notebook(path, values, root=root, progress=sys.stderr.isatty() and not as_json)
    for note in filter(None, (result.error, *result.warnings)):
        typer.echo(note, err=True)
    emit(asdict(result), as_json, [f"{result.status}  {result.seconds:.0f} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


@app.command()
def explore(
    run: Annotated[
        list[str] | None, typer.Argument(help="Runs of one data set; none takes the shipped encoder.")
    ] = None,
    root: _common.Root = "runs",
    prepare: Annotated[bool, typer.Option("--prepare", help="Write the notebook, open nothing.")] = False,
    as_json: _common.AsJson = False,
) -> None:
    """Open JupyterLab on the retrieval explorer, with several runs side by side."""
    from workbench.execution import lab

    with usage():
        path = lab.explorer(run or [], root=root)
    emit({"notebook": str(path)}, as_json, [str(path)])
    if not prepare:
        raise typer.Exit(lab.open_lab(path))


@app.command()
def notebooks(folder: Path, as_json: _common.AsJson = False) -> None:
    """Copy the notebooks, configurations and grids into a folder, to change them there."""
    from workbench.execution import library

    with usage():
        written = library.lay_out(folder)
    emit([str(path) for path in written], as_json, [f"{len(written)} files  {folder}"])


@app.command(cls=_common.WithPairs)
def grid(  # noqa: PLR0913 - typer reads the options from the signature
    notebook: str,
    file: Path,
    parameter: _common.Pairs = None,
    executor: _common.Executor = "local",
    jobs: _common.Jobs = 1,
    skip_existing: _common.SkipExisting = False,
    record: _common.Record = None,
    root: _common.Root = "runs",
    as_json: _common.AsJson = False,
) -> None:
    """Run one notebook once for every arm of a grid file; -p goes over the values of all arms."""
    from workbench.execution import executors, library, parameters
    from workbench.execution import grid as execution

    with usage():
        described = execution.read_grid(library.find(file, "grid"))
        options = {**(described.get("executor") or {}), **({"jobs": jobs} if executor == "local" else {})}
        executors.check(executor, options)
        known = parameters.inspect(library.find(notebook))
        arms = execution.plan(notebook, described, parameters.spelt(known, _common.pairs(parameter)))
        if record and not described.get("record"):
            raise ValueError(
                f"{file} does not say what to record; name numbers in it, such as record: [rsum]"
            )
        _common.writable(root)
        _common.writable(record.parent if record else root)
    with usage(executors.ExecutorError):
        done = execution.run_grid(
            notebook, arms, root=root, executor=executor, options=options, skip_existing=skip_existing
        )
    rows = ((o.label, "kept" if o.skipped else o.status, o.folder, o.error) for o in done)
    emit([asdict(outcome) for outcome in done], as_json, _common.columns(rows))
    code = max(outcome.exit_code for outcome in done)
    if record and code:
        typer.echo(f"{record} is not written, since an arm failed", err=True)
    elif record:
        given = [f"-p={pair}" for pair in parameter or ()]
        command = shlex.join(["workbench", "grid", notebook, str(file), *given, "--record", str(record)])
        with usage():
            execution.record(described, done, record, command)
    raise typer.Exit(code)


@app.command(cls=_common.WithPairs)
def train(
    config: Path,
    parameter: _common.Pairs = None,
    out: _common.Out = "",
    resume: _common.Resume = False,
    as_json: _common.AsJson = False,
) -> None:
    """Train and evaluate one experiment from a JSON file of configuration fields."""
    from workbench import experiment
    from workbench.execution import library, parameters
    from workbench.experiment import runs, standalone
    from workbench.registry import read_options

    with usage():
        values = read_options(library.find(config, "configuration"))
        values = parameters.lay((), values, parameters.spelt({}, _common.pairs(parameter)))
        standalone.check_folder(out, resume)
        chosen = experiment.Config(**values)
        _common.writable(out or "runs")
        ready = experiment.prepare(chosen, progress=standalone.leads())
    folder = standalone.train(ready, out=out, resume=resume)
    if not standalone.leads():
        return
    found = runs.read(folder)
    emit(_common.facts(found), as_json, [*_common.headline(found.results), f"{found.status}  {found.folder}"])


@app.command()
def evaluate(
    run: list[str], split: str = "test", root: _common.Root = "runs", as_json: _common.AsJson = False
) -> None:
    """Measure the model of a finished run again; of several, their ensemble (the mean of their scores)."""
    from workbench.experiment import runs, standalone

    with usage():
        measurements = standalone.evaluate_run(*(runs.find(name, root).folder for name in run), split=split)
    emit([m.as_dict() for m in measurements], as_json, _common.numbers(measurements))
