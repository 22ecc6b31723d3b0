"""The command that evaluates models, vectors and finished runs."""

from argparse import Namespace
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
    _evaluate(Namespace(**locals()))


def _evaluate(typed: Namespace) -> None:
    """Evaluate finished runs, or else models and what they have made."""
    wb.use_device(typed.device, typed.precision)
    how = _evaluation_options(typed)
    models = _model_options(typed, how)
    elsewhere = bool(typed.images or typed.texts or typed.scores or typed.lists)
    _require_one_kind(typed.run, bool(models) or elsewhere, how)
    targets = _targets(typed)
    with text_models.trusting_code(typed.trusted):
        if typed.run:
            return _evaluate_runs(typed, targets, how)
        return _evaluate_models(typed, _make_evaluators(typed, models, how, len(targets)), targets)


def _evaluation_options(typed: Namespace) -> dict[str, Any]:
    """Return what is measured and how pairs are scored, as ``wb.evaluate`` takes it."""
    how = asdict(about_run(typed.name, typed.tag, typed.note, typed.root))
    for name in ("judge", "gallery", "rerank", "reranker", "combine", "weight", "max_hours"):
        how[name] = getattr(typed, name)
    how["metrics"] = list[str]()
    for word in typed.metrics or ():
        how["metrics"] += map(str.strip, word.split(","))
    how |= {"by": typed.by or [], "pairs_in": typed.out, "say": partial(echo, err=True)}
    how |= {} if typed.rounds is None else {"rounds": typed.rounds}
    how |= {"qrels": typed.qrels} if typed.qrels else {}
    how["scoring"] = {} if typed.wise_ft is None else {"wise_ft": typed.wise_ft}
    if typed.scorer:
        how["scoring"]["scorer"] = _read_json("--scorer", typed.scorer)
    return how


def _read_json(option: str, word: str) -> Any:
    """Return the value of an option that is JSON; one that begins otherwise is a name."""
    what = f"{option} {word!r:.60}"
    return parse_json(word, what, "is not JSON") if word.startswith(("{", "[")) else word


def _targets(typed: Namespace) -> list[Any]:
    """Read the data that were named, with the options that were typed."""
    data = typed.data or []
    named = data or typed.run
    require(named, "name the data with --data: a name of `workbench list data`, or a path")
    options = parameters.read_data_options(parse_pairs(typed.parameter))
    require(data or not options, "-p gives options of other data; name these with --data")
    return [wb.runs.Target.read(name, options, typed.split) for name in data]


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


def _model_options(typed: Namespace, how: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the models that were named, each as ``wb.open_model`` takes it; a question of what re-ranks
    is put into ``how``.
    """
    from workbench.runs.ways import prompts_of_stages

    models = typed.model or []
    require(not typed.pretrained or len(models) == 1, ONE_MODEL)
    prompts = _read_json("--prompts", typed.prompts) if typed.prompts else None
    own, how["prompts"] = prompts_of_stages(prompts, typed.reranker)
    options = {"random_weights": typed.random_weights, "truncate_dim": typed.truncate_dim, "prompts": own}
    for name, value in options.items():
        require(models or not value, f"--{name.replace('_', '-')} belongs to --model; name one")
    return [{"model": model, "pretrained": typed.pretrained, **options} for model in models]


def _make_evaluators(
    typed: Namespace, models: list[dict[str, Any]], how: dict[str, Any], data: int
) -> list[Any]:
    """Return what evaluates each model, and what others made, on data; models are opened after the words are
    checked. Ranked lists of two directions are one.
    """
    from workbench.runs import resolve
    from workbench.runs.run_files import runs_of

    vectors = {name: getattr(typed, name) for name in ("images", "texts") if getattr(typed, name)}
    elsewhere: list[dict[str, Any]] = [vectors] if vectors else []
    elsewhere += [{"scores": file} for file in typed.scores or []]
    elsewhere += [{"runs": sources} for sources in runs_of(typed.lists or [])]
    _require_free_names([typed.out, typed.root], how["name"], (len(models) + len(elsewhere)) * data)
    resolve.check_measured(how["metrics"], how["judge"], how.get("rounds", 0))
    opened = [wb.open_model(**model) for model in models]
    evaluators = [partial(wb.evaluate, model, **how) for model in opened]
    return evaluators + [partial(wb.evaluate, **files, **how) for files in elsewhere]


def _evaluate_runs(typed: Namespace, targets: list[Any], how: dict[str, Any]) -> None:
    """Evaluate finished runs: one, or the mean of several; one on other data is kept beside the run."""
    from workbench.metrics import usual_names

    folders = [runs.find(name, typed.root).folder for name in typed.run]
    require(len(targets) <= 1, "a run is evaluated on one data set at a time; give --data once")
    twice = len({folder.resolve() for folder in folders}) < len(folders)
    require(
        not twice, f"a run is named twice: {', '.join(map(str, folders))}; an ensemble is of different runs"
    )
    target = next(iter(targets), None)
    otherwise = bool(how["rerank"] or how["scoring"])
    # a target says its own split
    result = wb.evaluate(folders, target, split="" if target else typed.split, **how)
    if target and len(folders) == 1 and not otherwise:
        place = folders[0] / runs.EVALUATIONS / target.name
        result.save(place, over=True)
        about = [describe_evaluation(result.as_dict()), *result.split.notes, str(place)]
    elif target or otherwise:
        what = "a run that scores otherwise" if otherwise else "an ensemble"
        about = [f"{what} belongs to no run folder: nothing is stored"]
        if typed.out:
            result.save(typed.out)
            about = [typed.out]
    else:
        about = ["the run's own numbers stay as they are: nothing is stored"]
    if not target:
        about = [*result.split.notes, *about]
    shown = result_lines(result.measurements, every=True, usual=usual_names(how["metrics"]))
    lines = [*shown, *about]
    emit([m.as_dict() for m in result.measurements], typed.as_json, lines)


def _evaluate_models(typed: Namespace, evaluators: list[Any], targets: list[Any]) -> None:
    """Evaluate models or vectors on data sets: each result a run, those of one data set one table."""
    from workbench.metrics import usual_names

    results, lines = list[Any](), list[str]()
    folders, differences = list[Path](), list[Any]()
    many = len(evaluators) * len(targets) > 1
    for target in targets:
        on_target = list[Any]()
        for evaluate in evaluators:
            result = evaluate(data=target)
            # at once, so that what comes after it and fails takes nothing along
            number = str(len(folders) + 1) if many else ""
            own_place = Path(typed.out, number) if typed.out else None
            folder = own_place or runs.new_run("evaluate", result.config, typed.root)
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
    emit({**about, "differences": differences}, typed.as_json, more)
