"""The figure of the README: objectives trained in two ways, within each level of captions.

``python -m tools.finding`` draws it into ``docs/finding.png``, in a Chromium without a window.
"""

from __future__ import annotations

from pathlib import Path

import plotly.graph_objects as go
from playwright.sync_api import sync_playwright

from tools.numbers import ROOT
from workbench.tour.finding import draw_levels, recorded_rows

FILE = ROOT / "docs" / "finding.png"
# the figure has a white ground of its own
DARK = "#333333"


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


def by_level() -> go.Figure:
    """The recorded figure by level, on white ground."""
    fig = draw_levels(recorded_rows())
    assert fig is not None, "the fair comparison is recorded"
    return fig.update_layout(width=1200, paper_bgcolor="white", font={"color": DARK}).update_annotations(
        font={"color": DARK}
    )


if __name__ == "__main__":
    save_figure(by_level(), FILE)
