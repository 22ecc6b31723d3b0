"""The leaderboard in a browser: sorted by any column, by mouse and by keyboard, and searched by words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import trouble_on
from tests.views.test_leaderboard import family, make
from workbench.io import write_json
from workbench.runs import store as runs
from workbench.views.pages import leaderboard

pytestmark = pytest.mark.browser


@pytest.fixture
def board(browser: Any, tmp_path: Path) -> Any:
    """The page of three runs, the last without an RSUM."""
    for name, rsum, seed, lr in (("aaaa0000", 2.0, 10, 0.1), ("bbbb0000", 3.0, 9, 0.2)):
        folder = make(tmp_path, name, rsum, seed=seed)
        write_json(folder / runs.PARAMS, {"epochs": 1, "train_images": 100, "lr": lr})
    make(tmp_path, "cccc0000", 0.0, metrics={"t2i/R@1": 0.25}, seed=8, objective="vsepp")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(leaderboard.build(tmp_path).html.as_uri())
    yield page
    page.close()


def ids(page: Any) -> list[str]:
    """The first letter of every run that is shown, in order."""
    rows = page.locator("tbody tr:visible td:nth-child(2)").all_inner_texts()
    return [text.rpartition("-")[2].strip()[0] for text in rows]


def test_a_column_sorts_by_value_and_what_has_none_stays_last(board: Any) -> None:
    assert ids(board) == ["b", "a", "c"]
    rsum = board.get_by_role("columnheader", name="rsum")
    rsum.get_by_role("button").click()
    assert (ids(board), rsum.get_attribute("aria-sort")) == (["b", "a", "c"], "descending")
    rsum.get_by_role("button").click()
    assert (ids(board), rsum.get_attribute("aria-sort")) == (["a", "b", "c"], "ascending")
    board.get_by_role("columnheader", name="seed").get_by_role("button").focus()
    board.keyboard.press("Enter")
    # as numbers: 10 is more than 9
    assert ids(board) == ["a", "b", "c"]
    assert rsum.get_attribute("aria-sort") is None


def test_words_leave_the_runs_that_have_all_of_them(board: Any) -> None:
    board.get_by_label("Show runs with the words").fill("vsepp")
    assert (ids(board), board.get_by_role("status").inner_text()) == (["c"], "1 of 3 runs")
    board.get_by_label("Show runs with the words").fill("")
    assert (ids(board), board.get_by_role("status").inner_text()) == (["b", "a", "c"], "")


def test_the_page_has_no_violation_of_accessibility(board: Any, axe: str) -> None:
    board.get_by_role("columnheader", name="rsum").get_by_role("button").click()
    assert trouble_on(board, axe, ["html"]) == []


@pytest.fixture
def seeds(browser: Any, tmp_path: Path) -> Any:
    """The page of three seeds of one configuration and a run of another."""
    family(tmp_path, (1.0, 2.0, 3.0))
    make(tmp_path, "bbbb0000", 2.5, objective="vsepp")
    page = browser.new_page(viewport={"width": 1280, "height": 1000})
    page.goto(leaderboard.build(tmp_path).html.as_uri())
    yield page
    page.close()


def test_seeds_are_opened_sorted_with_their_mean_and_found_by_words(seeds: Any) -> None:
    assert ids(seeds) == ["b", "3"]
    seeds.get_by_role("button", name="3 seeds").focus()
    seeds.keyboard.press("Enter")
    assert ids(seeds) == ["b", "3", "a", "a", "a"]
    rsum = seeds.get_by_role("columnheader", name="rsum").get_by_role("button")
    rsum.click()
    rsum.click()
    assert ids(seeds) == ["3", "a", "a", "a", "b"], "the seeds go with their mean"
    seeds.get_by_label("Show runs with the words").fill("aaaa0001")
    assert (ids(seeds), seeds.locator("p:has(input) [role=status]").inner_text()) == (
        ["3", "a"],
        "1 of 4 runs",
    )


def test_chosen_runs_show_curves_and_two_their_difference(seeds: Any, axe: str) -> None:
    box = seeds.get_by_role("region", name="Chosen runs")
    seeds.get_by_role("checkbox", name="choose 3 seeds").focus()
    seeds.keyboard.press("Space")
    assert box.locator("polyline").count() == 3
    assert box.locator("li").count() == 3
    assert "3 chosen" in box.inner_text()
    assert box.locator("table").count() == 0
    seeds.get_by_role("button", name="3 seeds").click()
    seeds.get_by_role("checkbox", name="aaaa0002").uncheck()
    assert box.locator("caption").inner_text().split()[0].endswith("aaaa0000")
    rows = box.locator("tbody tr").all_inner_texts()
    assert any(row.startswith("t2i/R@1") and "-25.0" in row for row in rows)
    assert "workbench explore" in box.locator("code").inner_text()
    box.get_by_label("Curve of").select_option("loss")
    assert "loss" in box.locator("svg text").last.text_content()
    assert trouble_on(seeds, axe, ["html"]) == []
    seeds.get_by_role("checkbox", name="bbbb0000").check()
    seeds.get_by_role("checkbox", name="aaaa0001").uncheck()
    # the run keeps no values by query
    assert (box.locator("caption").count(), "workbench diff" in box.inner_text()) == (0, True)
    seeds.set_viewport_size({"width": 420, "height": 900})
    assert seeds.evaluate("document.documentElement.scrollWidth <= innerWidth")
