"""Commands that run something: notebooks, grids, trainings, evaluations."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from workbench import devices
from workbench.cli.base import (
    AsJson,
    Device,
    Out,
    Pairs,
    Precision,
    Record,
    Root,
    SkipExisting,
    TimeLimit,
    WithFields,
    WithPairs,
    app,
    emit,
    facts,
    pairs,
    told,
    usage,
    writable,
)
from workbench.cli.output import evaluated, learnt, numbers, outcomes
from workbench.execution import executors, library
from workbench.formatting import format_number
from workbench.io import ChecksumError, read_options
from workbench.records import require
from workbench.runs import store as runs

NOTHING = "does not say what to record; name numbers, as in record: [rsum]"


@app.command(epilog="Example: workbench tour --root runs")
def tour(
    root: Root = "runs", device: Device = "auto", precision: Precision = "auto", as_json: AsJson = False
) -> None:
    """Run the notebooks and write one page of their results.

    Takes minutes on the embedded world, and downloads nothing.
    """
    with usage():
        writable(root)
    from workbench import tour as guided

    with usage():
        devices.use(device, precision)
        stops = guided.stops_on(device, precision)
        guided.check_stops(root, stops)
    result = guided.tour(root, say=lambda line: typer.echo(line, err=as_json), stops=stops)
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

    Resumes an interrupted run of the same parameters and code.
    """
    from workbench.execution import notebook as execution

    with usage():
        path = library.find(notebook)
        shared = read_options(library.find(file, "parameter file")) if file else {}
        values = execution.check(path, shared, pairs(parameter))
        asked = {**values, **values.get("settings", {})}
        if asked.get("device") == "cuda" or asked.get("tracker"):  # torch is slow to import
            from workbench.training import processes

            processes.check_machine(asked.get("device", ""), asked.get("tracker", ""))
        writable(root)
    with usage((OSError,)):
        result = execution.run_notebook(path, values, root=root, time_limit=time_limit, say=told(as_json))
    for note in filter(None, (result.error, *result.warnings)):
        typer.echo(note, err=True)
    emit(asdict(result), as_json, [f"{result.status}  {format_number(result.seconds, 0)} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


@app.command(epilog="Example: workbench notebooks mine")
@usage()
def notebooks(folder: Path, as_json: AsJson = False) -> None:
    """Copy notebooks, configurations and grids, to change them."""
    writable(folder.parent)
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

    -p overrides the values of all arms. A grid of a paper's table ends in that table.
    """
    from workbench.execution import grid as execution

    with usage():
        path = library.find(file, "grid")
        changes, described, arms = execution.planned(notebook, path, pairs(parameter))
        given = {"jobs": jobs if executor == "local" else None, executors.TIME_LIMIT: time_limit}
        options = {**(described.get("executor") or {}), **{k: v for k, v in given.items() if v is not None}}
        executors.check(executor, options)
        require(not record or described.get("record"), f"{file} {NOTHING}")
        for place in (root, record.parent if record else root):
            writable(place)
    with usage((executors.ExecutorError,)):
        done = execution.run_grid(
            notebook, arms, root=root, name=path.stem, executor=executor,
            options=options, skip_existing=skip_existing, say=told(as_json),
        )  # fmt: skip
    emit([asdict(outcome) for outcome in done], as_json, outcomes(done))
    code = max(one.exit_code for one in done)
    if record and code:
        typer.echo(f"{record} is not written, since an arm failed", err=True)
    words = [notebook, str(file), *(f"-p={pair}" for pair in parameter or ()), "--record", str(record)]
    good = [one.folder for one in done if not one.exit_code]
    with usage():
        if record and not code:
            execution.record(described, done, record, shlex.join(["workbench", "grid", *words]))
        for line in execution.finished(described, path, changes, root, good) if good else ():
            typer.echo(line, err=as_json)
    raise typer.Exit(code)


@app.command(cls=WithFields, epilog="Example: workbench train -p objective=ditm --out runs/mine")
def train(
    config: Annotated[
        Path | None, typer.Argument(help="Config file (JSON or YAML). Defaults if omitted.")
    ] = None,
    parameter: Pairs = None,
    out: Out = "",
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the checkpoint in --out.")] = False,
    as_json: AsJson = False,
) -> None:
    """Train and evaluate one model.

    Fields come from a config file and from -p; the others keep their defaults.
    """
    from workbench import runs as experiment
    from workbench.execution import parameters
    from workbench.runs import evaluate as evaluation
    from workbench.runs import train as standalone
    from workbench.training import processes

    with usage():
        values = read_options(library.find(config, "configuration")) if config else {}
        of_grid = {"notebook", "arms", "grid", "table"} & values.keys()
        require(
            not of_grid,
            f"{config} is a grid and no configuration; `workbench grid 03_train {config}` runs it",
        )
        standalone.check_folder(out, resume)
        chosen = experiment.Config(
            **parameters.override((), values, parameters.parse_values({}, pairs(parameter)))
        )
        writable(out or "runs")
        ready = experiment.prepare(chosen, progress=not processes.rank())
        for note in ready.test.split.notes if not processes.rank() else ():
            typer.echo(note, err=True)
    with usage((ChecksumError, ImportError, OSError, evaluation.NotMeasuredError)):
        folder = standalone.train(ready, out=out, resume=resume)
    if not processes.rank():
        found = runs.read(folder)
        emit(
            facts(found),
            as_json,
            [*numbers(found.results), *learnt(found.results), f"{found.status}  {found.folder}"],
        )


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
    """Evaluate the model of a finished run.

    On its own data or on others, whose numbers are kept beside the run. Several runs are evaluated as one
    ensemble: the mean of their scores.
    """
    from workbench.execution import parameters
    from workbench.runs import Target
    from workbench.runs import evaluate as evaluation

    options = parameters.override((), parameters.parse_values({}, pairs(parameter)))
    require(data or not options, "-p gives options of other data; name it with --data")
    folders = [runs.find(name, root).folder for name in run]
    twice = len({folder.resolve() for folder in folders}) < len(folders)
    require(not twice, f"a run is named twice: {', '.join(run)}; an ensemble is of different runs")
    target = Target.read(data, options, split) if data else None
    if target and len(folders) == 1:
        one = evaluation.evaluate_on(folders[0], target)
        kept = str(folders[0] / runs.EVALUATIONS / target.name)
        measurements, about = one.measurements, [evaluated(one.as_dict()), kept]
    else:
        measurements = evaluation.evaluate_run(*folders, split=split or "test", target=target)
        about = ["an ensemble belongs to no run folder: nothing is stored"] if target else []
    emit([m.as_dict() for m in measurements], as_json, [*numbers(measurements, every=True), *about])
