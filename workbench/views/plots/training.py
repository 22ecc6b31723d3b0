"""Figures of one experiment: an example with its signal, the curves of training, and what the first answers
are worth.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from PIL import Image

from workbench.records import Measurement, MetricKey
from workbench.records.shown import fixed, heading, shown
from workbench.views.plots.theme import (
    CATEGORIES,
    GRID,
    INK,
    add_picture,
    escape,
    figure,
    lines,
    on_axis,
    wrapped,
)

ANSWERS = (
    ("its own", CATEGORIES[0], "white"),
    ("another one that is true", CATEGORIES[1], "black"),
    ("a wrong one", GRID, INK),
)
DIRECTIONS = {"t2i": "caption to image", "i2t": "image to caption"}
NOT_A_TERM = ("epoch", "loss", "seconds")


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
    texts = [lines(wrapped(captions[row], 38)) for row in order]
    fig = figure(title, x, height=130 + 44 * len(texts)).update_layout(margin={"t": 50})
    fig.add_bar(
        x=values[order], y=texts, orientation="h", marker={"color": CATEGORIES[0]}, width=0.5,
        hoverinfo="text",
        hovertext=[f"{text}<br>{fixed(value, 3)}" for text, value in zip(texts, values[order], strict=True)],
    ).update_xaxes(domain=[0.6, 1.0])  # fmt: skip
    fig.update_yaxes(ticks="outside", tickcolor="rgba(0,0,0,0)", tickfont={"size": 12})
    add_picture(fig, image, sizex=0.18)
    return fig


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
    terms = [name for name in history[0] if name not in NOT_A_TERM and not name.startswith("val/")]
    drawn = {escape(name): (name, {"color": colour}) for name, colour in zip(terms, CATEGORIES, strict=False)}
    if len(terms) > 1:
        drawn["loss, their sum"] = ("loss", {"color": INK, "dash": "dot"})
    fig = figure("Training").set_subplots(1, 2, horizontal_spacing=0.12)
    look: dict[str, Any] = {"x": epochs, "mode": "lines+markers", "marker": {"size": 7}, "row": 1}
    for label, (name, line) in drawn.items():
        y = [row[name] for row in history]
        fig.add_scatter(y=y, name=label, line={"width": 2.5} | line, col=1, **look)
    rsum, best_line = (
        on_axis([row["val/rsum"] for row in history], "sum"),
        {"width": 2.5, "color": CATEGORIES[4]},
    )
    fig.add_scatter(y=rsum, name="validation RSUM", line=best_line, col=2, **look)
    best = int(np.argmax(rsum))
    ring = {"size": 15, "color": "rgba(0,0,0,0)", "line": {"color": CATEGORIES[4], "width": 2}}
    fig.add_scatter(x=[epochs[best]], y=[rsum[best]], mode="markers", marker=ring, name="kept", row=1, col=2)
    fig.update_xaxes(title="epoch", dtick=max(1, len(epochs) // 10))
    fig.update_yaxes(title="weighted terms", rangemode="tozero", col=1)
    return fig.update_yaxes(title=f"RSUM, {heading('sum')}", col=2)


def found_first(measurements: Sequence[Measurement]) -> tuple[dict[str, float], dict[str, float]]:
    """Shares of queries whose best item is their own, and whose best item is true, by what is asked.

    Args:
        measurements: those whose key reads ``own@1`` or ``true@1`` count; there are none where the data
            have no exact truth.
    """
    own: dict[str, float] = {}
    true: dict[str, float] = {}
    for m in measurements:
        key = MetricKey.parse(m.label)
        if key.metric in ("own", "true") and key.k == 1:
            asked = DIRECTIONS[key.direction] + (f", {key.subset}" if key.subset else "")
            (own if key.metric == "own" else true)[asked] = m.value
    return own, true


def first_answers(own: Mapping[str, float], true: Mapping[str, float]) -> go.Figure:
    """What the best scored item is: the query's own, another one that is truly relevant, or a wrong one.

    Args:
        own: share of queries whose best item is their own, by direction.
        true: share of queries whose best item is truly relevant, their own included, by direction.
    """
    fig = figure("What is found first", f"queries, {heading()}", height=210 + 60 * len(own))
    shares = [(own[d], max(true[d] - own[d], 0.0), 1 - max(true[d], own[d])) for d in own]
    for (name, colour, ink), values in zip(ANSWERS, zip(*shares, strict=True), strict=True):
        fig.add_bar(
            x=on_axis(values), y=[escape(d) for d in own], orientation="h", width=0.6, name=name,
            text=[shown(value) if value > 0.04 else "" for value in values], textposition="inside",
            insidetextanchor="middle", textfont={"color": ink}, marker={"color": colour},
        )  # fmt: skip
    fig.update_layout(barmode="stack", legend={"traceorder": "normal"})
    return fig.update_xaxes(range=[0, 100]).update_yaxes(autorange="reversed")
