"""The guided first run: the notebooks on the synthetic scenes for three ways of training, and one page that
tells what came out: where training starts, what annotated pairs say of the three models, what the truth says,
and why. The page reads offline, in light and dark.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import pandas as pd
from markupsafe import Markup

from workbench import data
from workbench.execution import report
from workbench.execution.executors import executor
from workbench.execution.library import find_file
from workbench.execution.notebook import NOTEBOOK, Outcome, check_parameters, run_notebook
from workbench.execution.summary import FIRST, RSUM, TRUE, describe_better_and_worse, describe_leader, summary
from workbench.formatting import format_number, format_path, format_value
from workbench.io import read_options, write_text
from workbench.metrics.comparison import BETTER, state_verdict
from workbench.progress import Task, during
from workbench.records.measurement import measurement_row
from workbench.runs import compare, open_runs
from workbench.runs import store as runs
from workbench.runs.about import About
from workbench.runs.compare import against_same_list
from workbench.runs.result import Result
from workbench.tour import finding
from workbench.views.pages import Cell, fill_template
from workbench.views.photographs import image_or_card
from workbench.views.plots.relevance import two_verdicts
from workbench.views.plots.retrieval import MARKS, sheet

EXPLORER = "06_retrieval_explorer"
# the judgements that are positive in training, as a legend calls them
TRAINED_WITH = {"own": "trained with annotated pairs", "exact": "trained with every true pair"}
QUESTIONS = 2  # that the page begins with
ANSWERS = 4  # images of each
JOBS = 2  # notebooks at a time: one alone leaves half of two cores idle while it starts


@dataclass(frozen=True)
class Stop:
    """One notebook of the tour.

    Args:
        name: folder below ``runs/tour``.
        notebook: its name in ``notebooks/``.
        says: one sentence on what to look for.
        title: heading on the page, and of a trained model its name on every page; ``""`` takes ``name``.
        chapter: of ``CHAPTERS``, where the page shows it.
        figures: how the titles of the figures begin that the page shows; none takes the first.
        parameters: what differs from the notebook's defaults.
        models_of: names of earlier stops whose run folders become the parameter ``runs``.
    """

    name: str
    notebook: str
    says: str
    title: str = ""
    chapter: str = "start"
    figures: tuple[str, ...] = ("",)
    parameters: dict[str, Any] = field(default_factory=dict)
    models_of: tuple[str, ...] = ()


PAGE = read_options(Path(__file__).with_name("stops.yaml"))
STOPS = tuple(Stop(**stop) for stop in PAGE["stops"])
TRAINED = tuple(stop.name for stop in STOPS if stop.notebook == "03_train")


@dataclass(frozen=True)
class TourResult:
    """How the tour ended.

    Args:
        index: the page.
        exit_code: 0, or that of the first notebook that failed.
        seconds: wall time.
        stops: name -> status.
    """

    index: Path
    exit_code: int
    seconds: float
    stops: dict[str, str]


def tour(
    root: Path | str = "runs",
    *,
    say: Callable[[str], None] = lambda line: None,
    stops: tuple[Stop, ...] = STOPS,
) -> TourResult:
    """Run all stops, two at a time, and write ``<root>/tour/index.html``.

    A notebook that fails does not stop those that do not need it; the page says which cell failed.

    Args:
        root: where runs lie; an earlier tour there is replaced.
        say: takes one line of progress.
        stops: the notebooks to run.

    Raises:
        FileNotFoundError: a notebook is missing; ParameterError: it does not take a parameter of its stop.
            Nothing was run then.
    """
    check_stops(root, stops)
    folder = Path(root).resolve() / "tour"
    began = time.perf_counter()
    started: dict[str, Any] = {}
    write_text(folder / "index.html", fill_template("views/pages/base.html.j2", title="The tour is running"))
    with executor("local", folder, {"jobs": JOBS}) as pool, Task("tour", len(stops), "notebooks") as task:
        for number, stop in enumerate(stops, 1):
            for name in stop.models_of:
                started[name].result()
            started[stop.name] = pool.submit(_run_stop, stop, folder, f"{number}/{len(stops)}", say, task)
        results = {name: future.result() for name, future in started.items()}
    seconds = time.perf_counter() - began
    index = write_text(folder / "index.html", render(stops, list(results.values()), seconds))
    code = next((result.exit_code for result in results.values() if result.exit_code), 0)
    ended = {name: result.status for name, result in results.items()}
    return TourResult(index, code, round(seconds, 1), ended)


def _run_stop(stop: Stop, folder: Path, place: str, say: Callable[[str], None], task: Task) -> Outcome:
    """Run one stop, and say that it begins, at which place of the tour, and how it ended."""
    say(f"{place} {stop.name}: {stop.says}")
    about = About(stop.title or stop.name)
    parameters = _stop_parameters(stop, folder)
    result = run_notebook(find_file(stop.notebook), parameters, folder=folder / stop.name, about=about)
    task.update()
    ended = f"{result.status} after {format_number(result.seconds, 0)} s"
    say("    " + ": ".join(filter(None, (stop.name, ended, result.error))))
    return result


def stops_on(device: str, precision: str) -> tuple[Stop, ...]:
    """Return the stops of the tour on a device and in a precision, see ``devices``."""
    choice = {"device": device, "precision": precision}
    return tuple(replace(stop, parameters=stop.parameters | choice) for stop in STOPS)


def check_stops(root: Path | str = "runs", stops: tuple[Stop, ...] = STOPS) -> None:
    """Find every notebook of the tour and check the parameters it would get, without running anything.

    Args:
        root: where runs lie.
        stops: the notebooks to run.

    Raises:
        FileNotFoundError: a notebook is missing; ParameterError: it does not take a parameter of its stop.
    """
    for stop in stops:
        check_parameters(find_file(stop.notebook), _stop_parameters(stop, Path(root).resolve() / "tour"))


def _stop_parameters(stop: Stop, folder: Path) -> dict[str, Any]:
    if not stop.models_of:
        return dict(stop.parameters)
    return {**stop.parameters, "runs": [str(folder / name) for name in stop.models_of]}


@during("writing the page")
def render(stops: Sequence[Stop], results: Sequence[Outcome], seconds: float) -> str:
    """Return the tour's page.

    Args:
        stops: in order.
        results: how each of them ended.
        seconds: wall time of the tour.
    """
    numbers = {}
    notebooks = []
    for stop, result in zip(stops, results, strict=True):
        numbers[stop.name] = runs.read(result.folder).results
        notebooks.append(_notebook_values(stop, result, numbers[stop.name]))
    models = {}
    for entry in notebooks:
        of_stop = numbers[entry["stop"].name]
        if "rsum" in of_stop.get("metrics", {}):
            models[entry["title"]] = of_stop
    opened = _open_trained(stops, results)
    compared = next((numbers[stop.name] for stop in stops if stop.notebook == "07_compare"), {})
    true = _numbers_of_models(compared, TRUE["i2t"])
    trained = [entry["result"] for entry in notebooks if entry["stop"].notebook == "03_train"]
    of_comparison: dict[str, Any] = {"headline": "", "verdicts": "", "recorded": _recorded_finding()}
    if compared:
        of_comparison["headline"] = describe_leader(compared)
        of_comparison["verdicts"] = Markup(_verdict_figure(compared, stops))
    span = _format_span(_numbers_of_models(compared, FIRST))
    return fill_template(
        "tour/index.html.j2",
        **of_comparison,
        minutes=format_number(seconds / 60, 1),
        said={"first": span, "back": _better_and_worse(compared)},
        captions=_describe_true_captions(),
        below=against_same_list({TRUE["i2t"]: true}, compared.get("same_list", {})),
        chapters=list(_chapters(notebooks)),
        failed=[entry for entry in notebooks if entry["result"].exit_code],
        count=len(stops),
        models=list(models),
        rows=_table_rows(models, compared),
        world=list(_scene_examples()),
        questions=_sample_questions(opened),
        marks=MARKS,
        sheet=Markup(_disagreement_sheet(opened)),
        explore=[format_path(result.folder) for result in trained],
        plotly=Markup(report.plotly_script()),
        notebook=NOTEBOOK,
    )


def _recorded_finding() -> dict[str, Any]:
    """Return what all objectives came to over seeds, in sentences and a figure; empty until that was
    recorded.
    """
    rows = finding.recorded_rows()
    fig = finding.draw_levels(rows)
    if fig is None:
        return {}
    drawn = report.figure_div(json.loads(fig.to_json()), "levels", static=True)
    return {
        "paragraphs": list(finding.sentences(rows)),
        "limits": finding.describe_limits(),
        "figure": Markup(drawn),
    }


def _notebook_values(stop: Stop, result: Outcome, numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a notebook."""
    return {
        "stop": stop,
        "title": stop.title or stop.name,
        "result": result,
        "finding": summary(stop.notebook, numbers),
        "figures": list(_shown_figures(stop, result.folder)),
    }


def _chapters(notebooks: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the chapters of the page that have notebooks."""
    for name, chapter in PAGE["chapters"].items():
        own = [entry for entry in notebooks if entry["stop"].chapter == name]
        if own:
            yield chapter | {"notebooks": own}


def _numbers_of_models(compared: Mapping[str, Any], key: str) -> dict[str, Any]:
    """Return a number of all models that were compared."""
    return {name: compared["metrics"].get(f"{name}: {key}") for name in compared.get("models", ())}


def _better_and_worse(compared: Mapping[str, Any]) -> str:
    """Return in how many metrics the last model is better than the first one, and in how many worse."""
    return describe_better_and_worse(compared, compared["models"][-1]) if compared else ""


def _format_span(values: Mapping[str, Any]) -> str:
    """Return the range from the least to the most of some models."""
    if not values or None in values.values():
        return ""
    return f"{format_value(min(values.values()))} to {format_value(max(values.values()))}"


def _describe_true_captions() -> str:
    """Return how many captions are true of a test image, on average."""
    split = data.load("scenes", split="test")
    return format_number(float(split.judgements["exact"].relevant().sum(axis=1).mean()), 0)


def _verdict_figure(compared: Mapping[str, Any], stops: Sequence[Stop]) -> str:
    """Return the figure of the first screen: each model by its RSUM and by the true captions that it finds,
    coloured by the pairs that it was trained with.
    """
    pairs = {stop.title: stop.parameters.get("positives", "own") for stop in stops}
    columns: dict[str, list[Any]] = {"group": [TRAINED_WITH[pairs[name]] for name in compared["models"]]}
    for axis, key in {"x": RSUM, "y": TRUE["i2t"]}.items():
        labels = [f"{name}: {key}" for name in compared["models"]]
        columns[axis] = [compared["metrics"][label] for label in labels]
        for end in ("low", "high"):
            columns[f"{axis}_{end}"] = [compared["contracts"][label][end] for label in labels]
    points = pd.DataFrame(columns, index=compared["models"])
    same_list = compared.get("same_list", {}).get(TRUE["i2t"])
    fig = two_verdicts(
        points, title="", x="RSUM, by annotated pairs", y="mAP@R, by the truth", line=same_list
    )
    fig.update_yaxes(range=[0, 100]).update_layout(margin={"t": 70}, height=434)
    return report.figure_div(json.loads(fig.to_json()), "verdicts", static=True)


def _table_rows(models: Mapping[str, Mapping[str, Any]], compared: Mapping[str, Any]) -> list[list[Cell]]:
    """Return the numbers that all models have, one a row."""
    rows = []
    for key, says in PAGE["rows"].items():
        if models and all(key in results["metrics"] for results in models.values()):
            rows.append(_row_of_cells(key, says, list(models.values()), compared))
    return rows


def _row_of_cells(
    key: str, says: str, models: Sequence[Mapping[str, Any]], compared: Mapping[str, Any]
) -> list[Cell]:
    """Return one number of all models: the value with its interval, and how it compares with the first
    one's.
    """
    verdicts = {row["run"]: row for row in compared.get("differences", {}).values() if row["key"] == key}
    cells: list[Cell] = []
    names = compared.get("models", [""] * len(models))
    for results, name in zip(models, names):
        row = measurement_row(key, results["contracts"].get(key, {}), results["metrics"][key])
        if not cells:
            cells.append(Cell(says, note=row["in"], hover=key))
        notes = [f"{row['queries']} queries"] if row["queries"] else []
        difference = verdicts.get(name, {})
        if difference:
            notes.append(state_verdict(difference["verdict"], difference["against"]))
        best = difference.get("verdict") == BETTER
        cells.append(Cell(row["value"], note="; ".join(filter(None, notes)), best=best))
    return cells


def _scene_examples() -> Iterator[dict[str, Any]]:
    """Yield a few of the synthetic scenes, each with its shortest and its longest caption."""
    split = data.load("scenes", split="test", size=6)
    for row in range(len(split.image_ids)):
        captions = [split.captions[own] for own in np.flatnonzero(split.own == row)]
        captions.sort(key=len)
        yield {"image": split.open_image(row), "short": captions[0], "long": captions[-1]}


def _shown_figures(stop: Stop, folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the figures of an executed notebook that the page shows, each with its title and its place there.

    Args:
        stop: whose notebook it is.
        folder: of its run.
    """
    book = folder / NOTEBOOK
    figures = list(report.figures(nbformat.read(book, 4))) if book.is_file() else []
    titles = [unescape(figure["layout"].get("title", {}).get("text", "")) for figure in figures]
    for begin in stop.figures:
        number = next((n for n, title in enumerate(titles) if title.startswith(begin)), None)
        if number is None:
            continue
        html = report.figure_div(figures[number], f"{stop.name}-{number + 1}", static=True)
        yield {"title": titles[number], "drawn": Markup(html)}


def _open_trained(stops: Sequence[Stop], results: Sequence[Outcome]) -> list[Result]:
    """Return the trained models that the explorer of the tour asks; none where one of them was not
    trained.
    """
    folders = {stop.name: result.folder for stop, result in zip(stops, results, strict=True)}
    stop = next((stop for stop in stops if stop.notebook == EXPLORER and stop.models_of), None)
    if stop is None or not all((folders[name] / runs.MODEL).is_file() for name in stop.models_of):
        return []
    names = [str(folders[name]) for name in stop.models_of]
    return open_runs(names, images=stop.parameters.get("images", 0))


def _disagreement_sheet(opened: Sequence[Result]) -> str:
    """Return the caption on which the trained models differ most, and what each of them finds."""
    if not opened:
        return ""
    split = opened[0].split
    ranked = compare.ranks(opened, "t2i")
    scores = {run.name: run.scores_of("t2i") for run in opened}
    return sheet(
        scores, compare.choose_queries(ranked, split, "t2i", (), 1), split, grade=compare.make_grader(split)
    )


def _sample_questions(opened: Sequence[Result]) -> list[dict[str, Any]]:
    """Return the captions on which the trained models differ most, each with the first images of every
    model.
    """
    if not opened:
        return []
    split = opened[0].split
    ranked = compare.ranks(opened, "t2i")
    questions = []
    for _, row in compare.choose_queries(ranked, split, "t2i", (), QUESTIONS):
        answers = [_first_answers(run, row) for run in opened]
        questions.append({"caption": split.captions[row], "answers": answers})
    return questions


def _first_answers(run: Result, caption: int) -> dict[str, Any]:
    """Return the first images that a model finds for a caption, and what the truth says of each of them."""
    split = run.split
    grade = compare.make_grader(split)
    images = np.argsort(-run.scores_of("t2i")[:, caption], kind="stable")[:ANSWERS]
    grades = grade(images, np.array([caption])).ravel() if grade else np.zeros(len(images))
    kinds = np.where(images == split.own[caption], "own", np.where(grades >= 1, "true", ""))
    items = []
    for row, kind in zip(images.tolist(), kinds.tolist(), strict=True):
        items.append({"image": image_or_card(split, row), "id": split.image_ids[row], "kind": kind})
    rank = format_number(run.ranks("t2i")[caption], 0)
    return {"model": run.name, "items": items, "true": int((kinds != "").sum()), "rank": rank}
