"""Explorer and map with a kernel that is busy, killed and restarted, in a real JupyterLab."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import RUN_ALL, run_in_lab

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
CELLS = (
    f"import sys\nsys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
    "from tests.views.explorer.toys import toy_spaces\n"
    "from workbench.views.explorer import Explorer\n"
    "from workbench.views.maps import EmbeddingMap, Settings, map_runs\n"
    "runs = toy_spaces(30)\n"
    "explorer, chart = Explorer(runs, k=30), EmbeddingMap(map_runs(runs, Settings(steps=300)))\n"
    "explorer.link(chart)",
    "explorer",
    "chart",
)
TELL = """async code => {
  const { kernel } = window.jupyterapp.shell.currentWidget.sessionContext.session;
  const future = kernel.requestExecute({ code }); let said = "";
  future.onIOPub = message => { if (message.header.msg_type === "stream") said += message.content.text; };
  await future.done; return said.trim();
}"""
SLEEP = """() => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel
  .requestExecute({ code: "import time; time.sleep(2.5)" }); }"""
SLOW = """import time
answer = explorer.engine.answer
explorer.engine.answer = lambda question: time.sleep(2.5) or answer(question)"""
SHUT = "() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()"


@pytest.fixture(scope="module")
def page(browser: Any, lab: Lab) -> Any:
    found, _, trouble = run_in_lab(browser, lab, "kernel", CELLS, height=2600)
    found.set_default_timeout(30_000)
    answered(found)
    yield found
    found.close()
    assert trouble == []


def answered(page: Any) -> None:
    page.get_by_test_id("kernel").get_by_text("kernel ready").wait_for()
    page.get_by_test_id("status").get_by_text("of 30 images").wait_for()
    assert page.locator(".wbx-stale").count() == 0


def is_gone(page: Any) -> None:
    page.get_by_test_id("kernel").get_by_text("kernel gone: rerun the cell").wait_for()
    assert page.locator(".wbx-stale").count() == 1
    assert page.get_by_test_id("explorer").get_attribute("aria-busy") is None
    assert "Run the cell again" in page.get_by_test_id("error").inner_text()


def run_again(page: Any) -> None:
    page.evaluate("window.old = document.querySelector('[data-testid=explorer]')")
    page.evaluate(RUN_ALL)
    page.wait_for_function("!window.old.isConnected && document.querySelector('[data-testid=explorer]')")
    answered(page)
    page.get_by_test_id("query").fill("a red bus")
    page.get_by_test_id("history").get_by_text("a red bus").wait_for(state="attached")
    answered(page)


def test_what_a_lasso_or_a_key_catches_on_the_map_is_the_gallery(page: Any) -> None:
    canvas, items = page.get_by_test_id("map-canvas-0"), page.get_by_test_id("column-0").locator(".wbx-item")
    only, status = page.get_by_test_id("only-selected"), page.get_by_test_id("map-status")
    page.get_by_test_id("query").fill("a red bus")
    page.wait_for_function("document.querySelector('[data-testid=map-search]').value === 'a red bus'")
    page.get_by_test_id("map-lasso").click()
    box = canvas.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    for x, y in ((0.25, 0.02), (0.25, 0.95), (0.02, 0.95)):
        page.mouse.move(box["x"] + box["width"] * x, box["y"] + box["height"] * y, steps=4)
    page.mouse.up()
    only.wait_for()
    only.check()
    page.get_by_test_id("status").get_by_text("that pass the filters").wait_for()
    caught = int(page.evaluate(TELL, "print(len(chart.selected_idx))"))
    assert 0 < caught < 30
    assert items.count() == caught
    canvas.focus()
    for key in ("Escape", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    status.get_by_text("1 image selected").wait_for()
    page.get_by_test_id("column-0").locator(".wbx-item:only-child").wait_for()
    only.focus()
    page.keyboard.press("Space")
    page.wait_for_function("document.querySelectorAll('[data-testid=column-0] .wbx-item').length === 30")


def test_a_kernel_that_is_busy_killed_or_shut_down_is_told_and_a_rerun_mends_it(page: Any) -> None:
    strip = page.get_by_test_id("kernel")
    page.evaluate(SLEEP)
    strip.get_by_text("kernel busy for 2 s").wait_for()
    answered(page)
    # JupyterLab may let widgets speak beside a cell that runs, so that only a slow answer is waited for
    page.evaluate(TELL, SLOW)
    page.get_by_test_id("query").fill("a green tree")
    strip.get_by_text("kernel busy for 2 s").wait_for()
    assert page.locator(".wbx-stale").count() == 1
    answered(page)
    os.kill(int(page.evaluate(TELL, "import os; print(os.getpid())")), signal.SIGKILL)
    is_gone(page)
    page.get_by_role("dialog").get_by_role("button", name="Ok").click()
    page.wait_for_function(
        "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
    )
    is_gone(page)
    run_again(page)
    page.evaluate(SHUT)
    is_gone(page)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.startKernel()")
    is_gone(page)
    run_again(page)
