"""The page of the papers' claims in a browser: filtered by paper and verdict, by mouse and by keyboard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paper_tables import claims, claims_page

from tests.browser.conftest import trouble_on

pytestmark = pytest.mark.browser

LINES = claims.latest(claims.ledger())


@pytest.fixture(params=["light", "dark"])
def shown(request: pytest.FixtureRequest, browser: Any, tmp_path: Path) -> Iterator[Any]:
    """The page of the ledger as it is."""
    file = tmp_path / "claims.html"
    file.write_text(claims_page.write(LINES), encoding="utf-8")
    page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme=request.param)
    page.goto(file.as_uri())
    page.wait_for_selector(".dt-search")
    yield page
    page.close()


def names(page: Any) -> set[str]:
    """The ids of the claims that are shown."""
    return {text.split()[0] for text in page.locator("tbody tr:visible th").all_inner_texts()}


def test_rows_are_those_of_the_paper_and_the_verdict(shown: Any, axe: str) -> None:
    assert names(shown) == set(claims.load())
    paper, verdict = shown.get_by_label("Paper"), shown.get_by_label("Verdict")
    paper.focus()
    shown.keyboard.type("DITM")
    assert names(shown) == {name for name in claims.load() if name[0] == "D"}
    verdict.select_option("refuted")
    refuted = {line["claim"] for line in LINES if line["verdict"] == "refuted"}
    assert names(shown) == {name for name in refuted if name[0] == "D"}
    paper.select_option("all")
    verdict.select_option("not yet judged")
    waiting = set(claims.load()) - {line["claim"] for line in LINES}
    assert names(shown) == waiting
    assert shown.locator(".choices output").inner_text().startswith(f"{len(waiting)} of ")
    assert shown.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert trouble_on(shown, axe, ["html"]) == []
