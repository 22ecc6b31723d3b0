"""Figures that put runs or objectives side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from workbench.formatting import display_value, format_p_value, format_value, unit_heading
from workbench.metrics.comparison import ALIKE, BETTER, UNDECIDED, WORSE, state_verdict
from workbench.records import MetricKey, require
from workbench.runs.selection import selection_of
from workbench.views.pages import fill_template
from workbench.views.plots.theme import (
    CATEGORIES,
    INK,
    SYMBOLS,
    axis_values,
    break_name,
    draw_dots,
    escape,
    figure,
    legend_entry,
    named_rows,
)

ZERO = {"color": INK, "dash": "dot", "width": 2}
APART = {
    BETTER: (CATEGORIES[2], "triangle-up"),
    WORSE: (CATEGORIES[3], "triangle-down"),
    ALIKE: (CATEGORIES[6], "square-open"),
    UNDECIDED: (CATEGORIES[6], "circle-open"),
}


def differences(table: pd.DataFrame, *, against: str, links: bool = False) -> go.Figure:
    """Draw one panel a number: the difference of every run from the run ``against``, with its interval and
    the verdict.

    Args:
        table: rows of ``metrics.comparison.Difference``.
        against: name of the run at the zero line.
        links: whether the heading of a panel leads to the queries of its number, in an explorer on the page.

    Raises:
        ValueError: the table is empty.
    """
    require(len(table), "there is no second run to compare with the first; name two")
    units = dict(zip(table["key"], table["face"], strict=True))
    names = list(dict.fromkeys(table["run"]))
    counts = table["verdict"].value_counts()
    verdicts = ", ".join(f"{counts[verdict]} {verdict}" for verdict in APART if verdict in counts)
    # one below the other, so that a narrow page has room for the numbers of each axis
    heads = []
    for key, unit in units.items():
        head = f"{MetricKey.parse(key).title}, {unit_heading(unit, difference=True)}"
        heads.append(_heading(head, key) if links else escape(head))
    title = f"Difference from {against}, each metric on its own scale: {verdicts}"
    fig = figure(title, height=130 + (62 + 32 * len(names)) * len(heads))
    fig.set_subplots(len(heads), 1, subplot_titles=heads, vertical_spacing=0.5 / len(heads))
    fig.update_annotations(font={"size": 13, "color": INK})
    fig.update_layout(legend={"y": 1 + 0.2 / len(heads)}, margin={"r": 64})
    table = table.assign(about=[_hover_ending(row, against) for row in named_rows(table)])
    # each panel has a scale that fits it, and zero stands in the middle of all
    farthest = table[["low", "high", "value"]].abs().max(axis=1).groupby(table["key"]).max()
    for row, (key, unit) in enumerate(units.items(), 1):
        for verdict, look in APART.items():
            part = table[(table["key"] == key) & (table["verdict"] == verdict)]
            draw_dots(fig, part, *look, **legend_entry(fig, verdict, 1, row))
        fig.add_vline(0, line=ZERO, row=row, col=1)
        end = 1.08 * display_value(farthest[key], unit) or 1
        fig.update_xaxes(range=[-end, end], row=row)
        _write_values(fig, table[table["key"] == key], row)
    return fig.update_xaxes(tickangle=0).update_yaxes(**_name_axis(names))


def _heading(text: str, key: str) -> str:
    """Return the heading of a panel, a link where the number has queries."""
    selection = selection_of(key)
    if selection is None:
        return escape(text)
    return str(fill_template("views/plots/link.html.j2", address=selection.fragment, text=text)).strip()


def _hover_ending(row: Any, against: str) -> str:
    """Return what the hover text of a difference says after its value."""
    test = f"sign test: p (Holm) {format_p_value(row.p_holm)}"
    images = f"better on {row.wins}, worse on {row.losses} images"
    return f", {state_verdict(row.verdict, against)}; {test}, {images} ({row.key})"


def _name_axis(names: Sequence[str]) -> dict[str, Any]:
    """Return a vertical axis with a name a row, the first at the top, long ones in several lines."""
    rows = [escape(name) for name in names[::-1]]
    return {
        "categoryorder": "array",
        "categoryarray": rows,
        "range": [-0.6, len(names) - 0.3],
        "tickvals": rows,
        "ticktext": [break_name(name) for name in names[::-1]],
    }


def _write_values(fig: go.Figure, table: pd.DataFrame, row: int) -> None:
    """Write each difference at the right of its panel."""
    place = {"x": 1.01, "xref": "x domain", "xanchor": "left", "row": row, "col": 1}
    for difference in named_rows(table):
        # with the minus that the axis has
        text = format_value(difference.value, difference.face, sign=True).replace("-", "\u2212")
        fig.add_annotation(
            y=escape(difference.run), text=text, showarrow=False, font={"color": INK, "size": 12}, **place
        )


def learning_curves(histories: Mapping[str, Sequence[Mapping[str, float]]]) -> go.Figure:
    """Draw validation RSUM of all runs by epoch, and each loss as a share of its first epoch's, where a run
    has two or more of them. Losses of different objectives have different units; only their course compares.

    Args:
        histories: name -> one mapping an epoch with ``epoch``, ``val/rsum`` (in [0, 6]), and after training
            ``loss``.

    Raises:
        ValueError: no run has an epoch.
    """
    if not (trained := {name: history for name, history in histories.items() if history}):
        raise ValueError("none of the runs has been trained, so that there are no curves")
    losses = {name: pd.DataFrame(history).dropna(subset="loss") for name, history in trained.items()}
    columns = 2 if max(map(len, losses.values())) > 1 else 1
    best = max(trained, key=lambda name: max(row["val/rsum"] for row in trained[name]))
    fig = figure(f"Learning curves: {best} reaches the highest validation RSUM")
    fig.set_subplots(1, columns, horizontal_spacing=0.12)
    for number, (name, history) in enumerate(trained.items()):
        table = pd.DataFrame(history)
        loss = losses[name]
        share = loss["loss"] / (loss["loss"].iloc[0] or 1.0)
        look = {
            "mode": "lines+markers",
            "line": {"width": 2.5},
            "marker_size": 9,
            **style_of_run(number, name),
        }
        rsum = axis_values(table["val/rsum"], "sum")
        fig.add_scatter(x=table["epoch"], y=rsum, showlegend=True, row=1, col=1, **look)
        if columns > 1:
            fig.add_scatter(x=loss["epoch"], y=share, showlegend=False, row=1, col=2, **look)
    longest = max(map(len, trained.values()))
    fig.update_xaxes(title="epoch", dtick=max(1, longest // 10))
    fig.update_yaxes(title="loss, share of its first epoch", col=columns)
    return fig.update_yaxes(title=f"validation RSUM, {unit_heading('sum')}", col=1)


def style_of_run(number: int, name: str) -> dict[str, Any]:
    """Return colour and symbol of the run with this number, and its name in the legend."""
    colour = CATEGORIES[number % 7]
    return {
        "line_color": colour,
        "marker_color": colour,
        "marker_symbol": SYMBOLS[number % 7],
        "name": escape(name),
        "legendgroup": name,
    }
