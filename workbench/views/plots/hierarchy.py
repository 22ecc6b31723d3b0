"""Figures of the hierarchy from generic to specific texts: distances by level, recall by level, and the way
to the root.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from workbench.records import Measurement
from workbench.views.plots.theme import CATEGORIES, GRID, INK, LEVELS, data_uri, escape, figure

Values = NDArray[Any]
MARKERS = ("circle", "diamond", "square", "triangle-up")


def level_colour(level: int, levels: Sequence[int]) -> str:
    """Colour of a level: the ramp from generic to specific, stretched over the levels there are."""
    place = sorted(levels).index(level) * (len(LEVELS) - 1) / max(1, len(levels) - 1)
    return LEVELS[round(place)]


def histogram_by_level(values: Values, level: Values, *, title: str, x: str, bins: int = 40) -> go.Figure:
    """One outline of a histogram for each level, over common bins.

    Args:
        values: ``(T,)`` a number of each caption, e.g. the distance from its image.
        level: ``(T,)`` level of each caption, larger = more specific.
        title: what the figure shows.
        x: name of the values, with their unit.
        bins: number of equal bins between the smallest and the largest value.

    Returns:
        Figure; the vertical axis is the share of the level's captions. Dotted lines stand at the medians.
    """
    fig = figure(title, x, "share of the level's captions")
    edges = np.histogram_bin_edges(values, bins)
    levels = np.unique(level).tolist()
    for one in levels:
        chosen, colour = values[level == one], level_colour(one, levels)
        share = np.histogram(chosen, edges)[0] / len(chosen)
        name = _level_name(one, levels)
        line = {"color": colour, "width": 2, "shape": "hv"}
        steps = {
            "x": edges,
            "y": np.append(share, 0.0),
            "line": line,
            "fill": "tozeroy",
            "fillcolor": _pale(colour),
        }
        fig.add_scatter(
            **steps,
            mode="lines",
            name=name,
            hovertemplate=f"{name}<br>from %{{x:.3f}}: %{{y:.1%}}<extra></extra>",
        )
        fig.add_vline(x=float(np.median(chosen)), line={"color": colour, "dash": "dot", "width": 1.5})
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def box_by_level(values: Values, level: Values, *, title: str, y: str) -> go.Figure:
    """One box for each level: median, quartiles, and whiskers that leave out 5 % on either side.

    Args:
        values: ``(T,)`` a number of each caption, e.g. descriptiveness or the distance from the root.
        level: ``(T,)`` level of each caption.
        title: what the figure shows.
        y: name of the values, with their unit.
    """
    fig = figure(title, "level, 1 = most generic", y)
    levels = np.unique(level).tolist()
    for one in levels:
        low, q1, median, q3, high = (
            [float(q)] for q in np.quantile(values[level == one], (0.05, 0.25, 0.5, 0.75, 0.95))
        )
        marks = {"lowerfence": low, "q1": q1, "median": median, "q3": q3, "upperfence": high}
        colour = level_colour(one, levels)
        fig.add_box(
            x=[str(one)],
            **marks,
            line={"color": colour},
            fillcolor=_pale(colour),
            name=_level_name(one, levels),
        )
    return fig.update_xaxes(type="category").update_layout(showlegend=False)


def recall_by_level(measurements: Sequence[Measurement]) -> go.Figure:
    """Share of chains whose text of a level was retrieved, one group of bars a level, one bar a protocol.

    Args:
        measurements: those with keys like ``"hierarcaps_radius/R_level1"`` are drawn, with their intervals.
    """
    fig = figure("Recall by level", "level, 1 = most generic", "share of images")
    protocols: dict[str, list[Measurement]] = {}
    for m in measurements:
        name, found, _ = m.key.partition("/R_level")
        if found:
            protocols.setdefault(name, []).append(m)
    for (name, by_level), colour in zip(protocols.items(), CATEGORIES, strict=False):
        up = [0.0 if m.high is None else m.high - m.value for m in by_level]
        down = [0.0 if m.low is None else m.value - m.low for m in by_level]
        bars = {"x": [m.key.partition("/R_level")[2] for m in by_level], "y": [m.value for m in by_level]}
        whiskers = {"type": "data", "array": up, "arrayminus": down, "color": INK, "thickness": 1.5}
        fig.add_bar(**bars, name=escape(name), marker={"color": colour}, error_y=whiskers)
    return (
        fig.update_yaxes(tickformat=".0%", rangemode="tozero")
        .update_xaxes(type="category")
        .update_layout(barmode="group")
    )


def share_by_value(
    answered: Mapping[str, Values], values: Values, *, title: str, x: str, y: str, groups: int = 8
) -> go.Figure:
    """Share of captions that were answered, from the lowest value to the highest, one line a judgement.

    Args:
        answered: judgement -> ``(T,)`` whether a caption was answered.
        values: ``(T,)`` what orders the captions, e.g. descriptiveness; equal values stay in one group.
        title: what the figure shows.
        x: name of the values, with their unit.
        y: name of the share.
        groups: about equally many captions each; a point stands at its group's mean value, its bar is the 95
            % Wilson interval.
    """
    fig = figure(title, x, y)
    edges = np.unique(np.quantile(values, np.linspace(0, 1, groups + 1)))
    _, group = np.unique(np.searchsorted(edges[1:-1], values, side="right"), return_inverse=True)
    sizes = np.bincount(group)
    at = np.bincount(group, values) / sizes
    for (name, found), colour, symbol in zip(answered.items(), CATEGORIES, MARKERS, strict=False):
        share = np.bincount(group, found) / sizes
        low, high = _wilson(share, sizes)
        whiskers = {
            "type": "data",
            "array": high - share,
            "arrayminus": share - low,
            "color": colour,
            "thickness": 1.5,
        }
        look = {"line": {"color": colour, "width": 2.5}, "marker": {"size": 9, "symbol": symbol}}
        hover = f"{escape(name)}: %{{y:.1%}} of %{{customdata}} captions<extra></extra>"
        fig.add_scatter(
            x=at,
            y=share,
            customdata=sizes,
            error_y=whiskers,
            name=escape(name),
            mode="lines+markers",
            hovertemplate=hover,
            **look,
        )
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def _wilson(share: Values, sizes: Values, z: float = 1.96) -> tuple[Values, Values]:
    middle = (share + z**2 / (2 * sizes)) / (1 + z**2 / sizes)
    half = z * np.sqrt(share * (1 - share) / sizes + z**2 / (4 * sizes**2)) / (1 + z**2 / sizes)
    return middle - half, middle + half


@dataclass(frozen=True)
class Way:
    """What one image retrieved on the way to the root.

    Args:
        image: drawn at the left; ``None`` leaves its place empty.
        texts: retrieved texts in order, without the root.
        levels: the level of each text in the image's chain, 0 = another image's text.
        true: whether each text is true of the image.
    """

    image: Image.Image | None
    texts: Sequence[str]
    levels: Sequence[int]
    true: Sequence[bool]


# in rows of one line of text; a picture is as high as it is wide, which is about four of them
ROW, PICTURE = 30, 4.0
CLEAR = "rgba(0,0,0,0)"


def traversal(ways: Sequence[Way], *, levels: Sequence[int] = (1, 2, 3, 4)) -> go.Figure:
    """The way from each image to the root, drawn downwards.

    Filled dots are texts of the image's own chain, in the colour of their level; hollow diamonds are texts of
    other images that are true of this one, hollow dots those that are not.

    Args:
        ways: one a chosen image.
        levels: all levels of a chain, generic first.
    """
    fig, top = figure("From each image to the root"), 0.0
    for way in ways:
        top = _draw_way(fig, way, top, levels)
    for level in levels:
        _explain(fig, _level_name(level, levels), {"color": level_colour(level, levels)})
    hollow = {"color": CLEAR, "line": {"color": INK, "width": 2}}
    _explain(fig, "another's text, true here", {**hollow, "symbol": "diamond"})
    _explain(fig, "another's text, not true", hollow)
    fig.update_layout(height=130 - ROW * top, margin={"b": 10, "t": 110})
    fig.update_xaxes(visible=False, range=[-0.24, 1], fixedrange=True)
    return fig.update_yaxes(visible=False, range=[top + 0.5, 0.6], fixedrange=True)


def _explain(fig: go.Figure, name: str, marker: dict[str, Any]) -> None:
    fig.add_scatter(x=[None], y=[None], mode="markers", marker={"size": 11, **marker}, name=name)


def _draw_way(fig: go.Figure, way: Way, top: float, levels: Sequence[int]) -> float:
    """Draw one way from ``top`` downwards; returns where the next begins."""
    lines = [textwrap.wrap(text, 84) for text in [*way.texts, "root: the empty text"]]
    heights = np.array([0.4 + 0.6 * len(several) for several in lines])
    places = top - np.cumsum(heights) + heights / 2 + 0.5
    inside = [level_colour(level, levels) if level else CLEAR for level in way.levels]
    edges = [colour if level else INK for colour, level in zip(inside, way.levels, strict=True)]
    symbols = [
        "diamond" if true and not level else "circle"
        for true, level in zip(way.true, way.levels, strict=True)
    ]
    marker = {
        "color": [*inside, INK],
        "symbol": [*symbols, "square"],
        "size": 11,
        "line": {"color": [*edges, INK], "width": 2},
    }
    fig.add_scatter(
        x=np.zeros(len(places)), y=places, mode="lines+markers+text", showlegend=False, hoverinfo="skip", cliponaxis=False,
        text=["<br>".join(f"  {escape(line)}" for line in several) for several in lines], textposition="middle right",
        marker=marker, line={"color": GRID, "width": 3},
    )  # fmt: skip
    if way.image is not None:
        place = {
            "x": -0.03,
            "y": top + 0.5,
            "sizex": 0.2,
            "sizey": PICTURE,
            "xanchor": "right",
            "yanchor": "top",
        }
        fig.add_layout_image(source=data_uri(way.image), xref="x", yref="y", sizing="contain", **place)
    return top - max(float(heights.sum()), PICTURE) - 1


def _level_name(level: int, levels: Sequence[int]) -> str:
    ends = {min(levels): ", generic", max(levels): ", specific"} if len(levels) > 1 else {}
    return f"level {level}{ends.get(level, '')}"


def _pale(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.15)"
