"""Figures of descriptiveness: what each word adds to a caption, and how scorers differ by split, by level and
by length.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from workbench.views.plots.hierarchy import level_colour
from workbench.views.plots.theme import CATEGORIES, INK, data_uri, escape, figure, panels

Values = NDArray[Any]
# from a word that adds nothing to the word that adds most
FAINT, STRONG = (203, 219, 232), (0, 94, 150)
GAP = {"color": "rgba(255, 255, 255, 0.7)", "width": 1}
DASHES = ("solid", "dash", "dot", "dashdot")
ROW, LETTERS, LINES, TINY = 46, 50, 3, 1e-12


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
        values: ``(n,)`` what the sum becomes in the end, e.g. on the scale of a pool; written behind each
            bar.
        image: what the captions describe; drawn at the left.
    """
    fig = figure(title, x, height=120 + ROW * max(len(captions), 1 if image is None else 4))
    start = 0.36 if image is None else 0.52
    rows = [row for row, words in enumerate(contributions) for _ in words]
    words = [word for pairs in contributions for word, _ in pairs]
    weights = np.array([weight for pairs in contributions for _, weight in pairs])
    starts = np.array(
        [start for pairs in contributions for start in np.cumsum([0.0, *(w for _, w in pairs)])[:-1]]
    )
    shades = [_shade(weight / weights.max(initial=TINY)) for weight in weights]
    # About 130 letters fit into the page; a word that its segment cannot hold is left to the hover text.
    room = 130 * (1 - start) * weights / (starts + weights).max(initial=TINY)
    fig.add_bar(
        x=weights, y=rows, base=starts, orientation="h", width=0.62, marker={"color": [back for back, _ in shades], "line": GAP},
        text=[escape(word) if len(word) + 0.5 < fits else "" for word, fits in zip(words, room, strict=True)],
        textposition="inside", insidetextanchor="middle", textfont={"color": [ink for _, ink in shades], "size": 11},
        hovertext=[f"{escape(word)}: {weight:.3f}" for word, weight in zip(words, weights, strict=True)],
        hoverinfo="text", constraintext="none", textangle=0,
    )  # fmt: skip
    for row, value in enumerate(() if values is None else values):
        end = sum(weight for _, weight in contributions[row])
        fig.add_annotation(
            x=end,
            y=row,
            text=f"<b>{value:.2f}</b>",
            showarrow=False,
            xanchor="left",
            xshift=4,
            font={"color": INK},
        )
    if image is not None:
        place = {
            "xref": "paper",
            "yref": "paper",
            "x": 0,
            "y": 0.5,
            "sizex": 0.17,
            "sizey": 1,
            "yanchor": "middle",
        }
        fig.add_layout_image(source=data_uri(image, 224), sizing="contain", **place)
    names = [_wrapped(caption, LETTERS if image is None else 42) for caption in captions]
    fig.update_yaxes(
        tickvals=list(range(len(captions))), ticktext=names, autorange="reversed", tickfont={"size": 11}
    )
    return fig.update_xaxes(domain=[start, 1]).update_layout(
        showlegend=False, barmode="overlay", margin={"t": 50}
    )


def distributions(
    by_scorer: Mapping[str, Mapping[str, Values]], *, title: str, x: str, bins: int = 40
) -> go.Figure:
    """One panel a scorer, in it one outline of a histogram a split, over common bins.

    Args:
        by_scorer: scorer -> split -> ``(T,)`` descriptiveness.
        title: what the figure shows.
        x: name of the values, with their unit.
        bins: number of equal bins of a panel.
    """
    fig = panels(list(by_scorer), title, x, "share of the captions")
    for column, splits in enumerate(by_scorer.values(), 1):
        edges = np.histogram_bin_edges(np.concatenate(list(splits.values())), bins)
        for (name, values), colour, dash in zip(
            splits.items(), cycle(CATEGORIES), cycle(DASHES), strict=False
        ):
            share = np.histogram(values, edges)[0] / max(1, len(values))
            line = {"color": colour, "width": 2, "shape": "hv", "dash": dash}
            fig.add_scatter(
                x=edges, y=np.append(share, 0.0), mode="lines", line=line, name=escape(name), legendgroup=name,
                showlegend=column == 1, hovertemplate="from %{x:.2f}: %{y:.1%}", row=1, col=column,
            )  # fmt: skip
    return fig.update_yaxes(tickformat=".0%", rangemode="tozero")


def levels(by_scorer: Mapping[str, Values], level: Values, *, title: str, y: str) -> go.Figure:
    """One panel a scorer, in it one box a level: median, quartiles, and whiskers that leave out 5 % on either
    side.

    Args:
        by_scorer: scorer -> ``(T,)`` descriptiveness.
        level: ``(T,)`` level of each caption, larger = more specific.
        title: what the figure shows.
        y: name of the values, with their unit.
    """
    fig = panels(list(by_scorer), title, "level, 1 = most generic", y)
    present = np.unique(level).tolist()
    for column, values in enumerate(by_scorer.values(), 1):
        for one in present:
            low, q1, median, q3, high = (
                [float(q)] for q in np.quantile(values[level == one], (0.05, 0.25, 0.5, 0.75, 0.95))
            )
            marks = {"lowerfence": low, "q1": q1, "median": median, "q3": q3, "upperfence": high}
            line = {"color": level_colour(one, present)}
            fig.add_box(x=[str(one)], **marks, line=line, name=f"level {one}", row=1, col=column)
    return fig.update_xaxes(type="category").update_layout(showlegend=False)


def by_length(by_scorer: Mapping[str, Values], length: Values, *, title: str, y: str) -> go.Figure:
    """One panel a scorer: the median by number of words, and the band that holds nine captions of ten.

    Args:
        by_scorer: scorer -> ``(T,)`` descriptiveness.
        length: ``(T,)`` words of each caption.
        title: what the figure shows.
        y: name of the values, with their unit.
    """
    fig = panels(list(by_scorer), title, "words of the caption", y)
    lengths = np.unique(length)
    edge = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    for column, values in enumerate(by_scorer.values(), 1):
        low, median, high = np.array([np.quantile(values[length == n], (0.05, 0.5, 0.95)) for n in lengths]).T
        fig.add_scatter(x=lengths, y=low, **edge, row=1, col=column)
        fig.add_scatter(
            x=lengths, y=high, fill="tonexty", fillcolor="rgba(0, 114, 178, 0.25)", **edge, row=1, col=column
        )
        hover = "%{x} words: median %{y:.2f}<extra></extra>"
        line = {"color": CATEGORIES[0], "width": 2}
        fig.add_scatter(
            x=lengths, y=median, line=line, hovertemplate=hover, showlegend=False, row=1, col=column
        )
    return fig


def _wrapped(text: str, letters: int) -> str:
    """A caption in at most three lines; the rest of a longer one is left out and marked."""
    return "<br>".join(
        escape(line) for line in textwrap.wrap(text, letters, max_lines=LINES, placeholder=" …")
    )


def _shade(share: float) -> tuple[str, str]:
    """Colour of a segment, and an ink that can be read on it."""
    parts = [round(faint + (strong - faint) * share) for faint, strong in zip(FAINT, STRONG, strict=True)]
    return f"rgb({parts[0]}, {parts[1]}, {parts[2]})", "#ffffff" if share > 0.74 else "#1a1a1a"
