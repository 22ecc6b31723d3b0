"""Boxes, pills, hexagons and arrows of a placed scene graph, drawn into a plotly figure whose axes count
pixels.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.views.plots._graph_layout import BOX, Box, Drawing, Kind, Point
from workbench.views.plots._theme import CATEGORIES, INK, escape, figure

# colour of the box, ink on it, symbol in the legend
LOOK: dict[Kind, tuple[str, str, str]] = {
    "object": (CATEGORIES[0], "#ffffff", "square"),
    "attribute": (CATEGORIES[1], "#1a1a1a", "circle"),
    "relation": (CATEGORIES[2], "#1a1a1a", "hexagon2"),
}
KINDS: tuple[Kind, ...] = ("object", "attribute", "relation")
# pixels: around the drawing, above it for the title, a letter and a line of text, below it for the legend and
# the note
MARGIN, TITLE, LETTER, LINE, NOTE = 14, 44, 7.6, 17.0, 40.0


def canvas(title: str, x: Point, y: Point) -> go.Figure:
    """An empty figure in which one unit is one pixel.

    Args:
        title: what the figure shows.
        x: the left and the right edge.
        y: the lower and the upper edge.
    """
    fig = figure(title, height=round(y[1] - y[0]) + TITLE + MARGIN, width=round(x[1] - x[0]) + 2 * MARGIN)
    fig.update_layout(margin={"l": MARGIN, "r": MARGIN, "t": TITLE, "b": MARGIN}, hovermode="closest")
    fig.update_layout(legend={"y": 0, "yanchor": "bottom", "itemclick": False, "itemdoubleclick": False})
    fig.update_xaxes(visible=False, range=list(x), fixedrange=True)
    return fig.update_yaxes(visible=False, range=list(y), fixedrange=True)


def wrapped(text: str, letters: int, lines: int) -> list[str]:
    """The text in at most so many lines; what is left out is marked."""
    return textwrap.wrap(text, max(letters, 12), max_lines=lines, placeholder=" …")


def write(fig: go.Figure, corner: Point, lines: Sequence[str]) -> None:
    """Lines of text below and to the right of a corner."""
    place = {
        "x": corner[0],
        "y": corner[1],
        "xanchor": "left",
        "yanchor": "top",
        "align": "left",
        "borderpad": 0,
    }
    if lines:
        fig.add_annotation(
            text="<br>".join(map(escape, lines)), showarrow=False, font={"size": 13, "color": INK}, **place
        )


def put(fig: go.Figure, drawing: Drawing) -> None:
    """Draw a placed graph, explain its shapes, and say what is left out."""
    below: dict[str, Any] = {"type": "path", "layer": "below"}
    lines = [below | {"path": _rounded(line), "line": {"color": INK, "width": 1.5}} for line in drawing.lines]
    filled = [(LOOK[box.kind][0], _outline(box)) for box in drawing.boxes]
    boxes = [
        below | {"path": path, "fillcolor": colour, "line": {"color": colour}} for colour, path in filled
    ]
    # All at once: adding them one by one checks all that are there each time.
    fig.update_layout(shapes=[*fig.layout.shapes, *lines, *boxes])
    _arrows(fig, drawing.arrows)
    for kind in KINDS:
        _labels(fig, kind, [box for box in drawing.boxes if box.kind == kind])
    if drawing.left_out:
        place = {"x": drawing.right, "y": drawing.bottom - NOTE, "xanchor": "right", "yanchor": "bottom"}
        fig.add_annotation(
            text=f"{drawing.left_out} more not drawn", showarrow=False, font={"color": INK}, **place
        )


def _labels(fig: go.Figure, kind: Kind, boxes: Sequence[Box]) -> None:
    colour, ink, symbol = LOOK[kind]
    if not boxes:
        return
    fig.add_scatter(
        x=[box.centre[0] for box in boxes], y=[box.centre[1] for box in boxes], mode="markers+text", showlegend=False,
        marker={"size": BOX, "opacity": 0}, text=[escape(box.shown) for box in boxes], textfont={"color": ink, "size": 13},
        hovertext=[_hover(box) for box in boxes], hoverinfo="text", hoverlabel={"bgcolor": colour, "font": {"color": ink}},
        cliponaxis=False,
    )  # fmt: skip
    marker = {"color": colour, "symbol": symbol, "size": 15}
    fig.add_scatter(x=[None], y=[None], mode="markers", marker=marker, name=kind)


def _hover(box: Box) -> str:
    lines = [line for text in (f"{box.kind}: {box.label}", box.about) for line in wrapped(text, 60, 4)]
    return "<br>".join(map(escape, lines))


def _arrows(fig: go.Figure, points: Sequence[Point]) -> None:
    marker = {"symbol": "triangle-up", "size": 11, "color": INK}
    x, y = [x for x, _ in points], [y for _, y in points]
    fig.add_scatter(
        x=x, y=y, mode="markers", marker=marker, hoverinfo="skip", showlegend=False, cliponaxis=False
    )


def _outline(box: Box) -> str:
    """A box with corners, a pill, or a hexagon."""
    (x, y), w, h = box.centre, box.width / 2, BOX / 2
    if box.kind == "object":
        return f"M {x - w},{y - h} H {x + w} V {y + h} H {x - w} Z"
    if box.kind == "relation":
        return f"M {x - w},{y} L {x - w + 9},{y + h} H {x + w - 9} L {x + w},{y} L {x + w - 9},{y - h} H {x - w + 9} Z"
    # a cubic with its handles at 4/3 of the radius is nearly half a circle
    a, b, reach, low, high = x - w + h, x + w - h, 4 / 3 * h, y - h, y + h
    right, left = b + reach, a - reach
    return f"M {a},{low} H {b} C {right},{low} {right},{high} {b},{high} H {a} C {left},{high} {left},{low} {a},{low} Z"


def _rounded(line: Sequence[Point], radius: float = 7) -> str:
    """A line with straight parts and rounded corners."""
    path = f"M {line[0][0]},{line[0][1]}"
    for before, corner, after in zip(line, line[1:], line[2:], strict=False):
        start, end = _towards(corner, before, radius), _towards(corner, after, radius)
        path += f" L {start[0]},{start[1]} Q {corner[0]},{corner[1]} {end[0]},{end[1]}"
    return path + f" L {line[-1][0]},{line[-1][1]}"


def _towards(point: Point, other: Point, radius: float) -> Point:
    length = abs(other[0] - point[0]) + abs(other[1] - point[1])
    share = min(radius, length / 2) / max(length, 1e-9)
    return point[0] + (other[0] - point[0]) * share, point[1] + (other[1] - point[1]) * share
