"""The notebooks open and run in JupyterLab, figures included, and ask nothing of any other place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

from tests.browser.conftest import run_in_lab

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

SMALL = {
    "03_train": {
        "train_images: Count": "64",
        "config: dict": '{"val_images": 32, "test_images": 64, "epochs": 1, "batch_size": 32}',
    },
}


def _copy(name: str, folder: Path, changes: dict[str, str]) -> None:
    book = nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4)
    cell = next(cell for cell in book.cells if "parameters" in cell.metadata.get("tags", []))
    lines = cell.source.splitlines()
    for start, value in changes.items():
        (at,) = (number for number, line in enumerate(lines) if line.startswith(start))
        lines[at] = f"{start} = {value}"
    cell.source = "\n".join(lines)
    nbformat.write(book, folder / f"{name}.ipynb")


def test_the_training_notebook_runs_from_top_to_bottom(browser: Any, lab: Lab) -> None:
    _copy("03_train", lab.folder, SMALL["03_train"])
    page, cells, trouble = run_in_lab(browser, lab, "03_train", height=4200, timeout=300_000)
    assert all(cell["count"] for cell in cells), "every cell was run"
    page.wait_for_selector(".js-plotly-plot .main-svg")
    assert len(list(lab.folder.glob("runs/03_train/*/results.json"))) == 1
    assert trouble == []
    page.screenshot(path=lab.folder / "03_train.png")
    page.close()


BEGINS = """
import time
from workbench.progress import Task
task = Task("training", 20, "steps")
task.__enter__()
time.sleep(1.2)
task.update(5, "loss 0.43")
"""


def test_long_work_has_a_bar_with_the_time_that_is_left(browser: Any, lab: Lab) -> None:
    page, _, trouble = run_in_lab(browser, lab, "bar", [BEGINS], height=600)
    bar = page.locator(".jp-OutputArea .widget-hbox, .jp-OutputArea .jupyter-widgets").first
    bar.wait_for()
    text = " ".join(bar.inner_text().split())
    page.screenshot(path=lab.folder / "bar.png")
    assert "training: 25%" in text
    assert "5/20 steps" in text
    assert "loss 0.43" in text
    assert trouble == []
    page.close()
