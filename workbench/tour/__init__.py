"""The guided first run: the notebooks on the embedded world for three ways of training, and one page that
tells what came out: where training starts, what binary labels say of the three models, what the truth says,
and why. The page reads offline, in light and dark.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from markupsafe import Markup

from workbench import data
from workbench.execution import report
from workbench.execution.findings import finding
from workbench.execution.library import find
from workbench.execution.notebook import NOTEBOOK, RunResult, check, run_notebook
from workbench.formatting import format_number, format_path
from workbench.io import write_text
from workbench.records import MetricKey
from workbench.records.measurement import measurement_row
from workbench.runs import compare, open_runs
from workbench.runs import store as runs
from workbench.tour.headline import headline
from workbench.views.pages import page
from workbench.views.plots.retrieval import Answers, sheet

EXPLORER = "06_retrieval_explorer"
# so many images are asked for by the explorer, and by the picture of its answers
ASKED = 500
# what the page's table shows: key of the number, and what it says
ROWS = {
    MetricKey("rsum"): "RSUM, the sum of the six recalls by binary labels",
    MetricKey("R", "i2t", k=1): "An image finds one of its own captions first",
    MetricKey("R", "t2i", k=1): "A caption finds its own image first",
    MetricKey(
        "map_at_r", "i2t", "exact"
    ): "Of the captions that are true of an image, those it puts first (mAP@R)",
    MetricKey(
        "map_at_r", "t2i", "exact"
    ): "Of the images that a caption is true of, those it puts first (mAP@R)",
    MetricKey("true", "t2i", "exact", 1): "The first image is truly described by the caption",
}
KEYS = list(map(str, ROWS))
CHAPTERS = {
    "start": "Where it starts: a small world whose truth is known",
    "arms": "Three ways to train",
    "binary": "What binary labels say, and the truth beside them",
    "truth": "What the truth says",
    "why": "Why",
}


@dataclass(frozen=True)
class Stop:
    """One notebook of the tour.

    Args:
        name: folder below ``runs/tour``.
        notebook: its name in ``notebooks/``.
        says: one sentence on what to look for.
        title: heading on the page; ``""`` takes the name.
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


ARMS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "vsepp": ("VSE++", "The hardest negative of a batch, by binary labels.", {"objective": "vsepp"}),
    "infonce": ("InfoNCE", "All negatives of a batch, by binary labels.", {"objective": "infonce"}),
    "infonce-exact": (
        "InfoNCE, all true pairs",
        "The same loss, but every caption that is true of an image counts as positive.",
        {"objective": "infonce", "settings": {"positives": "exact"}},
    ),
}
TITLES = tuple(title for title, *_ in ARMS.values())
TRAINED = tuple(f"03_train-{name}" for name in ARMS)
# what the page decides about a figure, and not the notebook
SET_HERE = ("width", "title")
# pixels above a figure's axes where it does not say, and those of them that its title takes
TOP, TITLE = 80, 34
LEARNT = ("Training", "What is found first")
STOPS = (
    Stop(
        "01_descriptiveness", "01_descriptiveness",
        "How much a caption says, measured from the words alone. DITM's formula can be read in three "
        "ways: as printed, as the sum of the words' TF-IDF weights (raw_sum), or as that sum of "
        "weights whose squares add up to one (l2_sum).",
        title="Captions say more or less", figures=("Descriptiveness by level",),
    ),
    Stop(
        "02_scene_graphs", "02_scene_graphs",
        "What captions say about what: objects, attributes, relations, and how well they are read.",
        title="What a caption says", figures=("What is matched",),
    ),
    *(
        Stop(
            f"03_train-{name}", "03_train", says, title=title, chapter="arms", figures=LEARNT,
            parameters=given,
        )
        for name, (title, says, given) in ARMS.items()
    ),
    Stop(
        "07_compare", "07_compare", "Which differences between the three are larger than chance?",
        title="The three side by side", chapter="binary", figures=("Difference from",),
        parameters={"metrics": KEYS}, models_of=TRAINED,
    ),
    Stop(
        "08_relevance", "08_relevance",
        "Which metric can be trusted, and what false negatives do to each. Right is what the truth "
        "says; what several models put first and was then found true (pooled); what CIDEr-D finds "
        "alike in words (phi); or what shows the same kinds of things (categories).",
        title="The same answers, judged by the truth", chapter="truth",
        figures=("By the labels", "Order of the models"),
        parameters={"images": 300, "rounds": 300}, models_of=TRAINED,
    ),
    Stop(
        "05_hierarchy", "05_hierarchy",
        "Generic captions are true of many images; a label knows one of them. Does the model rank general "
        "before specific?",
        title="Generic captions", chapter="why", figures=("Texts with a right image",), models_of=TRAINED[:1],
    ),
    Stop(
        "04_embedding_map", "04_embedding_map", "Where images and captions lie, and what training moved.",
        title="A map", chapter="why", figures=("Images and captions",), models_of=TRAINED,
    ),
    Stop(
        "06_retrieval_explorer", "06_retrieval_explorer", "One query, all three models side by side.",
        title="The query on which they differ most", chapter="why", parameters={"images": ASKED},
        models_of=TRAINED,
    ),
)  # fmt: skip


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
    """Run all stops, one after the other, and write ``<root>/tour/index.html``.

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
    began, results = time.perf_counter(), {}
    for number, stop in enumerate(stops, 1):
        say(f"{number}/{len(stops)} {stop.name}: {stop.says}")
        done = results[stop.name] = run_notebook(
            find(stop.notebook), _parameters(stop, folder), folder=folder / stop.name
        )
        say(
            f"    {done.status} after {format_number(done.seconds, 0)} "
            f"s{': ' + done.error if done.error else ''}"
        )
    seconds = time.perf_counter() - began
    index = write_text(folder / "index.html", render(stops, list(results.values()), seconds))
    code = next((result.exit_code for result in results.values() if result.exit_code), 0)
    ended = {name: result.status for name, result in results.items()}
    return TourResult(index, code, round(seconds, 1), ended)


def check_stops(root: Path | str = "runs", stops: tuple[Stop, ...] = STOPS) -> None:
    """Find every notebook of the tour and check the parameters it would get, without running anything.

    Args:
        root: where runs lie.
        stops: the notebooks to run.

    Raises:
        FileNotFoundError: a notebook is missing; ParameterError: it does not take a parameter of its stop.
    """
    for stop in stops:
        check(find(stop.notebook), _parameters(stop, Path(root).resolve() / "tour"))


def _parameters(stop: Stop, folder: Path) -> dict[str, Any]:
    models = {"runs": [str(folder / name) for name in stop.models_of]} if stop.models_of else {}
    return {**stop.parameters, **models}


def render(stops: Sequence[Stop], results: Sequence[RunResult], seconds: float) -> str:
    """The tour's page.

    Args:
        stops: in order.
        results: how each of them ended.
        seconds: wall time of the tour.
    """
    found = {stop.name: runs.read(result.folder).results for stop, result in zip(stops, results, strict=True)}
    titles = {stop.name: stop.title or stop.name for stop in stops}
    trained = [name for name, one in found.items() if "rsum" in one.get("metrics", {})]
    compared = next((one for name, one in found.items() if one.get("differences") and "models" in one), {})
    called = dict(zip(compared.get("models", ()), (titles[name] for name in trained)))
    shown: list[dict[str, Any]] = [
        {
            "stop": stop,
            "title": titles[stop.name],
            "result": result,
            "finding": finding(stop.notebook, found[stop.name], [titles[name] for name in stop.models_of]),
            "figures": list(_figures(stop, result.folder, called)),
        }
        for stop, result in zip(stops, results, strict=True)
    ]
    return page(
        "tour/index.html.j2",
        minutes=format_number(seconds / 60, 1),
        headline=headline(compared, [titles[name] for name in trained]) if compared else "",
        chapters={chapter: [one for one in shown if one["stop"].chapter == chapter] for chapter in CHAPTERS},
        headings=CHAPTERS,
        failed=[one for one in shown if one["result"].exit_code],
        models=[titles[name] for name in trained],
        rows=[row for key, says in ROWS.items() if (row := _row(str(key), says, found, trained, compared))],
        world=list(_world()),
        picture=Markup(_picture(stops, results)),
        explore=" ".join(format_path(one["result"].folder) for one in shown if one["stop"].name in trained),
        plotly=Markup(report.plotly_script()),
        notebook=NOTEBOOK,
    )


def _row(
    key: str, says: str, found: Mapping[str, Any], trained: Sequence[str], compared: Mapping[str, Any]
) -> dict[str, Any]:
    """One number of all models: the value with its interval, and how it compares with the first one's."""
    of = [found[name] for name in trained]
    if not of or any(key not in one["metrics"] for one in of):
        return {}
    told = {row["run"]: row for row in compared.get("differences", {}).values() if row["key"] == key}
    cells = [
        {**told.get(name, {}), **measurement_row(key, one["contracts"].get(key, {}), one["metrics"][key])}
        for one, name in zip(of, compared.get("models", trained))
    ]
    return {"key": key, "says": says, "cells": cells}


def _world() -> Iterator[dict[str, Any]]:
    """A few scenes of the embedded world, each with its shortest and its longest caption."""
    split = data.load("scenes", split="test", size=6)
    for row in range(len(split.image_ids)):
        captions = sorted((split.captions[own] for own in np.flatnonzero(split.own == row)), key=len)
        yield {"image": split.open_image(row), "short": captions[0], "long": captions[-1]}


def _figures(stop: Stop, folder: Path, called: Mapping[str, str]) -> Iterator[dict[str, Any]]:
    """The figures of an executed notebook that the page shows, each with its title and its place there.

    Args:
        stop: whose notebook it is.
        folder: of its run.
        called: name of a model in the notebooks -> its title on the page.
    """
    figures = report.figures(nbformat.read(folder / NOTEBOOK, 4)) if (folder / NOTEBOOK).is_file() else ()
    numbered = [
        (unescape(f["layout"].get("title", {}).get("text", "")), n, f) for n, f in enumerate(figures, 1)
    ]
    for begin in stop.figures:
        for title, number, figure in [one for one in numbered if one[0].startswith(begin)][:1]:
            # as wide as the page gives it, whatever the notebook did; the title is written above it
            layout = {name: value for name, value in figure["layout"].items() if name not in SET_HERE}
            margin = {"t": TOP, **layout.get("margin", {})}
            layout |= {
                "margin": margin | {"t": margin["t"] - TITLE}, "height": layout.get("height", 450) - TITLE,
            }  # fmt: skip
            drawn = report.div(
                _renamed(figure | {"layout": layout}, called), f"{stop.name}-{number}", static=True
            )
            yield {"title": _renamed(title, called), "drawn": Markup(drawn)}


def _renamed(part: Any, called: Mapping[str, str]) -> Any:
    """A figure, or a part of it, in which every text calls the models as the page does."""
    if isinstance(part, Mapping):
        return {key: _renamed(value, called) for key, value in part.items()}
    if isinstance(part, list):
        return [_renamed(value, called) for value in part]
    if not isinstance(part, str) or not called:
        return part
    # the longest first, since one name may begin another
    names = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{names})(?!\w)", lambda found: called[found[0]], part)


def _picture(stops: Sequence[Stop], results: Sequence[RunResult]) -> str:
    """The caption on which the trained models differ most, and what each of them finds."""
    folders = {stop.name: result.folder for stop, result in zip(stops, results, strict=True)}
    names = next((stop.models_of for stop in stops if stop.notebook == EXPLORER), ())
    if not names or not all((folders[name] / runs.MODEL).is_file() for name in names):
        return ""
    opened = open_runs([str(folders[name]) for name in names], images=ASKED)
    ranked, split = compare.ranks(opened, "t2i"), opened[0].split
    titles = {stop.name: stop.title for stop in stops}
    answers = {
        titles[name]: Answers(run.scores, ranks)
        for name, run, ranks in zip(names, opened, ranked, strict=True)
    }
    return sheet(answers, compare.chosen(ranked, split, "t2i", (), 1), split, grade=compare.grader(split))
