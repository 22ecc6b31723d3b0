"""A panel of one's own is drawn in the explorer, one that fails says so, and without any the rest works."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import pytest

from tests.browser.alone import Alone
from tests.views.explorer.toys import toy_spaces
from workbench.views.explorer import Explorer, panels

pytestmark = [pytest.mark.browser]
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "panel.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def lengths(folder: Path, name: str, script: str = "") -> Any:
    """The panel of the guide, in a module of this name."""
    blocks: dict[str, str] = {}
    for kind, body in BLOCK.findall(GUIDE.read_text(encoding="utf-8")):
        blocks.setdefault(kind, body)
    (folder / f"{name}.py").write_text(blocks["python"])
    (folder / f"{name}.js").write_text(script or blocks["js"])
    return importlib.import_module(name).Lengths


def opened(browser: Any, panel: Any) -> Alone:
    alone = Alone(browser, Explorer(toy_spaces(12), k=4, panels=[panel]))
    alone.settle()
    alone.page.locator("details[data-testid=lengths] > summary").click()
    alone.settle()
    return alone


def test_the_panel_of_the_guide_is_drawn(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    alone = opened(browser, lengths(tmp_path, "lengths_of_the_guide"))
    answer = alone.explorer.answer
    assert answer is not None
    captions = next(item.captions for item in answer.items if item.row == answer.watched)
    lines = alone.page.get_by_test_id("lengths").locator("li")
    assert lines.all_inner_texts() == [f"{len(caption.split())}: {caption}" for caption in captions]
    alone.close()


@pytest.mark.parametrize("script", ["constructor() { lost(); }", "box = h('p'); draw() { lost(); }"])
def test_a_panel_that_fails_says_so_and_the_others_work(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    name = "lengths_made" if "constructor" in script else "lengths_drawn"
    alone = opened(browser, lengths(tmp_path, name, f"export default class Own {{ {script} }}\n"))
    assert "lost is not defined" in alone.page.get_by_test_id("lengths").inner_text()
    alone.page.locator("details[data-testid=words] > summary").click()
    alone.settle()
    assert alone.page.get_by_test_id("words").locator("tbody tr").count() > 1
    alone.close()


def test_without_packages_there_is_no_panel(browser: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "installed_panels", lambda: ())
    alone = Alone(browser, Explorer(toy_spaces(12), k=4))
    alone.settle()
    alone.page.get_by_test_id("query").fill("a red bus")
    alone.settle()
    assert alone.page.locator(".wbx-panel").count() == 0
    assert alone.page.get_by_test_id("card").count() == 8
    alone.close()
