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
    add_picture,
    entry,
    escape,
    figure,
    lines,
    panels,
    steps,
    wrapped,
)

# from a word that adds nothing to the word that adds most
FAINT, STRONG = np.array((203, 219, 232)), np.array((0, 94, 150))
GAP = {"color": "rgba(255, 255, 255, 0.7)", "width": 1}
DASHES = ("solid", "dash", "dot", "dashdot")
ROW, TINY = 46, 1e-12


def word_bars(
    captions: Sequence[str],
    contributions: Sequence[Sequence[tuple[str, float]]],
    *,
    title: str,
    x: str,
    values: Sequence[float] | None = None,
    image: Image.Image | None = None,
) -> go.Figure:
    """One bar a caption, made of its words: the wider and the darker, the more a word adds.

    Args:
        captions: ``(n,)`` texts, drawn from top to bottom.
        contributions: for each caption its words with what they add, in the order they are drawn in.
        title: what the figure shows.
        x: name of the sum, with its unit.
        values: ``(n,)`` what the sum becomes on the scale of a pool; written behind each bar.
        image: what the captions describe; drawn at the left.
    """
    fig = figure(title, x, height=120 + ROW * max(len(captions), 1 if image is None else 4))
    start, letters = (0.36, 50) if image is None else (0.52, 42)
    _segments(fig, contributions, 1 - start)
    for row, value in enumerate(() if values is None else values):
        fig.add_annotation(
            text=f"<b>{format_number(value, 2)}</b>", showarrow=False, font={"color": INK}, xanchor="left",
            xshift=4, x=sum(weight for _, weight in contributions[row]), y=row,
        )  # fmt: skip
    if image is not None:
        add_picture(fig, image, sizex=0.17)
    return fig.update_layout(
        showlegend=False, barmode="overlay", margin={"t": 50}, xaxis={"domain": [start, 1]}
    ).update_yaxes(
        autorange="reversed", tickvals=list(range(len(captions))), tickfont={"size": 11},
        ticktext=[lines(wrapped(caption, letters, 3)) for caption in captions],
    )  # fmt: skip


def _segments(fig: go.Figure, contributions: Sequence[Sequence[tuple[str, float]]], width: float) -> None:
    """Draw the words of all captions end to end into so much of the page's width."""
    words = [word for pairs in contributions for word, _ in pairs]
    weights = np.array([weight for pairs in contributions for _, weight in pairs])
    starts = np.array([at for pairs in contributions for at in np.cumsum([0.0, *(w for _, w in pairs)])[:-1]])
    shades = [_shade(weight / weights.max(initial=TINY)) for weight in weights]
    # About 130 letters fit into the page; a word that its segment cannot hold is left to the hover text.
    room = 130 * width * weights / (starts + weights).max(initial=TINY)
    fig.add_bar(
        x=weights, y=[row for row, pairs in enumerate(contributions) for _ in pairs], base=starts,
        orientation="h", width=0.62, constraintext="none", textangle=0,
        marker={"color": [back for back, _ in shades], "line": GAP}, hoverinfo="text",
        text=[escape(word) if len(word) + 0.5 < fits else "" for word, fits in zip(words, room, strict=True)],
        textposition="inside", insidetextanchor="middle",
        textfont={"color": [ink for _, ink in shades], "size": 11},
        hovertext=[
            f"{escape(word)}: {format_number(by, 3)}" for word, by in zip(words, weights, strict=True)
        ],
    )  # fmt: skip


def distributions(
    by_scorer: Mapping[str, Mapping[str, Array]], *, title: str, x: str, of: str = "captions",
    bins: int | Array = 40,
) -> go.Figure:  # fmt: skip
    """One panel a scorer, in it one outline of a histogram a split, over common bins.

    Args:
        by_scorer: scorer -> split -> ``(T,)`` descriptiveness; or run -> kind of pair -> distances.
        title: what the figure shows.
        x: name of the values, with their unit.
        of: what the values are of.
        bins: number of equal bins of a panel, or the edges of the bins of all panels.
    """
    fig = panels(list(by_scorer), title, x, f"share of the {of}")
    for column, splits in enumerate(by_scorer.values(), 1):
        edges = np.histogram_bin_edges(np.concatenate(list(splits.values())), bins)
        for (name, values), colour, dash in zip(splits.items(), cycle(CATEGORIES), cycle(DASHES)):
            steps(fig, values, edges, {"color": colour, "dash": dash}, **entry(fig, name, column))
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def by_length(by_scorer: Mapping[str, Array], length: Array, *, title: str, y: str) -> go.Figure:
    """One panel a scorer: the median by number of words, and the band that holds nine captions of ten;
    ``by_scorer`` and ``length`` have one value a caption.
    """
    told = [f"{format_number(np.corrcoef(length, of)[0, 1], 2)} for {name}" for name, of in by_scorer.items()]
    title = f"{title}: correlation {', '.join(told)}"
    fig = panels([*by_scorer], title, "words of the caption", y).update_layout(showlegend=False)
    lengths, edge = np.unique(length), {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    for column, values in enumerate(by_scorer.values(), 1):
        low, median, high = np.array([np.quantile(values[length == n], (0.05, 0.5, 0.95)) for n in lengths]).T
        for line, look in (
            (low, edge),
            (high, {**edge, "fill": "tonexty", "fillcolor": "rgba(0, 114, 178, 0.25)"}),
            (median, {"line": {"color": CATEGORIES[0], "width": 2}, "hoverinfo": "text", "hovertext": [
                f"{n} words: median {format_number(m, 2)}"
                for n, m in zip(lengths.tolist(), median, strict=True)
            ]}),
        ):  # fmt: skip
            fig.add_scatter(x=lengths, y=line, **look, row=1, col=column)
    return fig


def _shade(share: float) -> tuple[str, str]:
    """Colour of a segment, and an ink that can be read on it."""
    red, green, blue = np.rint(FAINT + (STRONG - FAINT) * share).astype(int).tolist()
    return f"rgb({red}, {green}, {blue})", "#ffffff" if share > 0.74 else "#1a1a1a"
