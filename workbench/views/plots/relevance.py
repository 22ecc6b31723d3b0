"""Figures of binary against graded relevance: recall as the relevant set grows, labels against truth, metrics
against truth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.records import Measurement
from workbench.views.plots.theme import CATEGORIES, GRID, INK, escape, figure, panels

Values = NDArray[Any]
DIRECTIONS = {"i2t": "image to text", "t2i": "text to image"}


def recall_by_m(
    ms: Sequence[int],
    recall: Mapping[str, Mapping[str, Values]],
    binary: Mapping[str, Mapping[str, float]],
    true: Mapping[str, Values],
    *,
    k: int,
) -> go.Figure:
    """Semantic Recall as the relevant set grows, beside binary recall, which does not know of m; one panel a
    direction.

    Args:
        ms: ``(n,)`` sizes of the relevant set.
        recall: model -> direction -> ``(n,)`` Semantic Recall at k.
        binary: model -> direction -> R@k.
        true: direction -> ``(n,)`` share of the m best by phi that are truly relevant; empty = not known.
        k: how many items are retrieved; no recall of m items can exceed ``k / m``.
    """
    fig = panels(list(DIRECTIONS.values()), f"Recall at {k}", "", "share", spacing=0.06)
    at = {"x": list(ms), "row": 1, "mode": "lines"}
    for column, side in enumerate(DIRECTIONS, start=1):
        shown = {"col": column, "showlegend": column == 1}
        for (name, by_side), colour in zip(recall.items(), CATEGORIES, strict=False):
            group = {"legendgroup": name, "line": {"color": colour, "width": 2.5}}
            fig.add_scatter(y=by_side[side], name=f"{escape(name)}, Semantic Recall", **at, **shown, **group)
            dashed = {"legendgroup": name, "line": {"color": colour, "width": 1.5, "dash": "dash"}}
            fig.add_scatter(
                y=[binary[name][side]] * len(ms), name=f"{escape(name)}, R@{k}", **at, **shown, **dashed
            )
        ceiling = np.minimum(1, k / np.asarray(ms))
        fig.add_scatter(
            y=ceiling, name="most that is possible", line={"color": GRID, "width": 3}, **at, **shown
        )
        if side in true:
            dotted = {"color": INK, "width": 2, "dash": "dot"}
            fig.add_scatter(
                y=true[side], name="share of the m best by phi that are true", line=dotted, **at, **shown
            )
    fig.update_layout(height=480, legend={"y": -0.22}).update_xaxes(
        title="m, items that count as relevant", rangemode="tozero"
    )
    return fig.update_yaxes(range=[0, 1.02], tickformat=".0%")


def labels_against_truth(own: pd.DataFrame, true: pd.DataFrame) -> go.Figure:
    """Each metric by the labels and by the truth, joined by a line, one panel a direction.

    Args:
        own: ``(metrics, models)`` values by the labels; the index holds keys like ``i2t/R@1``.
        true: the same by the truth.
    """
    names = list(own.columns)
    fig = panels(
        list(DIRECTIONS.values()), "By the labels (rings) and by the truth (dots)", "", "", spacing=0.06
    )
    for column, side in enumerate(DIRECTIONS, start=1):
        keys = [key for key in own.index if key.startswith(side)]
        for place, (name, colour) in enumerate(zip(names, CATEGORIES, strict=False)):
            rows = np.arange(len(keys)) + (place - (len(names) - 1) / 2) * 0.8 / len(names)
            group = {"legendgroup": name, "row": 1, "col": column}
            x, y = (_joined(*both) for both in ((own[name][keys], true[name][keys]), (rows, rows)))
            line = {"line": {"color": colour, "width": 1.5}, "showlegend": False, "hoverinfo": "skip"}
            fig.add_scatter(x=x, y=y, mode="lines", **line, **group)
            for values, symbol, what in ((own, "circle-open", "labels"), (true, "circle", "truth")):
                marker = {"color": colour, "size": 9, "symbol": symbol, "line": {"width": 2, "color": colour}}
                legend = {"name": escape(name), "showlegend": column == 1 and symbol == "circle"}
                hover = f"{escape(name)}, {what}: %{{x:.3f}}<extra></extra>"
                fig.add_scatter(
                    x=values[name][keys],
                    y=rows,
                    mode="markers",
                    marker=marker,
                    hovertemplate=hover,
                    **legend,
                    **group,
                )
        fig.update_yaxes(
            tickvals=np.arange(len(keys)),
            ticktext=[escape(key.partition("/")[2]) for key in keys],
            col=column,
        )
    fig.update_layout(height=180 + 14 * len(own) * max(2, len(names)), legend={"y": -0.2})
    return fig.update_yaxes(autorange="reversed", showgrid=False).update_xaxes(
        range=[-0.02, 1.02], title="value"
    )


def _joined(first: Sequence[float], second: Sequence[float]) -> list[float | None]:
    """Ends of separate lines, one after the other."""
    return [value for pair in zip(first, second, strict=True) for value in (*pair, None)]


def agreement(orders: pd.DataFrame, *, truth: str) -> go.Figure:
    """How well each metric puts the models into the truth's order: Kendall tau with its interval, one panel a
    direction.

    Args:
        orders: as ``metrics.agreement.measure`` gives it: index of keys like ``i2t/R@1``, columns ``tau``,
            ``low``, ``high``.
        truth: the key, without direction, that decides; drawn first, as the ceiling.
    """
    title = "Order of the models against the truth's order"
    fig = panels(list(DIRECTIONS.values()), title, "", "", spacing=0.06)
    for column, side in enumerate(DIRECTIONS, start=1):
        table = orders[orders.index.str.startswith(f"{side}/")]
        names = [key.partition("/")[2] for key in table.index]
        colours = [INK if name == truth else CATEGORIES[column - 1] for name in names]
        _whiskers(
            fig,
            table.tau,
            table.low,
            table.high,
            [escape(name) for name in names],
            colours,
            {"row": 1, "col": column},
        )
    fig.update_layout(showlegend=False, height=150 + 32 * (len(orders) // 2))
    fig.update_xaxes(range=[-1.05, 1.05], zeroline=True, title="Kendall tau, 1 = the truth's order")
    return fig.update_yaxes(autorange="reversed")


def differences(pairs: pd.DataFrame, *, truth: str) -> go.Figure:
    """Differences between neighbours in the truth's order, by each metric with its interval; one panel a
    pair.

    Args:
        pairs: as ``metrics.agreement.differences`` gives it, of one direction: columns ``key``, ``better``,
            ``worse``, ``difference``, ``low``, ``high``.
        truth: the key, without direction, that decides.

    Returns:
        Figure; a metric whose whole interval lies left of 0 contradicts the truth and is drawn in orange.
    """
    several, side = list(pairs.groupby(["better", "worse"], sort=False)), pairs.key.iloc[0].partition("/")[0]
    title = f"Neighbours in the truth's order, {DIRECTIONS[side]}"
    fig = panels([str(better) for (better, _), _ in several], title, "", "", spacing=0.05)
    for note, ((better, worse), _) in zip(fig.layout.annotations, several, strict=False):
        note.text = f"{escape(str(better))}<br>less {escape(str(worse))}"
    for column, (_, table) in enumerate(several, start=1):
        names = [key.partition("/")[2] for key in table.key]
        colours = [
            INK if name == truth else CATEGORIES[3] if high < 0 else CATEGORIES[0]
            for name, high in zip(names, table.high, strict=True)
        ]
        at = {"row": 1, "col": column}
        _whiskers(fig, table.difference, table.low, table.high, [escape(name) for name in names], colours, at)
        fig.add_vline(x=0, line={"color": INK, "width": 1}, **at)
    fig.update_layout(showlegend=False, height=150 + 32 * len(several[0][1]))
    return fig.update_yaxes(autorange="reversed").update_xaxes(title="difference of the value")


def _whiskers(
    fig: go.Figure,
    values: pd.Series,
    low: pd.Series,
    high: pd.Series,
    names: list[str],
    colours: list[str],
    at: dict[str, int],
) -> None:
    """A dot with its interval on each line; one trace a dot, since plotly colours the whiskers of a trace
    alike.
    """
    for value, left, right, name, colour in zip(values, low, high, names, colours, strict=True):
        ends = {
            "type": "data",
            "array": [right - value],
            "arrayminus": [value - left],
            "color": colour,
            "thickness": 2,
            "width": 4,
        }
        marker = {"color": colour, "size": 9}
        hover = f"{name}: {value:.3f}, from {left:.3f} to {right:.3f}<extra></extra>"
        fig.add_scatter(
            x=[value], y=[name], mode="markers", marker=marker, error_x=ends, hovertemplate=hover, **at
        )


def correlations(
    found: Mapping[str, Sequence[Measurement]],
    *,
    title: str,
    key: str = "pearson",
    without: str = "[without own]",
) -> go.Figure:
    """How well several measures agree with graded judgements: a dot with its interval, over all pairs and
    without own pairs.

    Args:
        found: measure -> its correlations; one that is not defined (NaN) leaves a gap.
        title: what the figure shows.
        key: which correlation.
        without: what marks the keys without own pairs.
    """
    fig = figure(title, f"{key.capitalize()} correlation", "", height=150 + 44 * len(found))
    parts = {"all pairs": key, "without own pairs": f"{key}{without}"}
    for (part, wanted), colour in zip(parts.items(), CATEGORIES, strict=False):
        several = [(escape(name), m) for name, measured in found.items() for m in measured if m.key == wanted]
        up = [0.0 if m.high is None else m.high - m.value for _, m in several]
        down = [0.0 if m.low is None else m.value - m.low for _, m in several]
        ends = {"type": "data", "array": up, "arrayminus": down, "color": colour, "thickness": 2}
        dots = {
            "x": [m.value for _, m in several],
            "y": [name for name, _ in several],
            "marker": {"color": colour, "size": 9},
        }
        fig.add_scatter(
            **dots, mode="markers", error_x=ends, name=part, hovertemplate="%{y}: %{x:.3f}<extra></extra>"
        )
    return fig.update_yaxes(autorange="reversed", type="category").update_xaxes(zeroline=True)
