"""The guided first run: the notebooks on the embedded world for three objectives, and one page that shows
what came out.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.execution.notebook import RunResult, check, find, run_notebook
from workbench.experiment import runs
from workbench.tour import page


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
        result = results[stop.name] = run_notebook(
            find(stop.notebook), _parameters(stop, folder), folder=folder / stop.name
        )
        say(f"    {result.status} after {result.seconds:.0f} s{': ' + result.error if result.error else ''}")
    seconds = time.perf_counter() - began
    index = runs.write_text(
        folder / "index.html", page.render([_shown(stop, results[stop.name]) for stop in stops], seconds)
    )
    codes = [result.exit_code for result in results.values() if result.exit_code]
    return TourResult(
        index, codes[0] if codes else 0, round(seconds, 1), {name: r.status for name, r in results.items()}
    )


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


def _shown(stop: Stop, result: RunResult) -> page.Shown:
    return page.Shown(stop.name, stop.says, result, runs.read(result.folder))
