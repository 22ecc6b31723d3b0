"""Figures of scene graphs: one graph, a graph with its image, two graphs compared, a corpus in numbers,
agreement with the truth.

Objects are blue boxes, attributes orange pills, relations green hexagons: kinds differ in shape, in colour
and in lightness.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.records import SceneGraph
from workbench.records.shown import fixed, heading, scaled, shown
from workbench.views.plots._graph import KINDS, LINE, LOOK, NOTE, SIGN, arrange, canvas, cut, put, write
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    add_picture,
    escape,
    figure,
    lines,
    on_axis,
    panels,
    wrapped,
)

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
    texts = wrapped(caption, max(round(width / SIGN), 12), 3)
    top = drawing.top + 14 + LINE * len(texts)
    fig = canvas(title, (drawing.left, drawing.left + width), (drawing.bottom - NOTE, top))
    write(fig, (drawing.left, top), texts)
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
    # what is matched with the image besides the caption, e.g. "two brown dog"
    looks = [[look for node, look in graph.attributes if node == i] for i in range(len(graph.objects))]
    entities = [" ".join([*of, name]) for name, of in zip(graph.objects, looks, strict=True)]
    letters = max(round((width - PICTURE - 110) / SIGN), 12)
    several = [wrapped(text, letters, 3) for text in [caption, *entities[:limit]]]
    heights = [LINE * len(text) + 20 for text in several]
    base, tall = drawing.top + 26, max(sum(heights), PICTURE)
    middle, top = base + tall / 2, base + tall
    fig = canvas(title, (drawing.left, drawing.left + width), (drawing.bottom - NOTE, top))
    left, right, end = drawing.left + PICTURE, drawing.left + PICTURE + 80, drawing.left + width - 2
    place = {"xref": "x", "yref": "y", "xanchor": "left", "x": drawing.left, "y": middle}
    add_picture(fig, image, sizex=PICTURE, sizey=PICTURE, **place)
    y = middle + sum(heights) / 2
    for number, (text, height) in enumerate(zip(several, heights, strict=True)):
        colour, thick = (CATEGORIES[0], 1.2) if number else (INK, 2.5)
        y -= height
        centre = y + height / 2
        bend = f"M {left},{middle} C {left + 40},{middle} {right - 40},{centre} {right},{centre}"
        fig.add_shape(type="path", path=bend, line={"color": colour, "width": thick})
        fig.add_shape(type="rect", line_color=colour, x0=right, x1=end, y0=y + 4, y1=y + height - 4)
        write(fig, (right + 10, y + height - 8), text)
    put(fig, drawing)
    return fig


def compared(left: SceneGraph, right: SceneGraph, *, names: tuple[str, str], score: float) -> go.Figure:
    """The statements of two graphs: what only the first makes, what both make, what only the second makes.

    Args:
        left: the first graph.
        right: the second.
        names: what the graphs are called, e.g. the captions.
        score: their tuple F1.
    """
    first, second = left.tuples(), right.tuples()
    parts = {
        "only in the first": first - second,
        "in both": first & second,
        "only in the second": second - first,
    }
    rows = max(map(len, parts.values()))
    fig = figure(f"Two captions compared: tuple F1 {fixed(score, 2)}", height=round(150 + 26 * rows))
    for column, (head, statements) in enumerate(parts.items()):
        text = f"<b>{head} ({len(statements)})</b>"
        fig.add_annotation(x=column, y=-1, text=text, showarrow=False, xanchor="left", font={"color": INK})
        for row, statement in enumerate(sorted(statements, key=lambda one: (len(one), one))):
            _statement(fig, column, row, statement)
    called = [f"{place}: {cut(name, 110)}" for place, name in zip(("first", "second"), names, strict=True)]
    fig.add_annotation(
        text=lines(called), showarrow=False, align="left", font={"size": 12, "color": INK}, xref="paper",
        yref="paper", x=0, y=0, xanchor="left", yanchor="top", yshift=-6,
    ).update_layout(showlegend=False, margin={"t": 50})  # fmt: skip
    fig.update_xaxes(visible=False, range=[-0.06, 2.95], fixedrange=True)
    return fig.update_yaxes(visible=False, range=[max(rows, 1) - 0.4, -1.6], fixedrange=True)


def _statement(fig: go.Figure, column: int, row: int, statement: tuple[str, ...]) -> None:
    kind = KINDS[len(statement) - 1]
    text = f"{statement[1]} {statement[0]}" if len(statement) == 2 else " ".join(statement)
    fig.add_scatter(
        x=[column], y=[row], mode="markers+text", text=[f"  {escape(cut(text, 34))}"],
        marker={"color": LOOK[kind][0], "symbol": LOOK[kind][2], "size": 12},
        textposition="middle right", hovertext=[escape(f"{kind}: {' | '.join(statement)}")],
        hoverinfo="text", cliponaxis=False,
    )  # fmt: skip


def per_caption(graphs: Sequence[SceneGraph]) -> go.Figure:
    """How many objects, attributes and relations a caption has: one panel each, the mean in its heading.

    Args:
        graphs: ``T`` graphs.
    """
    counts = [np.array([len(getattr(graph, part)) for graph in graphs]) for part in PARTS]
    heads = [f"{part}, mean {fixed(count.mean(), 2)}" for part, count in zip(PARTS, counts, strict=True)]
    fig = panels(heads, "What a caption says", "number in one caption", "share of the captions")
    for column, (kind, count) in enumerate(zip(KINDS, counts, strict=True), 1):
        share = np.bincount(count) / len(count)
        fig.add_bar(
            x=np.arange(len(share)), y=share, marker={"color": LOOK[kind][0]}, hoverinfo="text", row=1,
            col=column, hovertext=[f"{number}: {shown(one)} %" for number, one in enumerate(share.tolist())],
        )  # fmt: skip
    fig.update_yaxes(tickformat=".0%").update_xaxes(dtick=1)
    return fig.update_layout(showlegend=False, bargap=0.15)


def most_frequent(graphs: Sequence[SceneGraph], k: int = 12) -> go.Figure:
    """The most frequent objects, attributes and relations: the number of captions that have each.

    Args:
        graphs: ``T`` graphs.
        k: bars a panel; equal numbers in alphabetical order.
    """
    fig = panels(list(PARTS), "Most frequent", "captions", "", shared=False, spacing=0.14)
    for column, kind in enumerate(KINDS, 1):
        of_kind = [{one[column > 1] for one in graph.tuples() if len(one) == column} for graph in graphs]
        # sorted before they are counted: equal numbers stay in alphabetical order
        top = Counter(sorted(chain.from_iterable(of_kind))).most_common(k)
        fig.add_bar(
            x=[number for _, number in top], y=list(range(len(top))), orientation="h", hoverinfo="text",
            marker={"color": LOOK[kind][0]}, hovertext=[f"{escape(word)}: {number}" for word, number in top],
            row=1, col=column,
        )  # fmt: skip
        ticks = {"tickvals": list(range(len(top))), "ticktext": [escape(cut(word, 18)) for word, _ in top]}
        fig.update_yaxes(autorange="reversed", **ticks, row=1, col=column)
    return fig.update_layout(showlegend=False, height=120 + 24 * k)


def agreement(figures: Mapping[str, Sequence[float]], bars: Mapping[str, float], *, title: str) -> go.Figure:
    """Precision (P), recall (R) and F1 by part of the graph; a line marks what F1 is asked to reach.

    Args:
        figures: part -> ``(precision, recall, F1)`` in [0, 1].
        bars: part -> least F1; may be empty.
        title: what the figure shows.
    """
    fig = figure(title, y=f"statements, {heading()}")
    for number, (name, shade) in enumerate((("P", 0.45), ("R", 0.7), ("F1", 1.0))):
        values = [figures[part][number] for part in PARTS]
        fig.add_bar(
            x=list(PARTS), y=on_axis(values), name=name, textposition="outside",
            marker={"color": [LOOK[kind][0] for kind in KINDS], "opacity": shade},
            text=[f"{name} {shown(value)}" for value in values],
        )  # fmt: skip
    for part, least in bars.items():
        place, y = PARTS.index(part), scaled(least)
        line = {"color": INK, "width": 2, "dash": "dot"}
        fig.add_shape(type="line", line=line, x0=place - 0.42, x1=place + 0.42, y0=y, y1=y)
    return fig.update_yaxes(range=[0, 112]).update_layout(showlegend=False, barmode="group", margin={"t": 60})
