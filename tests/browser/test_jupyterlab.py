"""The notebooks open and run in JupyterLab, figures included, and ask nothing of any other place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
import pytest

if TYPE_CHECKING:
    from tests.browser.conftest import Lab

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NOTEBOOKS = Path(__file__).parents[2] / "notebooks"

# Waiting for `revealed` matters: before it, "run all" can run nothing, silently.
RUN_ALL = """async () => {
  const app = window.jupyterapp; await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready; await panel.sessionContext.ready; await panel.revealed;
  await app.commands.execute('notebook:run-all-cells');
  return panel.content.widgets.filter(cell => cell.model.type === 'code').map(cell => ({
    count: cell.model.executionCount,
    errors: [...Array(cell.model.outputs.length).keys()].map(i => cell.model.outputs.get(i).toJSON())
      .filter(output => output.output_type === 'error').map(output => output.ename + ': ' + output.evalue),
  }));
}"""
SMALL = {
    "03_train": {
        "train_images: int": "64",
        "epochs: int": "1",
        "batch_size: int": "32",
        "settings: dict": '{"val_images": 32, "test_images": 64}',
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
    elsewhere: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": 4200})
    page.set_default_timeout(300_000)
    page.on("request", lambda r: elsewhere.append(r.url) if r.url.startswith("http") and "127.0.0.1" not in r.url else None)
    page.goto(f"{lab.url}/lab/tree/03_train.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    cells = page.evaluate(RUN_ALL)

    assert [cell["errors"] for cell in cells if cell["errors"]] == []
    assert all(cell["count"] for cell in cells), "every cell was run"
    page.wait_for_selector(".js-plotly-plot .main-svg")
    assert len(list(lab.folder.glob("runs/03_train/*/results.json"))) == 1
    assert elsewhere == []
    page.screenshot(path=lab.folder / "03_train.png")
    page.close()
