"""The explorer's page without a kernel, offline: queries are filtered, counted, listed and exported there as
well, and a link opens them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from slice_search.page import write_explorer, write_page
from slice_search.report import find_slices

from tests.browser.conftest import trouble_on
from tests.browser.test_queries import data, expected_numbers, numbers_on, runs
from tests.browser.test_static_page import Opened
from workbench.records import Embedding
from workbench.runs.selection import Selection
from workbench.views.explorer import Explorer

pytestmark = [pytest.mark.browser]
SELECTED = "t2i/R@1[language=de]; right in first; wrong in second run"


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    """Two runs on scenes with fields, of which some queries are selected."""
    return Explorer(runs(data()), k=4, select=SELECTED)


@pytest.fixture(scope="module")
def path(explorer: Explorer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A page that answers the selected queries."""
    return explorer.to_html(tmp_path_factory.mktemp("page") / "explorer.html")


@pytest.fixture
def opened(browser: Any, path: Path) -> Iterator[Opened]:
    """The page as it is opened without a selection."""
    page = Opened(browser, path)
    yield page
    assert page.trouble == []
    page.context.close()


def test_bars_filter_and_numbers_follow(opened: Opened, explorer: Explorer) -> None:
    page = opened.page
    assert page.get_by_test_id("queries-numbers").is_hidden()
    page.get_by_test_id("query-side").locator("> summary").click()
    page.locator("[data-bar='language=fr']").click()
    page.locator("[data-bar='place=town']").click()
    text = "t2i/R@1[language=fr, place=town]"
    assert page.get_by_test_id("queries-text").input_value() == text
    assert numbers_on(page)[:2] == expected_numbers(explorer, text)
    page.get_by_test_id("queries-direction").select_option("i2t")
    assert page.get_by_test_id("queries-count").inner_text() == "40 of 40 images"


def test_an_address_opens_a_selection_and_keeps_the_one_that_is_looked_at(
    browser: Any, path: Path, explorer: Explorer
) -> None:
    opened = Opened(browser, path)
    page = opened.page
    page.goto("about:blank")
    page.goto(path.as_uri() + Selection.parse(SELECTED).fragment)
    rows = Selection.parse(SELECTED).rows(explorer.runs)
    assert page.get_by_test_id("queries").locator("tbody tr").count() == len(rows)
    page.get_by_test_id("queries-clear").click()
    page.locator("[data-bar='language=en']").click()
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    assert page.get_by_test_id("queries-text").input_value() == "t2i/R@1[language=en]"
    # a link to the page that is open already
    page.evaluate("fragment => { location.hash = fragment; }", Selection.parse("word=red").fragment)
    page.wait_for_function("document.querySelector('[data-testid=queries-text]').value.includes('red')")
    assert int(page.get_by_test_id("queries-count").inner_text().split()[0]) == len(
        Selection.parse("word=red").rows(explorer.runs)
    )
    page.evaluate("location.hash = '#select=shows%3Dsnow'")
    page.get_by_test_id("queries-problem").get_by_text("does not know").wait_for()
    assert opened.trouble == []
    opened.context.close()


def test_a_query_with_an_answer_is_shown_and_the_list_is_exported(
    opened: Opened, explorer: Explorer, tmp_path: Path
) -> None:
    page = opened.page
    page.evaluate("fragment => { location.hash = fragment; }", Selection.parse(SELECTED).fragment)
    line = page.get_by_test_id("query-line").nth(1)
    text = line.inner_text()
    line.click()
    assert page.locator(".wbt-asked h3").inner_text() == text
    with page.expect_download() as download:
        page.get_by_test_id("export-queries").click()
    download.value.save_as(tmp_path / "queries.csv")
    table = pd.read_csv(tmp_path / "queries.csv")
    rows = Selection.parse(SELECTED).rows(explorer.runs)
    assert sorted(table["text"]) == sorted(explorer.engine.split.captions[row] for row in rows)
    assert set(table["language"]) == {"de"}
    assert (table["rank first"] == 1).all()
    assert (table["rank second run"] > 1).all()
    # ids, scores and wrong answers are those of the list that a kernel writes
    expected = explorer.engine.queries.answers("t2i", rows.tolist())
    shared = [name for name in expected if name in table]
    assert {"id", "image", "score first", "wrong answer second run", "its score second run"} <= {*shared}
    both = [frame.set_index("id").sort_index()[shared[1:]] for frame in (table, expected)]
    pd.testing.assert_frame_equal(*both, check_dtype=False)


def test_a_heading_of_a_figure_leads_to_its_queries(opened: Opened) -> None:
    page = opened.page
    fragment = Selection.parse("t2i/R@1[language=en]").fragment
    # as plotly draws a link in a page that is a file
    label = f"<a href='{fragment}'>R@1</a>".replace("'", "&quot;")
    drawn = f'<svg><text id="head" data-unformatted="{label}"><a>R@1</a></text></svg>'
    page.evaluate("drawn => document.body.insertAdjacentHTML('afterbegin', drawn)", drawn)
    page.locator("#head a").dispatch_event("click")
    assert page.get_by_test_id("queries-text").input_value() == "t2i/R@1[language=en]"


def test_a_slice_of_a_page_leads_to_its_queries_and_their_numbers(browser: Any, tmp_path: Path) -> None:
    split = data()
    plain, second = runs(split)
    # the second run does not read German captions
    rng = np.random.default_rng(0)
    german = torch.tensor([value == "de" for value in split.fields["language"].values])
    noise = torch.tensor(rng.normal(size=tuple(second.text.mean.shape)), dtype=torch.float32)
    damaged = Embedding(torch.where(german[:, None], noise, second.text.mean))
    second = second.with_embeddings(second.name, second.image, damaged)
    report = find_slices(plain, second, by=["language", "shows"], minimum=5)
    (tmp_path / "slices.html").write_text(write_page(report, explorer="explorer.html"), encoding="utf-8")
    write_explorer(report, tmp_path / "explorer.html")
    opened = Opened(browser, tmp_path / "slices.html")
    page = opened.page
    page.get_by_role("link", name="queries in the explorer").first.click()
    assert page.get_by_test_id("queries-text").input_value() == "t2i/R@1[language=de]"
    explorer = Explorer(report.runs)
    assert numbers_on(page)[:2] == expected_numbers(explorer, "language=de")
    assert page.get_by_test_id("query-line").count() > 0
    # the link of the explorer's own panel is of the same kind
    page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<a id=other href=\"#select=language%3Dfr\">fr</a>')"
    )
    page.locator("#other").click()
    assert page.get_by_test_id("queries-text").input_value() == "t2i/R@1[language=fr]"
    assert opened.trouble == []
    opened.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_is_accessible_and_fits_a_narrow_window(
    browser: Any, path: Path, axe: str, scheme: str, tmp_path: Path
) -> None:
    opened = Opened(browser, path, color_scheme=scheme)
    page = opened.page
    page.set_viewport_size({"width": 420, "height": 900})
    page.get_by_test_id("query-side").locator("> summary").click()
    page.get_by_test_id("right-0-wrong-1").click()
    assert trouble_on(page, axe, ["html"]) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= 420
    page.screenshot(path=tmp_path / f"page-{scheme}.png", full_page=True)
    opened.context.close()
