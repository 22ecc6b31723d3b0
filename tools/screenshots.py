"""Screenshots for the documentation, of the pages as they are now.

``python -m tools.screenshots runs`` opens the tour, the leaderboard and the explorer of a finished tour in a
Chromium without a window, wide in the light and narrow in the dark, and writes ``docs/*.png``.
``python -m tools.screenshots`` alone draws the figure of the papers' claims.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from paper_tables import claims, claims_page
from playwright.sync_api import Browser, sync_playwright

from tests.browser.alone import Alone
from tools.numbers import ROOT
from workbench.runs import open_runs
from workbench.tour import STOPS, TRAINED
from workbench.views.explorer import Explorer, explore
from workbench.views.pages.leaderboard import build

LOOKS = {"": (1400, 900, "light"), "_narrow": (400, 800, "dark")}
QUESTION = "an animal in the snow"


def shots(browser: Browser, name: str, open_page: Any) -> None:
    """Take one screenshot for each look."""
    for ending, look in LOOKS.items():
        shown, close = open_page(browser, *look)
        shown.screenshot(path=ROOT / "docs" / f"{name}{ending}.png")
        close()


def at(path: Path) -> Any:
    """Opens a page that lies at a path."""

    def opened(browser: Browser, width: int, height: int, scheme: Any) -> tuple[Any, Any]:
        page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
        page.goto(path.resolve().as_uri())
        page.wait_for_timeout(2500)
        return page, page.close

    return opened


def asked(explorer: Explorer) -> Any:
    """Opens the explorer with an answer, of which the first time would also load what reads words, and
    points at one image.
    """

    def opened(browser: Browser, width: int, height: int, scheme: Any) -> tuple[Any, Any]:
        alone = Alone(browser, explorer, width=width, height=height, color_scheme=scheme)
        for question in (QUESTION, "a kite", QUESTION):
            alone.page.get_by_test_id("query").fill(question)
            alone.settle()
        alone.page.locator(".wbx-card").nth(3).hover()
        alone.page.wait_for_timeout(1500)
        return alone.page.locator(".wbx").first, alone.close

    return opened


def claims_effects(browser: Browser) -> None:
    """Draw the figure of the claims' page."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "claims.html"
        file.write_text(claims_page.write(claims.current(claims.read_ledger())), encoding="utf-8")
        page = browser.new_page(viewport={"width": 900, "height": 900}, color_scheme="light")
        page.goto(file.as_uri())
        page.locator("figure.effects").screenshot(path=ROOT / "docs" / "claims.png")
        page.close()


def main(root: Path | None) -> None:
    """Draw all screenshots from the tour below a folder of runs; without one the figure of the claims
    alone.
    """
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        claims_effects(browser)
        if root:
            of_tour(browser, root)
        browser.close()


def of_tour(browser: Browser, root: Path) -> None:
    """Draw what a tour wrote below a folder of runs."""
    titles = {stop.name: stop.title for stop in STOPS}
    opened = open_runs([str(root / "tour" / name) for name in TRAINED], images=500)
    explorer = explore(*(replace(run, name=titles[name]) for name, run in zip(TRAINED, opened)), k=24)
    shots(browser, "tour", at(root / "tour" / "index.html"))
    shots(browser, "leaderboard", at(build(root).html))
    shots(browser, "explorer", asked(explorer))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
