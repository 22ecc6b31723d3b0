"""Figures of the false-negative audit: metrics before and after labels, false negatives by batch size."""

from collections.abc import Mapping
from itertools import cycle
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.formatting import format_count, format_interval, unit_heading
from workbench.records import MetricKey
from workbench.records.measurement import unit_of
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    axis_values,
    error_bars,
    escape,
    named_rows,
    panel_figure,
)

# lines of runs that agree lie on one another: marks and dashes let the lower one be seen
LOOKS = (
    ("circle-open", "solid"),
    ("diamond-open", "dash"),
    ("square-open", "dot"),
    ("triangle-up-open", "dashdot"),
)
SHARES = {
    "pairs": "negative pairs",
    str(MetricKey("any", "t2i")): "captions with at least one",
    str(MetricKey("any", "i2t")): "images with at least one",
    str(MetricKey("hardest", "t2i")): "hardest negative of a caption",
    str(MetricKey("hardest", "i2t")): "hardest negative of an image",
}


def draw_before_and_after(table: pd.DataFrame, *, title: str) -> go.Figure:
    """Draw each metric by the judgements ``before`` and ``after``, from ``recompute``: a hollow mark before,
    a filled one after, with their intervals; one panel a run. Ranks and RSUM, which are no percentages, are
    left out.
    """
    drawn = table[[unit_of(key) == "share" for key in table.index.get_level_values("key")]]
    runs = drawn.index.get_level_values("run").unique().tolist()
    fig = panel_figure(runs, title, unit_heading(), "", spacing=0.03)
    for column, run in enumerate(runs, 1):
        part = drawn.loc[run]
        for name, symbol, colour in (("before", "circle-open", INK), ("after", "circle", CATEGORIES[0])):
            value, low, high = (part[name, what] for what in ("value", "low", "high"))
            ends = zip(value, low, high, strict=True)
            texts = [f"{name}: {format_interval(*numbers)}" for numbers in ends]
            bars = error_bars(value, low, high, colour, width=0)
            marker = {"symbol": symbol, "size": 10, "color": colour, "line": {"width": 2}}
            look = {"mode": "markers", "marker": marker, "hovertext": texts, "hoverinfo": "text+y"}
            entry = {"name": name, "legendgroup": name, "showlegend": column == 1}
            place = {"x": axis_values(value), "y": part.index.tolist(), "row": 1, "col": column}
            fig.add_scatter(error_x=bars, **place, **look, **entry)
    fig.update_layout(height=200 + 24 * len(drawn.index.unique(1)), margin={"t": 100})
    fig.update_layout(legend={"y": 1.06, "yanchor": "bottom"})
    fig.update_xaxes(range=[-2, 102])
    return fig.update_yaxes(autorange="reversed", type="category")


def shares_by_batch_size(tables: Mapping[str, pd.DataFrame], *, title: str) -> go.Figure:
    """Draw the share of false negatives by batch size, one panel a key, one line a run, dotted where it is
    the expected value. ``tables``: run -> table from ``false_negatives_in_batches``; a share that does not
    read the scores is drawn once.
    """
    first = next(iter(tables.values()))
    keys = [key for key in SHARES if key in set(first["key"])]
    fig = panel_figure(
        [SHARES[key] for key in keys], title, "captions a batch", f"truly positive, {unit_heading()}"
    )
    for column, key in enumerate(keys, 1):
        if MetricKey.parse(key).metric == "hardest":
            for (name, table), colour, look in zip(tables.items(), cycle(CATEGORIES), cycle(LOOKS)):
                _draw_shares(fig, table[table["key"] == key], name, (colour, *look), column)
        else:
            _draw_shares(fig, first[first["key"] == key], "all models", (INK, "circle", "solid"), column)
    sizes = sorted(set(first["size"]))
    return fig.update_xaxes(type="log", tickvals=sizes, ticktext=[*map(str, sizes)]).update_yaxes(
        rangemode="tozero"
    )


def _draw_shares(
    fig: go.Figure, part: pd.DataFrame, name: str, look: tuple[str, str, str], column: int
) -> None:
    """Draw one line of shares with its intervals, and the expected value where it is known."""
    (colour, symbol, dash), seen = look, {trace.name for trace in fig.data}
    place: dict[str, Any] = {"x": part["size"], "row": 1, "col": column}
    texts = []
    for row in named_rows(part.rename(columns={"size": "captions"})):
        value = format_interval(row.value, row.low, row.high)
        texts.append(escape(f"{name}, {format_count(row.captions, 'caption')}: {value}"))
    line = {"color": colour, "width": 2.5, "dash": dash}
    style = {"mode": "lines+markers", "line": line, "marker": {"size": 8, "symbol": symbol}}
    entry = {"name": escape(name), "legendgroup": name, "showlegend": escape(name) not in seen}
    bars = error_bars(part["value"], part["low"], part["high"], colour)
    fig.add_scatter(
        y=axis_values(part["value"]),
        error_y=bars,
        hovertext=texts,
        hoverinfo="text",
        **style,
        **entry,
        **place,
    )
    if np.isfinite(part["expected"]).any():
        line = {"color": colour, "dash": "dot", "width": 1.5}
        entry = {"name": "expected", "legendgroup": "expected", "showlegend": "expected" not in seen}
        expected = axis_values(part["expected"])
        fig.add_scatter(y=expected, mode="lines", line=line, hoverinfo="skip", **entry, **place)
