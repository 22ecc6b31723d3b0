"""The page of a suite in a browser: tabs, sorted columns, what a number is, and any two models compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_sets import suite
from benchmark_sets.suite_page import write_page
from PIL import Image

from tests.browser.conftest import trouble_on

pytestmark = pytest.mark.browser
ATTACK = "<img src=x onerror=alert(1)> $x$"


class Toy:
    """Vectors by the brightness of an image and the length of a text, with noise."""

    def __init__(self, noise: float) -> None:
        self.identity = f"toy {noise}"
        self.noise = noise

    def _vectors(self, values: list[float]) -> Any:
        angles = np.array(values) / 40 + self.noise * np.sin(np.arange(len(values)) * 7)
        return np.stack([np.cos(angles), np.sin(angles)], axis=1)

    def encode_image(self, images: Any) -> Any:
        return self._vectors([image.getpixel((0, 0))[0] / 4 for image in images])

    def encode_text(self, texts: Any) -> Any:
        return self._vectors([len(text) for text in texts])


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("suite")
    for name in ("photos", "classes/dark", "classes/light"):
        (place / name).mkdir(parents=True)
    rows = ["file_name,caption"]
    for number in range(12):
        image = Image.new("RGB", (8, 8), (20 * number, 0, 0))
        image.save(place / "photos" / f"{number}.png")
        image.save(place / "classes" / ("light" if number > 5 else "dark") / f"{number}.png")
        rows.append(f"{number}.png,{'a' * (5 * number + 1)}")
    (place / "photos" / "captions.csv").write_text("\n".join(rows))
    models = [Toy(0), {"model": Toy(1.5), "name": ATTACK}]
    names = [str(place / "photos"), f"classify:{place / 'classes'}", "cola"]
    return write_page(suite(models, names, place / "s", rounds=50))


@pytest.fixture(params=[("light", 1200), ("dark", 400)])
def shown(request: pytest.FixtureRequest, browser: Any, written: Path) -> Iterator[Any]:
    scheme, width = request.param
    page = browser.new_page(viewport={"width": width, "height": 800}, color_scheme=scheme)
    problems: list[str] = []
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: problems.append(dialog.message))
    page.goto(written.as_uri())
    yield page
    page.close()
    assert problems == []


def test_tabs_numbers_and_two_models(shown: Any, axe: str) -> None:
    assert trouble_on(shown, axe, ["html"]) == []
    shown.get_by_role("tab", name="retrieval").focus()
    shown.keyboard.press("ArrowRight")
    assert shown.locator("[role=tabpanel]:visible").get_attribute("id") == "compositional"
    shown.get_by_role("tab", name="classification").click()
    number = shown.locator("a[data-cell]:visible").first
    number.click()
    dialog = shown.get_by_role("dialog")
    assert "classify-classes" in dialog.inner_text()
    assert "workbench show" in dialog.inner_text()
    assert trouble_on(shown, axe, ["dialog"]) == []
    shown.keyboard.press("Escape")
    shown.get_by_role("tab", name="two models").click()
    rows = shown.locator("#differences tbody tr")
    assert rows.count() > 2
    difference = rows.first.locator("td").nth(3).inner_text()
    lists = shown.locator("form.choices select")
    first, second = (lists.nth(place).input_value() for place in (0, 1))
    lists.nth(0).select_option(second)
    assert not rows.count()
    lists.nth(1).select_option(first)
    assert rows.first.locator("td").nth(3).inner_text() != difference
    assert trouble_on(shown, axe, ["html"]) == []


def test_a_column_is_sorted_by_its_values(shown: Any) -> None:
    models = shown.locator("[role=tabpanel]:visible tbody th")
    head = shown.locator("[role=tabpanel]:visible thead button", has_text="RSUM").first
    head.click()
    best_first = models.all_inner_texts()
    head.click()
    assert models.all_inner_texts() == best_first[::-1]
