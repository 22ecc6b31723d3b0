"""Figures of the papers that show finished runs, each as a page that reads offline.

``FIGURES`` names them; a figure takes open runs of one split and returns the pieces of its page. Figures that
a grid makes are tables of that grid, and figures that the notebooks make stay there.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from paper_tables import beside, costs, distances, published, weights
from workbench import text
from workbench.execution import report
from workbench.formatting import format_count, format_number
from workbench.io import write_text
from workbench.records import require
from workbench.registry import require_known
from workbench.runs import compare
from workbench.runs.result import Result
from workbench.runs.ways import Way
from workbench.views.pages import fill_template
from workbench.views.plots import retrieval, tables

TEMPLATE = Path(__file__).with_name("figures.html.j2")
# images whose weights are shown
WEIGHED = 3
Pieces = list[Markup]


def draw_figure(name: str, runs: Sequence[Result]) -> str:
    """Return the page of a figure.

    Args:
        name: of ``FIGURES``, or a data set and protocol of printed rows, e.g. ``"MS-COCO 5K, full"``.
        runs: open runs of one split.

    Raises:
        KeyError: no such figure; the message lists the near names.
    """
    require_figure(name)
    pieces = FIGURES[name](runs) if name in FIGURES else printed_rows(name, runs)
    drawn = report.plotly_script() if any("Plotly" in piece for piece in pieces) else ""
    title = f"{_figure_title(name)}: {', '.join(run.name for run in runs)}"
    return fill_template(TEMPLATE, title=title, pieces=pieces, plotly=Markup(drawn))


def _figure_title(name: str) -> str:
    """Return the name of a figure as its paper has it.

    >>> _figure_title("dias_figure4"), _figure_title("MS-COCO 5K, full")
    ('DIAS Fig. 4', 'MS-COCO 5K, full')
    """
    paper, _, number = name.partition("_figure")
    return f"{paper.upper()} Fig. {number}" if number else name


def write_figure(name: str, runs: Sequence[Result], file: Path) -> Path:
    """Write the page of a figure.

    Args:
        name: see ``draw_figure``.
        runs: open runs of one split.
        file: the page.
    """
    return write_text(file, draw_figure(name, runs))


def require_figure(name: str) -> None:
    """Raise if there is no such figure.

    Raises:
        KeyError: the message lists the near names.
    """
    if name not in published_names():
        require_known("no figure", name, [*FIGURES, *published_names()])


def published_names() -> list[str]:
    """Return the data sets and protocols of which rows are printed."""
    rows = published.load()[["dataset", "protocol"]].drop_duplicates()
    return [", ".join(filter(None, pair)) for pair in rows.itertuples(index=False)]


def printed_rows(name: str, runs: Sequence[Result]) -> Pieces:
    """Show the rows that the papers print of one data set and protocol, with the runs above them where these
    were measured on the same test set, else in a table of their own.

    Args:
        name: data set and protocol, e.g. ``"MS-COCO 5K, full"``.
        runs: open runs of one split.
    """
    columns, remarks, reason = beside.table_with_printed(runs, name)
    about = {"paper": list(remarks), "which rows compare": list(remarks.values())}
    pieces = [tables.printed_table(columns, title=f"{name}, in percent", reason=reason)]
    if reason:
        keys = compare.first_keys(runs[0].split.judgements)
        own = {run.name: [number for number, _ in compare.numbers(run, keys).values()] for run in runs}
        pieces.insert(0, tables.numbers(own, title="The runs, on their own test set"))
    return list(map(Markup, [*pieces, tables.listing(about, title="Papers")]))


def _draw_between_modalities(runs: Sequence[Result]) -> Pieces:
    """DIAS Fig. 4: distances within and between modalities, and their medians."""
    by_run = {run.name: distances.distances(run) for run in runs}
    images = min(distances.MOST, len(runs[0].split.image_ids))
    medians = pd.DataFrame(by_run).map(np.median).map(format_number, digits=3)
    columns: Any = {"median distance": list(medians.index), **medians.to_dict("list")}
    return [_figure_markup(distances.histograms(by_run, images=images)), _listing_markup(columns, "Medians")]


def _draw_accuracy_and_speed(runs: Sequence[Result]) -> Pieces:
    """AAHR Fig. 7: accuracy against what a step, an embedding and a retrieval cost."""
    key = compare.first_keys(runs[0].split.judgements)[0]
    numbers, _ = compare.table(runs, [key])
    times = costs.costs(runs)
    known = times.notna().any(axis=1)
    require(known.any(), "no run has a model or a checkpoint whose time could be measured")
    table = numbers.xs(key, level="label").join(times)[known]
    texts = times.map(format_number, na_action="ignore", digits=2).astype(object).fillna("not known")
    columns: Any = {"run": list(times.index), **texts.rename(columns=costs.HEADINGS).to_dict("list")}
    figure = costs.draw_speed(table, costs.HEADINGS, y=key)
    return [_figure_markup(figure), _listing_markup(columns, "Runs, in milliseconds")]


def _draw_weights(runs: Sequence[Result]) -> Pieces:
    """AAHR Fig. 8: weights of regions and words, for the images on which the runs differ most."""
    rows = [row for _, row in _most_different_queries(runs, "i2t", WEIGHED)]
    weighed = {run.name: weights.weights_of_run(run, rows) for run in runs}
    title = f"Weights of regions and words, {format_count(len(rows), 'image')}"
    return [Markup(weights.weight_sheet(weighed, title=title))]


def _draw_by_descriptiveness(runs: Sequence[Result]) -> Pieces:
    """DITM Fig. 6: what the captions of one image find, from the least to the most descriptive."""
    split = runs[0].split
    values = text.load("descriptiveness").fit(split.captions).transform(split.captions).values
    image = split.own[_most_different_queries(runs, "t2i", 1)[0][1]]
    rows = sorted(np.flatnonzero(split.own == image).tolist(), key=values.__getitem__)
    notes = [f"descriptiveness {format_number(value, 2)}" for value in values]
    sheet = retrieval.sheet(
        {run.name: run.scores for run in runs},
        [(notes[row], row) for row in rows],
        split,
        direction="t2i",
        grade=compare.make_grader(split),
    )
    return [Markup(sheet)]


def _most_different_queries(runs: Sequence[Result], direction: Way, count: int) -> list[tuple[str, int]]:
    """Return the queries on which runs differ most; of one run the first ones."""
    ranks = compare.ranks(runs, direction)
    if len(runs) == 1:
        return [("first", row) for row in range(min(count, ranks.shape[1]))]
    return compare.choose_queries(ranks, runs[0].split, direction, (), count)


def _figure_markup(figure: go.Figure) -> Markup:
    return Markup(report.figure_div(json.loads(figure.to_json()), "figure"))


def _listing_markup(columns: dict[str, list[str]], title: str) -> Markup:
    return Markup(tables.listing(columns, title=title))


FIGURES: dict[str, Callable[[Sequence[Result]], Pieces]] = {
    "ditm_figure6": _draw_by_descriptiveness,
    "dias_figure4": _draw_between_modalities,
    "aahr_figure7": _draw_accuracy_and_speed,
    "aahr_figure8": _draw_weights,
}
