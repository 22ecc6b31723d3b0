"""Figures of binary against graded relevance: recall as the relevant set grows, labels against truth, metrics
against truth.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.formatting import (
    RANGES,
    display_value,
    format_count,
    format_interval,
    format_value,
    unit_heading,
)
from workbench.records import Array, Measurement, MetricKey
from workbench.records.measurement import unit_of
from workbench.records.metric_key import WAYS
from workbench.views.plots.theme import (
    CATEGORIES,
    GRID,
    INK,
    SYMBOLS,
    axis_values,
    break_name,
    draw_dots,
    error_bars,
    escape,
    figure,
    legend_entry,
    named_rows,
    panel_figure,
)

DIRECTIONS = {side: WAYS[side] for side in ("i2t", "t2i")}
# models for a Kendall tau: of three, chance gives one order in six
FEWEST = 6
# who judges -> symbol
LOOKS = {"the labels": "circle-open", "the truth": "circle"}


def recall_by_m(
    ms: Sequence[int],
    recall: Mapping[str, Mapping[str, Array]],
    binary: Mapping[str, Mapping[str, float]],
    true: Mapping[str, Array],
    *,
    hits: Mapping[str, Mapping[str, Array]],
    k: int,
    about: str = "",
) -> go.Figure:
    """Draw semantic Recall as the relevant set grows, beside binary recall, which does not know of m; one
    panel a direction (SAM, Fig. 3).

    Args:
        ms: ``(n,)`` sizes of the relevant set.
        recall: model -> direction -> ``(n,)`` Semantic Recall at k.
        binary: model -> direction -> R@k; empty where own pairs were left out.
        true: direction -> ``(n,)`` share of the m best by phi that are truly relevant; empty = not known.
        hits: model -> direction -> ``(n,)`` share of queries with one of the m best among k.
        k: how many items are retrieved; no recall of m items can exceed ``k / m``.
        about: ends the title.
    """
    curves: list[tuple[str, str, Mapping[str, Any], dict[str, Any]]] = []
    for (name, by_side), colour in zip(recall.items(), CATEGORIES, strict=False):
        flat = {side: [value] * len(ms) for side, value in binary.get(name, {}).items()}
        of_hits = {"color": colour, "width": 1.5, "dash": "dashdot"}
        of_binary = {"color": colour, "width": 1.5, "dash": "dash"}
        curves.append((name, f"{name}, Semantic Recall", by_side, {"color": colour, "width": 2.5}))
        curves.append((name, f"{name}, one of the m best", hits[name], of_hits))
        curves.append((name, f"{name}, R@{k}", flat, of_binary))
    most = dict.fromkeys(DIRECTIONS, np.minimum(1, k / np.asarray(ms)))
    of_truth = {"color": INK, "width": 2, "dash": "dot"}
    curves.append(("", "most that is possible", most, {"color": GRID, "width": 3}))
    curves.append(("", "share of the m best by phi that are true", true, of_truth))
    fig = panel_figure(list(DIRECTIONS.values()), f"Recall at {k}{about}", "", unit_heading(), spacing=0.06)
    for column, side in enumerate(DIRECTIONS, start=1):
        for group, label, values, line in curves:
            if side in values:
                fig.add_scatter(
                    x=list(ms),
                    y=axis_values(values[side]),
                    mode="lines",
                    line=line,
                    name=escape(label),
                    legendgroup=group or label,
                    showlegend=column == 1,
                    row=1,
                    col=column,
                )
    fig.update_xaxes(title="m, items that count as relevant", rangemode="tozero")
    fig.update_layout(height=480, legend={"y": -0.22})
    return fig.update_yaxes(range=[0, 102])


def labels_against_truth(own: pd.DataFrame, true: pd.DataFrame) -> go.Figure:
    """Draw each metric by the labels and by the truth, joined by a line, one panel a direction; both tables
    are ``(metrics, models)`` and indexed by keys like ``i2t/R@1``.
    """
    apart = (true - own).abs().max(axis=1)
    where = MetricKey.parse(str(apart.idxmax())).title
    title = f"Labels and truth: up to {format_value(apart.max())} points apart, in {where}"
    fig = panel_figure(list(DIRECTIONS.values()), title, "", "", spacing=0.06)
    for what, symbol in LOOKS.items():
        mark = {"color": INK, "size": 9, "symbol": symbol}
        fig.add_scatter(x=[None], y=[None], mode="markers", marker=mark, name=f"by {what}")
    count = own.shape[1]
    for column, side in enumerate(DIRECTIONS, start=1):
        keys = [key for key in own.index if MetricKey.parse(key).direction == side]
        for place, (name, colour) in enumerate(zip(list(own.columns), CATEGORIES, strict=False)):
            shift = (place - (count - 1) / 2) * 0.8 / count
            rows = np.arange(len(keys)) + shift
            _draw_joined_values(fig, own[name][keys], true[name][keys], rows, colour, column)
        titles = [escape(_metric_title(key)) for key in keys]
        fig.update_yaxes(tickvals=np.arange(len(keys)), ticktext=titles, col=column)
    fig.update_layout(height=180 + 14 * len(own) * max(2, count), legend={"y": -0.2})
    fig.update_yaxes(autorange="reversed", showgrid=False, zeroline=False)
    return fig.update_xaxes(range=[-2, 102], dtick=25, title=unit_heading())


def _draw_joined_values(
    fig: go.Figure, own: "pd.Series[float]", true: "pd.Series[float]", rows: Array, colour: str, column: int
) -> None:
    """Draw one model's values by the labels and by the truth, joined by a line."""
    name = str(own.name)
    group = {"legendgroup": name, "row": 1, "col": column}
    gap = [np.nan] * len(rows)
    ends = np.stack([axis_values(own), axis_values(true), gap], 1).ravel()
    line = {"color": colour, "width": 1.5}
    fig.add_scatter(
        x=ends, y=np.repeat(rows, 3), mode="lines", line=line, showlegend=False, hoverinfo="skip", **group
    )
    for values, (what, symbol) in zip((own, true), LOOKS.items(), strict=True):
        look = {"color": colour, "size": 9, "symbol": symbol, "line": {"width": 2, "color": colour}}
        numbers = values.items()
        texts = [escape(f"{name}, {what}: {format_value(value)} ({key})") for key, value in numbers]
        fig.add_scatter(
            x=axis_values(values),
            y=rows,
            mode="markers",
            hoverinfo="text",
            name=escape(name),
            marker=look,
            hovertext=texts,
            showlegend=column == 1 and what == "the truth",
            **group,
        )


def _metric_title(key: str) -> str:
    """Return a key in words, without its direction, which the panel's heading says."""
    return replace(MetricKey.parse(key), direction="").title


def agreement(orders: pd.DataFrame, *, truth: str, models: int = 0) -> go.Figure:
    """Draw how well each metric puts the models into the truth's order: Kendall tau with its interval, one
    panel a direction.

    Args:
        orders: as ``relevance_audit.agreement.order_agreement`` gives it.
        truth: the key, without direction, that decides; drawn first, as the ceiling.
        models: how many there are; below ``FEWEST`` the axis counts the pairs, since tau has few values then.
    """
    ceiling = _metric_title(truth)
    others = orders[[_metric_title(key) != ceiling for key in orders.index]]
    pairs = models * (models - 1) // 2
    same = int((others["tau"] >= 1).sum())
    title = f"Orders of the models: {same} of {len(others)} agree with the truth"
    fig = panel_figure(list(DIRECTIONS.values()), title, "", "", spacing=0.06)
    for column, side in enumerate(DIRECTIONS, start=1):
        table = orders[[MetricKey.parse(key).direction == side for key in orders.index]]
        names = [_metric_title(key) for key in table.index]
        colours = np.where(np.array(names) == ceiling, INK, CATEGORIES[5])
        looks = table.assign(run=names, value=table.tau, face="correlation", colour=colours, key=table.index)
        _draw_dots(fig, looks, column)
    fig.update_layout(showlegend=False, height=150 + 32 * (len(orders) // 2))
    fig.update_yaxes(autorange="reversed")
    fig.update_xaxes(range=[-1.1, 1.1], zeroline=True, title="Kendall's tau")
    if 1 < models < FEWEST:
        fig.update_xaxes(
            tickvals=np.linspace(-1, 1, pairs + 1),
            ticktext=list(range(pairs + 1)),
            title=f"comparisons as<br>by the truth, of {pairs}",
            zeroline=False,
        )
    return fig


def differences(pairs: pd.DataFrame, *, truth: str) -> go.Figure:
    """Draw differences between neighbours in the truth's order, by each metric with its interval; one panel a
    pair. A metric whose whole interval lies left of 0 contradicts the truth and is drawn in orange.

    Args:
        pairs: as ``relevance_audit.agreement.order_differences`` gives it, of one direction.
        truth: the key, without direction, that decides.
    """
    neighbours = list(pairs.groupby(["better", "worse"], sort=False))
    against = format_count(int((pairs.high < 0).sum()), "difference")
    title = f"{DIRECTIONS[MetricKey.parse(pairs.key.iloc[0]).direction]}: {against} against the truth"
    # one scale, and zero in the middle of all panels
    end = 1.05 * display_value(float(pairs[["low", "high"]].abs().to_numpy().max())) or 1.0
    fig = panel_figure([str(better) for (better, _), _ in neighbours], title, "", "", spacing=0.05)
    for note, ((better, worse), _) in zip(fig.layout.annotations, neighbours, strict=False):
        note.text = f"{escape(str(better))}<br>less {escape(str(worse))}"
    for column, (_, table) in enumerate(neighbours, start=1):
        names = [_metric_title(key) for key in table.key]
        decides = np.array(names) == _metric_title(truth)
        colours = np.select([decides, table.high < 0], [INK, CATEGORIES[3]], CATEGORIES[5])
        units = table.key.map(unit_of)
        _draw_dots(fig, table.assign(run=names, value=table.difference, face=units, colour=colours), column)
        fig.add_vline(x=0, line={"color": INK, "width": 1}, row=1, col=column)
    return (
        fig.update_layout(showlegend=False, height=150 + 32 * len(neighbours[0][1]))
        .update_yaxes(autorange="reversed")
        .update_xaxes(title=f"difference, {unit_heading(difference=True)}", range=[-end, end])
    )


def _draw_dots(fig: go.Figure, table: pd.DataFrame, column: int) -> None:
    """Draw one panel of dots in the order of the table, each in its ``colour``; hover shows its ``key``."""
    table = table.assign(about=" (" + table["key"] + ")")
    for (colour, _), part in table.groupby(["colour", "face"], sort=False):
        draw_dots(fig, part, str(colour), **legend_entry(fig, "", column))
    fig.update_yaxes(categoryorder="array", categoryarray=[escape(run) for run in table["run"]], col=column)


def correlations(measurements: Mapping[str, Sequence[Measurement]], *, title: str) -> go.Figure:
    """Draw how well several measures agree with graded judgements: a dot with its interval, over all pairs
    and without own pairs, by Pearson's correlation.

    Args:
        measurements: measure -> its correlations; one that is not defined (NaN) leaves a gap.
        title: what the figure shows.
    """
    fig = figure(title, "Pearson correlation", "", height=150 + 44 * len(measurements))
    rows = []
    for name, of_measure in measurements.items():
        for number in of_measure:
            ends = {"low": number.low, "high": number.high}
            rows.append({"run": name, "key": number.key.local, "value": number.value, **ends})
    table = pd.DataFrame(rows).assign(face="correlation", about="")
    draw_dots(fig, table[table["key"] == "pearson"], CATEGORIES[0], **legend_entry(fig, "all pairs"))
    others = table[table["key"] == "pearson[without own]"]
    draw_dots(fig, others, CATEGORIES[1], **legend_entry(fig, "without own pairs"))
    return fig.update_yaxes(autorange="reversed", type="category").update_xaxes(zeroline=True)


def _both_values(row: Any, x: str, y: str) -> str:
    """Return a model with both of its values and their intervals."""
    across = format_interval(row.x, row.x_low, row.x_high, "sum")
    up = format_interval(row.y, row.y_low, row.y_high)
    return escape(f"{row.Index}: {x} {across}, {y} {up}")


def two_verdicts(points: pd.DataFrame, *, title: str, x: str, y: str, line: float | None = None) -> go.Figure:
    """Draw every model as a point: across what the labels say of it, up what the truth says, intervals as
    bars.

    Args:
        points: one model a row, indexed by its name, with the columns ``group``, ``x``, ``x_low``, ``x_high``
            (a sum of six recalls) and ``y``, ``y_low``, ``y_high`` (shares). Unknown ends are not drawn.
        title: the finding.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        line: what one list of captions for every image reaches on the vertical axis.
    """
    fig = figure(title, f"{x}, {unit_heading('sum')}", f"{y}, {unit_heading()}", height=460)
    # names are written inwards, where a narrow page has room
    end = display_value(RANGES["sum"][1], "sum")
    for number, (group, part) in enumerate(points.groupby("group", sort=False)):
        colour = CATEGORIES[number]
        across = axis_values(part["x"], "sum")
        sides = np.where(np.array(across) > end / 2, "top left", "top right")
        names = [break_name(str(name)) for name in part.index]
        x_bars = error_bars(part["x"], part["x_low"], part["x_high"], colour, "sum", width=3)
        y_bars = error_bars(part["y"], part["y_low"], part["y_high"], colour, width=3)
        look = {"color": colour, "size": 11, "symbol": SYMBOLS[number % len(SYMBOLS)]}
        fig.add_scatter(
            x=across,
            y=axis_values(part["y"]),
            mode="markers+text",
            name=escape(str(group)),
            text=names,
            cliponaxis=False,
            textposition=sides.tolist(),
            marker=look,
            error_x=x_bars,
            error_y=y_bars,
            hovertext=[_both_values(row, x, y) for row in named_rows(part)],
            hoverinfo="text",
        )
    if line is not None:
        text = {"text": "one list for all images", "font": {"color": INK}}
        fig.add_hline(
            display_value(line),
            line={"color": INK, "dash": "dot"},
            annotation=text,
            annotation_position="top left",
        )
    return fig.update_yaxes(rangemode="tozero").update_xaxes(range=[0, end])
