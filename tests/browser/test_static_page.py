"""The static page in a real browser, offline: its parts are linked, it works from the keyboard, and no string
of it runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.views.explorer.toy_answers import HOSTILE, answer, hostile
from workbench.views.explorer import static

pytestmark = [pytest.mark.browser]
QUESTION, COLUMNS = "[data-testid=static-question]", "[data-testid=static-columns] .wbt-column"


class Opened:
    """A page, and everything that went wrong on it."""

    def __init__(self, browser: Any, path: Path, **options: Any) -> None:
        self.context = browser.new_context(offline=True, viewport={"width": 1100, "height": 1300}, **options)
        self.page, self.trouble = self.context.new_page(), list[str]()
        self.page.on("request", lambda r: self.trouble.append(r.url) if r.url.startswith("http") else None)
        self.page.on("requestfailed", lambda r: self.trouble.append(r.url))
        self.page.on("pageerror", lambda error: self.trouble.append(str(error)))
        self.page.on(
            "console", lambda message: self.trouble.append(message.text) if message.type == "error" else None
        )
        self.page.on("dialog", lambda dialog: self.trouble.append(dialog.message))
        self.page.goto(path.as_uri())


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    """Two questions to two runs."""
    path = static.write(
        tmp_path / "static.html", [answer("a red dog on the grass"), answer("a dog", (2, 1, 5))]
    )
    found = Opened(browser, path)
    yield found
    assert found.trouble == []
    found.context.close()


def test_a_question_is_chosen_and_every_run_answers_it(opened: Opened) -> None:
    page = opened.page
    assert page.locator(COLUMNS).count() == 2
    assert page.locator(f"{COLUMNS} strong").all_inner_texts() == ["#1", "#2", "#3", "#1", "#2", "#3"]
    assert page.locator(".wbt-up, .wbt-down").first.inner_text() == "▲2"
    page.select_option(QUESTION, "1")
    assert page.locator("h3").first.inner_text() == "a dog"
    assert page.locator(f"{COLUMNS} >> nth=1 >> .wbt-caption").first.inner_text() == "caption of image 5"
    assert page.locator("img").evaluate_all("images => images.every(image => image.naturalWidth > 0)")
    assert page.locator("[data-testid=static-next]").is_disabled()


def test_a_pinned_item_shows_its_rank_in_every_run_and_in_the_next_question(opened: Opened) -> None:
    page = opened.page
    page.locator("[data-row='2']").first.click()
    pins = page.locator("[data-testid=static-pins] tbody tr")
    assert page.locator("[data-row='2'][aria-pressed=true]").count() == 2
    assert ("#3 (0.900)" in pins.inner_text(), "#1 (0.800)" in pins.inner_text()) == (True, True)
    page.locator("[data-testid=static-next]").click()
    assert "#1 (0.900)" in pins.inner_text()
    page.get_by_role("button", name="unpin", exact=True).click()
    assert pins.count() == 0


def test_the_address_keeps_question_and_pins_and_columns_say_the_own_rank(
    browser: Any, tmp_path: Path
) -> None:
    asked = answer("a dog", (2, 1, 5))
    far = replace(asked.items[0], row=40, mark="own", ranks=(17, 31))
    path = static.write(tmp_path / "static.html", [answer("a red dog"), replace(asked, partners=(far,))])
    found = Opened(browser, path)
    page = found.page
    page.locator("[data-testid=static-next]").click()
    page.locator("[data-row='5']").first.click()
    assert page.locator("[data-testid=static-own]").all_inner_texts() == ["● own #17", "● own #31"]
    page.goto(page.url)
    page.reload()
    assert page.locator("h3").first.inner_text() == "a dog"
    assert page.locator("[data-row='5'][aria-pressed=true]").count() == 2
    assert found.trouble == []
    found.context.close()


def test_the_walk_and_the_edits_are_read_beside_the_answer(opened: Opened) -> None:
    page = opened.page
    assert "step 0" in page.locator("[data-testid=static-way]").inner_text()
    page.locator("[data-testid=static-walk]").focus()
    page.keyboard.press("End")
    assert "step 1" in page.locator("[data-testid=static-way]").inner_text()
    assert (
        page.locator("[data-testid=static-walk]").get_attribute("aria-valuetext")
        == "100 % of the way to the root"
    )
    line = page.locator("[data-testid=static-edits] tbody tr").last.inner_text()
    assert "−0.150, 1 down, #2" in line
    assert "+0.100, 2 up, #1" in line
    page.locator("[data-testid=static-watched]").click()
    assert "caption of image 0" in page.locator("[data-testid=static-pins]").inner_text()


def test_everything_is_reached_from_the_keyboard(opened: Opened) -> None:
    page = opened.page
    page.locator(QUESTION).focus()
    page.keyboard.press("ArrowDown")
    assert page.locator("h3").first.inner_text() == "a dog"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.row") == "2"
    for key in ("ArrowDown", "ArrowRight", "ArrowDown", "ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.row") == "2"
    page.keyboard.press("Enter")
    assert page.evaluate("[document.activeElement.dataset.row, document.activeElement.ariaPressed]") == [
        "2",
        "true",
    ]
    assert page.evaluate("document.activeElement.closest('.wbt-column').ariaLabel") == "DITM"
    page.keyboard.press("Enter")
    assert page.locator("[aria-pressed=true]").count() == 0


def test_without_script_the_first_question_is_read(browser: Any, tmp_path: Path) -> None:
    path = static.write(tmp_path / "static.html", [answer("a red dog"), answer("a cat")])
    found = Opened(browser, path, java_script_enabled=False)
    text = found.page.locator("main").inner_text()
    assert "a red dog" in text
    assert text.count("caption of image") == 3
    assert found.page.locator("tbody img:visible").count() == 3
    assert found.trouble == []
    found.context.close()


def test_no_caption_id_or_name_is_executed(browser: Any, tmp_path: Path) -> None:
    found = Opened(browser, static.write(tmp_path / "static.html", hostile(), title=HOSTILE[1]))
    page = found.page
    for number, text in enumerate(HOSTILE):
        page.select_option(QUESTION, str(number))
        page.locator("[data-row='0']").first.click()
        shown = page.locator("h3").first.evaluate("element => element.textContent")
        assert shown == text
        assert (
            page.locator(".wbt :is(script:not(.wbt-data), svg, [onerror], [onload], [onfocus])").count() == 0
        )
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (
            "a long word widens no page"
        )
    assert page.evaluate("window.owned") is None
    assert found.trouble == []
    found.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_both_themes_can_be_read(browser: Any, tmp_path: Path, scheme: str) -> None:
    found = Opened(
        browser, static.write(tmp_path / "static.html", [answer("a red dog")]), color_scheme=scheme
    )
    ink, ground = (
        found.page.locator(".wbt").evaluate(f"one => getComputedStyle(one).{name}")
        for name in ("color", "backgroundColor")
    )
    assert (ink, ground) == {
        "light": ("rgb(31, 31, 31)", "rgb(255, 255, 255)"),
        "dark": ("rgb(232, 232, 232)", "rgb(22, 22, 22)"),
    }[scheme]
    found.page.screenshot(path=tmp_path / f"static-{scheme}.png", full_page=True)
    found.context.close()
