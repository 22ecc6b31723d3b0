"""The figure of the README: objectives trained in two ways, within each level of captions.

``python -m tools.finding`` draws it into ``docs/finding.png``, in a Chromium without a window. Until the fair
comparison has results, it shows the first comparison, by RSUM and mAP@R.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from tools.numbers import GROUPS, ROOT, recorded_points, same_list
from workbench.english import join_words
from workbench.formatting import display_value, unit_heading
from workbench.tour.finding import draw_levels, recorded_rows
from workbench.views.plots.theme import CATEGORIES, INK, SYMBOLS, draw_dots, legend_entry, panel_figure

FILE = ROOT / "docs" / "finding.png"
SIZE = {"width": 1000, "height": 520}
# the figure has a white ground of its own
DARK = "#333333"
# column of the points -> heading of its panel, unit
JUDGED = {
    "x": ("RSUM", "sum"), "y": ("mAP@R, image to text", "share"), "z": ("mAP@R, text to image", "share"),
}  # fmt: skip
WAYS = {"x": "RSUM", "y": "image-to-text mAP@R", "z": "text-to-image mAP@R"}


def title(points: pd.DataFrame) -> str:
    """For how many objectives annotated pairs are the better training, by each number."""
    own, exact = (points[points.group == group] for group in GROUPS.values())
    wins = {ways: int((own[axis] > exact[axis]).sum()) for axis, ways in WAYS.items()}
    n = len(own)
    said = {
        ways: ways + ("" if count in (0, n) else f" ({max(count, n - count)} of {n})")
        for ways, count in wins.items()
    }
    won = join_words([said[ways] for ways, count in wins.items() if 2 * count > n])
    lost = join_words([said[ways] for ways, count in wins.items() if 2 * count <= n])
    sides = {f"Annotated pairs win by {won}": won, f"every true pair by {lost}": lost}
    return ", ".join(said for said, of in sides.items() if of)


def draw(points: pd.DataFrame) -> go.Figure:
    """One row an objective, one panel a number; dotted lines are one ranking for all queries."""
    heads = [f"{name}, {unit_heading(unit)}" for name, unit in JUDGED.values()]
    fig = panel_figure(heads, title(points), "", "")
    for column, (axis, (_, unit)) in enumerate(JUDGED.items(), 1):
        ends = {end: points[f"{axis}_{end}"] for end in ("low", "high")}
        rows = points.assign(run=points.index, value=points[axis], face=unit, about="", **ends)
        # a circle on a square shows both
        for number, group in reversed([*enumerate(GROUPS.values())]):
            look = CATEGORIES[number], SYMBOLS[number]
            draw_dots(fig, rows[rows.group == group], *look, **legend_entry(fig, group, column))
    for column, at in enumerate(same_list().values(), 2):
        fig.add_vline(
            display_value(at), line={"color": INK, "dash": "dot"}, row=1, col=column,
            annotation={"text": "baseline: one list", "font": {"color": INK}, "bgcolor": "white"},
            annotation_position="bottom right",
        )  # fmt: skip
    fig.add_annotation(
        text="bars: 95 % intervals over seeds; rows by RSUM", font={"color": INK}, showarrow=False,
        xref="paper", yref="paper", x=1, y=1.125, yanchor="middle",
    )  # fmt: skip
    order = points[points.group == GROUPS["own"]].sort_values("x").index
    return (
        fig.update_yaxes(categoryorder="array", categoryarray=list(order), range=[-1, len(order) - 0.5])
        .update_xaxes(range=[-2, 100]).update_xaxes(range=[-12, 600], col=1)
        .update_layout(**SIZE, paper_bgcolor="white", margin={"t": 100, "b": 40})
        .update_layout(legend={"y": 1.17, "traceorder": "reversed"}, font={"color": DARK})
        .update_annotations(font={"color": DARK})
    )  # fmt: skip


def save_figure(figure: go.Figure, file: Path) -> None:
    """Write a figure as a PNG file, drawn in a Chromium without a window."""
    size = {"width": figure.layout.width, "height": figure.layout.height}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=size, device_scale_factor=1.5)
        page.set_content(figure.to_html(include_plotlyjs=True, config={"staticPlot": True}))
        page.locator(".main-svg").first.wait_for()
        page.locator(".plotly-graph-div").screenshot(path=file)
        browser.close()


def by_level(rows: pd.DataFrame) -> go.Figure | None:
    """The figure by level on white ground, once the fair comparison has results."""
    fig = draw_levels(rows)
    if fig is None:
        return None
    width = SIZE["width"] + 200
    return fig.update_layout(width=width, paper_bgcolor="white", font={"color": DARK}).update_annotations(
        font={"color": DARK}
    )


if __name__ == "__main__":
    save_figure(by_level(recorded_rows()) or draw(recorded_points()), FILE)
