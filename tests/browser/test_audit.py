"""Candidates are labelled by keyboard in a real JupyterLab; the labels lie on the disk, and nothing asks for another place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from tests.browser.test_jupyterlab import RUN_ALL
from workbench.audit import Labels

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = (
    "from dataclasses import replace\nimport numpy as np\nfrom workbench import audit, data",
    "split = data.load('scenes', split='test', size=8)\n"
    "captions = ('<img src=x onerror=\"document.title=1\"> & a dog', *split.captions[1:])\n"
    "split = replace(split, captions=captions)\n"
    "scores = np.random.default_rng(0).random((8, 40))",
    "table = audit.candidates(scores, split, {'exact': split.judgements['exact']}, k=2)\n"
    "audit.Labeller(split, table, audit.Labels('labels.json', 'ann'))",
)


def test_candidates_are_labelled_by_keyboard(browser: Any, lab: Lab) -> None:
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in CELLS])
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(book, lab.folder / "audit.ipynb")
    trouble: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 1300})
    page.set_default_timeout(120_000)
    page.on("request", lambda r: trouble.append(r.url) if r.url.startswith("http") and "127.0.0.1" not in r.url else None)
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.goto(f"{lab.url}/lab/tree/audit.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    assert [cell["errors"] for cell in page.evaluate(RUN_ALL) if cell["errors"]] == []

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
    page.get_by_test_id("audit-status").get_by_text("taken back: invalid").wait_for()
    assert page.get_by_test_id("audit-tally").text_content().startswith("ann: 1 valid · 0 invalid · 1 unsure")
    page.keyboard.press("ArrowLeft")
    page.get_by_test_id("audit-label").get_by_text("labelled unsure").wait_for()
    assert view.locator("img").evaluate_all("all => all.every(one => one.alt && one.naturalWidth > 0)")

    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", theme)
        page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=theme)
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        page.screenshot(path=lab.folder / f"audit-{theme.split()[1].lower()}.png")
    assert list(Labels(lab.folder / "labels.json", "ann").mine().values()) == ["valid", "unsure"]
    assert page.locator(".jp-Notebook h1, .jp-Notebook h2, .jp-Notebook h3").count() == 0, "no key reached the notebook"
    assert trouble == []
    assert page.title() != "1"
    page.close()
