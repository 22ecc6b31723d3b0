"""Figures of one experiment: the curves of training, and what the first answers are worth."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from workbench.english import join_words
from workbench.formatting import format_value, unit_heading
from workbench.records import Measurement, MetricKey, require
from workbench.records.measurement import unit_of
from workbench.records.metric_key import WAYS
from workbench.views.plots.theme import CATEGORIES, INK, axis_values, escape, figure

ANSWERS = (
    ("annotated", CATEGORIES[0], "white"),
    ("true, not annotated", CATEGORIES[1], "black"),
    ("wrong", CATEGORIES[6], "black"),
)
NOT_A_TERM = ("epoch", "steps", "loss", "seconds")
LOOK: dict[str, Any] = {"mode": "lines+markers", "marker": {"size": 7}}


def curves(
    history: Sequence[Mapping[str, float]], *, select: str = "rsum", kept: Sequence[int] = ()
) -> go.Figure:
    """Draw the weighted terms of the loss, which add up to it, and the validation, epoch by epoch: the terms
    at the left, bars where one epoch was trained; then the RSUM (of 600), and what chose the epoch, where
    that is another number.

    Args:
        history: one mapping an epoch, as ``fit`` returns it: ``epoch``, every term, ``loss``, ``val/...``,
            ``seconds``; epoch 0, before training, has no terms.
        select: key of the number that chose the epoch.
        kept: the epochs whose weights are kept; a ring marks each.

    Raises:
        ValueError: there was no epoch.
    """
    require(history, "no epoch was trained (epochs=0), so there are no curves")
    keys = list(dict.fromkeys(["rsum", select]))
    rsum = [history[0]["val/rsum"], max(row["val/rsum"] for row in history)]
    first, best = (format_value(value, "sum") for value in rsum)
    fig = figure(f"Training: validation RSUM from {first} to {best} of 600")
    fig.set_subplots(1, 1 + len(keys), horizontal_spacing=0.12)
    _draw_terms(fig, [row for row in history if "loss" in row])
    epochs = [row["epoch"] for row in history]
    colour = CATEGORIES[4]
    line = {"width": 2.5, "color": colour}
    for col, key in enumerate(keys, 2):
        unit = unit_of(key)
        name = MetricKey.parse(key).title
        values = axis_values([row[f"val/{key}"] for row in history], unit)
        place = {"row": 1, "col": col}
        label = f"validation {escape(name)}"
        fig.add_scatter(x=epochs, y=values, name=label, hovertext=key, line=line, **place, **LOOK)
        if key == select:
            rows = [row for row, epoch in enumerate(epochs) if epoch in kept]
            ring = {"size": 15, "color": "rgba(0,0,0,0)", "line": {"color": colour, "width": 2}}
            x = [epochs[row] for row in rows]
            y = [values[row] for row in rows]
            fig.add_scatter(x=x, y=y, mode="markers", marker=ring, name="kept", **place)
        fig.update_yaxes(title=f"{escape(name)}, {unit_heading(unit)}", col=col)
    return fig.update_xaxes(title="epoch", dtick=max(1, len(epochs) // 10))


def _draw_terms(fig: go.Figure, trained: Sequence[Mapping[str, float]]) -> None:
    """Draw the terms of the loss in the first panel."""
    terms = [name for name in trained[0] if name not in NOT_A_TERM and "/" not in name] if trained else []
    lines_of = {
        escape(WAYS.get(name, name)): (name, {"color": colour})
        for name, colour in zip(terms, CATEGORIES, strict=False)
    }
    if len(terms) > 1 and len(trained) > 1:
        lines_of["loss, their sum"] = ("loss", {"color": INK, "dash": "dot"})
    for label, (name, line) in lines_of.items():
        drawn = {"x": [row["epoch"] for row in trained], "y": [row[name] for row in trained], "name": label}
        if len(trained) > 1:
            fig.add_scatter(line={"width": 2.5} | line, row=1, col=1, **LOOK, **drawn)
        else:  # stacked, they add up to the loss
            fig.add_bar(marker=line, width=0.4, row=1, col=1, **drawn)
    fig.update_layout(barmode="relative")
    fig.update_yaxes(title="loss and its terms", rangemode="tozero", col=1)


def first_answer_shares(measurements: Sequence[Measurement]) -> tuple[dict[str, float], dict[str, float]]:
    """Return shares of queries whose best item is their own (``own@1``), and whose best item is true
    (``true@1``, where the data have exact truth), by direction and subset.
    """
    shares: dict[str, dict[str, float]] = {"own": {}, "true": {}}
    for m in measurements:
        if m.key.metric in shares and m.key.k == 1:
            subset = f", {m.key.subset} captions" if m.key.subset else ""
            shares[m.key.metric][WAYS[m.key.direction] + subset] = m.value
    return shares["own"], shares["true"]


def _share_label(share: float) -> str:
    """Return a share, where its bar has room for it."""
    return format_value(share) if share > 0.06 else ""


def first_answers(own: Mapping[str, float], true: Mapping[str, float]) -> go.Figure:
    """Draw what the best scored item is: the query's own, another one that is truly relevant, or a wrong one;
    for the arguments see ``first_answer_shares``.
    """
    shares = [f"{format_value(share)} % from {way}" for way, share in true.items() if "," not in way]
    title = f"First answers that are true: {join_words(shares)}"
    fig = figure(title, f"queries, {unit_heading()}", height=210 + 60 * len(own))
    parts = [(own[way], max(true[way] - own[way], 0.0), 1 - max(true[way], own[way])) for way in own]
    ways = [escape(way) for way in own]
    for (name, colour, ink), values in zip(ANSWERS, zip(*parts, strict=True), strict=True):
        fig.add_bar(
            x=axis_values(values),
            y=ways,
            orientation="h",
            width=0.6,
            name=name,
            text=[_share_label(value) for value in values],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": ink},
            marker={"color": colour},
        )
    fig.update_layout(barmode="stack", legend={"traceorder": "normal"})
    return fig.update_xaxes(range=[0, 100]).update_yaxes(autorange="reversed")
