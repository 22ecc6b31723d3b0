"""From a number to its queries in a real JupyterLab: a table, a figure and a map give one selection."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import in_themes, run_in_lab
from tests.browser.test_queries import data, expected_numbers, numbers_on, runs
from workbench.runs.selection import Selection
from workbench.views.explorer import Explorer

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = (
    f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    "import workbench as wb\n"
    "from tests.browser.test_queries import data, runs\n"
    "from workbench.views.maps import EmbeddingMap, map_runs\n"
    "spaces = runs(data())\n"
    "compared = wb.compare(*spaces, by='language')",
    "wb.numbers(compared, links=True)",
    "wb.differences(compared, links=True)",
    "explorer = wb.Explorer(spaces, k=4)\nexplorer.show()",
    "live = EmbeddingMap(map_runs(spaces))\nexplorer.link(live)\nlive",
)


@pytest.fixture(scope="module")
def opened(browser: Any, lab: Lab) -> Iterator[tuple[Any, list[str]]]:
    """A page with tables, a figure, the explorer and a map of two runs."""
    page, _, trouble = run_in_lab(browser, lab, "queries", CELLS, height=5200)
    page.get_by_test_id("status").get_by_text("4 of 40 images").wait_for()
    page.set_default_timeout(25_000)
    yield page, trouble
    page.close()


def texts(page: Any, text: str) -> None:
    """Wait until a selection is shown."""
    page.wait_for_function(
        "text => document.querySelector('[data-testid=queries-text]').value === text", arg=text
    )


def test_a_value_of_a_table_opens_its_queries_with_their_numbers(opened: tuple[Any, list[str]]) -> None:
    page, trouble = opened
    row = page.locator("table.listing tr", has_text="t2i/R@1[language=de]")
    row.locator("a").first.click()
    texts(page, "t2i/R@1[language=de]")
    explorer = Explorer(runs(data()))
    assert numbers_on(page)[:2] == expected_numbers(explorer, "language=de")
    assert page.get_by_test_id("queries").locator("tbody tr").count() == 30
    page.locator("[data-bar='place=sea']").click()
    text = "t2i/R@1[language=de, place=sea]"
    texts(page, text)
    assert numbers_on(page)[:2] == expected_numbers(explorer, text)
    page.get_by_test_id("query-line").first.click()
    page.get_by_test_id("status").get_by_text("4 of 40 images").wait_for()
    assert trouble == []


def test_a_heading_of_the_figure_opens_its_queries(opened: tuple[Any, list[str]]) -> None:
    page, trouble = opened
    heads = page.locator(".js-plotly-plot text a")
    # by its place: in JupyterLab what is hit is the figure
    heads.filter(has_text="R@1, text to image, language=en").first.click(force=True)
    texts(page, "t2i/R@1[language=en]")
    heads.filter(has_text="R@1, image to text").first.click(force=True)
    texts(page, "i2t/R@1")
    assert page.get_by_test_id("queries-direction").input_value() == "i2t"
    assert trouble == []


def test_python_and_the_map_have_the_same_selection(
    opened: tuple[Any, list[str]], lab: Lab, tmp_path: Path
) -> None:
    page, trouble = opened
    page.get_by_test_id("queries-direction").select_option("t2i")
    texts(page, "t2i/R@1")
    page.locator("[data-bar='language=fr']").click()
    page.get_by_test_id("show-queries").click()
    page.get_by_test_id("queries-path").fill("french.csv")
    page.get_by_test_id("export-queries").click()
    page.get_by_test_id("status").get_by_text("Written: french.csv").wait_for()
    lines = (lab.folder / "french.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) - 1 == len(Selection.parse("language=fr").rows(runs(data())))
    for _ in in_themes(page, page.get_by_test_id("explorer"), tmp_path / "queries"):
        pass
    assert trouble == []
