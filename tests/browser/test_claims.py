"""The page of the papers' claims in a browser: filtered by lists, counts and words, by mouse and keyboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paper_tables import claims, claims_page

from tests.browser.conftest import trouble_on

pytestmark = pytest.mark.browser

RECORDED = [line for line in claims.current(claims.read_ledger()) if line["claim"] != "C1"]
# an answer of arms that were trained for the ledger
STATED = {
    **next(line for line in RECORDED if (line["claim"], line["judge"]) == ("D1", "labels")),
    "claim": "C1",
    "contrast": "CON | HARD",
    "values": {"more": [409.0, 409.5], "less": [400.0, 400.9]},
    "seeds": [0, 1],
    "rates": {},
    "asked": claims.question_hash(claims.find_claim("C1"), "W", claims.find_claim("C1").contrasts[0]),
    "budget": {"data": "scenes", "steps": [936, 936], "images": [2000, 2000], "test_images": 1000},
    "source": {"runs": ["0a", "0b", "1a", "1b"]},
}
LINES = [*RECORDED, STATED]


@pytest.fixture(params=["light", "dark"])
def shown(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page of the ledger as it is."""
    file = tmp_path / "claims.html"
    file.write_text(claims_page.write(LINES), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme=request.param)
    page.goto(file.as_uri())
    yield page
    page.close()


def names(page: Any) -> set[str]:
    """The ids of the claims that are shown."""
    return {text.split()[0] for text in page.locator(".claims tbody tr:visible th").all_inner_texts()}


def ids(judge: str, verdict: str, paper: str = "") -> set[str]:
    """The claims to which a judge gives a verdict."""
    said = [line["claim"] for line in LINES if (line["judge"], line["verdict"]) == (judge, verdict)]
    return {name for name in said if name.startswith(paper)}


def test_rows_are_those_of_the_lists_the_counts_and_the_words(shown: Any, axe: str) -> None:
    assert names(shown) == set(claims.load_claims())
    asked, told = claims_page.lines_by_question(LINES), shown.locator(".choices output")
    paper, labels, truth = (shown.locator(f"select[name={of}]") for of in ("paper", "labels", "truth"))
    paper.focus()
    shown.keyboard.type("DITM")
    assert names(shown) == {name for name in claims.load_claims() if name[0] == "D"}
    truth.select_option("refuted")
    labels.select_option("undecided")
    kept = [key[0] for key, of in asked.items() if key[0][0] == "D" and len(of) == 2
            and (of["labels"]["verdict"], of["truth"]["verdict"]) == ("undecided", "refuted")]  # fmt: skip
    assert names(shown) == set(kept)
    assert told.inner_text() == f"{len(kept)} of {len(asked)} rows"
    part = shown.get_by_role("button", name=re.compile("AAHR, exploratory, by annotated pairs: .* refuted"))
    part.click()
    assert names(shown) == ids("labels", "refuted", "A")
    assert (part.get_attribute("aria-pressed"), truth.input_value()) == ("true", "all")
    assert trouble_on(shown, axe, ["html"]) == []
    part.click()
    shown.locator("select[name=kind]").select_option("stated beforehand")
    assert names(shown) >= {"C1"}
    assert not names(shown) & {"D13", "S12"}
    shown.locator("select[name=kind]").select_option("all")
    shown.locator("select[name=together]").select_option("disagree")
    assert set(shown.locator(".claims tr:visible td:last-child").all_inner_texts()) == {"disagree"}
    shown.get_by_role("button", name="Show all").click()
    assert told.inner_text() == f"{len(asked)} of {len(asked)} rows"
    words = shown.get_by_label("Claim or words")
    words.fill("d2")
    assert names(shown) == {"D2"}
    words.fill("without Adaptive")
    assert names(shown) == {"D1"}
    shown.get_by_role("button", name="Show all").click()
    assert names(shown) == set(claims.load_claims())


def test_a_row_names_its_command_and_words_are_explained(shown: Any, axe: str) -> None:
    row = shown.locator("tr[data-id=C1]").first
    row.locator("summary").click()
    assert "workbench claims run C1 --data scenes --seeds 2" in row.inner_text()
    assert "CORA with triplets alone, seed 1" in row.inner_text()
    assert "runs/claims/1b" in row.inner_text()
    word = shown.locator("dfn", has_text="RSUM")
    word.focus()
    assert "R@10 in both directions" in word.inner_text()
    assert trouble_on(shown, axe, ["html"]) == []
    for width in (360, 1000, 1001, 1800):
        shown.set_viewport_size({"width": width, "height": 800})
        assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    shown.locator("tr[data-id=S12] th").first.scroll_into_view_if_needed()
    assert shown.locator("table.claims thead").first.locator("th").first.bounding_box()["y"] == 0
