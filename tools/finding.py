"""The picture of the README: every recorded way of training, judged by binary labels and by the truth.

``python -m tools.finding`` draws it into ``docs/finding.png``, in a Chromium without a window.
"""

from __future__ import annotations

import pandas as pd
from playwright.sync_api import sync_playwright

from tools.numbers import ROOT, recorded_points, same_list
from workbench.views.plots.relevance import two_verdicts

FILE = ROOT / "docs" / "finding.png"
SIZE = {"width": 1000, "height": 500}


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
