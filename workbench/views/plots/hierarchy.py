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
from workbench.records import Array, Measurement
from workbench.records.metric_key import JUDGES
from workbench.views.plots.theme import (
    CATEGORIES,
    GRID,
    INK,
    add_picture,
    entry,
    escape,
    figure,
    level_colour,
    lines,
    on_axis,
    panels,
    steps,
    whiskers,
    wrapped,
)

MARKERS = ("circle", "diamond", "square", "triangle-up")
# what plotly calls the quantiles of a box
BOX = {"lowerfence": 0.05, "q1": 0.25, "median": 0.5, "q3": 0.75, "upperfence": 0.95}
# in rows of one line of text; a picture is as high as it is wide, which is about four of them
ROW, PICTURE = 30, 4.0
CLEAR = "rgba(0,0,0,0)"
# how the key of a recall by level ends
BY_LEVEL = "_R_level"


def histogram_by_level(
    by_name: Mapping[str, Array], level: Array, *, title: str, x: str, bins: int = 40
) -> go.Figure:
    """One panel a name, in it one outline of a histogram for each level, over common bins: the share of the
    level's captions. Dotted lines stand at the medians.

    Args:
        by_name: heading of the panel -> ``(T,)`` a number of each caption, e.g. the distance from its image.
        level: ``(T,)`` level of each caption, larger = more specific.
        title: what the figure shows.
        x: name of the values, with their unit.
        bins: number of equal bins between the smallest and the largest value of all panels.
    """
    fig = panels(list(by_name), title, x, "share of the level's captions")
    edges = np.histogram_bin_edges(np.concatenate([*by_name.values()]), bins)
    levels = np.unique(level).tolist()
    for column, values in enumerate(by_name.values(), 1):
        for one in levels:
            chosen, colour = values[level == one], level_colour(one, levels)
            place = entry(fig, _level_name(one, levels), column)
            steps(fig, chosen, edges, {"color": colour}, fill="tozeroy", fillcolor=_pale(colour), **place)
            median = float(np.median(chosen))
            fig.add_vline(x=median, line={"color": colour, "dash": "dot", "width": 1.5}, row=1, col=column)
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def boxes_by_level(by_name: Mapping[str, Array], level: Array, *, title: str, y: str) -> go.Figure:
    """One panel a name, in it one box a level: median, quartiles, and whiskers that leave out 5 % on either
    side; for the arguments see ``histogram_by_level``.
    """
    fig = panels(list(by_name), title, "level, 1 = most generic", y)
    levels = np.unique(level).tolist()
    for column, values in enumerate(by_name.values(), 1):
        for one in levels:
            cuts = np.quantile(values[level == one], list(BOX.values()))[:, None].tolist()
            colour = level_colour(one, levels)
            fig.add_box(
                x=[str(one)], line={"color": colour}, fillcolor=_pale(colour), row=1, col=column,
                name=_level_name(one, levels), **dict(zip(BOX, cuts, strict=True)),
            )  # fmt: skip
    return fig.update_xaxes(type="category").update_layout(showlegend=False)


def recall_by_level(found: Mapping[str, Sequence[Measurement]]) -> go.Figure:
    """Share of chains whose text of a level was retrieved: one panel a protocol, one group of bars a level,
    one bar a run. ``found``: run -> measurements, of which those with keys like
    ``"hierarcaps_radius_R_level@1"`` are drawn.
    """
    rows = [
        {"run": run, "protocol": m.key.metric.removesuffix(BY_LEVEL), "level": str(m.key.k), "value": m.value,
         "low": m.low, "high": m.high}
        for run, several in found.items() for m in several if m.key.metric.endswith(BY_LEVEL)
    ]  # fmt: skip
    protocols = {str(name): table for name, table in pd.DataFrame(rows).groupby("protocol", sort=False)}
    title, x = "Recall by level", "level, 1 = most generic"
    names = [name.removeprefix("hierarcaps_") for name in protocols]
    fig = panels(names, title, x, f"images, {unit_heading()}")
    for column, table in enumerate(protocols.values(), 1):
        for (run, part), colour in zip(table.groupby("run", sort=False), cycle(CATEGORIES)):
            fig.add_bar(
                x=part["level"], y=on_axis(part["value"]), marker={"color": colour},
                error_y=whiskers(part["value"], part["low"], part["high"], INK),
                **entry(fig, str(run), column),
            )  # fmt: skip
    return fig.update_yaxes(rangemode="tozero").update_xaxes(type="category").update_layout(barmode="group")


def share_by_value(
    answered: Mapping[str, Array], values: Array, *, title: str, x: str, y: str, groups: int = 8
) -> go.Figure:
    """Share of captions that were answered, from the lowest value to the highest, one line a judgement.

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
    shares = {JUDGES.get(name, name): np.bincount(group, found) / sizes for name, found in answered.items()}
    first = [f"{format_value(of[0])} percent by {name}" for name, of in shares.items()]
    fig = figure(f"{title}: {', '.join(first[:2])}", x, f"{y}, {unit_heading()}")
    for (name, share), colour, symbol in zip(shares.items(), cycle(CATEGORIES), cycle(MARKERS)):
        fig.add_scatter(
            x=np.bincount(group, values) / sizes, y=on_axis(share), name=escape(name), mode="lines+markers",
            line={"color": colour, "width": 2.5}, marker={"size": 9, "symbol": symbol},
            hovertext=[f"{escape(name)}: {format_value(one)} % of {format_count(size, 'caption')}"
                       for one, size in zip(share.tolist(), sizes.tolist(), strict=True)],
            hoverinfo="text", error_y=whiskers(share, *_wilson(share, sizes), colour),
        )  # fmt: skip
    return fig.update_yaxes(rangemode="tozero")


def _wilson(share: Array, sizes: Array) -> tuple[Array, Array]:
    tried = zip(np.rint(share * sizes).astype(int).tolist(), sizes.tolist(), strict=True)
    low, high = np.array([binomtest(*of).proportion_ci(method="wilson") for of in tried]).T
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


def traversal(paths: Sequence[Path], *, levels: Sequence[int] = (1, 2, 3, 4)) -> go.Figure:
    """The path from each image to the root, drawn downwards.

    Filled dots are texts of the image's own chain, in the colour of their level; hollow diamonds are texts of
    other images that are true of this one, hollow dots those that are not.
    """
    fig, top = figure("From each image to the root"), 0.0
    for path in paths:
        top = _draw_path(fig, path, top, levels)
    hollow: dict[str, Any] = {"color": CLEAR, "line": {"color": INK, "width": 2}}
    for name, marker in {
        **{_level_name(level, levels): {"color": level_colour(level, levels)} for level in levels},
        "another's text, true here": {**hollow, "symbol": "diamond"},
        "another's text, not true": hollow,
    }.items():
        fig.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 11, **marker}, name=name)
    return (
        fig.update_layout(height=130 - ROW * top, margin={"b": 10, "t": 110})
        .update_xaxes(visible=False, range=[-0.24, 1], fixedrange=True)
        .update_yaxes(visible=False, range=[top + 0.5, 0.6], fixedrange=True)
    )


def _draw_path(fig: go.Figure, path: Path, top: float, levels: Sequence[int]) -> float:
    """Draw one path from ``top`` downwards; returns where the next begins."""
    texts = [wrapped(text, 84) for text in [*path.texts, "root: the empty text"]]
    heights = np.array([0.4 + 0.6 * len(several) for several in texts])
    places = top - np.cumsum(heights) + heights / 2 + 0.5
    inside = [level_colour(level, levels) if level else CLEAR for level in path.levels]
    edges = [INK if colour == CLEAR else colour for colour in inside]
    symbols = ["circle" if level or not true else "diamond" for true, level in zip(path.true, path.levels)]
    fig.add_scatter(
        x=np.zeros(len(places)), y=places, mode="lines+markers+text", line={"color": GRID, "width": 3},
        marker={"size": 11, "color": [*inside, INK], "symbol": [*symbols, "square"],
                "line": {"color": [*edges, INK], "width": 2}},
        text=[lines([f"  {line}" for line in several]) for several in texts], textposition="middle right",
        showlegend=False, hoverinfo="skip", cliponaxis=False,
    )  # fmt: skip
    if path.image is not None:
        add_picture(
            fig, path.image, 112, xref="x", yref="y", x=-0.03, y=top + 0.5, sizex=0.2, sizey=PICTURE,
            xanchor="right", yanchor="top",
        )  # fmt: skip
    if path.run:
        fig.add_annotation(
            x=-0.13, y=top + 0.5 - PICTURE, text=f"<b>{escape(path.run)}</b>", showarrow=False, yanchor="top"
        )
    return top - max(float(heights.sum()), PICTURE) - 1


def _level_name(level: int, levels: Sequence[int]) -> str:
    ends = {} if len(levels) < 2 else {min(levels): ", generic", max(levels): ", specific"}
    return f"level {level}{ends.get(level, '')}"


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"
