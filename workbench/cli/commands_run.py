"""Commands that run something: notebooks, grids, trainings, evaluations."""

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
    Data,
    Device,
    DryRun,
    Example,
    InPaper,
    Judge,
    Metrics,
    Models,
    Name,
    Note,
    Out,
    Pairs,
    Precision,
    RandomWeights,
    Record,
    Root,
    Rounds,
    SkipExisting,
    Tags,
    TimeLimit,
    WithFields,
    WithPairs,
    about_run,
    app,
    echo,
    emit,
    pairs,
    told,
    usage,
    writable,
)
from workbench.cli.output import columns, evaluated, learnt, made_elsewhere, numbers, outcomes
from workbench.execution import executors, library, needs, parameters
from workbench.formatting import format_number
from workbench.io import ChecksumError, read_options
from workbench.records import require
from workbench.runs import spellings
from workbench.runs import store as runs
from workbench.runs.about import About

ONE_MODEL = "--pretrained belongs to one --model; name tags as MODEL:TAG"
OF_NEW_RUN = "--name, --tag and --note are of a new run; `workbench tag RUN` changes those of a finished one"
NOTHING = "the grid file does not say what to record; name numbers, as in record: [rsum]"


@app.command(epilog="Example: workbench tour --root runs")
def tour(
    root: Root = "runs", device: Device = "auto", precision: Precision = "auto", as_json: AsJson = False
) -> None:
    """Run the notebooks and write one page of their results.

    Takes minutes on the synthetic scenes, and downloads nothing.
    """
    with usage():
        writable(root)
        from workbench import tour as guided

        wb.use_device(device, precision)
        stops = guided.stops_on(device, precision)
        guided.check_stops(root, stops)
    result = guided.tour(root, say=told(), stops=stops)
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
        path = library.find(notebook)
        shared = read_options(library.find(file, "parameter file")) if file else {}
        values = execution.check(path, shared, pairs(parameter))
        _require_machine(values)
        about = about_run(name, tag, note, root, next(iter(execution.resumable(path, values, root)), ""))
        writable(root)
    with usage((OSError,)):
        result = execution.run_notebook(
            path, values, root=root, about=about, time_limit=time_limit, say=told()
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
        path = library.find(file, "grid")
        about = about_run("", tag, note)
        given = pairs(parameter)
        changes, described, arms = execution.planned(notebook, path, given, paper=paper, dry=dry_run)
        if dry_run:
            return _forecast(described, arms, as_json)
        options = _options(executor, described.get("executor") or {}, jobs, time_limit)
        _require_ready(executor, arms, root, record, described)
        parameters.keep_words(root, path.stem, given, paper=paper)
    with usage((executors.ExecutorError,)):
        run = partial(execution.run_grid, root=root, name=path.stem, executor=executor, options=options)
        done = run(notebook, arms, skip_existing=skip_existing, about=about, say=told())
    emit([asdict(outcome) for outcome in done], as_json, outcomes(done))
    with usage():
        _record(described, done, record, _typed(notebook, file, parameter, paper))
        for line in _finished(described, path, changes, root, done):
            echo(line, err=as_json)
    raise typer.Exit(max(one.exit_code for one in done))


def _finished(described: Any, path: Path, changes: Mapping[str, Any], root: str, done: Any) -> list[str]:
    """What annexes make of the arms that went well, as lines to print."""
    from workbench.execution import grid as execution

    good = [one.folder for one in done if not one.exit_code]
    return execution.finished(described, path, changes, root, good) if good else []


def _typed(notebook: str, file: Path, parameter: list[str] | None, paper: bool) -> list[str]:
    """The words that decide what a grid runs."""
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
        writable(place)


def _options(executor: str, said: dict[str, Any], jobs: int, time_limit: float | None) -> dict[str, Any]:
    """Options of an executor: what the grid says, and over it what was typed."""
    given = {"jobs": jobs if executor == "local" else None, executors.TIME_LIMIT: time_limit}
    options = {**said, **{name: one for name, one in given.items() if one is not None}}
    executors.check(executor, options)
    return options


def _record(described: Any, done: Any, record: Path | None, typed: list[str]) -> None:
    """Write the numbers of a grid to the table that was named, unless an arm failed."""
    from workbench.execution import grid as execution

    if record is None:
        return
    if any(one.exit_code for one in done):
        echo(f"{record} is not written, since an arm failed", err=True)
        return
    command = shlex.join(["workbench", "grid", *typed, "--record", str(record)])
    execution.record(described, done, record, command)


def _forecast(described: Any, arms: Any, as_json: bool) -> None:
    """What arms will take, and what they lack."""
    from workbench.execution import grid as execution

    rows, lines = needs.forecast(arms, execution.rows(described))
    lacking = execution.missing(described, arms)
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
        values = read_options(library.find(config, "configuration")) if config else {}
        of_grid = {"notebook", "arms", "grid", "table"} & values.keys()
        require(
            not of_grid,
            f"{config} is a grid and no configuration; `workbench grid 03_train {config}` runs it",
        )
        standalone.check_folder(out, resume)
        about = about_run(name, tag, note, folder=out)
        chosen = wb.Config(**parameters.override({}, values, parameters.parse_values({}, pairs(parameter))))
        if resume:
            chosen = wb.Config(**standalone.resumed(out, chosen.given()))
        writable(out or "runs")
        ready = _prepared(chosen)
    stopped = usage((NonFiniteLossError,), code=1)
    with stopped, usage((ChecksumError, ImportError, OSError, measure.NotMeasuredError)):
        folder = out or runs.new_run("train", ready.config.as_dict())
        wb.train(ready, folder=folder, **asdict(about))
    if not processes.rank():
        _trained(runs.read(folder), as_json)


def _prepared(config: Any) -> Any:
    """What a configuration is made into, with what is to be known of it before a training."""
    from workbench.runs.build import FewImagesWarning
    from workbench.training import processes

    with warnings.catch_warnings():
        # the notes say it
        warnings.simplefilter("ignore", FewImagesWarning)
        ready = wb.runs.prepare(config, progress=not processes.rank())
    for line in ready.test.split.notes if not processes.rank() else ():
        echo(line, err=True)
    return ready


def _trained(done: Any, as_json: bool) -> None:
    """What a training has come to; metrics that it asks for stand last."""
    from workbench.metrics import usual

    lines = [*numbers(done.results, usual=usual(done.params.get("metrics", ()))), *learnt(done.results)]
    emit(asdict(done), as_json, [*lines, f"{done.status}  {done.folder}"])


@app.command(
    cls=WithPairs, epilog="Example: workbench evaluate --model ViT-B-32 --pretrained clip.pt --data photos"
)
@usage()
def evaluate(  # noqa: PLR0913 - typer reads the options from the signature
    run: Annotated[list[str] | None, typer.Argument(help="Finished runs.", show_default=False)] = None,
    model: Models = None,
    pretrained: Annotated[str, typer.Option(help="Weights of --model: a tag or a file.")] = "",
    random_weights: RandomWeights = False,
    images: Annotated[str, typer.Option(metavar="FILE", help="Vectors of images.")] = "",
    texts: Annotated[str, typer.Option(metavar="FILE", help="Vectors of captions.")] = "",
    data: Data = None,
    split: Annotated[str, typer.Option(help="Split of the data; empty takes test.")] = "",
    device: Device = "auto",
    precision: Precision = "auto",
    rerank: Annotated[int, typer.Option(help="Score so many best items of each query again.")] = 0,
    reranker: Annotated[str, typer.Option(help="How --rerank scores; see `explain scorer`.")] = "cross",
    metrics: Metrics = None,
    judge: Judge = "",
    rounds: Rounds = None,
    parameter: Pairs = None,
    name: Name = "",
    tag: Tags = None,
    note: Note = "",
    out: Out = "",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Evaluate a model, vectors or a finished run.

    A model made elsewhere, or its vectors, on any data becomes a run of its own. Several models on several
    data sets make one table with paired differences. A finished run is evaluated on its own data or on other
    data, and keeps the numbers. Several runs are one ensemble: the mean of their scores. Vectors are compared
    in float32, whatever their own type. Without --metrics, a run is measured by those of its configuration.
    """
    wb.use_device(device, precision)
    about = about_run(name, tag, note, root)
    _require_one_kind(run, bool(model or images or texts), out, rerank, about)
    targets = _targets(data or [], parameter, split)
    how = _how(metrics or [], judge, rounds)
    if run:
        folders = [runs.find(name, root).folder for name in run]
        scoring = {"rerank": rerank, "reranker": reranker} if rerank else {}
        return _evaluate_runs(folders, targets, {"split": split, "scoring": scoring, **how}, as_json)
    require(targets, "name the data with --data: a name of `workbench list data`, or a path")
    require(not pretrained or len(model or ()) == 1, ONE_MODEL)
    results = (len(model or ()) + bool(images or texts)) * len(targets)
    require(not name or results == 1, f"--name is of one result, and these are {results}; leave it out")
    _require_room(out, root)
    opened = _opened(model or [], (pretrained, random_weights), (images, texts), how | asdict(about))
    return _evaluate_models(opened, targets, (out, root), as_json)


def _targets(data: list[str], parameter: list[str] | None, split: str) -> list[Any]:
    """Read the data that were named, with the options that were typed."""
    options = parameters.options(pairs(parameter))
    require(data or not options, "-p gives options of other data; name these with --data")
    return [wb.runs.Target.read(name, options, split) for name in data]


def _require_room(out: str, root: str) -> None:
    """Raise if results cannot be written, or would lie over others."""
    there = out and any((Path(out) / number / runs.RESULTS).is_file() for number in ("", "1"))
    require(not there, f"{out} holds a result; choose another folder", FileExistsError)
    writable(out or root)


def _require_one_kind(run: list[str] | None, outside: bool, out: str, rerank: int, about: About) -> None:
    """Refuse words that do not say what is evaluated, or two things at once."""
    require(run or outside, "name a run, a model with --model, or vectors with --images and --texts")
    require(not run or not (outside or out), "give runs, or --model or vectors, not both")
    require(not run or not about, OF_NEW_RUN)
    require(run or not rerank, "--rerank is for finished runs; name one")


def _how(metrics: list[str], judge: str, rounds: int | None) -> dict[str, Any]:
    """What else is measured, as ``wb.evaluate`` takes it."""
    names = list[str]()
    for word in metrics:
        names += map(str.strip, word.split(","))
    how: dict[str, Any] = {"metrics": names, "judge": judge}
    return how if rounds is None else {**how, "rounds": rounds}


def _opened(
    models: list[str], weights: tuple[str, bool], vectors: tuple[str, str], how: dict[str, Any]
) -> list[Any]:
    """What evaluates each model, and the vectors, on data; models are opened after the words are checked."""
    from workbench.runs import resolve

    resolve.check_measured(how["metrics"], how["judge"], how.get("rounds", 0))
    pretrained, random = weights
    require(models or not random, "--random-weights belongs to --model; name one")
    files: dict[str, Any] = {
        name: file for name, file in zip(("images", "texts"), vectors, strict=True) if file
    }
    opened = [wb.open_model(name, pretrained, random_weights=random) for name in models]
    asked = [partial(wb.evaluate, model, **how) for model in opened]
    return asked + ([partial(wb.evaluate, **files, **how)] if files else [])


def _evaluate_runs(folders: list[Path], targets: list[Any], how: dict[str, Any], as_json: bool) -> None:
    """Evaluate finished runs: one, or the mean of several; one on other data is kept beside the run."""
    from workbench.metrics import usual

    require(len(targets) <= 1, "a run is evaluated on one data set at a time; give --data once")
    twice = len({folder.resolve() for folder in folders}) < len(folders)
    require(
        not twice, f"a run is named twice: {', '.join(map(str, folders))}; an ensemble is of different runs"
    )
    target = next(iter(targets), None)
    if target:  # which says its own split
        how = {**how, "split": ""}
    result = wb.evaluate(folders, target, **how, say=partial(echo, err=True))
    if target and len(folders) == 1 and not how["scoring"]:
        place = folders[0] / runs.EVALUATIONS / target.name
        result.save(place, over=True)
        about = [evaluated(result.as_dict()), *result.split.notes, str(place)]
    elif target or how["scoring"]:
        what = "what is re-ranked" if how["scoring"] else "an ensemble"
        about = [f"{what} belongs to no run folder: nothing is stored"]
    else:
        about = ["the run's own numbers stay as they are: nothing is stored"]
    if not target:
        about = [*result.split.notes, *about]
    shown = numbers(result.measurements, every=True, usual=usual(how["metrics"]))
    lines = [*shown, *about]
    emit([m.as_dict() for m in result.measurements], as_json, lines)


def _evaluate_models(
    evaluators: list[Any], targets: list[Any], place: tuple[str, str], as_json: bool
) -> None:
    """Models or vectors on data sets: each result a run, those of one data set one table."""
    from workbench.metrics import usual

    out, root = place
    results, lines = list[Any](), list[str]()
    folders, differences = list[Path](), list[Any]()
    many = len(evaluators) * len(targets) > 1
    for target in targets:
        on_target = list[Any]()
        for evaluate in evaluators:
            result = evaluate(data=target)
            # at once, so that what comes after it and fails takes nothing along
            number = str(len(folders) + 1) if many else ""
            folder = Path(out, number) if out else runs.new_run("evaluate", result.config, root)
            result.save(folder)
            folders.append(folder)
            on_target.append(result)
        results += on_target
        first = on_target[0]
        lines.append(first.split.name)
        if len(on_target) == 1:
            own = usual(first.config["metrics"])
            lines += numbers(first.measurements, every=len(targets) == 1, usual=own)
            lines += learnt(first.as_dict())
            continue
        comparison = wb.compare(*on_target)
        table = comparison.shown().fillna("").reset_index(names="number")
        lines += columns([list(table), *table.to_numpy().tolist()])
        lines += comparison.remarks()
        differences += comparison.differences.to_dict("records")
    about, more = made_elsewhere(results, folders, lines)
    emit({**about, "differences": differences}, as_json, more)
