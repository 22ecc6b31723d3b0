"""Queries in a real browser: bars of fields filter, numbers follow at once, a link opens the queries."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scene_world as scenes

from tests.browser.alone import Alone
from tests.browser.conftest import trouble_on
from tests.views.explorer.toys import toy_space
from workbench.records import Field, Split
from workbench.runs.result import Result
from workbench.runs.selection import Selection
from workbench.views.explorer import Explorer

pytestmark = [pytest.mark.browser]
LANGUAGES = ["de", "en", "fr"]


def data(images: int = 40) -> Split:
    """Scenes whose captions have a language, and whose images have a place."""
    split = scenes.load("test", size=images, image_size=64)
    languages = [LANGUAGES[row % 3] for row in range(len(split.captions))]
    places = [("sea", "town", None)[row % 3] for row in range(images)]
    fields = {
        "language": Field.from_cells("language", languages),
        "place": Field.from_cells("place", places, owner="image"),
    }
    return replace(split, fields=fields)


def runs(split: Split) -> list[Result]:
    return [toy_space(split, "first", 0), toy_space(split, "second run", 1)]


@pytest.fixture
def alone(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Alone]:
    """An explorer whose side bar of queries is open, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    page = opened(browser, Explorer(runs(data()), k=4))
    yield page
    page.close()


def opened(browser: Any, explorer: Explorer, **options: Any) -> Alone:
    alone = Alone(browser, explorer, **options)
    alone.settle()
    alone.page.get_by_test_id("query-side").locator("> summary").click()
    alone.settle()
    return alone


def count(alone: Alone) -> int:
    return int(alone.page.get_by_test_id("queries-count").inner_text().split(" ")[0].replace(",", ""))


def selected(alone: Alone) -> tuple[str, list[int]]:
    """What Python and linked widgets hear."""
    text, images = alone.page.evaluate("['selected', 'selected_idx'].map(window.model.get)")
    return text, sorted(images)


def numbers_on(page: Any) -> list[list[str]]:
    """The means that are shown, a line a run."""
    lines = page.get_by_test_id("queries-numbers").locator("tbody tr")
    return [line.locator("td b").all_inner_texts() for line in lines.all()]


def expected_numbers(explorer: Explorer, text: str) -> list[list[str]]:
    """The means of the values by query, as percent."""
    import workbench as wb

    mask = Selection.parse(text).mask(explorer.runs)
    keys = ["t2i/R@1", "t2i/R@5", "t2i/R@10", "exact:t2i/map_at_r"]
    measured = [wb.runs.compare.numbers(run, keys) for run in explorer.runs]
    return [[f"{100 * np.nanmean(by_key[key][1][mask]):.1f}" for key in keys] for by_key in measured]


def test_bars_of_several_fields_filter_and_numbers_are_those_of_the_selection(alone: Alone) -> None:
    page = alone.page
    assert count(alone) == 200
    page.locator("[data-bar='language=de']").click()
    page.locator("[data-bar='place=sea']").click()
    page.locator("[data-bar='place=town']").click()
    text, images = selected(alone)
    assert text == "t2i/R@1[language=de, place=sea or place=town]"
    rows = Selection.parse(text).rows(alone.explorer.runs)
    assert count(alone) == len(rows)
    assert images == np.unique(alone.explorer.engine.split.own[rows]).tolist()
    assert numbers_on(alone.page)[:2] == expected_numbers(alone.explorer, text)
    # the bars of a field count what the other fields leave
    english = page.locator("[data-bar='language=en'] .wbq-number").inner_text()
    others = Selection.parse("language=en, place=sea or place=town").rows(alone.explorer.runs)
    assert int(english) == len(others)
    page.locator("[data-bar='language=de']").click()
    assert selected(alone)[0] == "t2i/R@1[place=sea or place=town]"
    page.get_by_test_id("queries-clear").click()
    assert selected(alone) == ("", [])


def test_the_browser_and_python_read_the_same_texts(alone: Alone) -> None:
    texts = [
        "language=en; wrong in first",
        "t2i/R@1[words>9, place=(missing)]; right in second run",
        "words<=5 or words>12, language=de or language=fr",
        "3<words<=8, negation=no, level=1",
        "word=red or word=blue",
        "shows=snow, words>4",
        "i2t/R@1[place=sea]; wrong in first; right in second run",
        "i2t/R@1[language=(several), words>9]",
    ]
    for text in texts:
        alone.page.evaluate("text => window.model.set('selected', text)", text)
        alone.settle()
        assert alone.page.get_by_test_id("queries-problem").inner_text() == "", text
        assert count(alone) == len(Selection.parse(text).rows(alone.explorer.runs)), text
    assert alone.page.get_by_test_id("queries").is_visible()


def test_images_selected_elsewhere_are_the_selection_and_are_filtered_further(alone: Alone) -> None:
    page = alone.page
    page.evaluate("window.model.set('selected_idx', [3, 4, 9])")
    assert count(alone) == 15
    assert page.get_by_test_id("queries-chips").inner_text().startswith("3 images chosen by hand")
    page.locator("[data-bar='language=de']").click()
    assert count(alone) == 6  # captions 15, 18, 21, 24, 45 and 48
    page.locator("[data-bar='language=de']").click()
    assert selected(alone)[1] == [3, 4, 9]
    page.get_by_test_id("queries-chips").get_by_role("button").click()
    assert selected(alone) == ("", [])


def test_one_right_and_the_other_wrong_is_one_button_and_its_list_is_walked_and_exported(
    alone: Alone,
) -> None:
    page = alone.page
    page.get_by_test_id("right-1-wrong-0").click()
    page.get_by_test_id("show-queries").click()
    alone.settle()
    rows = Selection.parse("t2i/R@1; right in second run; wrong in first").rows(alone.explorer.runs)
    lines = page.get_by_test_id("queries").locator("tbody tr")
    assert lines.count() == min(30, len(rows))
    assert set(lines.locator("td:nth-child(3)").all_inner_texts()) == {"#1"}
    worst = [int(text[1:]) for text in lines.locator("td:nth-child(2)").all_inner_texts()]
    assert worst == sorted(worst, reverse=True)
    assert all(lines.locator("img").evaluate_all("all => all.map(one => one.naturalWidth > 0)"))
    first = lines.first.locator(".wbx-words").inner_text()
    page.get_by_test_id("query-next").click()
    alone.settle()
    assert page.get_by_test_id("query").input_value() == first
    assert page.get_by_test_id("queries-at").inner_text() == f"1 of {len(rows)}"
    page.get_by_test_id("card").first.focus()
    page.keyboard.press("j")
    alone.settle()
    assert page.get_by_test_id("queries-at").inner_text() == f"2 of {len(rows)}"
    page.get_by_test_id("show-queries").click()
    page.get_by_test_id("queries-path").fill("mine.csv")
    page.get_by_test_id("export-queries").click()
    alone.settle()
    assert "Written: mine.csv" in page.get_by_test_id("status").inner_text()
    table = pd.read_csv("mine.csv")
    assert sorted(table["id"]) == sorted(alone.explorer.engine.split.caption_ids[row] for row in rows)
    assert (table["rank second run"] == 1).all()


def test_a_selection_is_saved_and_is_a_field_from_then_on(alone: Alone) -> None:
    page = alone.page
    page.locator("[data-bar='language=fr']").click()
    page.get_by_test_id("show-queries").click()
    page.get_by_test_id("slice-name").fill("french")
    page.get_by_test_id("save-slice").click()
    alone.settle()
    assert "--by slice:french" in page.get_by_test_id("status").inner_text()
    page.locator("[data-bar='slice:french=yes']").wait_for()
    assert count(alone) == len(Selection.parse("language=fr").rows(alone.explorer.runs))


def test_a_link_of_a_table_opens_its_queries(alone: Alone) -> None:
    page = alone.page
    page.evaluate(
        """fragment => document.body.insertAdjacentHTML("afterbegin",
             `<a id="cell" href="${fragment}"><b>61.0</b></a><a id="other" href="#elsewhere">x</a>`)""",
        Selection.parse("i2t/R@1[place=town]; wrong in first").fragment,
    )
    page.locator("#cell b").click()
    alone.settle()
    rows = Selection.parse("i2t/R@1[place=town]; wrong in first").rows(alone.explorer.runs)
    lines = page.get_by_test_id("queries").locator("tbody tr")
    assert lines.count() == len(rows)
    assert page.evaluate("location.hash") == ""
    lines.first.get_by_test_id("query-line").click()
    alone.settle()
    assert page.get_by_test_id("seeks").input_value() == "captions"
    assert page.get_by_test_id("columns").locator(".wbx-card").count() == 8


def test_what_cannot_be_read_is_said_and_the_rest_is_selected(alone: Alone) -> None:
    page = alone.page
    page.evaluate("window.model.set('selected', 't2i/R@1[language=de]; wrong in third')")
    alone.settle()
    assert "third" in page.get_by_test_id("queries-problem").inner_text()
    page.evaluate("window.model.set('selected', 'colour=red')")
    alone.settle()
    assert "colour" in page.get_by_test_id("queries-problem").inner_text()
    page.locator("[data-bar='language=en']").click()
    assert page.get_by_test_id("queries-problem").is_hidden()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_side_bar_and_the_list_are_accessible_and_fit_into_a_narrow_page(
    browser: Any, tmp_path: Path, axe: str, scheme: str
) -> None:
    explorer = Explorer(runs(data()), k=4, select="language=de; wrong in first")
    alone = Alone(browser, explorer, width=480, color_scheme=scheme)
    alone.settle()
    assert alone.page.get_by_test_id("queries").locator("tbody tr").count() > 5
    assert trouble_on(alone.page, axe, [".wbx"]) == []
    assert alone.page.evaluate("document.documentElement.scrollWidth") <= 480
    alone.page.screenshot(path=tmp_path / f"queries-{scheme}.png")
    alone.close()


@pytest.mark.slow
def test_a_filter_over_five_thousand_queries_takes_less_than_a_fifth_of_a_second(browser: Any) -> None:
    alone = opened(browser, Explorer(runs(data(1000)), k=4))
    assert count(alone) == 5000
    took = alone.page.evaluate(
        """async () => {
          const took = [];
          for (const bar of ["language=de", "place=sea", "language=en", "place=town"]) {
            const began = performance.now();
            document.querySelector(`[data-bar='${bar}']`).click();
            await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
            took.push(performance.now() - began);
          }
          return took;
        }"""
    )
    began = time.perf_counter()
    alone.settle()
    assert max(took) < 200, (took, time.perf_counter() - began)
    alone.close()
