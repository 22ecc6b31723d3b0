"""Pages read offline: opened from disk, with the network off, every figure is drawn."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import plotly.graph_objects as go
import pytest

from tests.browser.conftest import trouble_on
from workbench.execution import report
from workbench.execution.library import find_file
from workbench.execution.notebook import run_notebook
from workbench.tour import STOPS, TourResult
from workbench.views.plots.tables import listing
from workbench.views.plots.theme import figure

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def _open(browser: Any, path: Path, **options: Any) -> tuple[Any, list[str]]:
    context = browser.new_context(**{"offline": True, "viewport": {"width": 1280, "height": 1400}, **options})
    page, trouble = context.new_page(), []
    page.set_default_timeout(180_000)
    page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") else None)
    page.on("requestfailed", lambda r: trouble.append(r.url))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(path.as_uri())
    return page, trouble


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 420])
def test_the_index_of_the_tour_draws_its_figures_at_any_width(
    browser: Any, real_tour: TourResult, scheme: str, width: int
) -> None:
    page, trouble = _open(
        browser, real_tour.index, color_scheme=scheme, viewport={"width": width, "height": 1000}
    )
    assert page.locator(".figure .main-svg").first.is_visible()
    # a figure a chapter is in sight; what is folded is drawn when it is opened
    assert page.locator(".figure .plotly-graph-div:has(.main-svg)").count() >= 5
    page.evaluate("document.querySelectorAll('details').forEach(fold => fold.setAttribute('open', ''))")
    page.locator(".figure:not(:has(.main-svg))").first.wait_for(state="detached")
    assert page.locator(".figure").count() >= len(STOPS)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    inks = page.locator(".figure").evaluate_all(AXES)
    assert inks
    assert min(contrast(ink, {"light": "#ffffff", "dark": "#1c2027"}[scheme]) for ink in set(inks)) >= 4.5
    assert page.locator("tbody tr").count() >= 5
    assert page.locator(".world img").evaluate_all("images => images.every(image => image.naturalWidth > 0)")
    assert trouble == []
    page.screenshot(path=real_tour.index.parent / f"index-{scheme}-{width}.png", full_page=True)
    page.context.close()


@pytest.mark.parametrize("stop", [stop.name for stop in STOPS])
def test_a_notebook_as_a_page_draws_its_figures(browser: Any, real_tour: TourResult, stop: str) -> None:
    path = real_tour.index.parent / stop / "notebook.html"
    page, trouble = _open(browser, path)
    drawn = page.locator(".plotly-graph-div .main-svg").count()
    expected = len(re.findall(r'id="figure-\d+"', path.read_text(encoding="utf-8")))
    explorer = page.get_by_test_id("static")  # the explorer's page has its own images and no plotly figure
    assert expected >= 1 or explorer.locator("img").evaluate_all(
        "images => images.every(image => image.naturalWidth > 0)"
    )
    assert expected >= 1 or explorer.locator("img").count() > 6
    assert drawn >= expected
    assert trouble == []
    page.screenshot(path=path.with_suffix(".png"), full_page=True)
    page.context.close()


HOSTILE = "<b>dog</b> </script><script>document.title = 'owned'</script> $x$ كلب on a red table"
SMALL = {"01_descriptiveness": {"images": 60}, "02_scene_graphs": {"images": 12, "sentence": HOSTILE}}


@pytest.fixture(scope="module", params=SMALL)
def captions_page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a notebook on captions, run on a little of the embedded world."""
    folder = tmp_path_factory.mktemp("runs") / request.param
    result = run_notebook(find_file(request.param), SMALL[request.param], folder=folder)
    assert (result.status, result.error) == ("ok", "")
    return folder / "notebook.html"


@pytest.mark.parametrize("ground", ["#ffffff", "#111111"])
def test_every_figure_of_the_notebooks_on_captions_is_drawn_and_can_be_read(
    browser: Any, captions_page: Path, ground: str
) -> None:
    page, trouble = _open(browser, captions_page)
    page.add_style_tag(content=f"body.jp-Notebook {{ background: {ground} !important; }}")
    figures = page.locator(".plotly-graph-div")
    figures.last.locator(".main-svg").first.wait_for(timeout=120_000)
    assert figures.count() == page.locator(".plotly-graph-div:has(.main-svg)").count() >= 5
    marks = ".trace, .bars path, .scatterlayer text, .shapelayer path"
    assert (
        figures.evaluate_all(f"all => all.filter(one => !one.querySelector('{marks}')).map(one => one.id)")
        == []
    )
    fills = figures.evaluate_all(AXES)
    assert fills
    assert [fill for fill in set(fills) if contrast(fill, ground) < 3.9] == []
    assert page.title() != "owned"
    assert trouble == []
    page.screenshot(path=captions_page.with_name(f"notebook-{ground[1:]}.png"), full_page=True)
    page.context.close()


NARROW = """() => {
  const lines = one => { const range = document.createRange(); range.selectNodeContents(one);
    return new Set([...range.getClientRects()].map(box => box.top)).size };
  const boxes = name => document.querySelector(name).getBoundingClientRect();
  return {page: document.documentElement.scrollWidth,
    labels: [...document.querySelectorAll(".listing tbody td:first-child")].map(lines),
    scrolls: document.querySelector(".listing").offsetWidth > 420,
    ground: getComputedStyle(document.body).backgroundColor,
    title: boxes(".gtitle"), legend: boxes(".legend"), axis: boxes(".xtitle"),
    figure: boxes(".plotly-graph-div")}
}"""


def test_a_narrow_dark_notebook_page_breaks_no_label_and_covers_no_title(
    browser: Any, axe: str, tmp_path: Path
) -> None:
    keys = ["exact:i2t/map_at_r", "i2t/recall@1", "exact:t2i/false_negatives[x]"]
    columns = {"number": keys, "value": ["98.0 (94.0 to 100.0)"] * 3, "a hit is": ["so many words " * 9] * 3}
    long = "The best run of all by the exact truth, image to caption"
    drawn = figure(long, long, "share").add_traces([
        go.Scatter(y=[row, 1], name=f"validation number {row}") for row in range(5)
    ])  # fmt: skip
    outputs = [{"text/html": listing(columns, title="Numbers")}, {report.PLOTLY: drawn.to_plotly_json()}]
    cell = nbformat.v4.new_code_cell("pass  # and " + "a long line " * 9)
    cell.outputs = [nbformat.v4.new_output("display_data", json.loads(json.dumps(one, default=list)))
                    for one in outputs]  # fmt: skip
    path = tmp_path / "notebook.html"
    path.write_text(report.to_html(nbformat.v4.new_notebook(cells=[cell]), "narrow"), encoding="utf-8")
    page, trouble = _open(browser, path, color_scheme="dark", viewport={"width": 420, "height": 900})
    page.locator(".main-svg").first.wait_for()
    seen = page.evaluate(NARROW)
    assert (seen["page"], seen["labels"], seen["scrolls"]) == (420, [1, 1, 1], True)
    assert seen["ground"] == "rgb(28, 32, 39)"
    assert seen["title"]["bottom"] < seen["axis"]["top"]
    assert seen["axis"]["bottom"] < seen["legend"]["top"] + 1  # of a pixel
    for part in ("title", "axis"):
        # the box of a letter is a pixel wider than its ink
        assert seen["figure"]["left"] - 2 < seen[part]["left"]
        assert seen[part]["right"] < seen["figure"]["right"] + 2
    inks = page.locator(".plotly-graph-div").evaluate_all(AXES)
    assert min(contrast(ink, "#1c2027") for ink in inks) >= 4.5
    assert trouble_on(page, axe, [".jp-Cell"]) == []
    assert trouble == []
    page.context.close()


# The words that stand on the page itself, and not on a bar or in a box.
AXES = """all => all.flatMap(one => [...one.querySelectorAll(
    '.gtitle, .xtick text, .ytick text, .legendtext, .annotation-text')])
  .map(text => getComputedStyle(text).fill)"""


def contrast(fill: str, ground: str) -> float:
    """Contrast of ``rgb(r, g, b)`` with ``#rrggbb`` (WCAG 2.1)."""
    ink = [int(part) for part in re.findall(r"\d+", fill)[:3]]
    light = sorted(map(_luminance, (ink, [int(ground[i : i + 2], 16) for i in (1, 3, 5)])))
    return (light[1] + 0.05) / (light[0] + 0.05)


def _luminance(parts: list[int]) -> float:
    shares = [part / 255 for part in parts]
    linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return sum(weight * share for weight, share in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
