"""Figures that put runs or objectives side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.views.plots.theme import CATEGORIES, INK, escape, figure, panels

# the mark differs as well as the colour
SYMBOLS = ("circle", "square", "diamond", "cross", "triangle-up", "star", "x")
VERDICTS = {
    "above": ("above the start", CATEGORIES[0], "circle"),
    "undecided": ("not told from the start", CATEGORIES[6], "circle-open"),
    "below": ("below the start", CATEGORIES[3], "diamond"),
    "": ("mean and interval", CATEGORIES[0], "circle"),
}
TOLD = {
    True: ("told apart", CATEGORIES[0], "circle"),
    False: ("not told apart", CATEGORIES[6], "circle-open"),
}


def over_seeds(table: pd.DataFrame, *, title: str, x: str) -> go.Figure:
    """A dot with its interval for every objective, against the line of the starting point.

    Args:
        table: the rows of one key from ``metrics.seeds.measure``, indexed by objective: ``mean``, ``low``,
            ``high``, ``start``, ``seeds``, ``verdict``. A single seed has no interval and shows none.
        title: what the figure shows.
        x: name of the number, with its unit.

    Raises:
        ValueError: the table is empty.
    """
    if not len(table):
        raise ValueError("there is no objective to draw; choose a key that the table has")
    fig = figure(title, x, height=190 + 30 * len(table)).update_layout(margin={"t": 90})
    names = [escape(str(name)) for name in table.index]
    for verdict, style in VERDICTS.items():
        rows = np.flatnonzero((table["verdict"] == verdict).to_numpy())
        if len(rows):
            part, places = table.iloc[rows], [names[row] for row in rows]
            hover = [f"mean of {seeds} seeds" for seeds in part["seeds"]]
            _dots(fig, part.rename(columns={"mean": "value"}), places, style, hover)
    start = table["start"].dropna()
    if len(start):
        line, note = (
            {"color": INK, "dash": "dot", "width": 2},
            {"text": "starting point", "font": {"color": INK}},
        )
        fig.add_vline(float(start.iloc[0]), line=line, annotation=note, annotation_position="bottom right")
    return fig.update_yaxes(categoryorder="array", categoryarray=names[::-1])


def _dots(
    fig: go.Figure,
    part: pd.DataFrame,
    y: Sequence[str],
    style: tuple[str, str, str],
    hover: Sequence[str],
    col: int | None = None,
) -> None:
    """Values with their intervals; an interval that is not there is not drawn."""
    label, colour, symbol = style
    value = part["value"].astype(float)
    above, below = (np.nan_to_num((part[end].astype(float) - value).to_numpy()) for end in ("high", "low"))
    bars = {"type": "data", "array": above, "arrayminus": -below, "thickness": 2, "width": 5, "color": colour}
    marker = {"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}}
    shown = not any(trace.name == label for trace in fig.data)
    text = {
        "customdata": [escape(line) for line in hover],
        "hovertemplate": "%{y}: %{x:.4f}<br>%{customdata}<extra></extra>",
    }
    place: dict[str, Any] = {} if col is None else {"row": 1, "col": col}
    fig.add_scatter(
        x=value, y=list(y), error_x=bars, marker=marker, mode="markers", name=label, legendgroup=label, showlegend=shown,
        **text, **place,
    )  # fmt: skip


def differences(table: pd.DataFrame, *, against: str) -> go.Figure:
    """One panel a number: the difference of every run from one run, with its interval and whether the test
    tells them apart.

    Args:
        table: fields of ``metrics.comparison.Difference``, one a row, and ``told_apart``.
        against: name of the run at the zero line.

    Raises:
        ValueError: the table is empty.
    """
    if not len(table):
        raise ValueError("there is no second run to hold against the first")
    keys = list(dict.fromkeys(table["key"]))
    fig = panels(keys, f"Difference from {against}", "difference", "", spacing=0.05)
    names = list(dict.fromkeys(table["run"]))
    fig.update_layout(height=230 + 42 * len(names), margin={"t": 80, "b": 95}, legend={"y": -0.32})
    for col, key in enumerate(keys, 1):
        for told, style in TOLD.items():
            part = table[(table["key"] == key) & (table["told_apart"] == told)]
            if len(part):
                hover = [
                    f"p (Holm) {p:.3g}, better on {won}, worse on {lost}" for p, won, lost in _signs(part)
                ]
                _dots(fig, part, [escape(name) for name in part["run"]], style, hover, col)
        fig.add_vline(0, line={"color": INK, "dash": "dot", "width": 2}, row=1, col=col)
    fig.update_yaxes(categoryorder="array", categoryarray=[escape(name) for name in names[::-1]])
    return fig.update_xaxes(nticks=5)


def _signs(part: pd.DataFrame) -> list[tuple[float, int, int]]:
    return list(zip(part["p_holm"], part["wins"], part["losses"], strict=True))


def learning_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> go.Figure:
    """Validation RSUM of all runs by epoch, and each loss as a share of its first epoch's.

    Losses of different objectives have different units; only their course compares.

    Args:
        histories: name -> one mapping an epoch with ``epoch``, ``loss`` and ``val/rsum`` (in [0, 6]).

    Raises:
        ValueError: no run has an epoch.
    """
    trained = {name: history for name, history in histories.items() if history}
    if not trained:
        raise ValueError("none of the runs has been trained, so that there are no curves")
    fig = figure("Learning curves").set_subplots(1, 2, horizontal_spacing=0.12)
    for number, (name, history) in enumerate(trained.items()):
        epochs = [row["epoch"] for row in history]
        first = history[0]["loss"] or 1.0
        curves = ([100 * row["val/rsum"] for row in history], [row["loss"] / first for row in history])
        style = {
            "line": {"width": 2.5, "color": CATEGORIES[number % 7]},
            "marker": {"size": 9, "symbol": SYMBOLS[number % 7]},
        }
        for col, y in enumerate(curves, 1):
            about = {
                "name": escape(name),
                "legendgroup": name,
                "showlegend": col == 1,
                "mode": "lines+markers",
            }
            fig.add_scatter(x=epochs, y=y, row=1, col=col, **about, **style)
    fig.update_xaxes(title="epoch", dtick=max(1, max(map(len, trained.values())) // 10))
    fig.update_yaxes(title="validation RSUM, of 600", col=1)
    return fig.update_yaxes(title="loss, share of its first epoch", col=2)


def speed(table: pd.DataFrame, times: Mapping[str, str], *, y: str) -> go.Figure:
    """Accuracy against what it costs, one panel a cost; a run whose cost is not known is left out of that
    panel.

    Args:
        table: indexed by run: ``value``, ``low``, ``high``, and one column a cost.
        times: column of the cost -> heading of its panel.
        y: name of the accuracy.

    Raises:
        ValueError: nobody's cost is known.
    """
    known = {column: heading for column, heading in times.items() if table[column].notna().any()}
    if not known:
        raise ValueError("no cost is known: the runs kept no checkpoint, and nothing was measured here")
    fig = panels(list(known.values()), "Accuracy against speed", "milliseconds", y, spacing=0.08)
    fig.update_layout(height=400, margin={"b": 110}, legend={"y": -0.22})
    for number, (name, row) in enumerate(table.iterrows()):
        colour = CATEGORIES[number % 7]
        bars = {
            "type": "data",
            "array": [row["high"] - row["value"]],
            "arrayminus": [row["value"] - row["low"]],
            "color": colour,
        }
        marker = {"color": colour, "size": 12, "symbol": SYMBOLS[number % 7]}
        for col, column in enumerate(known, 1):
            about = {
                "name": escape(str(name)),
                "legendgroup": str(name),
                "showlegend": col == 1,
                "mode": "markers",
            }
            fig.add_scatter(
                x=[row[column]], y=[row["value"]], error_y=bars, marker=marker, row=1, col=col, **about
            )
    return fig.update_xaxes(rangemode="tozero")
