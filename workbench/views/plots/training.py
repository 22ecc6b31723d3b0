"""Figures of one experiment: an example with its signal, the curves of training, and what the first answers
are worth.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from workbench.views.plots.theme import CATEGORIES, GRID, INK, data_uri, escape, figure

ANSWERS = (
    ("its own", CATEGORIES[0], "white"),
    ("another one that is true", CATEGORIES[1], "black"),
    ("a wrong one", GRID, INK),
)


def example(
    image: Image.Image, captions: Sequence[str], values: NDArray[Any], *, title: str, x: str
) -> go.Figure:
    """One image, its captions, and a number that a signal gives to each.

    Args:
        image: drawn at the left.
        captions: ``(n,)`` its captions.
        values: ``(n,)`` the signal of each, e.g. descriptiveness.
        title: what the figure shows.
        x: name of the values, with their unit.
    """
    order = np.argsort(values, kind="stable")
    texts = [_wrapped(captions[row]) for row in order]
    fig = figure(title, x, height=130 + 44 * len(texts)).update_layout(margin={"t": 50})
    hover = "%{y}<br>%{x:.3f}<extra></extra>"
    fig.add_bar(
        x=values[order],
        y=texts,
        orientation="h",
        marker={"color": CATEGORIES[0]},
        width=0.5,
        hovertemplate=hover,
    )
    fig.update_xaxes(domain=[0.6, 1.0]).update_yaxes(
        ticks="outside", tickcolor="rgba(0,0,0,0)", tickfont={"size": 12}
    )
    place = {
        "xref": "paper",
        "yref": "paper",
        "x": 0.0,
        "y": 0.5,
        "sizex": 0.18,
        "sizey": 1.0,
        "yanchor": "middle",
    }
    return fig.add_layout_image(source=data_uri(image, 224), sizing="contain", **place)


def _wrapped(text: str, width: int = 38) -> str:
    return "<br>".join(escape(line) for line in textwrap.wrap(text, width))


def curves(history: Sequence[Mapping[str, float]]) -> go.Figure:
    """The weighted terms of the loss, which add up to it, and the validation RSUM, epoch by epoch.

    Args:
        history: one mapping an epoch, as ``fit`` returns it: ``epoch``, every term, ``loss``, ``val/...``,
            ``seconds``.

    Returns:
        Figure with the terms at the left and the RSUM (of 600) at the right; a ring marks the best epoch.

    Raises:
        ValueError: there was no epoch.
    """
    if not history:
        raise ValueError("no epoch was trained (epochs=0), so there are no curves")
    epochs = [row["epoch"] for row in history]
    terms = [
        name
        for name in history[0]
        if name not in ("epoch", "loss", "seconds") and not name.startswith("val/")
    ]
    fig = figure("Training").set_subplots(1, 2, horizontal_spacing=0.12)
    for name, colour in zip(terms, CATEGORIES, strict=False):
        _line(fig, 1, epochs, [row[name] for row in history], escape(name), {"color": colour})
    if len(terms) > 1:
        _line(
            fig, 1, epochs, [row["loss"] for row in history], "loss, their sum", {"color": INK, "dash": "dot"}
        )
    rsum = [100 * row["val/rsum"] for row in history]
    _line(fig, 2, epochs, rsum, "validation RSUM", {"color": CATEGORIES[4]})
    best = int(np.argmax(rsum))
    ring = {"size": 15, "color": "rgba(0,0,0,0)", "line": {"color": CATEGORIES[4], "width": 2}}
    fig.add_scatter(x=[epochs[best]], y=[rsum[best]], mode="markers", marker=ring, name="kept", row=1, col=2)
    fig.update_xaxes(title="epoch", dtick=max(1, len(epochs) // 10))
    fig.update_yaxes(title="weighted terms", rangemode="tozero", col=1)
    return fig.update_yaxes(title="RSUM, of 600", col=2)


def _line(
    fig: go.Figure, column: int, x: Sequence[float], y: Sequence[float], name: str, line: dict[str, Any]
) -> None:
    line = {"width": 2.5, **line}
    fig.add_scatter(
        x=x, y=y, name=name, mode="lines+markers", line=line, marker={"size": 7}, row=1, col=column
    )


def first_answers(own: Mapping[str, float], true: Mapping[str, float]) -> go.Figure:
    """What the best scored item is: the query's own, another one that is truly relevant, or a wrong one.

    Args:
        own: share of queries whose best item is their own, by direction.
        true: share of queries whose best item is truly relevant, their own included, by direction.
    """
    fig = figure("What is found first", "share of queries", height=210 + 60 * len(own))
    shares = [(own[d], max(true[d] - own[d], 0.0), 1 - max(true[d], own[d])) for d in own]
    for number, (name, colour, ink) in enumerate(ANSWERS):
        values = [share[number] for share in shares]
        labels = [f"{value:.1%}" if value > 0.04 else "" for value in values]
        bars = {"x": values, "y": [escape(d) for d in own], "orientation": "h", "width": 0.6}
        text = {
            "text": labels,
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textfont": {"color": ink},
        }
        fig.add_bar(**bars, **text, name=name, marker={"color": colour})
    fig.update_layout(barmode="stack", legend={"traceorder": "normal"})
    return fig.update_xaxes(range=[0, 1], tickformat=".0%").update_yaxes(autorange="reversed")
