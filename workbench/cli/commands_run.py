"""Commands that run something: notebooks, grids, trainings."""

import shlex
import warnings
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import workbench as wb
from workbench.cli.base import (
    AsJson,
    Device,
    DryRun,
    Example,
    InPaper,
    Name,
    Note,
    Out,
    Pairs,
    Precision,
    Record,
    Root,
    SkipExisting,
    Tags,
    TimeLimit,
    WithFields,
    WithPairs,
    about_run,
    app,
    echo,
    emit,
    parse_pairs,
    progress_callback,
    require_writable,
    usage,
)
from workbench.cli.output import number_lines, outcome_lines, training_lines
from workbench.execution import executors, library, needs, parameters
from workbench.formatting import format_number
from workbench.io import ChecksumError, read_options
from workbench.records import require
from workbench.runs import spellings
from workbench.runs import store as runs

NOTHING = "the grid file does not say what to record; name numbers, as in record: [rsum]"


@app.command(epilog="Example: workbench tour --root runs")
def tour(
    root: Root = "runs", device: Device = "auto", precision: Precision = "auto", as_json: AsJson = False
) -> None:
    """Run the notebooks and write one page of their results.

    Takes minutes on the synthetic scenes, and downloads nothing.
    """
    with usage():
        require_writable(root)
        from workbench import tour as guided

        wb.use_device(device, precision)
        stops = guided.stops_on(device, precision)
        guided.check_stops(root, stops)
    result = guided.tour(root, say=progress_callback(), stops=stops)
    emit(asdict(result), as_json, [f"open {result.index}"])
    raise typer.Exit(result.exit_code)


@app.command(cls=WithPairs, epilog="Example: workbench run 03_train -p objective=ditm -p epochs=5")
def run(  # noqa: PLR0913 - typer reads the options from the signature
    notebook: str,
    parameter: Pairs = None,
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="YAML or JSON file of parameters.")
    ] = None,
    time_limit: TimeLimit = None,
    name: Name = "",
    tag: Tags = None,
    note: Note = "",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook strictly: by path or by name.

    Resumes an interrupted run of the same parameters and code.
    """
    from workbench.execution import notebook as execution

    with usage():
        path = library.find_file(notebook)
        shared = read_options(library.find_file(file, "parameter file")) if file else {}
        values = execution.check_parameters(path, shared, parse_pairs(parameter))
        _require_machine(values)
        about = about_run(name, tag, note, root, next(iter(execution.resumable_runs(path, values, root)), ""))
        require_writable(root)
    with usage((OSError,)):
        result = execution.run_notebook(
            path, values, root=root, about=about, time_limit=time_limit, say=progress_callback()
        )
    for line in filter(None, (result.error, *result.warnings)):
        echo(line, err=True)
    emit(asdict(result), as_json, [f"{result.status}  {format_number(result.seconds, 0)} s  {result.folder}"])
    raise typer.Exit(result.exit_code)


def _require_machine(values: Mapping[str, Any]) -> None:
    """Raise if a notebook is to use a device or a tracker that this machine does not have."""
    fields = spellings.fields(values)
    device, tracker = fields.get("device", ""), fields.get("tracker", "")
    if tracker or device not in ("", "auto", "cpu"):
        from workbench.training import processes  # torch is slow to import

        processes.check_machine(device, tracker)


@app.command(epilog="Example: workbench notebooks mine")
@usage()
def notebooks(folder: Path, as_json: AsJson = False) -> None:
    """Copy notebooks, configurations and grids, to change them."""
    require_writable(folder.parent)
    written = library.copy_shipped(folder)
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
    paper: InPaper = False,
    dry_run: DryRun = False,
    record: Record = None,
    tag: Tags = None,
    note: Note = "",
    example: Example = False,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Run one notebook once for every arm of a grid file.

    --example shows how a file is written. -p overrides the values of all arms. A grid of a paper's table ends
    in that table. There is no --name, since a name is of one run: give a --tag, and name single runs
    afterwards with `workbench tag`.
    """
    from workbench.execution import grid as execution

    with usage():
        path = library.find_file(file, "grid")
        about = about_run("", tag, note)
        given = parse_pairs(parameter)
        changes, described, arms = execution.plan_file(notebook, path, given, paper=paper, dry=dry_run)
        if dry_run:
            return _report_forecast(described, arms, as_json)
        options = _executor_options(executor, described.get("executor") or {}, jobs, time_limit)
        _require_ready(executor, arms, root, record, described)
        parameters.save_typed_words(root, path.stem, given, paper=paper)
    with usage((executors.ExecutorError,)):
        run = partial(execution.run_grid, root=root, name=path.stem, executor=executor, options=options)
        done = run(notebook, arms, skip_existing=skip_existing, about=about, say=progress_callback())
    emit([asdict(outcome) for outcome in done], as_json, outcome_lines(done))
    with usage():
        _record_table(described, done, record, _typed_words(notebook, file, parameter, paper))
        for line in _finish_grid(described, path, changes, root, done):
            echo(line, err=as_json)
    raise typer.Exit(max(one.exit_code for one in done))


def _finish_grid(described: Any, path: Path, changes: Mapping[str, Any], root: str, done: Any) -> list[str]:
    """Return what annexes make of the arms that went well, as lines to print."""
    from workbench.execution import grid as execution

    good = [one.folder for one in done if not one.exit_code]
    return execution.finish_grid(described, path, changes, root, good) if good else []


def _typed_words(notebook: str, file: Path, parameter: list[str] | None, paper: bool) -> list[str]:
    """Return the words that decide what a grid runs."""
    pairs_again = [f"--parameter={pair}" for pair in parameter or ()]
    return [notebook, str(file), *pairs_again, *["--paper"] * paper]


def _require_ready(
    executor: str,
    arms: Mapping[str, Mapping[str, Any]],
    root: str,
    record: Path | None,
    described: Mapping[str, Any],
) -> None:
    """Raise if a grid has nothing to record, a device is not here, or a folder cannot be written."""
    require(not record or described.get("record"), NOTHING)
    # other executors start the runs on other machines
    for values in arms.values() if executor == "local" else ():
        _require_machine(values)
    for place in (root, record.parent if record else root):
        require_writable(place)


def _executor_options(
    executor: str, said: dict[str, Any], jobs: int, time_limit: float | None
) -> dict[str, Any]:
    """Return options of an executor: what the grid says, and over it what was typed."""
    given = {"jobs": jobs if executor == "local" else None, executors.TIME_LIMIT: time_limit}
    options = {**said, **{name: one for name, one in given.items() if one is not None}}
    executors.require_executor(executor, options)
    return options


def _record_table(described: Any, done: Any, record: Path | None, typed: list[str]) -> None:
    """Write the numbers of a grid to the table that was named, unless an arm failed."""
    from workbench.execution import grid as execution

    if record is None:
        return
    if any(one.exit_code for one in done):
        echo(f"{record} is not written, since an arm failed", err=True)
        return
    command = shlex.join(["workbench", "grid", *typed, "--record", str(record)])
    execution.record(described, done, record, command)


def _report_forecast(described: Any, arms: Any, as_json: bool) -> None:
    """Print what arms will take, and what they lack."""
    from workbench.execution import grid as execution

    rows, lines = needs.forecast(arms, execution.row_labels(described))
    lacking = execution.missing_needs(described, arms)
    lines += ["", "Missing on this machine:", *(f"- {one}" for one in lacking)] if lacking else []
    emit({"arms": rows, "missing": lacking}, as_json, lines)


@app.command(cls=WithFields, epilog="Example: workbench train -p objective=ditm --out runs/mine")
def train(
    config: Annotated[
        Path | None, typer.Argument(help="Configuration (JSON or YAML); none takes the defaults.")
    ] = None,
    parameter: Pairs = None,
    out: Out = "",
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the run in --out, with its fields.")
    ] = False,
    name: Name = "",
    tag: Tags = None,
    note: Note = "",
    as_json: AsJson = False,
) -> None:
    """Train and evaluate one model.

    Fields come from a configuration and from -p; the others keep their defaults. With --resume they come from
    the run in --out, and none need be given again.
    """
    from workbench.runs import measure
    from workbench.runs import train as standalone
    from workbench.training import NonFiniteLossError, processes

    with usage():
        values = read_options(library.find_file(config, "configuration")) if config else {}
        of_grid = {"notebook", "arms", "grid", "table"} & values.keys()
        require(
            not of_grid,
            f"{config} is a grid and no configuration; `workbench grid 03_train {config}` runs it",
        )
        standalone.check_folder(out, resume)
        about = about_run(name, tag, note, folder=out)
        chosen = wb.Config(
            **parameters.override({}, values, parameters.parse_values({}, parse_pairs(parameter)))
        )
        if resume:
            chosen = wb.Config(**standalone.resumed_fields(out, chosen.given_fields()))
        require_writable(out or "runs")
        ready = _prepare_config(chosen)
    stopped = usage((NonFiniteLossError,), code=1)
    with stopped, usage((ChecksumError, ImportError, OSError, measure.NotMeasuredError)):
        folder = out or runs.new_run("train", ready.config.as_dict())
        wb.train(ready, folder=folder, **asdict(about))
    if not processes.process_rank():
        _report_training(runs.read(folder), as_json)


def _prepare_config(config: Any) -> Any:
    """Return what a configuration is made into, with what is to be known of it before a training."""
    from workbench.runs.build import FewImagesWarning
    from workbench.training import processes

    with warnings.catch_warnings():
        # the notes say it
        warnings.simplefilter("ignore", FewImagesWarning)
        ready = wb.runs.prepare(config, progress=not processes.process_rank())
    for line in ready.test.split.notes if not processes.process_rank() else ():
        echo(line, err=True)
    return ready


def _report_training(done: Any, as_json: bool) -> None:
    """Print what a training has come to; metrics that it asks for stand last."""
    from workbench.metrics import usual_names

    lines = [
        *number_lines(done.results, usual=usual_names(done.params.get("metrics", ()))),
        *training_lines(done.results),
    ]
    emit(asdict(done), as_json, [*lines, f"{done.status}  {done.folder}"])
