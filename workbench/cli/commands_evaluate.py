"""The command that evaluates models, vectors and finished runs."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import workbench as wb
from workbench.assets import text_models
from workbench.cli.base import (
    AsJson,
    By,
    Data,
    Device,
    GalleryOfSlices,
    Judge,
    Metrics,
    Models,
    Name,
    Note,
    Out,
    Pairs,
    Precision,
    Qrels,
    RandomWeights,
    Root,
    Rounds,
    RunFiles,
    Scores,
    Tags,
    WithPairs,
    about_run,
    app,
    echo,
    emit,
    parse_pairs,
    require_writable,
    usage,
)
from workbench.cli.output import (
    comparison_lines,
    describe_evaluation,
    report_evaluations,
    result_lines,
    training_lines,
)
from workbench.execution import parameters
from workbench.io import parse_json
from workbench.records import require
from workbench.runs import store as runs

Prompts = Annotated[
    str, typer.Option(help="What queries are encoded with, as JSON of t2i and i2t, or the question of pairs.")
]
TruncateDim = Annotated[
    int, typer.Option(help="Compare so many first numbers of each vector (Matryoshka); 0 = all.")
]
TrustCode = Annotated[
    bool, typer.Option("--trust-remote-code", help="Execute code that lies beside a model.")
]
Scorer = Annotated[
    str, typer.Option(help="How several vectors an item are scored: a name, or name and options as JSON.")
]
WiseFt = Annotated[
    float | None, typer.Option(help="Weights between those before (0) and after training (1).")
]
Reranker = Annotated[
    str, typer.Option(help="What scores again: my_module:MyModel or a model; of a run also `explain scorer`.")
]
MaxHours = Annotated[float, typer.Option(help="Hours that scoring all pairs may take.")]
ONE_MODEL = "--pretrained belongs to one --model; name tags as MODEL:TAG"
OF_NEW_RUN = "--name, --tag and --note are of a new run; `workbench tag RUN` changes those of a finished one"


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
    scores: Scores = None,
    lists: RunFiles = None,
    qrels: Qrels = None,
    data: Data = None,
    split: Annotated[str, typer.Option(help="Split of the data; empty takes test.")] = "",
    device: Device = "auto",
    precision: Precision = "auto",
    prompts: Prompts = "",
    truncate_dim: TruncateDim = 0,
    trusted: TrustCode = False,
    scorer: Scorer = "",
    rerank: Annotated[int, typer.Option(help="Score so many best items of each query again.")] = 0,
    reranker: Reranker = "",
    combine: Annotated[str, typer.Option(help="replace the first score, or sum both.")] = "",
    weight: Annotated[float | None, typer.Option(help="Of the second score in the sum.")] = None,
    max_hours: MaxHours = 12.0,
    wise_ft: WiseFt = None,
    metrics: Metrics = None,
    judge: Judge = "",
    by: By = None,
    gallery: GalleryOfSlices = "whole",
    rounds: Rounds = None,
    parameter: Pairs = None,
    name: Name = "",
    tag: Tags = None,
    note: Note = "",
    out: Out = "",
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Evaluate a model, vectors, scores, lists or a finished run.

    A model made elsewhere, or what it has made, on any data becomes a run of its own. Several models on
    several data sets make one table with paired differences. A finished run is evaluated on its own data or
    on other data, and keeps the numbers. Several runs are one ensemble: the mean of their scores. Vectors are
    compared in float32, whatever their own type. Without --metrics, a run is measured by those of its
    configuration.
    """
    how = _measuring_options(metrics, judge, (by or [], gallery), rounds, qrels) | asdict(
        about_run(name, tag, note, root)
    )
    how |= _reranking_options((rerank, reranker, combine, weight), (scorer, wise_ft), max_hours, out)
    named = (model, pretrained, random_weights, truncate_dim, prompts), ((images, texts), scores, lists)
    return _evaluate(run, named, (data, parameter, split), how, (device, precision, trusted), (root, as_json))


def _evaluate(
    run: list[str] | None,
    others: tuple[Any, Any],
    data: tuple[list[str] | None, list[str] | None, str],
    how: dict[str, Any],
    computing: tuple[str, str, bool],
    written: tuple[str, bool],
) -> None:
    """Evaluate finished runs, or else models and what they have made.

    Args:
        run: names of finished runs.
        others: the options of models, and what models have made.
        data: names, options and a split.
        how: as ``wb.evaluate`` takes it.
        computing: a device, a precision, and whether code that comes with a model is executed.
        written: the folder of runs, and whether JSON is.
    """
    device, precision, trusted = computing
    wb.use_device(device, precision)
    (root, as_json), out = written, how["pairs_in"]
    (names, pretrained, random, width, prompts), (vectors, scores, lists) = others
    of_queries, how["prompts"] = _read_prompts(prompts, how["reranker"])
    named = _model_options(names, pretrained, random, width, of_queries)
    _require_one_kind(run, bool(named or any(vectors) or scores or lists), how)
    targets = _targets(*data, needed=not run)
    with text_models.trusting_code(trusted):
        if run:
            return _evaluate_runs((run, root), targets, how | {"split": data[2]}, out, as_json)
        elsewhere = _source_options(vectors, scores or [], lists or [])
        evaluators = _make_evaluators(named, elsewhere, how, (out, root, len(targets)))
        return _evaluate_models(evaluators, targets, (out, root), as_json)


def _reranking_options(
    second: tuple[int, str, str, float | None],
    scoring: tuple[str, float | None],
    max_hours: float,
    out: str,
) -> dict[str, Any]:
    """Return how pairs are scored and scored again, and what is told of it, as ``wb.evaluate`` takes it."""
    how: dict[str, Any] = dict(zip(("rerank", "reranker", "combine", "weight"), second, strict=True))
    how |= {"max_hours": max_hours, "pairs_in": out, "say": partial(echo, err=True)}
    return how | _scoring_options(*scoring)


def _targets(data: list[str] | None, parameter: list[str] | None, split: str, *, needed: bool) -> list[Any]:
    """Read the data that were named, with the options that were typed."""
    data = data or []
    named = data or not needed
    require(named, "name the data with --data: a name of `workbench list data`, or a path")
    options = parameters.read_data_options(parse_pairs(parameter))
    require(data or not options, "-p gives options of other data; name these with --data")
    return [wb.runs.Target.read(name, options, split) for name in data]


def _scoring_options(scorer: str, wise_ft: float | None) -> dict[str, Any]:
    """Return how pairs are scored where that is not the way of the model, as ``wb.evaluate`` takes it."""
    scoring: dict[str, Any] = {} if wise_ft is None else {"wise_ft": wise_ft}
    if scorer.startswith("{"):
        scoring["scorer"] = parse_json(scorer, f"--scorer {scorer!r:.60}", "is not JSON")
    elif scorer:
        scoring["scorer"] = scorer
    return {"scoring": scoring}


def _require_free_names(place: list[str], name: str, results: int) -> None:
    """Raise if results cannot be written or would lie over others, or several have one name."""
    require(not name or results == 1, f"--name is of one result, and these are {results}; leave it out")
    out, root = place
    there = out and any((Path(out) / number / runs.RESULTS).is_file() for number in ("", "1"))
    require(not there, f"{out} holds a result; choose another folder", FileExistsError)
    require_writable(out or root)


def _require_one_kind(run: list[str] | None, outside: bool, how: dict[str, Any]) -> None:
    """Raise if the words do not say what is evaluated, or say two things at once."""
    require(
        run or outside,
        "name a run, a model with --model, vectors with --images and --texts, or what a model has made with "
        "--scores or --runs",
    )
    require(not run or not outside, "give runs, or --model, vectors, scores or lists, not both")
    stored = "a run keeps its numbers itself; --out is of runs that score otherwise, by --rerank or --wise-ft"
    otherwise = how["rerank"] or how["scoring"]
    require(not (run and how["pairs_in"]) or otherwise, stored)
    require(not run or not (how["name"] or how["tags"] or how["note"]), OF_NEW_RUN)
    require(run or "wise_ft" not in how["scoring"], "--wise-ft is for finished runs; name one")


def _measuring_options(
    metrics: list[str] | None,
    judge: str,
    slicing: tuple[list[str], str],
    rounds: int | None,
    qrels: list[str] | None,
) -> dict[str, Any]:
    """Return what is measured, as ``wb.evaluate`` takes it."""
    names = list[str]()
    for word in metrics or ():
        names += map(str.strip, word.split(","))
    how: dict[str, Any] = {"metrics": names, "judge": judge, "by": slicing[0], "gallery": slicing[1]}
    how |= {"qrels": qrels} if qrels else {}
    return how if rounds is None else {**how, "rounds": rounds}


def _source_options(vectors: tuple[str, str], scores: list[str], lists: list[str]) -> list[dict[str, Any]]:
    """Return what models elsewhere have made, each as the options of ``wb.evaluate``: vectors, scores, and
    ranked lists, of which those of two directions are one.
    """
    from workbench.runs.run_files import runs_of

    sides = zip(("images", "texts"), vectors, strict=True)
    files: dict[str, Any] = {name: file for name, file in sides if file}
    every = [files] if files else []
    every += [{"scores": file} for file in scores]
    return every + [{"runs": sources} for sources in runs_of(lists)]


def _read_prompts(prompts: str, reranker: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the prompts of models, and the question of what re-ranks."""
    from workbench.runs.ways import prompts_of_stages

    values = parse_json(prompts, f"--prompts {prompts!r:.60}", "is not JSON") if prompts else None
    return prompts_of_stages(values, reranker)


def _model_options(
    models: list[str] | None,
    pretrained: str,
    random_weights: bool,
    truncate_dim: int,
    prompts: dict[str, str],
) -> list[dict[str, Any]]:
    """Return the models that were named, each as ``wb.open_model`` takes it."""
    models = models or []
    require(not pretrained or len(models) == 1, ONE_MODEL)
    how: dict[str, Any] = {"random_weights": random_weights, "truncate_dim": truncate_dim, "prompts": prompts}
    for name, value in how.items():
        require(models or not value, f"--{name.replace('_', '-')} belongs to --model; name one")
    how["pretrained"] = pretrained
    return [{"model": model, **how} for model in models]


def _make_evaluators(
    models: list[dict[str, Any]],
    elsewhere: list[dict[str, Any]],
    how: dict[str, Any],
    room: tuple[str, str, int],
) -> list[Any]:
    """Return what evaluates each model, and what others made, on data; models are opened after the words are
    checked.
    """
    from workbench.runs import resolve

    *place, data = room
    _require_free_names(place, how["name"], (len(models) + len(elsewhere)) * data)
    resolve.check_measured(how["metrics"], how["judge"], how.get("rounds", 0))
    opened = [wb.open_model(**model) for model in models]
    evaluators = [partial(wb.evaluate, model, **how) for model in opened]
    return evaluators + [partial(wb.evaluate, **files, **how) for files in elsewhere]


def _evaluate_runs(
    named: tuple[list[str], str], targets: list[Any], how: dict[str, Any], out: str, as_json: bool
) -> None:
    """Evaluate finished runs: one, or the mean of several; one on other data is kept beside the run."""
    from workbench.metrics import usual_names

    names, root = named
    folders = [runs.find(name, root).folder for name in names]
    require(len(targets) <= 1, "a run is evaluated on one data set at a time; give --data once")
    twice = len({folder.resolve() for folder in folders}) < len(folders)
    require(
        not twice, f"a run is named twice: {', '.join(map(str, folders))}; an ensemble is of different runs"
    )
    target = next(iter(targets), None)
    if target:  # which says its own split
        how = {**how, "split": ""}
    result, otherwise = wb.evaluate(folders, target, **how), bool(how["rerank"] or how["scoring"])
    if target and len(folders) == 1 and not otherwise:
        place = folders[0] / runs.EVALUATIONS / target.name
        result.save(place, over=True)
        about = [describe_evaluation(result.as_dict()), *result.split.notes, str(place)]
    elif target or otherwise:
        what = "a run that scores otherwise" if otherwise else "an ensemble"
        about = [f"{what} belongs to no run folder: nothing is stored"]
        if out:
            result.save(out)
            about = [out]
    else:
        about = ["the run's own numbers stay as they are: nothing is stored"]
    if not target:
        about = [*result.split.notes, *about]
    shown = result_lines(result.measurements, every=True, usual=usual_names(how["metrics"]))
    lines = [*shown, *about]
    emit([m.as_dict() for m in result.measurements], as_json, lines)


def _evaluate_models(
    evaluators: list[Any], targets: list[Any], place: tuple[str, str], as_json: bool
) -> None:
    """Evaluate models or vectors on data sets: each result a run, those of one data set one table."""
    from workbench.metrics import usual_names

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
            own = usual_names(first.config["metrics"])
            lines += result_lines(first.measurements, every=len(targets) == 1, usual=own)
            lines += training_lines(first.as_dict())
            continue
        comparison = wb.compare(*on_target, by=first.run.by, gallery=first.run.gallery or "whole")
        lines += comparison_lines(comparison)
        differences += comparison.differences.to_dict("records")
    about, more = report_evaluations(results, folders, lines)
    emit({**about, "differences": differences}, as_json, more)
