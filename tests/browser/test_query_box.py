"""The box of the question holds what is asked: after slips, edits of the graph and looks at other panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import scene_world as scenes

from tests.browser.alone import Alone
from tests.views.explorer.toys import toy_space
from workbench.views.explorer import Explorer

pytestmark = [pytest.mark.browser]
TYPED = "a red bus next to a small tree"


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    split = scenes.load("test", size=40, image_size=64)
    return Explorer([toy_space(split, "one", 0), toy_space(split, "two", 1)], k=6)


@pytest.fixture
def alone(browser: Any, explorer: Explorer) -> Iterator[Alone]:
    """The explorer with a typed sentence, its graph open."""
    explorer.selected_idx, explorer.saved, explorer.answer = [], [], None
    found = Alone(browser, explorer)
    found.settle()
    found.page.get_by_test_id("query").fill(TYPED)
    toggle(found, "graph")
    yield found
    found.close()


def toggle(alone: Alone, panel: str) -> None:
    alone.page.locator(f"details[data-testid={panel}] > summary").click()
    alone.settle()


def drop(alone: Alone, part: str) -> None:
    alone.page.get_by_test_id(f"drop-{part}").click()
    alone.settle()


def box(alone: Alone) -> str:
    return str(alone.page.get_by_test_id("query").input_value())


def asked(alone: Alone) -> str:
    assert alone.explorer.answer is not None
    return alone.explorer.answer.query.text


def test_after_an_edit_the_box_holds_the_sentence_that_is_asked(alone: Alone) -> None:
    drop(alone, "attributes-0")
    assert box(alone) == asked(alone) == "a bus next to a small tree"
    for panel in ("words", "way", "graph"):
        toggle(alone, panel)
        assert box(alone) == asked(alone) == "a bus next to a small tree", panel
    assert alone.page.get_by_test_id("edit-edited").count() == 1
    alone.page.get_by_test_id("undo").click()
    alone.settle()
    assert box(alone) == asked(alone) == TYPED


def test_what_an_edit_does_is_measured_on_one_item(alone: Alone) -> None:
    assert alone.explorer.answer is not None
    watched = alone.explorer.answer.watched
    remade = alone.page.get_by_test_id("edit-remade").inner_text()
    drop(alone, "attributes-0")
    drop(alone, "objects-1")
    assert alone.explorer.answer.watched == watched
    assert alone.page.get_by_test_id("edit-remade").inner_text() == remade
    assert "before the edits" in alone.page.get_by_test_id("graph").inner_text()


def test_an_edited_sentence_is_added_to_as_it_stands_in_the_box(alone: Alone) -> None:
    drop(alone, "attributes-0")
    alone.page.get_by_test_id("plus").fill("at night")
    alone.settle()
    assert alone.explorer.answer is not None
    assert alone.explorer.answer.query.label == "a bus next to a small tree + at night"
    assert box(alone) == "a bus next to a small tree"
    alone.page.get_by_test_id("plus").fill("")
    alone.settle()
    assert alone.page.get_by_test_id("edit-edited").count() == 1


def test_an_edited_question_is_asked_again_from_the_history_with_its_edits(alone: Alone) -> None:
    drop(alone, "attributes-0")
    alone.page.get_by_test_id("query").fill("a cat")
    alone.settle()
    assert alone.page.get_by_test_id("edit-edited").count() == 0
    alone.page.locator("details[data-testid=questions] > summary").click()
    history = alone.page.get_by_test_id("history")
    history.get_by_role("button", name="a bus next to a small tree").first.click()
    alone.settle()
    assert box(alone) == asked(alone) == "a bus next to a small tree"
    assert alone.page.get_by_test_id("edit-edited").count() == 1


def test_a_slip_is_asked_as_it_is_and_a_near_word_is_taken_by_a_click(alone: Alone) -> None:
    alone.page.get_by_test_id("query").fill("a gren elefant")
    alone.settle()
    near = alone.page.get_by_test_id("near")
    assert box(alone) == asked(alone) == "a gren elefant"
    assert "“elefant”" in near.inner_text()
    near.get_by_role("button", name="elephant?", exact=True).click()
    alone.settle()
    near.get_by_role("button", name="green?", exact=True).click()
    alone.settle()
    assert box(alone) == asked(alone) == "a green elephant"
    assert near.is_hidden()


def test_captions_of_an_image_begin_at_one_and_a_column_says_how_many_are_right(alone: Alone) -> None:
    alone.page.get_by_test_id("card").first.click()
    alone.page.get_by_test_id("ask-image").click()
    alone.settle()
    first = alone.page.locator(".wbx-column .wbx-item:first-child .wbx-top b")
    assert first.all_inner_texts() == ["#1", "#1"]
    right = alone.page.get_by_test_id("right").first
    marks = alone.page.get_by_test_id("column-0").locator(".wbx-is-own, .wbx-is-relevant").count()
    assert right.inner_text() == f"{marks} of 6 right"
    alone.page.get_by_test_id("more").click()
    alone.settle()
    assert " of 30 right" in right.inner_text()


INSIDE = """() => {
  const main = document.querySelector("[data-testid=main]").getBoundingClientRect();
  const all = [...document.querySelectorAll(".wbx-item")].map(one => one.getBoundingClientRect());
  const area = all.reduce((sum, one) => sum + one.width * one.height, 0);
  return [area / (main.width * main.height), all.every(one => one.bottom <= main.bottom)];
}"""
COVERED = """() => [...document.querySelectorAll(".wbx-item")].filter(one => {
  const [photo, tools, top] = ["img", ".wbx-tools", ".wbx-badge"].map(name =>
    one.querySelector(name).getBoundingClientRect());
  return photo.bottom > tools.top + 1 || (top.right > tools.left && top.bottom > tools.top + 1);
}).length"""


def test_six_images_fill_the_pane_and_no_button_covers_what_is_read(alone: Alone) -> None:
    alone.page.locator("details[data-testid=graph] > summary").click()
    alone.settle()
    filled, inside = alone.page.evaluate(INSIDE)
    assert filled > 0.5
    assert inside
    assert alone.page.evaluate(COVERED) == 0
    wide = alone.page.locator(".wbx-card img").first
    ratio = "one => one.naturalWidth / one.naturalHeight - one.clientWidth / one.clientHeight"
    assert abs(wide.evaluate(ratio)) < 0.02
    alone.page.get_by_test_id("main").hover()
    alone.page.mouse.wheel(0, 300)
    alone.settle()
    assert alone.page.get_by_test_id("column-0").get_by_test_id("card").count() > 6
