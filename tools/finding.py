"""The picture of the README: every recorded way of training, judged by binary labels and by the truth.

``python -m tools.finding`` draws it into ``docs/finding.png``, in a Chromium without a window.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from tools.numbers import ROOT, recorded_points, same_list
from workbench.formatting import display_value, format_interval, unit_heading
from workbench.views.plots.theme import CATEGORIES, INK, each, escape, figure, on_axis, whiskers

FILE = ROOT / "docs" / "finding.png"
SIZE = {"width": 1000, "height": 500}
# of the axes: what a name takes in width and height
ROOM = (0.06, 0.08)


def two_verdicts(points: pd.DataFrame, *, title: str, x: str, y: str, line: float | None = None) -> go.Figure:
    """Every model as a point: across what the labels say of it, up what the truth says, intervals as bars.

    Args:
        points: one model a row, indexed by its name, with the columns ``group``, ``x``, ``x_low``, ``x_high``
            (a sum of six recalls) and ``y``, ``y_low``, ``y_high`` (shares). Unknown ends are not drawn.
        title: the finding.
        x: name of the horizontal axis.
        y: name of the vertical axis.
        line: what one list of captions for every image reaches on the vertical axis.
    """
    fig = figure(title, f"{x}, {unit_heading('sum')}", f"{y}, {unit_heading()}", height=460)
    points = points.assign(label=points.index.astype(str).where(_with_room(points), ""))
    for number, (group, part) in enumerate(points.groupby("group", sort=False)):
        colour = CATEGORIES[number]
        fig.add_scatter(
            x=on_axis(part["x"], "sum"), y=on_axis(part["y"]), mode="markers+text", name=escape(str(group)),
            text=part["label"].map(escape),
            textposition="top center", cliponaxis=False,
            marker={"color": colour, "size": 11, "symbol": ("circle", "square")[number % 2]},
            error_x=whiskers(part["x"], part["x_low"], part["x_high"], colour, "sum", width=3),
            error_y=whiskers(part["y"], part["y_low"], part["y_high"], colour, width=3),
            hovertext=[
                escape(f"{row.Index}: {x} {format_interval(row.x, row.x_low, row.x_high, 'sum')}, "
                       f"{y} {format_interval(row.y, row.y_low, row.y_high)}") for row in each(part)
            ],
            hoverinfo="text",
        )  # fmt: skip
    if line is not None:
        text = {"text": "one list of captions for every image", "font": {"color": INK}}
        fig.add_hline(
            display_value(line),
            line={"color": INK, "dash": "dot"},
            annotation=text,
            annotation_position="bottom left",
        )
    return fig.update_yaxes(rangemode="tozero")


def _with_room(points: pd.DataFrame) -> list[bool]:
    """Whether no other point lies where a point's name would be written, above it."""
    places = (points[["x", "y"]] / points[["x", "y"]].max()).to_numpy()
    across, up = (places[None] - places[:, None]).transpose(2, 0, 1)
    return list(((np.abs(across) < ROOM[0]) & (up > 0) & (up < ROOM[1])).sum(1) == 0)


def draw(points: pd.DataFrame) -> str:
    """A page with the figure alone."""
    title = "Binary labels and the truth prefer different models"
    if points["x"].corr(points["y"], method="kendall") > 0:
        title = "Binary labels and the truth prefer similar models"
    fig = two_verdicts(
        points, title=title, x="RSUM by binary labels", y="true captions found for an image, mAP@R",
        line=same_list(),
    ).update_layout(height=SIZE["height"], width=SIZE["width"], paper_bgcolor="white")  # fmt: skip
    return fig.to_html(include_plotlyjs=True, config={"staticPlot": True})


if __name__ == "__main__":
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, device_scale_factor=1.5)
        page.set_content(draw(recorded_points()))
        page.locator(".main-svg").first.wait_for()
        page.locator(".plotly-graph-div").screenshot(path=FILE)
        browser.close()
