"""The live map in a real JupyterLab: lasso, hover, keyboard, legend, link and hostile captions; nothing
leaves the machine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import run_in_lab, trouble_on

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script> $x$ كلب "
    + "w" * 300
)
MAKE = f"""
import numpy as np, torch
from PIL import Image
from workbench.views.maps import EmbeddingMap, Settings, map_runs
from workbench.records import Embedding, Split
from workbench.runs.model import Model
from workbench.runs.result import Result
rng = np.random.default_rng(0)
vectors = rng.normal(size=(120, 8)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
texts = tuple({HOSTILE!r} if i % 2 else f"caption number {{i}} of a dog" for i in range(80))
ids = tuple(f"i{{i}}" for i in range(40)), tuple(f"c{{i}}" for i in range(80))
own, level = np.repeat(np.arange(40), 2), np.tile([1, 2], 40)
paint = lambda row: Image.new("RGB", (40, 30), (row * 6, 90, 40))
split = Split("toy/test", ids[0], texts, ids[1], own, paint, level=level, chain=own)
class Toy(Model):
    def __init__(self, vectors): self.vectors = vectors
    def embed_texts(self, texts): return Embedding(torch.from_numpy(self.vectors[40:41]))
def space(name, vectors):
    sides = [Embedding(torch.from_numpy(part)) for part in (vectors[:40], vectors[40:])]
    return Result(name, split, lambda: (Toy(vectors), *sides))
maps = map_runs([space("one", vectors), space("<b>two</b>", vectors[:, ::-1].copy())], Settings(steps=400))
live, second = EmbeddingMap(maps), EmbeddingMap(maps[0], colour="descriptiveness")
live.link(second)
"""
# A selection is seen as soon as a cell shows it: what the kernel has, not what the page says.
SELECTED = """async () => {
  const { panel } = window; const kernel = panel.sessionContext.session.kernel; let said = '';
  const same = 'second.selected_rows == live.selected_rows';
  const code = `print(len(live.selection()), len(live.selected_ids), ${same})`;
  const future = kernel.requestExecute({ code });
  future.onIOPub = message => { if (message.header.msg_type === 'stream') said += message.content.text; };
  await future.done; return said.trim();
}"""

# Where the question lies there is a red star.
STAR = """() => {
  const canvas = document.querySelector('.wbm-over');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value, i) => i % 4 === 0 && value > 220 && data[i + 1] < 20 && data[i + 3] > 250);
}"""

# The rings of the selection are drawn in the ink of the theme.
INK_IS_LIGHT = """() => {
  const canvas = document.querySelector('.wbm-over');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return data.some((value, i) => i % 4 === 0 && value > 200 && data[i + 3] > 200);
}"""


@pytest.fixture
def page(browser: Any, lab: Lab) -> Any:
    page, _, trouble = run_in_lab(browser, lab, "map", (MAKE, "live", "second"), height=3000, console=True)
    page.trouble = trouble
    page.evaluate("() => { window.panel = window.jupyterapp.shell.currentWidget; }")
    page.get_by_test_id("embedding-map").nth(1).wait_for()
    yield page
    page.close()


def test_the_map_answers_lasso_mouse_and_keyboard(page: Any, lab: Lab, axe: str) -> None:
    live, other = (page.get_by_test_id("embedding-map").nth(i) for i in (0, 1))
    canvas, status = live.get_by_test_id("map-canvas-0"), live.get_by_test_id("map-status")

    live.get_by_test_id("map-lasso").click()
    box = canvas.bounding_box()
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98)]
    places = [(box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in corners]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=5)
    page.mouse.up()
    assert status.inner_text() == "40 images selected"
    # the kernel tells the other map, so that it knows by then
    other.get_by_text("40 images selected").wait_for()
    assert page.evaluate(SELECTED) == "120 120 True"
    assert live.get_by_test_id("map-list").locator("button").count() == 50
    listed = live.get_by_test_id("map-list").locator("img[src^='data:image/png']")
    listed.nth(49).wait_for()

    live.get_by_role("button", name="Clear selection").click()
    other.get_by_text("nothing selected").wait_for()
    canvas.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.keyboard.press("n")
    page.keyboard.press(" ")
    other.get_by_text(re.compile("^[12] images? selected")).wait_for()
    live.get_by_test_id("map-list").locator("button").nth(1).wait_for()
    assert page.evaluate(SELECTED) == "2 2 True"
    live.get_by_test_id("map-list").locator("button").first.focus()
    card = live.get_by_test_id("map-card")
    assert card.is_visible()
    card.get_by_test_id("map-image").and_(page.locator("[src^='data:image/png']")).wait_for()

    canvas.focus()
    page.keyboard.press("Escape")
    assert status.inner_text() == "nothing selected"
    for i in range(40):
        page.mouse.move(box["x"] + box["width"] * (0.2 + 0.015 * i), box["y"] + box["height"] * 0.5)
        if card.is_visible():
            break
    assert card.is_visible()
    card.get_by_test_id("map-image").and_(page.locator("[src^='data:image/png']")).wait_for()
    page.screenshot(path=lab.folder / "map.png")

    live.get_by_test_id("map-search").fill("a dog")
    page.keyboard.press("Enter")
    other.get_by_text(re.compile(r"^\d+ images selected")).wait_for()
    page.wait_for_function(STAR, polling=200)

    live.get_by_test_id("map-category").first.click()
    live.get_by_test_id("map-colour").select_option("level")
    live.get_by_test_id("map-category").first.click()
    live.get_by_role("button", name="Select items that moved most").click()
    assert page.evaluate(SELECTED).startswith("20 ")
    page.evaluate(
        "() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })"
    )
    page.locator("body[data-jp-theme-light='false']").wait_for(state="attached")
    page.wait_for_function(INK_IS_LIGHT, polling=200)
    page.screenshot(path=lab.folder / "map-dark.png")
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-left-area')")
    page.set_viewport_size({"width": 620, "height": 3000})
    page.wait_for_function("document.querySelector('.wbm').clientWidth < 560")
    assert live.evaluate("map => map.scrollWidth <= map.clientWidth")
    assert trouble_on(page, axe, [".wbm"]) == []
    assert page.get_by_text("<b>two</b>").first.is_visible()
    assert page.locator(".wbm script, .wbm b b, .wbm [onerror]").count() == 0
    assert page.title() != "owned"
    assert page.trouble == []
