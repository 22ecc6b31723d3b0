"""The guided first run: the notebooks on the embedded world for three objectives, and one page that shows
what came out: a table, the world, thumbnails of the figures. The page reads offline, in light and dark.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from markupsafe import Markup

from workbench import data
from workbench.execution import report
from workbench.execution.library import find
from workbench.execution.notebook import NOTEBOOK, RunResult, check, run_notebook
from workbench.experiment import runs
from workbench.records import MetricKey
from workbench.records.readable import readable
from workbench.records.shown import fixed
from workbench.views.pages import page

# what the page's table shows: key of the number, and what it says
ROWS = {
    MetricKey("own", "t2i", "exact", 1, "most specific"): "A most specific caption finds its own image first",
    MetricKey("R", "t2i", k=1): "Any caption finds its own image first",
    MetricKey("R", "t2i", k=5): "... among the first five",
    MetricKey("R", "i2t", k=1): "An image finds one of its own captions first",
    MetricKey("rsum"): "RSUM, the sum of the six recalls",
    MetricKey("true", "t2i", "exact", 1): "The first image is truly described by the caption",
    MetricKey("false_negatives", "t2i", "exact"): "... so of the binary errors, this share were right",
    MetricKey("map_at_r", "t2i", "exact"): "mAP@R against the exact truth, caption to image",
    MetricKey("map_at_r", "i2t", "exact"): "mAP@R against the exact truth, image to caption",
}
# a figure is drawn at this size and scaled down by the page, so that a thumbnail looks like the figure
WIDTH, HEIGHT = 720, 450


@dataclass(frozen=True)
class Stop:
    """One notebook of the tour.

    Args:
        name: folder below ``runs/tour``, and the heading on the page.
        notebook: its name in ``notebooks/``.
        says: one sentence on what to look for.
        parameters: what differs from the notebook's defaults.
        model_of: name of an earlier stop whose run folder becomes the parameter ``run``.
        models_of: names of earlier stops whose run folders become the parameter ``runs``.
    """

    name: str
    notebook: str
    says: str
    parameters: dict[str, Any] = field(default_factory=dict)
    model_of: str = ""
    models_of: tuple[str, ...] = ()


TRAINED = tuple(f"03_train-{name}" for name in ("infonce", "vsepp", "ditm"))
STOPS = (
    Stop(
        "01_descriptiveness", "01_descriptiveness", "How much a caption says, measured from the words alone."
    ),
    Stop(
        "02_scene_graphs",
        "02_scene_graphs",
        "What captions say about what: objects, attributes, relations, and how well they are read.",
    ),
    *(
        Stop(
            f"03_train-{name}",
            "03_train",
            f"Train with {title} and see which errors were errors.",
            {"objective": name},
        )
        for name, title in (("infonce", "InfoNCE"), ("vsepp", "VSE++"), ("ditm", "DITM"))
    ),
    Stop(
        "04_embedding_map",
        "04_embedding_map",
        "Where images and captions lie, and what training moved.",
        models_of=TRAINED,
    ),
    Stop(
        "05_hierarchy",
        "05_hierarchy",
        "Does the DITM model rank general before specific?",
        model_of="03_train-ditm",
    ),
    Stop(
        "06_retrieval_explorer",
        "06_retrieval_explorer",
        "One query, all three models side by side.",
        models_of=TRAINED,
    ),
    Stop(
        "07_compare",
        "07_compare",
        "Which differences between the three are larger than chance?",
        models_of=TRAINED,
    ),
    Stop(
        "08_relevance",
        "08_relevance",
        "Which metric can be trusted, and what false negatives do to each.",
        {"images": 300, "rounds": 300},
        models_of=TRAINED,
    ),
)


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
        say(f"    {done.status} after {fixed(done.seconds, 0)} s{': ' + done.error if done.error else ''}")
    seconds = time.perf_counter() - began
    index = runs.write_text(folder / "index.html", render(stops, list(results.values()), seconds))
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
    model = {"run": str(folder / stop.model_of)} if stop.model_of else {}
    models = {"runs": [str(folder / name) for name in stop.models_of]} if stop.models_of else {}
    return {**stop.parameters, **model, **models}


def render(stops: Sequence[Stop], results: Sequence[RunResult], seconds: float) -> str:
    """The tour's page.

    Args:
        stops: in order.
        results: how each of them ended.
        seconds: wall time of the tour.
    """
    found = [runs.read(result.folder).results for result in results]
    shown = [
        {"stop": stop, "result": result, "thumbs": list(_thumbnails(stop.name, result.folder))}
        for stop, result in zip(stops, results, strict=True)
    ]
    trained = [one for one in found if "rsum" in one.get("metrics", {})]
    # 08_relevance keeps a list of another kind under the same name
    kept = [one.get("differences") for one in found]
    compared = [row for one in kept if isinstance(one, dict) for row in one.values()]
    return page(
        "tour/index.html.j2",
        minutes=fixed(seconds / 60, 1),
        stops=shown,
        objectives=[str(one["objective"]) for one in trained],
        rows=[row for key, says in ROWS.items() if (row := _row(str(key), says, trained, compared))],
        world=list(_world()),
        plotly=Markup(report.plotly_script()),
        notebook=NOTEBOOK,
    )


def _row(
    key: str, says: str, trained: Sequence[Mapping[str, Any]], compared: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """One number of all objectives: the value with its interval, and how it compares with the first one's."""
    if not any(key in one["metrics"] for one in trained):
        return {}
    against = {row["run"]: row for row in reversed(compared) if row["key"] == key}
    cells = [
        {**readable(key, one["contracts"].get(key, {}), one["metrics"].get(key)),
         **against.get(one["objective"], {})}
        for one in trained
    ]  # fmt: skip
    return {"key": key, "says": says, "cells": cells}


def _world() -> Iterator[dict[str, Any]]:
    """A few scenes of the embedded world, each with its shortest and its longest caption."""
    split = data.load("scenes", split="test", size=12)
    for row in range(len(split.image_ids)):
        captions = sorted((split.captions[own] for own in np.flatnonzero(split.own == row)), key=len)
        yield {"image": split.open_image(row), "short": captions[0], "long": captions[-1]}


def _thumbnails(name: str, folder: Path) -> Iterator[dict[str, Any]]:
    """The figures of an executed notebook, each with its title."""
    figures = report.figures(nbformat.read(folder / NOTEBOOK, 4)) if (folder / NOTEBOOK).is_file() else ()
    for number, figure in enumerate(figures, 1):
        layout = figure["layout"]
        size = {
            "width": WIDTH,
            "height": HEIGHT,
            "autosize": False,
            "margin": layout.get("margin", {}) | {"b": 64},
        }
        drawn = {"data": figure["data"], "layout": layout | size}
        yield {
            "title": layout.get("title", {}).get("text", f"figure {number}"),
            "drawn": Markup(report.div(drawn, f"{name}-{number}", static=True)),
        }
