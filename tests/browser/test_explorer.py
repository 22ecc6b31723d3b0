"""The explorer is driven in a real JupyterLab, by mouse and keyboard; it asks nothing of any other place and
runs no caption."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from tests.browser.conftest import in_themes, run_in_lab

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = (
    "<script>window.owned = 1</script><img src=x onerror='window.owned = 1'> a dog",
    "\"><svg onload=\"window.owned = 1\"> ' onfocus='window.owned = 1' autofocus='",
    "${window.owned=1} {{window.owned=1}} $x^2$ javascript:window.owned=1",
    "w" * 400,
    "كلب أبيض على العشب",
)
CELLS = (
    f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    "from dataclasses import replace\n"
    "from tests.views.explorer.toys import toy_space\n"
    "import scene_world as scenes\n"
    "from workbench.runs.about import About\n"
    "from workbench.views.explorer import Explorer",
    "split = scenes.load('test', size=40, image_size=64)\n"
    f"captions = (*{HOSTILE!r}, *split.captions[5:])\n"
    "split = replace(split, captions=captions)\n"
    "runs = [toy_space(split, '<b>first</b>', 0), toy_space(split, 'second', 1)]\n"
    "runs[1] = replace(runs[1], about=About(tags=['thesis'], note='<b>table 2</b>'))\n"
    "explorer = Explorer(runs, k=6, start='a red bus')\n"
    "explorer.show()",
)


@pytest.fixture(scope="module")
def opened(browser: Any, lab: Lab) -> Iterator[tuple[Any, Lab, list[str]]]:
    """A page with a running explorer over two runs, and what went wrong on it."""
    page, _, trouble = run_in_lab(browser, lab, "explorer", CELLS, height=2200)
    page.get_by_test_id("status").get_by_text("6 of 40 images").wait_for()
    page.set_default_timeout(25_000)
    # what JupyterLab itself writes there while it starts is not ours
    page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    yield page, lab, trouble
    page.close()


def _ranks(page: Any, run: int) -> list[str]:
    return page.get_by_test_id(f"column-{run}").locator(".wbx-top b").all_text_contents()


def _ask(page: Any, sentence: str) -> None:
    page.get_by_test_id("status").evaluate("status => { status.textContent = ''; }")
    page.get_by_test_id("query").fill(sentence)
    page.get_by_test_id("status").get_by_text("40 images").wait_for()


def test_a_query_is_typed_and_answered_by_every_run_with_images(opened: tuple[Any, Lab, list[str]]) -> None:
    page, _, trouble = opened
    page.get_by_test_id("card").first.focus()
    page.keyboard.press("/")
    page.keyboard.press("Control+a")
    page.get_by_test_id("status").evaluate("status => { status.textContent = ''; }")
    page.keyboard.type("a white rabbit next to a house", delay=15)
    # what was typed on the way is answered too; the last question has left by then
    page.wait_for_timeout(500)
    page.locator("[data-testid=explorer]:not([aria-busy])").wait_for()
    page.get_by_test_id("status").get_by_text("score of the objective").wait_for()
    assert page.get_by_test_id("query").input_value() == "a white rabbit next to a house"
    assert [_ranks(page, run) for run in (0, 1)] == [[f"#{rank}" for rank in range(1, 7)]] * 2
    images = page.get_by_test_id("columns").locator("img")
    assert images.evaluate_all("all => all.every(one => one.alt && one.naturalWidth > 0)")
    assert page.get_by_test_id("column-1").locator(".wbx-arrow").count() == 6
    assert trouble == []


def test_an_item_is_opened_and_pinned_by_keyboard(opened: tuple[Any, Lab, list[str]]) -> None:
    page, _, trouble = opened
    # in a list, down is the next item and right the other run
    page.get_by_test_id("layout").click()
    first = page.get_by_test_id("column-0").get_by_test_id("card").first
    first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(
        "[document.activeElement.dataset.run, document.activeElement.querySelector('b').textContent]"
    ) == [
        "1",
        "#2",
    ]
    page.keyboard.press("Enter")
    page.get_by_test_id("inspector").locator("img").wait_for()
    page.keyboard.press("Escape")
    page.get_by_test_id("inspector").wait_for(state="hidden")
    page.keyboard.press("p")
    pinned = page.get_by_test_id("pins").locator("tbody tr")
    pinned.wait_for()
    assert pinned.locator("td b").all_text_contents()[1] == "#2"
    page.keyboard.press("s")
    page.locator(".wbx-selected").first.wait_for()
    assert page.locator(".jp-Notebook .jp-Cell").count() == len(CELLS), "no key reached the notebook"
    page.get_by_test_id("layout").click()
    assert trouble == []


def test_the_run_that_arrows_refer_to_is_switched_and_a_run_is_hidden(
    opened: tuple[Any, Lab, list[str]],
) -> None:
    page, _, trouble = opened
    columns = page.locator(".wbx-column")
    page.get_by_test_id("base").select_option("1")
    assert columns.evaluate_all("all => all.map(one => one.dataset.run)") == ["1", "0"]
    assert page.get_by_test_id("column-1").locator(".wbx-arrow").count() == 0
    page.get_by_test_id("run-0").uncheck()
    assert columns.count() == 1
    page.get_by_test_id("run-0").check()
    page.get_by_test_id("base").select_option("0")
    assert columns.locator("h3 .wbx-words").all_text_contents() == ["<b>first</b>", "second"]
    assert trouble == []


def test_tags_and_notes_are_below_the_names_of_runs_and_a_tag_shows_its_runs_alone(
    opened: tuple[Any, Lab, list[str]],
) -> None:
    page, _, trouble = opened
    runs = page.get_by_test_id("runs")
    assert runs.locator("small").all_text_contents() == ["#thesis <b>table 2</b>"]
    only, columns = (
        page.get_by_test_id("tags").get_by_role("button", name="#thesis"),
        page.locator(".wbx-column"),
    )
    only.click()
    assert columns.locator("h3 .wbx-words").all_text_contents() == ["second"]
    assert not page.get_by_test_id("run-0").is_checked()
    only.click()
    assert columns.count() == 2
    page.get_by_test_id("base").select_option("0")
    assert trouble == []


def test_both_sliders_move(opened: tuple[Any, Lab, list[str]]) -> None:
    page, _, trouble = opened
    page.locator("details[data-testid=filters] > summary").click()
    page.get_by_test_id("low").fill("0.95")
    page.get_by_test_id("status").get_by_text("that pass the filters").wait_for()
    page.get_by_test_id("clear").click()
    page.get_by_test_id("status").get_by_text("6 of 40 images").wait_for()
    page.locator("details[data-testid=way] > summary").click()
    page.get_by_test_id("walk").wait_for()
    page.get_by_test_id("walk").focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    page.get_by_test_id("status").get_by_text("cosine").wait_for()
    assert page.get_by_test_id("walk-said").text_content() == "50 %"
    page.locator("details[data-testid=way] > summary").click()
    page.get_by_test_id("status").get_by_text("score of the objective").wait_for()
    assert trouble == []


def test_the_scene_graph_is_edited(opened: tuple[Any, Lab, list[str]]) -> None:
    page, _, trouble = opened
    _ask(page, "a red bus next to a small tree")
    page.locator("details[data-testid=graph] > summary").click()
    page.get_by_test_id("drop-attributes-0").click()
    edited = page.get_by_test_id("edit-edited")
    edited.get_by_text("without red bus").wait_for()
    page.get_by_test_id("swap-objects-1").fill("house")
    page.keyboard.press("Enter")
    edited.get_by_text("tree → house").wait_for()
    assert edited.last.locator("td").first.text_content() == "a bus next to a small house"
    page.get_by_test_id("undo").click()
    edited.get_by_text("tree → house").wait_for(state="detached")
    page.locator("details[data-testid=graph] > summary").click()
    assert trouble == []


def test_words_are_taken_away_and_an_image_is_added(opened: tuple[Any, Lab, list[str]]) -> None:
    page, _, trouble = opened
    page.get_by_test_id("card").first.click()
    page.get_by_test_id("plus-image").click()
    page.get_by_test_id("minus").fill("red")
    page.get_by_test_id("status").get_by_text("cosine").wait_for()
    assert page.get_by_test_id("chip").count() == 1
    page.get_by_test_id("chip").get_by_role("button").last.click()
    page.get_by_test_id("minus").fill("")
    page.get_by_test_id("close").click()
    page.get_by_test_id("status").get_by_text("score of the objective").wait_for()
    assert trouble == []


def test_answers_are_exported(opened: tuple[Any, Lab, list[str]]) -> None:
    page, lab, trouble = opened
    page.get_by_test_id("path").fill("answers.csv")
    page.get_by_test_id("export").click()
    page.get_by_test_id("status").get_by_text("Written: answers.csv").wait_for()
    table = pd.read_csv(lab.folder / "answers.csv")
    assert set(table["run"]) == {"<b>first</b>", "second"}
    page.get_by_test_id("path").fill("answers.txt")
    page.get_by_test_id("export").click()
    page.get_by_test_id("error").get_by_text("must end with").wait_for()
    assert trouble == []


def test_captions_that_try_to_run_are_shown_as_text(opened: tuple[Any, Lab, list[str]]) -> None:
    page, lab, trouble = opened
    if page.get_by_test_id("filter-text").is_hidden():
        page.locator("details[data-testid=filters] > summary").click()
    page.get_by_test_id("filter-text").fill("window.owned")
    page.get_by_test_id("status").get_by_text("of the 1 that pass the filters").wait_for()
    page.get_by_test_id("card").first.click()
    said = page.get_by_test_id("inspector").locator("li .wbx-words").all_text_contents()
    assert sorted(said) == sorted(HOSTILE)
    assert page.evaluate("window.owned") is None
    assert page.get_by_test_id("explorer").evaluate("root => root.scrollWidth <= root.clientWidth"), (
        "a long word bursts the page"
    )
    explorer = page.get_by_test_id("explorer")
    for _ in in_themes(page, explorer, lab.folder / "explorer"):
        assert explorer.is_visible()
    assert trouble == []
