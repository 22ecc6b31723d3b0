"""The leaderboard in a browser: sorted by any column, by mouse and by keyboard, and searched by words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import trouble_on
from tests.views.test_leaderboard import answered, make
from workbench.io import write_json
from workbench.runs import store as runs
from workbench.views.pages import leaderboard

pytestmark = pytest.mark.browser


@pytest.fixture
def board(browser: Any, tmp_path: Path) -> Any:
    """The page of three runs, the last without an RSUM."""
    for name, rsum, seed, lr, hits in (("aaaa0000", 2.0, 10, 0.1, 0.0), ("bbbb0000", 3.0, 9, 0.2, 1.0)):
        folder = answered(make(tmp_path, name, rsum, seed=seed), hits)
        write_json(folder / runs.PARAMS, {"epochs": 1, "train_images": 100, "lr": lr})
    make(tmp_path, "cccc0000", 0.0, metrics={"t2i/R@1": 0.25}, seed=8, objective="vsepp")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(leaderboard.build(tmp_path).html.as_uri())
    yield page
    page.close()


def ids(page: Any) -> list[str]:
    """The first letter of every run that is shown, in order."""
    rows = page.locator("tbody tr:visible th").all_inner_texts()
    return [text.split()[0].rpartition("-")[2][0] for text in rows]


def test_a_column_sorts_by_value_by_mouse_and_keyboard(board: Any) -> None:
    assert ids(board) == ["b", "a", "c"]
    rsum = board.get_by_role("columnheader", name="rsum")
    orders = {}
    for _ in range(2):
        rsum.click()
        board.wait_for_timeout(200)
        orders[rsum.get_attribute("aria-sort")] = ids(board)
    assert orders == {"ascending": ["c", "a", "b"], "descending": ["b", "a", "c"]}
    board.get_by_role("columnheader", name="seed").get_by_role("button").focus()
    board.keyboard.press("Enter")
    board.wait_for_timeout(200)
    # as numbers: 10 is more than 9
    assert ids(board) == ["c", "b", "a"]


def test_a_mark_means_the_same_in_every_order(board: Any) -> None:
    def notes() -> dict[str, list[str]]:
        rows = board.locator("tbody tr:visible")
        return {
            row.locator("th").inner_text().split()[0]: row.locator("small").all_inner_texts()
            for row in rows.all()
        }

    before = notes()
    assert before["20260101-000000-bbbb0000"] == ["reference"]
    assert before["20260101-000000-aaaa0000"] == ["▼ worse than the reference"]
    board.get_by_role("columnheader", name="rsum").click()
    board.wait_for_timeout(200)
    assert ids(board)[0] == "c"
    assert notes() == before


def test_words_leave_the_runs_that_have_all_of_them(board: Any) -> None:
    board.get_by_label("Show rows with the words").fill("vsepp")
    assert ids(board) == ["c"]
    board.get_by_label("Show rows with the words").fill("")
    assert ids(board) == ["b", "a", "c"]


def test_the_page_has_no_violation_of_accessibility(board: Any, axe: str) -> None:
    board.get_by_role("columnheader", name="rsum").click()
    assert trouble_on(board, axe, ["html"]) == []
