"""Figures of binary against graded relevance: recall as the relevant set grows, labels against truth, metrics
against truth.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.records import Measurement, MetricKey
from workbench.records.readable import unit_of
from workbench.records.shown import heading, shown, with_interval
from workbench.views.plots.theme import CATEGORIES, GRID, INK, escape, figure, on_axis, panels, whiskers

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
    fig = panels(list(DIRECTIONS.values()), f"Recall at {k}", "", heading(), spacing=0.06)
    for column, side in enumerate(DIRECTIONS, start=1):
        place = {"x": list(ms), "mode": "lines", "row": 1, "col": column, "showlegend": column == 1}
        for (name, by_side), colour in zip(recall.items(), CATEGORIES, strict=False):
            curves = (
                (f"{name}, Semantic Recall", by_side[side], {"width": 2.5}),
                (f"{name}, R@{k}", [binary[name][side]] * len(ms), {"width": 1.5, "dash": "dash"}),
            )
            for label, values, look in curves:
                line = {"color": colour, **look}
                fig.add_scatter(y=on_axis(values), name=escape(label), legendgroup=name, line=line, **place)
        ceiling, grey = on_axis(np.minimum(1, k / np.asarray(ms))), {"color": GRID, "width": 3}
        fig.add_scatter(y=ceiling, name="most that is possible", line=grey, **place)
        if side in true:
            dotted = {"color": INK, "width": 2, "dash": "dot"}
            label = "share of the m best by phi that are true"
            fig.add_scatter(y=on_axis(true[side]), name=label, line=dotted, **place)
    fig.update_xaxes(title="m, items that count as relevant", rangemode="tozero")
    return fig.update_layout(height=480, legend={"y": -0.22}).update_yaxes(range=[0, 102])


def labels_against_truth(own: pd.DataFrame, true: pd.DataFrame) -> go.Figure:
    """Each metric by the labels and by the truth, joined by a line, one panel a direction.

    Args:
        own: ``(metrics, models)`` values by the labels; the index holds keys like ``i2t/R@1``.
        true: the same by the truth.
    """
    names = list(own.columns)
    title = "By the labels (rings) and by the truth (dots)"
    fig = panels(list(DIRECTIONS.values()), title, "", "", spacing=0.06)
    for column, side in enumerate(DIRECTIONS, start=1):
        keys = [key for key in own.index if MetricKey.parse(key).direction == side]
        for place, (name, colour) in enumerate(zip(names, CATEGORIES, strict=False)):
            rows = np.arange(len(keys)) + (place - (len(names) - 1) / 2) * 0.8 / len(names)
            group = {"legendgroup": name, "row": 1, "col": column}
            x = np.stack(
                [on_axis(own[name][keys]), on_axis(true[name][keys]), [np.nan] * len(keys)], 1
            ).ravel()
            y, line = np.repeat(rows, 3), {"color": colour, "width": 1.5}
            fig.add_scatter(x=x, y=y, mode="lines", line=line, showlegend=False, hoverinfo="skip", **group)
            for values, symbol, what in ((own, "circle-open", "labels"), (true, "circle", "truth")):
                marker = {"color": colour, "size": 9, "symbol": symbol, "line": {"width": 2, "color": colour}}
                legend = {"name": escape(name), "showlegend": column == 1 and what == "truth"}
                hover = [escape(f"{name}, {what}: {shown(value)}") for value in values[name][keys]]
                dots = {"x": on_axis(values[name][keys]), "hovertext": hover, "hoverinfo": "text"}
                fig.add_scatter(y=rows, mode="markers", marker=marker, **dots, **legend, **group)
        fig.update_yaxes(tickvals=np.arange(len(keys)), ticktext=_metrics(keys), col=column)
    fig.update_layout(height=180 + 14 * len(own) * max(2, len(names)), legend={"y": -0.2})
    return fig.update_yaxes(autorange="reversed", showgrid=False).update_xaxes(
        range=[-2, 102], title=heading()
    )


def _metrics(keys: Sequence[str]) -> list[str]:
    """The keys without their direction, which the panel's heading says."""
    return [escape(key.partition("/")[2]) for key in keys]


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
        table = orders[orders.index.str.startswith(f"{side}/")].rename(columns={"tau": "value"})
        names = _metrics(table.index)
        colours = [INK if name == truth else CATEGORIES[column - 1] for name in names]
        _dots(fig, table, names, colours, ["correlation"] * len(names), column)
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
    several = list(pairs.groupby(["better", "worse"], sort=False))
    side = next(side for side in DIRECTIONS if pairs.key.iloc[0].startswith(f"{side}/"))
    title = f"Neighbours in the truth's order, {DIRECTIONS[side]}"
    fig = panels([str(better) for (better, _), _ in several], title, "", "", spacing=0.05)
    for note, ((better, worse), _) in zip(fig.layout.annotations, several, strict=False):
        note.text = f"{escape(str(better))}<br>less {escape(str(worse))}"
    for column, (_, table) in enumerate(several, start=1):
        names = _metrics(table.key)
        sure = [CATEGORIES[3] if high < 0 else CATEGORIES[0] for high in table.high]
        colours = [INK if name == truth else colour for name, colour in zip(names, sure, strict=True)]
        units = [unit_of(key) for key in table.key]
        _dots(fig, table.rename(columns={"difference": "value"}), names, colours, units, column)
        fig.add_vline(x=0, line={"color": INK, "width": 1}, row=1, col=column)
    fig.update_layout(showlegend=False, height=150 + 32 * len(several[0][1]))
    return fig.update_yaxes(autorange="reversed").update_xaxes(title=f"difference, {heading()}")


def _dots(
    fig: go.Figure, table: pd.DataFrame, names: list[str], colours: list[str], units: list[str], column: int
) -> None:
    """A dot with its interval on each line; one trace a dot, since plotly colours the whiskers of a trace
    alike.
    """
    for row, name, colour, unit in zip(table.itertuples(), names, colours, units, strict=True):
        value, low, high = (on_axis(end, unit) for end in (row.value, row.low, row.high))
        hover = f"{name}: {with_interval(row.value, row.low, row.high, unit)}"
        about = {"hovertext": [hover], "hoverinfo": "text", "marker": {"color": colour, "size": 9}}
        bars = whiskers(value, low, high, colour, width=4)
        fig.add_scatter(x=value, y=[name], mode="markers", error_x=bars, row=1, col=column, **about)


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
        several = [(escape(name), m) for name, measured in found.items() for m in measured if m.key.local == wanted]
        value, low, high = ([getattr(m, end) for _, m in several] for end in ("value", "low", "high"))
        hover = [f"{name}: {with_interval(m.value, m.low, m.high, 'correlation')}" for name, m in several]
        dots = {"x": value, "y": [name for name, _ in several], "error_x": whiskers(value, low, high, colour)}
        about = {"hovertext": hover, "hoverinfo": "text", "marker": {"color": colour, "size": 9}}
        fig.add_scatter(mode="markers", name=part, **dots, **about)
    return fig.update_yaxes(autorange="reversed", type="category").update_xaxes(zeroline=True)
