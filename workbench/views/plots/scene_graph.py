"""Figures of scene graphs: one graph, a graph with its image, two graphs compared, a corpus in numbers,
agreement with the truth.

Objects are blue boxes, attributes orange pills, relations green hexagons: kinds differ in shape, in colour
and in lightness.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.records import SceneGraph
from workbench.views.plots._graph import (
    KINDS,
    LINE,
    LOOK,
    NOTE,
    SIGN,
    Kind,
    arrange,
    canvas,
    cut,
    put,
    wrapped,
    write,
)
from workbench.views.plots.theme import CATEGORIES, INK, data_uri, escape, figure, panels

PARTS = ("objects", "attributes", "relations")
NARROWEST, PICTURE = 460.0, 190.0


def draw(graph: SceneGraph, *, caption: str = "", title: str = "Scene graph", limit: int = 12) -> go.Figure:
    """One graph: objects in a row, attributes above them, relations below with an arrow into their object.

    Args:
        graph: objects, attributes, relations.
        caption: the text it was read from, shown above it; at most three lines.
        title: what the figure shows.
        limit: the first so many objects are drawn; a note counts what is left out.

    Returns:
        Figure of fixed size, as wide as the graph needs; hover shows whole words.
    """
    drawing = arrange(graph, limit)
    width = max(drawing.right - drawing.left, NARROWEST)
    lines = wrapped(caption, round(width / SIGN), 3)
    top = drawing.top + 14 + LINE * len(lines)
    fig = canvas(title, (drawing.left, drawing.left + width), (drawing.bottom - NOTE, top))
    write(fig, (drawing.left, top), lines)
    put(fig, drawing)
    return fig


def composition(
    graph: SceneGraph, image: Image.Image, caption: str, *, title: str, limit: int = 12
) -> go.Figure:
    """An image, what is matched with it, and the graph behind: the caption as a whole, and each object with
    its attributes.

    Args:
        graph: parsed from the caption.
        image: what the caption describes.
        caption: the text.
        title: what the figure shows.
        limit: the first so many objects are drawn.

    Source: after Figure 1 of Pham et al., "Composing Object Relations and Attributes for Image-Text
    Matching", CVPR 2024.
    """
    drawing = arrange(graph, limit)
    width = max(drawing.right - drawing.left, PICTURE + 420)
    texts = [caption, *_entities(graph)[:limit]]
    several = [wrapped(text, round((width - PICTURE - 110) / SIGN), 3) for text in texts]
    heights = [LINE * len(lines) + 20 for lines in several]
    base = drawing.top + 26
    middle, top = base + max(sum(heights), PICTURE) / 2, base + max(sum(heights), PICTURE)
    fig = canvas(title, (drawing.left, drawing.left + width), (drawing.bottom - NOTE, top))
    left, right = drawing.left + PICTURE, drawing.left + PICTURE + 80
    place = {
        "x": drawing.left,
        "y": middle,
        "sizex": PICTURE,
        "sizey": PICTURE,
        "xanchor": "left",
        "yanchor": "middle",
    }
    fig.add_layout_image(source=data_uri(image, 224), xref="x", yref="y", sizing="contain", **place)
    y = middle + sum(heights) / 2
    for number, (lines, height) in enumerate(zip(several, heights, strict=True)):
        colour = INK if number == 0 else CATEGORIES[0]
        y -= height
        centre = y + height / 2
        bend = f"M {left},{middle} C {left + 40},{middle} {right - 40},{centre} {right},{centre}"
        fig.add_shape(type="path", path=bend, line={"color": colour, "width": 2.5 if number == 0 else 1.2})
        fig.add_shape(
            type="rect",
            x0=right,
            x1=drawing.left + width - 2,
            y0=y + 4,
            y1=y + height - 4,
            line={"color": colour},
        )
        write(fig, (right + 10, y + height - 8), lines)
    put(fig, drawing)
    return fig


def _entities(graph: SceneGraph) -> list[str]:
    """Each object with its attributes before it, e.g. ``"two brown dog"``: what is matched with an image
    besides the caption.
    """
    return [
        " ".join([*(look for node, look in graph.attributes if node == i), name])
        for i, name in enumerate(graph.objects)
    ]


def compared(left: SceneGraph, right: SceneGraph, *, names: tuple[str, str], score: float) -> go.Figure:
    """The statements of two graphs: what only the first makes, what both make, what only the second makes.

    Args:
        left: the first graph.
        right: the second.
        names: what the graphs are called, e.g. the captions.
        score: their tuple F1.
    """
    first, second = left.tuples(), right.tuples()
    columns = [_sorted(part) for part in (first - second, first & second, second - first)]
    rows = max(map(len, columns))
    fig = figure(f"Two captions compared: tuple F1 {score:.2f}", height=round(150 + 26 * rows)).update_layout(
        margin={"t": 50}
    )
    heads = [
        f"only in the first ({len(columns[0])})",
        f"in both ({len(columns[1])})",
        f"only in the second ({len(columns[2])})",
    ]
    for column, (head, statements) in enumerate(zip(heads, columns, strict=True)):
        fig.add_annotation(
            x=column, y=-1, text=f"<b>{head}</b>", showarrow=False, xanchor="left", font={"color": INK}
        )
        for row, statement in enumerate(statements):
            _statement(fig, column, row, statement)
    below = "<br>".join(
        f"{place}: {escape(cut(name, 110))}" for place, name in zip(("first", "second"), names, strict=True)
    )
    note = {
        "xref": "paper",
        "yref": "paper",
        "x": 0,
        "y": 0,
        "xanchor": "left",
        "yanchor": "top",
        "align": "left",
    }
    fig.add_annotation(text=below, showarrow=False, yshift=-6, font={"size": 12, "color": INK}, **note)
    fig.update_xaxes(visible=False, range=[-0.06, 2.95], fixedrange=True).update_layout(showlegend=False)
    return fig.update_yaxes(visible=False, range=[max(rows, 1) - 0.4, -1.6], fixedrange=True)


def _statement(fig: go.Figure, column: int, row: int, statement: tuple[str, ...]) -> None:
    colour, _, symbol = LOOK[KINDS[len(statement) - 1]]
    said = f"{statement[1]} {statement[0]}" if len(statement) == 2 else " ".join(statement)
    marker = {"color": colour, "symbol": symbol, "size": 12}
    fig.add_scatter(
        x=[column], y=[row], mode="markers+text", marker=marker, text=[f"  {escape(cut(said, 34))}"],
        textposition="middle right", hovertext=[escape(f"{KINDS[len(statement) - 1]}: {' | '.join(statement)}")],
        hoverinfo="text", cliponaxis=False,
    )  # fmt: skip


def _sorted(statements: frozenset[tuple[str, ...]]) -> list[tuple[str, ...]]:
    return sorted(statements, key=lambda statement: (len(statement), statement))


def per_caption(graphs: Sequence[SceneGraph]) -> go.Figure:
    """How many objects, attributes and relations a caption has: one panel each, the mean in its heading.

    Args:
        graphs: ``T`` graphs.
    """
    counts = [np.array([len(getattr(graph, part)) for graph in graphs]) for part in PARTS]
    heads = [f"{part}, mean {count.mean():.2f}" for part, count in zip(PARTS, counts, strict=True)]
    fig = panels(heads, "What a caption says", "number in one caption", "share of the captions")
    for column, (kind, count) in enumerate(zip(KINDS, counts, strict=True), 1):
        share = np.bincount(count) / len(count)
        marker = {"color": LOOK[kind][0]}
        fig.add_bar(
            x=np.arange(len(share)),
            y=share,
            marker=marker,
            hovertemplate="%{x}: %{y:.1%}<extra></extra>",
            row=1,
            col=column,
        )
    return (
        fig.update_yaxes(tickformat=".0%").update_xaxes(dtick=1).update_layout(showlegend=False, bargap=0.15)
    )


def most_frequent(graphs: Sequence[SceneGraph], k: int = 12) -> go.Figure:
    """The most frequent objects, attributes and relations: the number of captions that have each.

    Args:
        graphs: ``T`` graphs.
        k: bars a panel; equal numbers in alphabetical order.
    """
    fig = panels(list(PARTS), "Most frequent", "captions", "", shared=False, spacing=0.14)
    for column, kind in enumerate(KINDS, 1):
        found = Counter(word for graph in graphs for word in _words(graph, kind))
        top = sorted(found.items(), key=lambda pair: (-pair[1], pair[0]))[:k]
        rows = list(range(len(top)))
        hover = [f"{escape(word)}: {number}" for word, number in top]
        bars = {
            "x": [number for _, number in top],
            "y": rows,
            "orientation": "h",
            "marker": {"color": LOOK[kind][0]},
        }
        fig.add_bar(**bars, hovertext=hover, hoverinfo="text", row=1, col=column)
        names = [escape(cut(word, 18)) for word, _ in top]
        fig.update_yaxes(tickvals=rows, ticktext=names, autorange="reversed", row=1, col=column)
    return fig.update_layout(showlegend=False, height=120 + 24 * k)


def _words(graph: SceneGraph, kind: Kind) -> set[str]:
    place = KINDS.index(kind)
    return {statement[0 if place == 0 else 1] for statement in graph.tuples() if len(statement) == place + 1}


def agreement(figures: Mapping[str, Sequence[float]], bars: Mapping[str, float], *, title: str) -> go.Figure:
    """Precision (P), recall (R) and F1 by part of the graph; a line marks what F1 is asked to reach.

    Args:
        figures: part -> ``(precision, recall, F1)`` in [0, 1].
        bars: part -> least F1; may be empty.
        title: what the figure shows.
    """
    fig = figure(title, y="share of the statements")
    for number, (name, shade) in enumerate((("P", 0.45), ("R", 0.7), ("F1", 1.0))):
        colours = [LOOK[kind][0] for kind in KINDS]
        values = [figures[part][number] for part in PARTS]
        text = [f"{name} {value:.2f}" for value in values]
        fig.add_bar(
            x=list(PARTS),
            y=values,
            name=name,
            text=text,
            textposition="outside",
            marker={"color": colours, "opacity": shade},
        )
    for place, part in enumerate(PARTS):
        if part in bars:
            line = {"color": INK, "width": 2, "dash": "dot"}
            fig.add_shape(
                type="line", x0=place - 0.42, x1=place + 0.42, y0=bars[part], y1=bars[part], line=line
            )
    return fig.update_yaxes(range=[0, 1.12], tickformat=".0%").update_layout(
        showlegend=False, barmode="group", margin={"t": 60}
    )
