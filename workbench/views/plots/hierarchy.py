"""Figures of the hierarchy from generic to specific texts: distances by level, recall by level, and the path
from an image to the root.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from PIL import Image
from scipy.stats import binomtest

from workbench.formatting import format_count, format_value, unit_heading
from workbench.metrics.hierarchy import LEVELS
from workbench.records import Array, Measurement
from workbench.records.metric_key import JUDGES
from workbench.views.plots.theme import (
    CATEGORIES,
    GRID,
    INK,
    add_image,
    axis_values,
    draw_steps,
    error_bars,
    escape,
    figure,
    join_lines,
    legend_entry,
    level_colour,
    panel_figure,
    wrap,
)

MARKERS = ("circle", "diamond", "square", "triangle-up")
# what plotly calls the quantiles of a box
BOX = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
# pixels of a line of text; an image is as high as it is wide, which is about four lines
ROW = 30
THUMBNAIL = 4.0
CLEAR = "rgba(0,0,0,0)"
# how the key of a recall by level ends
BY_LEVEL = "_R_level"


def histogram_by_level(
    by_name: Mapping[str, Array], level: Array, *, title: str, x: str, bins: int = 40
) -> go.Figure:
    """Draw one panel a name, in it one outline of a histogram for each level, over common bins: the share of
    the level's captions. Dotted lines stand at the medians.

    Args:
        by_name: heading of the panel -> ``(T,)`` a number of each caption, e.g. the distance from its image.
        level: ``(T,)`` level of each caption, larger = more specific.
        title: what the figure shows.
        x: name of the values, with their unit.
        bins: number of equal bins between the smallest and the largest value of all panels.
    """
    fig = panel_figure(list(by_name), title, x, "share of the level's captions")
    edges = np.histogram_bin_edges(np.concatenate([*by_name.values()]), bins)
    levels = np.unique(level).tolist()
    for column, values in enumerate(by_name.values(), 1):
        for number in levels:
            chosen = values[level == number]
            colour = level_colour(number, levels)
            place = legend_entry(fig, _level_name(number, levels), column)
            draw_steps(
                fig, chosen, edges, {"color": colour}, fill="tozeroy", fillcolor=_pale_colour(colour), **place
            )
            median = float(np.median(chosen))
            fig.add_vline(x=median, line={"color": colour, "dash": "dot", "width": 1.5}, row=1, col=column)
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def boxes_by_level(by_name: Mapping[str, Array], level: Array, *, title: str, y: str) -> go.Figure:
    """Draw one panel a name, in it one box a level: median, quartiles, and whiskers that leave out 5 % on
    either side; for the arguments see ``histogram_by_level``.
    """
    fig = panel_figure(list(by_name), title, "level, 1 = most generic", y)
    levels = np.unique(level).tolist()
    for column, values in enumerate(by_name.values(), 1):
        for number in levels:
            cuts = np.quantile(values[level == number], list(BOX.values()))[:, None].tolist()
            colour = level_colour(number, levels)
            fig.add_box(
                x=[str(number)],
                line={"color": colour},
                fillcolor=_pale_colour(colour),
                name=_level_name(number, levels),
                row=1,
                col=column,
                **dict(zip(BOX, cuts, strict=True)),
            )
    return fig.update_xaxes(type="category").update_layout(showlegend=False)


def recall_by_level(measurements: Mapping[str, Sequence[Measurement]]) -> go.Figure:
    """Draw the share of chains whose text of a level was retrieved: one panel a protocol, one group of bars a
    level, one bar a run. ``measurements``: by run, of which those with keys like
    ``"hierarcaps_radius_R_level@1"`` are drawn.
    """
    rows = []
    for run, of_run in measurements.items():
        rows += [_level_row(run, number) for number in of_run if number.key.metric.endswith(BY_LEVEL)]
    protocols = {str(name): table for name, table in pd.DataFrame(rows).groupby("protocol", sort=False)}
    names = [name.removeprefix("hierarcaps_") for name in protocols]
    fig = panel_figure(names, "Recall by level", "level, 1 = most generic", f"images, {unit_heading()}")
    for column, table in enumerate(protocols.values(), 1):
        for (name, part), colour in zip(table.groupby("run", sort=False), cycle(CATEGORIES)):
            bars = error_bars(part["value"], part["low"], part["high"], INK)
            place = legend_entry(fig, str(name), column)
            y_values = axis_values(part["value"])
            fig.add_bar(x=part["level"], y=y_values, marker={"color": colour}, error_y=bars, **place)
    return fig.update_yaxes(rangemode="tozero").update_xaxes(type="category").update_layout(barmode="group")


def _level_row(run: str, number: Measurement) -> dict[str, Any]:
    return {
        "run": run,
        "protocol": number.key.metric.removesuffix(BY_LEVEL),
        "level": str(number.key.k),
        "value": number.value,
        "low": number.low,
        "high": number.high,
    }


def share_by_value(
    answered: Mapping[str, Array], values: Array, *, title: str, x: str, y: str, groups: int = 8
) -> go.Figure:
    """Draw the share of captions that were answered, from the lowest value to the highest, one line a
    judgement.

    Args:
        answered: judgement -> ``(T,)`` whether a caption was answered.
        values: ``(T,)`` what orders the captions, e.g. descriptiveness; equal values stay in one group.
        title: what the share of the lowest values is, which ends it.
        x: name of the values, with their unit.
        y: what the shares are of; the axis is in percent.
        groups: about equally many captions each; a point stands at its group's mean value, its bar is the 95
            % Wilson interval.
    """
    edges = np.unique(np.quantile(values, np.linspace(0, 1, groups + 1)))
    _, group = np.unique(np.searchsorted(edges[1:-1], values, side="right"), return_inverse=True)
    sizes = np.bincount(group)
    shares = {JUDGES.get(name, name): np.bincount(group, of_all) / sizes for name, of_all in answered.items()}
    first = [f"{format_value(share[0])} percent by {name}" for name, share in shares.items()]
    fig = figure(f"{title}: {', '.join(first[:2])}", x, f"{y}, {unit_heading()}")
    counts = [format_count(size, "caption") for size in sizes.tolist()]
    for (name, share), colour, symbol in zip(shares.items(), cycle(CATEGORIES), cycle(MARKERS)):
        low, high = _wilson_bounds(share, sizes)
        of_groups = zip(share.tolist(), counts, strict=True)
        texts = [f"{escape(name)}: {format_value(part)} % of {count}" for part, count in of_groups]
        fig.add_scatter(
            x=np.bincount(group, values) / sizes,
            y=axis_values(share),
            name=escape(name),
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            marker={"size": 9, "symbol": symbol},
            hovertext=texts,
            hoverinfo="text",
            error_y=error_bars(share, low, high, colour),
        )
    return fig.update_yaxes(rangemode="tozero")


def _wilson_bounds(share: Array, sizes: Array) -> tuple[Array, Array]:
    answered = np.rint(share * sizes).astype(int).tolist()
    tests = [binomtest(count, size) for count, size in zip(answered, sizes.tolist(), strict=True)]
    low, high = np.array([test.proportion_ci(method="wilson") for test in tests]).T
    return low, high


@dataclass(frozen=True)
class Path:
    """What one image retrieved on its path to the root.

    Args:
        image: drawn at the left; ``None`` leaves its place empty.
        texts: retrieved texts in order, without the root.
        levels: the level of each text in the image's chain, 0 = another image's text.
        true: whether each text is true of the image.
        run: written below the image; empty = there is one run only.
    """

    image: Image.Image | None
    texts: Sequence[str]
    levels: Sequence[int]
    true: Sequence[bool]
    run: str = ""


def traversal(paths: Sequence[Path]) -> go.Figure:
    """Draw the path from each image to the root, drawn downwards.

    Filled dots are texts of the image's own chain, in the colour of their level; hollow diamonds are texts of
    other images that are true of this one, hollow dots those that are not.
    """
    fig = figure("From each image to the root")
    top = 0.0
    for path in paths:
        top = _draw_path(fig, path, top)
    hollow: dict[str, Any] = {"color": CLEAR, "line": {"color": INK, "width": 2}}
    markers = {_level_name(level, LEVELS): {"color": level_colour(level, LEVELS)} for level in LEVELS}
    markers["another's text, true here"] = {**hollow, "symbol": "diamond"}
    markers["another's text, not true"] = hollow
    for name, marker in markers.items():
        fig.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 11, **marker}, name=name)
    return (
        fig.update_layout(height=130 - ROW * top, margin={"b": 10, "t": 110})
        .update_xaxes(visible=False, range=[-0.24, 1], fixedrange=True)
        .update_yaxes(visible=False, range=[top + 0.5, 0.6], fixedrange=True)
    )


def _draw_path(fig: go.Figure, path: Path, top: float) -> float:
    """Draw one path from ``top`` downwards; returns where the next begins."""
    texts = [wrap(text, 84) for text in [*path.texts, "root: the empty text"]]
    heights = np.array([0.4 + 0.6 * len(rows) for rows in texts])
    places = top - np.cumsum(heights) + heights / 2 + 0.5
    fig.add_scatter(
        x=np.zeros(len(places)),
        y=places,
        mode="lines+markers+text",
        line={"color": GRID, "width": 3},
        marker=_text_markers(path),
        text=[_indent_lines(rows) for rows in texts],
        textposition="middle right",
        showlegend=False,
        hoverinfo="skip",
        cliponaxis=False,
    )
    if path.image is not None:
        place = {"xref": "x", "yref": "y", "x": -0.03, "y": top + 0.5, "xanchor": "right", "yanchor": "top"}
        add_image(fig, path.image, 112, sizex=0.2, sizey=THUMBNAIL, **place)
    if path.run:
        name = f"<b>{escape(path.run)}</b>"
        fig.add_annotation(x=-0.13, y=top + 0.5 - THUMBNAIL, text=name, showarrow=False, yanchor="top")
    return top - max(float(heights.sum()), THUMBNAIL) - 1


def _text_markers(path: Path) -> dict[str, Any]:
    """Return the marks of a path's texts, and a square for the root."""
    colours = []
    edges = []
    symbols = []
    for true, level in zip(path.true, path.levels):
        colour = level_colour(level, LEVELS) if level else CLEAR
        colours.append(colour)
        edges.append(colour if level else INK)
        symbols.append("diamond" if true and not level else "circle")
    line = {"color": [*edges, INK], "width": 2}
    return {"size": 11, "color": [*colours, INK], "symbol": [*symbols, "square"], "line": line}


def _indent_lines(rows: Sequence[str]) -> str:
    return join_lines([f"  {row}" for row in rows])


def _level_name(level: int, levels: Sequence[int]) -> str:
    ends = {} if len(levels) < 2 else {min(levels): ", generic", max(levels): ", specific"}
    return f"level {level}{ends.get(level, '')}"


def _pale_colour(colour: str) -> str:
    red, green, blue = bytes.fromhex(colour.removeprefix("#"))
    return f"rgba({red}, {green}, {blue}, 0.15)"
