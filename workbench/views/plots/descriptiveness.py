"""Figures of descriptiveness: what each word adds to a caption, and how scorers differ by split and by
length. Boxes by level are ``hierarchy.boxes_by_level``.
"""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import plotly.graph_objects as go
from PIL import Image

from workbench.formatting import format_number
from workbench.records import Array
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    add_image,
    draw_steps,
    escape,
    figure,
    join_lines,
    legend_entry,
    panel_figure,
    wrap,
)

# from a word that adds nothing to the word that adds most
FAINT = np.array((203, 219, 232))
STRONG = np.array((0, 94, 150))
GAP = {"color": "rgba(255, 255, 255, 0.7)", "width": 1}
DASHES = ("solid", "dash", "dot", "dashdot")
# pixels of a caption; what a sum is divided by that is 0
ROW = 46
TINY = 1e-12


def word_bars(
    captions: Sequence[str],
    contributions: Sequence[Sequence[tuple[str, float]]],
    *,
    title: str,
    x: str,
    values: Sequence[float] | None = None,
    image: Image.Image | None = None,
) -> go.Figure:
    """Draw one bar a caption, made of its words: the wider and the darker, the more a word adds.

    Args:
        captions: ``(n,)`` texts, drawn from top to bottom.
        contributions: for each caption its words with what they add, in the order they are drawn in.
        title: what the figure shows.
        x: name of the sum, with its unit.
        values: ``(n,)`` what the sum becomes on the scale of a pool; written behind each bar.
        image: what the captions describe; drawn at the left.
    """
    least = 1 if image is None else 4
    fig = figure(title, x, height=120 + ROW * max(len(captions), least))
    start, letters = (0.36, 50) if image is None else (0.52, 42)
    _draw_segments(fig, contributions, 1 - start)
    look = {"showarrow": False, "font": {"color": INK}, "xanchor": "left", "xshift": 4}
    for row, value in enumerate([] if values is None else values):
        end = sum(weight for _, weight in contributions[row])
        fig.add_annotation(text=f"<b>{format_number(value, 2)}</b>", x=end, y=row, **look)
    if image is not None:
        add_image(fig, image, sizex=0.17)
    fig.update_layout(showlegend=False, barmode="overlay", margin={"t": 50}, xaxis={"domain": [start, 1]})
    names = [join_lines(wrap(caption, letters, 3)) for caption in captions]
    rows = list(range(len(captions)))
    return fig.update_yaxes(autorange="reversed", tickvals=rows, tickfont={"size": 11}, ticktext=names)


def _draw_segments(
    fig: go.Figure, contributions: Sequence[Sequence[tuple[str, float]]], width: float
) -> None:
    """Draw the words of all captions end to end into so much of the page's width."""
    rows: list[int] = []
    words: list[str] = []
    added: list[float] = []
    starts: list[float] = []
    for row, pairs in enumerate(contributions):
        end = 0.0
        for word, weight in pairs:
            rows.append(row)
            words.append(word)
            added.append(weight)
            starts.append(end)
            end += weight
    weights = np.array(added)
    shades = [_segment_colours(weight / weights.max(initial=TINY)) for weight in weights]
    # About 130 letters fit into the page; a word that its segment cannot hold is left to the hover text.
    room = 130 * width * weights / (starts + weights).max(initial=TINY)
    fits = np.array([len(word) + 0.5 for word in words]) < room
    texts = [escape(word) for word in words]
    inside = {"text": np.where(fits, texts, "").tolist(), "textposition": "inside", "constraintext": "none"}
    font = {"color": [ink for _, ink in shades], "size": 11}
    hover = [f"{text}: {format_number(weight, 3)}" for text, weight in zip(texts, weights, strict=True)]
    fig.add_bar(
        x=weights,
        y=rows,
        base=np.array(starts),
        orientation="h",
        width=0.62,
        marker={"color": [back for back, _ in shades], "line": GAP},
        textangle=0,
        insidetextanchor="middle",
        textfont=font,
        hoverinfo="text",
        hovertext=hover,
        **inside,
    )


def distributions(
    by_scorer: Mapping[str, Mapping[str, Array]],
    *,
    title: str,
    x: str,
    items: str = "captions",
    bins: int | Array = 40,
) -> go.Figure:
    """Draw one panel a scorer, in it one outline of a histogram a split, over common bins.

    Args:
        by_scorer: scorer -> split -> ``(T,)`` descriptiveness; or run -> kind of pair -> distances.
        title: what the figure shows.
        x: name of the values, with their unit.
        items: what the values are of.
        bins: number of equal bins of a panel, or the edges of the bins of all panels.
    """
    fig = panel_figure(list(by_scorer), title, x, f"share of the {items}")
    for column, splits in enumerate(by_scorer.values(), 1):
        edges = np.histogram_bin_edges(np.concatenate(list(splits.values())), bins)
        for (name, values), colour, dash in zip(splits.items(), cycle(CATEGORIES), cycle(DASHES)):
            draw_steps(fig, values, edges, {"color": colour, "dash": dash}, **legend_entry(fig, name, column))
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def medians_by_length(by_scorer: Mapping[str, Array], length: Array, *, title: str, y: str) -> go.Figure:
    """Draw one panel a scorer: the median by number of words, and the band that holds nine captions of ten;
    ``by_scorer`` and ``length`` have one value a caption.
    """
    correlations = []
    for name, values in by_scorer.items():
        correlations.append(f"{format_number(np.corrcoef(length, values)[0, 1], 2)} for {name}")
    title = f"{title}: correlation {', '.join(correlations)}"
    fig = panel_figure([*by_scorer], title, "words of the caption", y).update_layout(showlegend=False)
    lengths = np.unique(length)
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    band = {**edge, "fill": "tonexty", "fillcolor": "rgba(0, 114, 178, 0.25)"}
    for column, values in enumerate(by_scorer.values(), 1):
        cuts = [np.quantile(values[length == words], (0.05, 0.5, 0.95)) for words in lengths]
        low, median, high = np.array(cuts).T
        medians = zip(lengths.tolist(), median, strict=True)
        texts = [f"{words} words: median {format_number(value, 2)}" for words, value in medians]
        place = {"row": 1, "col": column}
        line = {"color": CATEGORIES[0], "width": 2}
        fig.add_scatter(x=lengths, y=low, **edge, **place)
        fig.add_scatter(x=lengths, y=high, **band, **place)
        fig.add_scatter(x=lengths, y=median, line=line, hoverinfo="text", hovertext=texts, **place)
    return fig


def _segment_colours(share: float) -> tuple[str, str]:
    """Colour of a segment, and an ink that can be read on it."""
    red, green, blue = np.rint(FAINT + (STRONG - FAINT) * share).astype(int).tolist()
    ink = "#ffffff" if share > 0.74 else "#1a1a1a"
    return f"rgb({red}, {green}, {blue})", ink
