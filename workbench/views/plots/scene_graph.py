"""Figures of scene graphs: one graph, a graph with its image, two graphs compared, a corpus in numbers,
agreement with the truth.

Objects are blue boxes, attributes orange pills, relations green hexagons: kinds differ in shape, in colour
and in lightness. A graph is drawn on axes that count pixels, and the same graph gives the same drawing
(``graph_layout``).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.formatting import display_value, format_number, format_value, unit_heading
from workbench.records import SceneGraph
from workbench.views.plots.graph_layout import BOX, Box, Drawing, Kind, Point, place_graph, shorten
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    add_image,
    axis_values,
    escape,
    figure,
    join_lines,
    panel_figure,
    wrap,
)

# colour of the box, ink on it, symbol in the legend
LOOK: dict[Kind, tuple[str, str, str]] = {
    "object": (CATEGORIES[0], "#ffffff", "square"),
    "attribute": (CATEGORIES[1], "#1a1a1a", "circle"),
    "relation": (CATEGORIES[2], "#1a1a1a", "hexagon2"),
}
KINDS = tuple(LOOK)
# pixels: around the drawing, above it for the title, a letter and a line of text, below it for the legend and
# the note
MARGIN = 14
TITLE = 44
SIGN = 7.6
LINE = 17.0
NOTE = 40.0


def canvas(title: str, drawing: Drawing, width: float, top: float) -> go.Figure:
    """Return a figure of a placed graph, in which one unit is one pixel; it explains the shapes of the graph
    and says what is left out.

    Args:
        title: what the figure shows.
        drawing: the graph.
        width: from the left edge of the graph.
        top: height above the objects.
    """
    x = [drawing.left, drawing.left + width]
    y = [drawing.bottom - NOTE, top]
    fig = figure(title, height=round(y[1] - y[0]) + TITLE + MARGIN, width=round(width) + 2 * MARGIN)
    legend = {"y": 0, "yanchor": "bottom", "itemclick": False, "itemdoubleclick": False}
    margin = {"l": MARGIN, "r": MARGIN, "t": TITLE, "b": MARGIN}
    fig.update_layout(margin=margin, hovermode="closest", legend=legend, shapes=_graph_shapes(drawing))
    fig.update_xaxes(visible=False, range=x, fixedrange=True)
    fig.update_yaxes(visible=False, range=y, fixedrange=True)
    arrow = {"symbol": "triangle-up", "size": 11, "color": INK}
    ends = {"x": [x for x, _ in drawing.arrows], "y": [y for _, y in drawing.arrows]}
    fig.add_scatter(
        **ends, mode="markers", hoverinfo="skip", showlegend=False, marker=arrow, cliponaxis=False
    )
    for kind in KINDS:
        boxes = [box for box in drawing.boxes if box.kind == kind]
        if boxes:
            _write_labels(fig, kind, boxes)
    if drawing.left_out:
        note = f"{drawing.left_out} more not drawn"
        place = {"x": drawing.right, "y": drawing.bottom - NOTE, "xanchor": "right", "yanchor": "bottom"}
        fig.add_annotation(text=note, showarrow=False, font={"color": INK}, **place)
    return fig


def _graph_shapes(drawing: Drawing) -> list[dict[str, Any]]:
    """Return lines and boxes of a graph, the boxes on top."""
    below: dict[str, Any] = {"type": "path", "layer": "below"}
    shapes = [{**below, "path": path, "line": {"color": INK, "width": 1.5}} for path in drawing.lines]
    for box in drawing.boxes:
        colour = LOOK[box.kind][0]
        shapes.append({**below, "path": _box_outline(box), "fillcolor": colour, "line": {"color": colour}})
    return shapes


def _write_labels(fig: go.Figure, kind: Kind, boxes: Sequence[Box]) -> None:
    """Write the words of all boxes of a kind, and name the kind in the legend."""
    colour, ink, symbol = LOOK[kind]
    x, y = zip(*(box.centre for box in boxes), strict=True)
    texts = [escape(shorten(box.label)) for box in boxes]
    hover = {"bgcolor": colour, "font": {"color": ink}}
    fig.add_scatter(
        x=x,
        y=y,
        mode="markers+text",
        text=texts,
        textfont={"color": ink, "size": 13},
        marker={"size": BOX, "opacity": 0},
        hoverinfo="text",
        cliponaxis=False,
        showlegend=False,
        hovertext=[_hover_text(box) for box in boxes],
        hoverlabel=hover,
    )
    look = {"color": colour, "symbol": symbol, "size": 15}
    fig.add_scatter(x=[None], y=[None], mode="markers", marker=look, name=kind)


def _hover_text(box: Box) -> str:
    return join_lines([*wrap(f"{box.kind}: {box.label}", 60, 4), *wrap(box.about, 60, 4)])


def write_lines(fig: go.Figure, corner: Point, texts: Sequence[str]) -> None:
    """Write lines of text below and to the right of a corner."""
    if texts:
        look = {"showarrow": False, "font": {"size": 13, "color": INK}, "align": "left", "borderpad": 0}
        x, y = corner
        fig.add_annotation(text=join_lines(texts), x=x, y=y, xanchor="left", yanchor="top", **look)


def _box_outline(box: Box) -> str:
    """Return a box with corners, a pill, or a hexagon."""
    x, y = box.centre
    half = BOX / 2
    left = x - box.width / 2
    right = x + box.width / 2
    low = y - half
    high = y + half
    if box.kind == "object":
        return f"M {left},{low} H {right} V {high} H {left} Z"
    # from where the ends begin
    inset = 9 if box.kind == "relation" else half
    first = left + inset
    last = right - inset
    if box.kind == "relation":
        at_right = f"L {right},{y} L {last},{high}"
        at_left = f"L {left},{y} L {first},{low}"
    else:
        # a cubic with its handles at 4/3 of the radius is nearly half a circle
        handle = half / 3
        at_right = f"C {right + handle},{low} {right + handle},{high} {last},{high}"
        at_left = f"C {left - handle},{high} {left - handle},{low} {first},{low}"
    return f"M {first},{low} H {last} {at_right} H {first} {at_left} Z"


PARTS = ("objects", "attributes", "relations")
# pixels: the narrowest figure, and an image
NARROWEST = 460.0
IMAGE = 190.0


def draw(graph: SceneGraph, *, caption: str = "", title: str = "Scene graph", limit: int = 12) -> go.Figure:
    """Draw one graph: objects in a row, attributes above them, relations below with an arrow into their
    object. The figure is as wide as the graph needs; hover shows whole words.

    Args:
        graph: objects, attributes, relations.
        caption: the text it was read from, shown above it; at most three lines.
        title: what the figure shows.
        limit: the first so many objects are drawn; a note counts what is left out.
    """
    drawing = place_graph(graph, limit)
    width = max(drawing.right - drawing.left, NARROWEST)
    texts = wrap(caption, max(round(width / SIGN), 12), 3)
    top = drawing.top + 14 + LINE * len(texts)
    fig = canvas(title, drawing, width, top)
    write_lines(fig, (drawing.left, top), texts)
    return fig


def composition(
    graph: SceneGraph, image: Image.Image, caption: str, *, title: str, limit: int = 12
) -> go.Figure:
    """Draw an image, what is matched with it, and the graph behind: the caption as a whole, and each of the
    first ``limit`` objects with its attributes.

    Source: after Figure 1 of Pham et al., "Composing Object Relations and Attributes for Image-Text
    Matching", CVPR 2024.
    """
    drawing = place_graph(graph, limit)
    width = max(drawing.right - drawing.left, IMAGE + 420)
    # what is matched with the image besides the caption, e.g. "two brown dog"
    entities = []
    for node, name in enumerate(graph.objects[:limit]):
        words = [word for owner, word in graph.attributes if owner == node]
        entities.append(" ".join([*words, name]))
    letters = max(round((width - IMAGE - 110) / SIGN), 12)
    texts = [wrap(text, letters, 3) for text in [caption, *entities]]
    heights = [LINE * len(text) + 20 for text in texts]
    base = drawing.top + 26
    tall = max(sum(heights), IMAGE)
    middle = base + tall / 2
    fig = canvas(title, drawing, width, base + tall)
    left = drawing.left + IMAGE
    right = left + 80
    end = drawing.left + width - 2
    place: dict[str, Any] = {"xref": "x", "yref": "y", "xanchor": "left", "x": drawing.left, "y": middle}
    add_image(fig, image, sizex=IMAGE, sizey=IMAGE, **place)
    y = middle + sum(heights) / 2
    for number, (text, height) in enumerate(zip(texts, heights, strict=True)):
        colour, thick = (CATEGORIES[0], 1.2) if number else (INK, 2.5)
        y -= height
        centre = y + height / 2
        bend = f"M {left},{middle} C {left + 40},{middle} {right - 40},{centre} {right},{centre}"
        fig.add_shape(type="path", path=bend, line={"color": colour, "width": thick}).add_shape(
            type="rect", line_color=colour, x0=right, x1=end, y0=y + 4, y1=y + height - 4
        )
        write_lines(fig, (right + 10, y + height - 8), text)
    return fig


def statement_comparison(
    left: SceneGraph, right: SceneGraph, *, names: tuple[str, str], score: float
) -> go.Figure:
    """Draw the statements of two graphs: what only the first makes, what both make, what only the second
    makes; ``names`` says what they are called, ``score`` is their tuple F1.
    """
    first = left.tuples()
    second = right.tuples()
    parts = {
        "only in the first": first - second,
        "in both": first & second,
        "only in the second": second - first,
    }
    rows = max(map(len, parts.values()))
    fig = figure(f"Two captions compared: tuple F1 {format_number(score, 2)}", height=round(150 + 26 * rows))
    look: dict[str, Any] = {"showarrow": False, "xanchor": "left"}
    for column, (head, statements) in enumerate(parts.items()):
        text = f"<b>{head} ({len(statements)})</b>"
        fig.add_annotation(x=column, y=-1, text=text, font={"color": INK}, **look)
        in_order = sorted(statements, key=lambda statement: (len(statement), statement))
        for row, statement in enumerate(in_order):
            _write_statement(fig, statement, column, row)
    captions = join_lines([f"first: {shorten(names[0], 110)}", f"second: {shorten(names[1], 110)}"])
    below = {"xref": "paper", "yref": "paper", "x": 0, "y": 0, "yanchor": "top", "yshift": -6}
    fig.add_annotation(text=captions, align="left", font={"size": 12, "color": INK}, **below, **look)
    across = {"visible": False, "range": [-0.06, 2.95], "fixedrange": True}
    down = {"visible": False, "range": [max(rows, 1) - 0.4, -1.6], "fixedrange": True}
    return fig.update_layout(showlegend=False, margin={"t": 50}, xaxis=across, yaxis=down)


def _write_statement(fig: go.Figure, statement: tuple[str, ...], column: int, row: int) -> None:
    """Write one statement of a graph with the mark of its kind."""
    kind = KINDS[len(statement) - 1]
    # an attribute is said before its object
    words = statement[::-1] if len(statement) == 2 else statement
    colour, _, symbol = LOOK[kind]
    text = escape(shorten(" ".join(words), 34))
    fig.add_scatter(
        x=[column],
        y=[row],
        mode="markers+text",
        text=[f"  {text}"],
        marker={"color": colour, "symbol": symbol, "size": 12},
        textposition="middle right",
        hovertext=[escape(f"{kind}: {' | '.join(statement)}")],
        hoverinfo="text",
        cliponaxis=False,
    )


def graph_sizes(graphs: Sequence[SceneGraph]) -> go.Figure:
    """Draw how many objects, attributes and relations a caption has: a panel each, the means in the title."""
    counts = {}
    for part in PARTS:
        counts[part] = np.array([len(getattr(graph, part)) for graph in graphs])
    means = [f"{format_number(count.mean(), 2)} {part}" for part, count in counts.items()]
    title = f"What a caption says on average: {', '.join(means)}"
    fig = panel_figure(list(counts), title, "number in one caption", "share of the captions")
    for column, (kind, count) in enumerate(zip(KINDS, counts.values(), strict=True), 1):
        share = np.bincount(count) / len(count)
        texts = [f"{number}: {format_value(part)} %" for number, part in enumerate(share.tolist())]
        fig.add_bar(
            x=np.arange(len(share)),
            y=share,
            marker={"color": LOOK[kind][0]},
            hoverinfo="text",
            hovertext=texts,
            row=1,
            col=column,
        )
    return (
        fig.update_layout(showlegend=False, bargap=0.15).update_yaxes(tickformat=".0%").update_xaxes(dtick=1)
    )


def most_frequent_words(graphs: Sequence[SceneGraph], k: int = 12) -> go.Figure:
    """Draw the ``k`` most frequent objects, attributes and relations: the number of captions that have each;
    equal numbers in alphabetical order.
    """
    fig = panel_figure(list(PARTS), "Most frequent", "captions", "", shared=False, spacing=0.14)
    for column, kind in enumerate(KINDS, 1):
        words: list[str] = []
        for graph in graphs:
            # in a statement of two or three words the second names the attribute or the relation
            words += {statement[column > 1] for statement in graph.tuples() if len(statement) == column}
        # sorted before they are counted: equal numbers stay in alphabetical order
        top = Counter(sorted(words)).most_common(k)
        rows = list(range(len(top)))
        place = {"row": 1, "col": column}
        counts = [number for _, number in top]
        texts = [f"{escape(word)}: {number}" for word, number in top]
        look = {"color": LOOK[kind][0]}
        fig.add_bar(
            x=counts, y=rows, orientation="h", hoverinfo="text", marker=look, hovertext=texts, **place
        )
        names = [escape(shorten(word, 18)) for word, _ in top]
        fig.update_yaxes(autorange="reversed", tickvals=rows, ticktext=names, **place)
    return fig.update_layout(showlegend=False, height=120 + 24 * k)


def agreement(figures: Mapping[str, Sequence[float]], bars: Mapping[str, float], *, title: str) -> go.Figure:
    """Draw precision (P), recall (R) and F1 by part of the graph; a line marks what F1 is to reach.

    Args:
        figures: part -> ``(precision, recall, F1)`` in [0, 1].
        bars: part -> least F1; may be empty.
        title: what the figure shows.
    """
    worst, part = min((numbers[2], part) for part, numbers in figures.items())
    title = f"{title}: F1 of {part} is the lowest, {format_value(worst)} percent"
    fig = figure(title, y=f"statements, {unit_heading()}")
    colours = [LOOK[kind][0] for kind in KINDS]
    for number, (name, shade) in enumerate((("P", 0.45), ("R", 0.7), ("F1", 1.0))):
        values = [figures[part][number] for part in PARTS]
        fig.add_bar(
            x=list(PARTS),
            y=axis_values(values),
            name=name,
            textposition="outside",
            marker={"color": colours, "opacity": shade},
            text=[f"{name} {format_value(value)}" for value in values],
        )
    dotted = {"color": INK, "width": 2, "dash": "dot"}
    for part, least in bars.items():
        x = PARTS.index(part)
        y = display_value(least)
        fig.add_shape(type="line", line=dotted, y0=y, y1=y, x0=x - 0.42, x1=x + 0.42)
    return fig.update_yaxes(range=[0, 112]).update_layout(showlegend=False, barmode="group", margin={"t": 60})
