"""Pages read offline: opened from disk, with the network off, every figure is drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from workbench.tour import STOPS, TourResult

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _open(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    context = browser.new_context(offline=True, viewport={"width": 1280, "height": 1400}, **options)
    page, trouble = context.new_page(), []
    page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(path.as_uri())
    return page, trouble


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_index_of_the_tour_draws_its_thumbnails(browser: Any, real_tour: TourResult, scheme: str) -> None:
    page, trouble = _open(browser, real_tour.index, color_scheme=scheme)
    assert page.locator(".thumb .main-svg").first.is_visible()
    assert page.locator(".thumb").count() == page.locator(".thumb .plotly-graph-div:has(.main-svg)").count() >= len(STOPS)
    assert page.locator("tbody tr").count() >= 5
    assert page.locator(".world img").evaluate_all("images => images.every(image => image.naturalWidth > 0)")
    assert trouble == []
    page.screenshot(path=real_tour.index.parent / f"index-{scheme}.png", full_page=True)
    page.context.close()


@pytest.mark.parametrize("stop", [stop.name for stop in STOPS])
def test_a_notebook_as_a_page_draws_its_figures(browser: Any, real_tour: TourResult, stop: str) -> None:
    path = real_tour.index.parent / stop / "notebook.html"
    page, trouble = _open(browser, path)
    drawn = page.locator(".plotly-graph-div .main-svg").count()
    expected = len(re.findall(r'id="figure-\d+"', path.read_text(encoding="utf-8")))
    assert expected >= 1
    assert drawn >= expected
    assert trouble == []
    page.screenshot(path=path.with_suffix(".png"), full_page=True)
    page.context.close()
