"""The explorer by itself in a real browser: what stays on top, how much is shown, where runs disagree, and
what a busy or dead kernel looks like."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import scene_world as scenes

from tests.browser.alone import Alone
from tests.browser.conftest import trouble_on
from tests.views.explorer.toys import toy_space
from workbench.views.explorer import Explorer

pytestmark = [pytest.mark.browser]
IMAGES = 60


@pytest.fixture(scope="module")
def explorer() -> Explorer:
    """Two runs; the first caption of the first image is asked."""
    split = scenes.load("test", size=IMAGES, image_size=64)
    return Explorer([toy_space(split, "one", 0), toy_space(split, "two", 1)], k=5)


@pytest.fixture
def alone(browser: Any, explorer: Explorer) -> Iterator[Alone]:
    """The explorer in a page, with its first answer."""
    explorer.selected_idx, explorer.saved, explorer.answer = [], [], None
    found = Alone(browser, explorer)
    found.settle()
    yield found
    found.close()


def ranks(page: Any, run: int = 0) -> list[int]:
    texts = page.get_by_test_id(f"column-{run}").locator(".wbx-top b").all_text_contents()
    return [int(text.removeprefix("#")) for text in texts]


def top(page: Any, selector: str) -> float:
    return float(page.locator(selector).first.evaluate("one => one.getBoundingClientRect().top"))


def test_results_begin_high_and_the_bar_stays(alone: Alone) -> None:
    page = alone.page
    assert top(page, ".wbx-card") < 150
    page.get_by_test_id("main").evaluate("main => main.scrollTo(0, 300)")
    assert top(page, ".wbx-header") < 5
    assert page.get_by_test_id("query").is_visible()
    assert page.locator(".wbx-card img").first.evaluate("one => one.getBoundingClientRect().width") >= 120
    page.get_by_test_id("size").fill("250")
    assert page.locator(".wbx-card img").first.evaluate("one => one.getBoundingClientRect().width") >= 200
    # images first: what is said of one comes with the pointer, in a line of its own
    assert page.locator(".wbx-grid").count() == 1
    said, tools = page.get_by_test_id("said"), page.locator(".wbx-tools").nth(1)
    shown = "one => getComputedStyle(one).opacity"
    assert (said.inner_text(), tools.evaluate(shown)) == ("", "0")
    page.locator(".wbx-card").nth(1).hover()
    assert said.inner_text().startswith("#2, ")
    assert tools.evaluate(shown) == "1"
    page.get_by_test_id("layout").click()
    assert page.locator(".wbx-list").count() == 1
    page.get_by_test_id("side").click()
    assert page.get_by_test_id("filters").is_hidden()


def test_a_new_sentence_replaces_what_was_asked_and_words_are_added_where_it_says_so(alone: Alone) -> None:
    page = alone.page
    chips = page.get_by_test_id("chip")
    page.get_by_test_id("query").fill("")
    page.locator(".wbx-card").first.click()
    page.get_by_test_id("plus-image").click()
    alone.settle()
    page.get_by_test_id("plus").fill("at night")
    alone.settle()
    assert chips.count() == 1
    page.get_by_test_id("query").fill("a dog")
    alone.settle()
    assert chips.count() == 0
    asked = alone.explorer.answer.query.label
    assert "a dog" in asked
    assert "at night" in asked


def test_at_a_narrow_width_nothing_overruns_and_panels_lie_below(alone: Alone) -> None:
    page = alone.page
    page.set_viewport_size({"width": 620, "height": 900})
    page.locator(".wbx-narrow").wait_for()
    assert page.get_by_test_id("filters").is_hidden()
    page.get_by_test_id("side").click()
    page.get_by_test_id("unfold").click()
    assert page.get_by_test_id("minus").is_visible()
    assert top(page, ".wbx-side") > top(page, ".wbx-main-part")
    wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.className)"
    assert (
        page.locator(".wbx, .wbx-header, .wbx-bar, .wbx-main-part, .wbx-column, .wbx-side").evaluate_all(wide)
        == []
    )
    ends = page.locator(".wbx-column").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().right)"
    )
    assert max(ends) <= 620


def test_scrolling_and_keys_fetch_more_up_to_the_whole_gallery(alone: Alone, explorer: Explorer) -> None:
    page = alone.page
    assert ranks(page) == [1, 2, 3, 4, 5]
    last = page.get_by_test_id("column-0").get_by_test_id("card").last
    last.focus()
    page.keyboard.press("ArrowDown")
    alone.settle()
    assert ranks(page) == list(range(1, 30))
    assert page.evaluate("document.activeElement.querySelector('b').textContent") == "#6"
    page.get_by_test_id("main").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    alone.settle()
    page.get_by_test_id("main").evaluate("main => main.scrollTo(0, main.scrollHeight)")
    alone.settle()
    assert ranks(page) == ranks(page, 1) == list(range(1, IMAGES + 1))
    assert page.get_by_test_id("more").is_hidden()
    assert len(explorer.answer.columns[0]) == IMAGES, "what is exported is what is seen"
    page.get_by_test_id("card").first.focus()
    page.keyboard.press("p")
    alone.settle()
    assert len(ranks(page)) == IMAGES, "a pin takes nothing away"
    page.get_by_test_id("k").fill("3")
    page.get_by_test_id("query").fill("a red bus")
    alone.settle()
    assert ranks(page) == [1, 2, 3]


def test_enter_asks_for_a_number_of_answers_at_once(alone: Alone) -> None:
    # JupyterLab stops the key before the field could tell of a change, so that the field itself must hear it
    k = alone.page.get_by_test_id("k")
    k.evaluate("one => one.addEventListener('keydown', event => event.preventDefault(), true)")
    k.fill("9")
    k.press("Enter")
    alone.settle()
    assert ranks(alone.page) == list(range(1, 10))
    assert k.evaluate("one => one === document.activeElement")


def test_every_column_says_where_the_own_and_the_pinned_image_stand(alone: Alone, explorer: Explorer) -> None:
    page, split = alone.page, explorer.engine.split
    scores = [answerer.run.scores for answerer in explorer.engine.answerers]
    row = max(
        range(len(split.captions)), key=lambda row: (scores[0][:, row] > scores[0][split.own[row], row]).sum()
    )
    row = explorer.engine.gallery.row_by_caption[split.captions[row]]
    page.get_by_test_id("query").fill(split.captions[row])
    alone.settle()
    own = [1 + int((one[:, row] > one[split.own[row], row]).sum()) for one in scores]
    assert own[0] > 5, "it is not among those shown"
    said = [page.get_by_test_id(f"column-{run}").get_by_test_id("own-rank").inner_text() for run in (0, 1)]
    assert [int(text.split("#")[1]) for text in said] == own
    page.get_by_test_id("column-1").get_by_test_id("card").nth(4).focus()
    page.keyboard.press("p")
    alone.settle()
    assert page.get_by_test_id("column-1").get_by_test_id("pin-rank").inner_text() == "pin 1 #5"
    page.get_by_test_id("column-0").get_by_test_id("own-rank").click()
    alone.settle()
    assert (
        page.get_by_test_id("inspector").locator("h3 .wbx-words").inner_text()
        == split.image_ids[split.own[row]]
    )


@pytest.mark.parametrize("by", ["rank", "grade"])
def test_the_next_disagreement_is_one_key_away(alone: Alone, explorer: Explorer, by: str) -> None:
    page, found = alone.page, explorer.engine.disagreements(by)
    page.get_by_test_id("view-differ").click()
    page.get_by_test_id("differ-by").select_option(by)
    alone.settle()
    assert page.get_by_test_id("differs").count() == len(found)
    page.get_by_test_id("view-gallery").click()
    page.get_by_test_id("card").first.focus()
    for key, number in (("n", 0), ("n", 1), ("N", 0)):
        page.keyboard.press(key)
        alone.settle()
        assert page.get_by_test_id("disagreement").inner_text() == f"{number + 1} of {len(found)}"
        asked = page.get_by_test_id("query").input_value() or page.get_by_test_id("chip").inner_text()
        assert found[number]["text"] in asked
        own = page.get_by_test_id("own-rank").all_inner_texts()
        assert [int(text.split("#")[1]) for text in own] == list(found[number]["ranks"])
    page.get_by_test_id("next-differs").click()
    alone.settle()
    assert page.get_by_test_id("disagreement").inner_text() == f"2 of {len(found)}"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_busy_kernel_and_a_dead_one_do_not_look_like_a_live_answer(
    alone: Alone, axe: str, scheme: str
) -> None:
    alone.page.emulate_media(color_scheme=scheme)
    page, root, strip = alone.page, alone.page.get_by_test_id("explorer"), alone.page.get_by_test_id("kernel")
    assert (strip.inner_text(), root.get_attribute("aria-busy")) == ("kernel ready", None)
    page.get_by_test_id("query").fill("a green tree")
    page.evaluate("window.kernel.status = 'busy'")
    strip.get_by_text("kernel busy for 2 s").wait_for()
    assert root.get_attribute("aria-busy") == "true"
    assert page.locator(".wbx-stale").count() == 1
    assert trouble_on(page, axe, ["main"]) == []
    page.evaluate("window.kernel.status = 'idle'")
    alone.settle()
    assert (root.get_attribute("aria-busy"), page.locator(".wbx-stale").count()) == (None, 0)
    page.evaluate("window.kernel.status = 'dead'")
    strip.get_by_text("kernel gone: rerun the cell").wait_for()
    page.get_by_test_id("query").fill("a green house")
    page.wait_for_timeout(500)
    assert root.get_attribute("aria-busy") is None
    assert page.locator(".wbx-stale").count() == 1
    assert trouble_on(page, axe, ["main"]) == []


def test_a_kernel_that_was_restarted_is_gone_for_this_widget(alone: Alone) -> None:
    alone.page.evaluate("window.model.trigger('comm_live_update')")
    alone.page.get_by_test_id("kernel").get_by_text("kernel gone").wait_for()
    assert "Run the cell again" in alone.page.get_by_test_id("error").inner_text()


def test_words_without_a_meaning_are_named_under_the_question(alone: Alone) -> None:
    page = alone.page
    page.get_by_test_id("query").fill("a red unicorn")
    alone.settle()
    assert "no word for: “unicorn”" in page.get_by_test_id("truth").inner_text()
    assert top(page, ".wbx-truth") < top(page, ".wbx-column")


def test_the_gallery_shows_what_is_selected_elsewhere(alone: Alone) -> None:
    page = alone.page
    page.evaluate("window.model.set('selected_idx', [7, 9])")
    page.get_by_test_id("only-selected").check()
    alone.settle()
    rows = page.get_by_test_id("column-0").locator(".wbx-item")
    assert sorted(rows.evaluate_all("all => all.map(one => Number(one.dataset.row))")) == [7, 9]
    page.evaluate("window.model.set('selected_idx', [3])")
    alone.settle()
    assert rows.evaluate_all("all => all.map(one => Number(one.dataset.row))") == [3]


def test_questions_are_saved_found_again_and_carried_in_one_file(
    alone: Alone, explorer: Explorer, tmp_path: Path
) -> None:
    page, query = alone.page, alone.page.get_by_test_id("query")
    page.locator("details[data-testid=questions] > summary").click()
    query.fill("a red bus")
    page.get_by_test_id("k").fill("7")
    alone.settle()
    page.get_by_test_id("save-name").fill("buses")
    page.get_by_test_id("save-tags").fill("colour, vehicles")
    page.get_by_test_id("save").click()
    query.fill("a green tree")
    page.get_by_test_id("k").fill("4")
    alone.settle()
    asked = page.get_by_test_id("history").locator("li")
    assert asked.all_inner_texts()[:2] == ["a green tree", "a red bus"]
    page.evaluate("window.clock = performance.now(); performance.now = () => window.clock")
    query.press("End")
    for key in " by a bus":
        query.press(key)
        alone.settle()  # every key is a question here
    assert asked.all_inner_texts()[:2] == ["a green tree by a bus", "a red bus"]
    page.evaluate("window.clock += 2100")
    query.fill("a green tree")
    alone.settle()
    assert asked.all_inner_texts()[:3] == ["a green tree", "a green tree by a bus", "a red bus"]
    with page.expect_download() as download:
        page.get_by_test_id("export-questions").click()
    download.value.save_as(tmp_path / "questions.json")
    page.get_by_role("button", name="forget buses").click()
    assert page.get_by_test_id("saved").locator("li").count() == 0
    page.get_by_test_id("load-questions").set_input_files(tmp_path / "questions.json")
    saved = page.get_by_test_id("saved").locator("li")
    saved.wait_for()
    assert saved.locator(".wbx-tag").all_inner_texts() == ["colour", "vehicles"]
    page.get_by_test_id("save-find").fill("vehic")
    saved.get_by_role("button").first.focus()
    page.keyboard.press("Enter")
    alone.settle()
    assert (query.input_value(), ranks(page)) == ("a red bus", list(range(1, 8)))
    explorer.saved = page.evaluate("window.model.get('saved')")
    (question,) = explorer.questions("vehicles")
    assert (question.words, question.k) == ("a red bus", 7)
    (tmp_path / "other.json").write_text(json.dumps({"format": "another"}))
    page.get_by_test_id("load-questions").set_input_files(tmp_path / "other.json")
    page.get_by_test_id("error").get_by_text("no file of questions").wait_for()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_state_has_a_serious_violation(browser: Any, explorer: Explorer, axe: str, scheme: str) -> None:
    explorer.selected_idx = []
    found = Alone(browser, explorer, color_scheme=scheme)
    found.settle()
    page = found.page
    page.get_by_test_id("card").first.focus()
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    for panel in ("filters", "graph", "way", "words", "questions"):
        page.locator(f"details[data-testid={panel}] > summary").click()
        found.settle()
        assert trouble_on(page, axe, ["main"]) == [], panel
    for view in ("differ", "pins"):
        page.get_by_test_id(f"view-{view}").click()
        found.settle()
        assert trouble_on(page, axe, ["main"]) == [], view
    page.set_viewport_size({"width": 620, "height": 900})
    page.get_by_test_id("view-gallery").click()
    assert trouble_on(page, axe, ["main"]) == []
    found.close()


def tab_to(page: Any, selector: str, *keys: str) -> None:
    """Reach the next such element by the key Tab alone, and press keys there."""
    for _ in range(150):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            break
    else:
        raise AssertionError(f"Tab never reaches {selector}")
    for key in keys:
        page.keyboard.press(key)


def test_every_view_and_link_works_by_keyboard_alone_narrow_and_dark(
    browser: Any, explorer: Explorer, axe: str
) -> None:
    explorer.selected_idx, explorer.saved = [], []
    alone = Alone(browser, explorer, width=620, color_scheme="dark")
    alone.settle()
    page, found, at = alone.page, explorer.engine.disagreements("rank"), alone.page.get_by_test_id

    def press(selector: str, *keys: str, look: bool = False) -> None:
        tab_to(page, selector if "[" in selector else f"[data-testid={selector}]", *keys)
        alone.settle()
        assert not look or trouble_on(page, axe, ["main"]) == []

    press("view-differ", "Enter", look=True)
    press("differs", "Enter")
    assert (at("disagreement").inner_text(), at("columns").is_visible()) == (f"1 of {len(found)}", True)
    press("next-differs", "Enter")
    press("last-differs", "Space")
    assert at("disagreement").inner_text() == f"1 of {len(found)}"
    press("own-rank", "Enter", look=True)
    assert at("inspector").is_visible()
    page.keyboard.press("Escape")
    press("k", "Control+a", "7", "Enter")
    assert ranks(page) == list(range(1, 8))
    # leaving the field does not ask a second time, which would let the next key fall into a busy page
    page.keyboard.press("Tab")
    assert page.evaluate("window.sent.length") == 0
    press("more", "Enter")
    assert len(ranks(page)) == 31
    press("size", "ArrowRight")
    assert "160px" in at("explorer").get_attribute("style")
    press("layout", "Enter", look=True)
    assert page.locator(".wbx-list").count() == 1
    press("card", "p", "s")
    press("view-pins", "Space", look=True)
    assert at("pins").locator("tbody tr").count() == 1
    press("[data-testid=pins] td button", "Enter")
    assert at("pins").locator("tbody tr").count() == 0
    press("view-gallery", "Enter")
    press("only-selected", "Space")
    assert page.locator(".wbx-column:first-child .wbx-item:only-child").count() == 1
    press("only-selected", "Space")
    press("side", "Enter")
    press("base", "ArrowDown")
    press("run-0", "Space")
    assert page.locator(".wbx-column").evaluate_all("all => all.map(one => one.dataset.run)") == ["1"]
    press("[data-testid=questions] summary", "Enter")
    press("save-name", "m", "i", "n", "e")
    press("save-tags", "b", "u", "s")
    press("save", "Enter", look=True)
    press("query", "Control+a", *"a red bus")
    # what is asked on the way to the whole sentence is no question of its own
    assert at("history").locator("li").all_inner_texts()[:2] == ["a red bus", found[0]["text"]]
    press("[data-testid=history] li:nth-child(2) button", "Enter")
    assert at("query").input_value() == found[0]["text"]
    press("[data-testid=saved] .wbx-link", "Enter")
    assert (at("k").input_value(), ranks(page, 1)[:7]) == ("7", list(range(1, 8)))
    alone.close()


def test_panels_work_by_keyboard_alone(browser: Any, explorer: Explorer, axe: str) -> None:
    explorer.selected_idx, explorer.saved = [], []
    alone = Alone(browser, explorer, color_scheme="dark")
    alone.settle()
    page, at = alone.page, alone.page.get_by_test_id

    def press(selector: str, *keys: str) -> None:
        tab_to(page, selector if "[" in selector else f"[data-testid={selector}]", *keys)
        alone.settle()

    press("query", "Control+a", *"a small red bus")
    press("[data-testid=filters] summary", "Enter")
    press("filter-text", *"zebra")
    shown = page.locator(".wbx-column:first-child .wbx-item").count()
    press("clear", "Enter")
    assert page.locator(".wbx-column:first-child .wbx-item").count() > shown
    press("low", "ArrowRight", "ArrowRight")
    assert at("filters").locator("output").inner_text() == "0.02 to 1.00"
    press("clear", "Space")
    press("[data-kind=mark]", "Space")
    assert at("filters").locator("[data-kind=mark]:checked").count() == 1
    press("clear", "Enter")
    assert trouble_on(page, axe, ["main"]) == []

    press("[data-testid=graph] summary", "Enter")
    press("swap-attributes-0", "Control+a", *"blue", "Enter")
    assert "blue" in at("edit-edited").inner_text()
    press("undo", "Enter")
    assert at("edit-edited").count() == 0
    press("drop-attributes-0", "Enter")
    press("reset", "Space")
    assert at("reset").is_disabled()
    assert trouble_on(page, axe, ["main"]) == []

    press("[data-testid=way] summary", "Enter")
    press("walk", "ArrowRight", "ArrowRight", "ArrowRight")
    assert at("walk-said").inner_text() == "30 %"
    press("[data-walk] button", "Enter")
    assert at("walk-said").inner_text() == "0 %"
    press("[data-testid=words] summary", "Enter")
    assert at("words").locator("tbody tr").count() == 4
    assert trouble_on(page, axe, ["main"]) == []
    alone.close()


def test_what_has_a_key_has_a_button(alone: Alone, explorer: Explorer) -> None:
    page, at, column = alone.page, alone.page.get_by_test_id, alone.page.get_by_test_id("column-0")
    column.locator(".wbx-item").nth(1).hover()
    column.get_by_test_id("pin").nth(1).click()
    column.get_by_test_id("select").nth(2).click()
    alone.settle()
    at("more").click()
    alone.settle()
    assert (len(ranks(page)), page.locator(".wbx-selected").count()) == (29, 2), "in both columns"
    at("only-selected").click()
    alone.settle()
    assert column.locator(".wbx-item").count() == 1
    at("only-selected").click()
    at("view-pins").click()
    at("pins").get_by_role("button", name="unpin").click()
    alone.settle()
    assert "Nothing is pinned" in at("pins").inner_text()
    at("view-differ").click()
    alone.settle()
    at("differs").nth(2).click()
    alone.settle()
    assert at("disagreement").inner_text().startswith("3 of ")
    assert column.is_visible()
    box = at("size").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 3, box["y"] + box["height"] / 2)
    assert "340px" in at("explorer").get_attribute("style")
    page.locator("details[data-testid=questions] > summary").click()
    at("history").get_by_role("button").nth(1).click()
    alone.settle()
    assert at("query").input_value() == explorer.config["start"]
    column.get_by_test_id("card").first.click()
    at("close").click()
    assert at("inspector").is_hidden()


def test_one_run_has_no_disagreements_to_offer(browser: Any, explorer: Explorer) -> None:
    split = replace(explorer.engine.split)
    found = Alone(browser, Explorer([toy_space(split, "alone")], k=4))
    found.settle()
    assert found.page.get_by_test_id("next-differs").count() == 0
    assert found.page.locator(".wbx-grid").count() == 1
    found.close()
