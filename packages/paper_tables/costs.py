"""Accuracy against what a run costs, after AAHR's Fig. 7."""

import timeit
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.formatting import unit_heading
from workbench.records import Array, MetricKey, require
from workbench.records.measurement import unit_of
from workbench.runs.own import SavedVectors
from workbench.runs.result import Result
from workbench.training import checkpoint
from workbench.views.plots.comparison import style_of_run
from workbench.views.plots.theme import INK, axis_values, error_bars, escape, figure

HEADINGS = {
    "step": "a training step, in the run",
    "image": "embed an image, here",
    "caption": "embed a caption, here",
    "retrieval": "a retrieval, here",
}
UNKNOWN = dict.fromkeys(HEADINGS, float("nan"))


def costs(runs: Sequence[Result], *, items: int = 32, repeats: int = 3) -> pd.DataFrame:
    """Measure what runs cost, in milliseconds.

    A step is the time from the start of training to its end over the number of steps, validation and
    checkpoints included, on the run's own machine. Embedding is the median of ``repeats`` on this machine,
    from the file or the words to the vector. A retrieval is the median over single captions: from the words
    to the order of all images of the split, which are embedded already.

    Args:
        runs: open runs.
        items: images embedded, and as many captions, embedded together and queried one by one.
        repeats: how often a batch is embedded.

    Returns:
        One row a run: ``step``, ``image``, ``caption``, ``retrieval``; NaN where the run kept no checkpoint
        of its training, its clock shows that it was resumed, it kept vectors and no model, or there are no
        photographs.
    """
    rows = {}
    for run in runs:
        rows[run.name] = UNKNOWN if isinstance(run.model, SavedVectors) else _measure_run(run, items, repeats)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("run")


def _measure_run(run: Result, items: int, repeats: int) -> dict[str, float]:
    """Return the four times of one run, in milliseconds."""
    part, model = run.split.first(items), run.model
    images, captions = model.source(part, every_signal=False), part.captions[:items]
    image = _median_seconds(partial(model.embed_images_of, images), repeats)
    caption = median(timeit.repeat(partial(model.embed_texts, captions), number=1, repeat=repeats))
    retrievals = [timeit.timeit(partial(_retrieve_images, run, query), number=1) for query in captions]
    seconds = {
        "image": image / len(part.image_ids),
        "caption": caption / len(captions),
        "retrieval": median(retrievals),
    }
    return {"step": _step_milliseconds(run)} | {name: 1000 * value for name, value in seconds.items()}


def _median_seconds(work: Callable[[], Any], repeats: int) -> float:
    """Return the median time of some work with images; NaN where their files are not there."""
    try:
        return median(timeit.repeat(work, number=1, repeat=repeats))
    except FileNotFoundError:
        return float("nan")


def _retrieve_images(run: Result, caption: str) -> Array:
    scores = run.model.scores(run.image, run.model.embed_texts([caption]))
    return np.argsort(-scores[:, 0], kind="stable")


def _step_milliseconds(run: Result) -> float:
    """Return the time of a training step by the last checkpoint, in milliseconds."""
    if run.folder is None or not (run.folder / checkpoint.LAST).is_file():
        return float("nan")
    facts = checkpoint.read_facts(run.folder / checkpoint.LAST)
    clock = [row["seconds"] for row in facts["history"]]
    # the clock starts again where a run was resumed
    if not clock or clock != sorted(clock):
        return float("nan")
    # epoch 0 ends where training begins, in runs that have one
    begin = sum(row["seconds"] for row in facts["history"][:1] if not row["epoch"])
    return 1000 * float(clock[-1] - begin) / int(facts["step"])


def draw_speed(table: pd.DataFrame, times: Mapping[str, str], *, y: str) -> go.Figure:
    """Draw accuracy against cost, one panel a cost; a run is left out of a panel whose cost is not known.

    Args:
        table: indexed by run: ``value``, ``low``, ``high``, and one column a cost.
        times: column of the cost -> heading of its panel.
        y: key of the accuracy.

    Raises:
        ValueError: no cost of any run is known.
    """
    known = {column: heading for column, heading in times.items() if table[column].notna().any()}
    require(known, "no cost is known: the runs kept no checkpoint, and nothing was measured here")
    unit = unit_of(y)
    # four panels stand two a row, so that a narrow page has room for the numbers of each axis
    columns = len(known) if len(known) < 4 else 2
    rows = -(-len(known) // columns)
    title = f"Accuracy against speed: {table['value'].idxmax()} is the most accurate"
    fig = figure(title, height=120 + 290 * rows).set_subplots(
        rows,
        columns,
        subplot_titles=[escape(name) for name in known.values()],
        shared_yaxes=True,
        horizontal_spacing=0.06,
        vertical_spacing=0.44 / rows,
    )
    for number, (name, row) in enumerate(table.iterrows()):
        style = style_of_run(number, str(name))
        bars = error_bars(row["value"], row["low"], row["high"], style["line_color"], unit)
        for place, column in enumerate(known):
            panel = {"row": place // columns + 1, "col": place % columns + 1, "showlegend": not place}
            fig.add_scatter(
                x=[row[column]],
                y=axis_values(row["value"], unit),
                mode="markers",
                marker_size=12,
                error_y=bars,
                **panel,
                **style,
            )
    fig.update_annotations(font={"size": 13, "color": INK})
    fig.update_layout(margin={"b": 110}, legend={"y": -0.3 / rows, "yanchor": "top"})
    fig.update_xaxes(rangemode="tozero", title="milliseconds")
    return fig.update_yaxes(title=f"{MetricKey.parse(y).title}, {unit_heading(unit)}", col=1)
