"""Candidates are labelled by keyboard in a real JupyterLab; the labels lie on the disk, and nothing asks for
another place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from relevance_audit import Labels

from tests.browser.conftest import in_themes, run_in_lab

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = (
    "from dataclasses import replace\nimport numpy as np\n"
    "import relevance_audit as audit\nfrom workbench import data",
    "split = data.load('scenes', split='test', size=8)\n"
    "captions = ('<img src=x onerror=\"document.title=1\"> & a dog', *split.captions[1:])\n"
    "split = replace(split, captions=captions)\n"
    "scores = np.random.default_rng(0).random((8, 40))",
    "table = audit.candidates(scores, split, {'exact': split.judgements['exact']}, k=2)\n"
    "audit.Labeller(split, table, audit.Labels('labels.json', 'ann'))",
)


def test_candidates_are_labelled_by_keyboard(browser: Any, lab: Lab) -> None:
    page, _, trouble = run_in_lab(browser, lab, "audit", CELLS, height=1300)

    view = page.get_by_test_id("audit")
    view.wait_for()
    first = page.get_by_test_id("audit-caption").text_content()
    assert first.startswith("<img src=x onerror="), "a caption is text, whatever it holds"
    view.focus()
    page.keyboard.press("1")
    page.get_by_test_id("audit-status").get_by_text("saved: valid").wait_for()
    page.keyboard.press("3")
    page.get_by_test_id("audit-status").get_by_text("saved: unsure").wait_for()
    page.keyboard.press("2")
    page.get_by_test_id("audit-status").get_by_text("saved: invalid").wait_for()
    page.keyboard.press("u")
    page.get_by_test_id("audit-status").get_by_text("undone: invalid").wait_for()
    assert page.get_by_test_id("audit-tally").text_content().startswith("ann: 1 valid · 0 invalid · 1 unsure")
    page.keyboard.press("ArrowLeft")
    page.get_by_test_id("audit-label").get_by_text("labelled unsure").wait_for()
    assert view.locator("img").evaluate_all("all => all.every(one => one.alt && one.naturalWidth > 0)")

    for _ in in_themes(page, page, lab.folder / "audit"):
        assert view.is_visible()
    assert list(Labels(lab.folder / "labels.json", "ann").own_labels().values()) == ["valid", "unsure"]
    assert page.locator(".jp-Notebook h1, .jp-Notebook h2, .jp-Notebook h3").count() == 0, (
        "no key reached the notebook"
    )
    assert trouble == []
    assert page.title() != "1"
    page.close()
