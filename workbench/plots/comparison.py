"""Figures that put runs or objectives side by side."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.plots._theme import CATEGORIES, INK, escape, figure

# the mark differs as well as the colour
VERDICTS = {
    "above": ("above the start", CATEGORIES[0], "circle"),
    "undecided": ("not told from the start", CATEGORIES[6], "circle-open"),
    "below": ("below the start", CATEGORIES[3], "diamond"),
    "": ("mean and interval", CATEGORIES[0], "circle"),
}


def over_seeds(table: pd.DataFrame, *, title: str, x: str) -> go.Figure:
    """A dot with its interval for every objective, against the line of the starting point.

    Args:
        table: the rows of one key from ``metrics.seeds.measure``, indexed by objective: ``mean``, ``low``, ``high``, ``start``,
            ``seeds``, ``verdict``. A single seed has no interval and shows none.
        title: what the figure shows.
        x: name of the number, with its unit.

    Raises:
        ValueError: the table is empty.
    """
    if not len(table):
        raise ValueError("there is no objective to draw; choose a key that the table has")
    fig = figure(title, x, height=190 + 30 * len(table)).update_layout(margin={"t": 90})
    names = [escape(str(name)) for name in table.index]
    for verdict, (label, colour, symbol) in VERDICTS.items():
        rows = np.flatnonzero((table["verdict"] == verdict).to_numpy())
        if len(rows):
            part = table.iloc[rows]
            to_high, to_low = (part["high"] - part["mean"]).fillna(0), (part["mean"] - part["low"]).fillna(0)
            bars = {"type": "data", "array": to_high, "arrayminus": to_low, "thickness": 2, "width": 5}
            marker = {"color": colour, "symbol": symbol, "size": 11, "line": {"width": 2, "color": colour}}
            hover = "%{y}: %{x:.4f}, mean of %{customdata} seeds<extra></extra>"
            where = {"x": part["mean"], "y": [names[row] for row in rows], "customdata": part["seeds"]}
            fig.add_scatter(**where, error_x=bars, marker=marker, mode="markers", name=label, hovertemplate=hover)
    start = table["start"].dropna()
    if len(start):
        note = {"text": "starting point", "font": {"color": INK}}
        fig.add_vline(float(start.iloc[0]), line={"color": INK, "dash": "dot", "width": 2}, label=note)
    return fig.update_yaxes(categoryorder="array", categoryarray=names[::-1])
