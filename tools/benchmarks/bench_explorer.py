"""From a key press to decoded thumbnails, in a real JupyterLab and a real Chromium.

Run: ``python -m tools.benchmarks.bench_explorer [rows] [runs]``; with ``scroll`` before them, all rows are
shown and scrolled through, and the time from frame to frame is measured (the bar is 60 frames a second).

A sentence is put into the query field but for its last letter, which is pressed; the clock of the page runs
from that key press to the moment at which every thumbnail in the columns is decoded. The gallery holds the
given number of stored embeddings around those of 200 images of the embedded world; each row has a thumbnail
of its own to make. The bars on two idle cores, medians: 150 ms at 10,000 images and 3 runs, 350 ms at
1,000,000 stored embeddings.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
import torch

from tests.browser.conftest import ARGUMENTS, CHROMIUM, serving
from tools.benchmarks.recorded import record
from workbench.data import load
from workbench.records import Embedding, Split
from workbench.runs import open_runs
from workbench.runs.result import Result

IMAGES, QUERIES, NEAR, FRAMES = 200, 20, 0.7, 600
ROOT = Path(__file__).parents[2]
CELL = """import sys
sys.path.insert(0, {root!r})
from tools.benchmarks.bench_explorer import explorer
explorer({rows}, {runs})"""
RUN_ALL = """async () => {
  const app = window.jupyterapp; await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready; await panel.sessionContext.ready; await panel.revealed;
  await app.commands.execute('notebook:run-all-cells');
}"""
LISTEN = """() => {
  const field = document.querySelector("[data-testid=query]");
  const root = document.querySelector("[data-testid=explorer]");
  field.addEventListener("keydown", () => {
    const began = performance.now(), before = root.querySelector("[data-testid=columns] img");
    window.took = null;
    const look = async () => {
      const images = [...root.querySelectorAll("[data-testid=columns] img")];
      const same = images[0] === before || !images.length;
      if (root.getAttribute("aria-busy") || same) { requestAnimationFrame(look); return; }
      await Promise.all(images.map(image => image.decode()));
      window.took = [performance.now() - began, images.length];
    };
    setTimeout(look, 20);
  }, true);
}"""


SCROLL = """async frames => {
  const main = document.querySelector("[data-testid=main]"), took = [], began = main.scrollTop;
  await new Promise(done => {
    let last = performance.now(), left = frames;
    const next = now => {
      took.push(now - last);
      last = now;
      main.scrollTop += 40;
      left -= 1;
      if (left) requestAnimationFrame(next); else done();
    };
    requestAnimationFrame(next);
  });
  return [took.slice(5), main.scrollTop - began];
}"""


def spaces(rows: int, runs: int) -> list[Result]:
    """The shipped encoder over many rows, each near one of the real images."""
    real = open_runs(images=IMAGES)[0]
    near = np.arange(rows) % IMAGES
    first = [int(np.flatnonzero(real.split.own == image)[0]) for image in range(IMAGES)]
    split = Split(
        f"{rows} rows", tuple(map(str, range(rows))),
        tuple(real.split.captions[first[image]] for image in near),
        tuple(f"t{row}" for row in range(rows)), np.arange(rows),
        lambda row: real.split.open_image(row % IMAGES),
    )  # fmt: skip
    made = []
    for run in range(runs):
        image = real.image.mean[near] + _noise(rows, real.image.mean.shape[1], run)
        image /= image.norm(dim=1, keepdim=True)
        one = real.with_embeddings(f"run {run}", Embedding(image), Embedding(image))
        made.append(replace(one, split=split))
    return made


def _noise(rows: int, width: int, seed: int) -> torch.Tensor:
    return torch.randn(rows, width, generator=torch.Generator().manual_seed(seed)) * NEAR / width**0.5


def explorer(rows: int, runs: int) -> Any:
    """The widget that is measured."""
    from workbench.views.explorer.explorer import Explorer

    return Explorer(spaces(rows, runs))


@contextmanager
def _opened(rows: int, runs: int, folder: Path) -> Iterator[Any]:
    """The page of a notebook that shows the widget."""
    from playwright.sync_api import sync_playwright

    (folder / "private").mkdir()
    (folder / "lab").mkdir()
    cell = nbformat.v4.new_code_cell(CELL.format(root=str(ROOT), rows=rows, runs=runs))
    book = nbformat.v4.new_notebook(
        cells=[cell], metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    )
    nbformat.write(book, folder / "lab" / "bench.ipynb")
    with serving(folder / "private", folder / "lab") as lab, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 1400, "height": 2400})
        page.set_default_timeout(300_000)
        page.goto(f"{lab.url}/lab/tree/bench.ipynb?reset")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.evaluate(RUN_ALL)
        page.locator("[data-testid=columns] img").first.wait_for()
        yield page
        browser.close()


def main(rows: int = 10_000, runs: int = 2) -> None:
    """Write median and 95th percentile."""
    captions = load("scenes", split="test", size=IMAGES).captions
    sentences = [caption for caption in dict.fromkeys(captions) if caption[-1].isalpha()]
    folder = Path(tempfile.mkdtemp())
    with _opened(rows, runs, folder) as page:
        page.evaluate(LISTEN)
        took, shown = [], 0
        for sentence in sentences[:: len(sentences) // (QUERIES + 2)][: QUERIES + 2]:
            page.evaluate(
                "text => { document.querySelector('[data-testid=query]').value = text; window.took = null; }",
                sentence[:-1],
            )
            page.locator("[data-testid=query]").press(sentence[-1])
            page.wait_for_function("window.took")
            milliseconds, shown = page.evaluate("window.took")
            took.append(milliseconds)
        status = page.locator("[data-testid=status]").inner_text()
    shutil.rmtree(folder)
    # the first two warm up model and page
    middle, late = np.quantile(took[2:], [0.5, 0.95])
    record(
        f"explorer_{rows}", {"rows": rows, "runs": runs, "median_ms": float(middle), "p95_ms": float(late)}
    )
    sys.stdout.write(
        f"{rows:,} stored embeddings, {runs} run(s), {shown} thumbnails: "
        f"median {middle:.0f} ms, p95 {late:.0f} ms over "
        f"{len(took) - 2} queries, load {os.getloadavg()[0]:.1f}; the widget says: {status}\n"
    )


def scrolling(rows: int = 10_000, runs: int = 1) -> None:
    """Write how many milliseconds lie between the frames of a gallery that shows every row and moves."""
    folder = Path(tempfile.mkdtemp())
    with _opened(rows, runs, folder) as page:
        field = page.locator("[data-testid=k]")
        field.fill(str(rows))
        field.press("Enter")
        cards = "document.querySelectorAll('[data-testid=column-0] [data-testid=card]').length"
        page.wait_for_function(f"{cards} === {rows}")
        page.evaluate(SCROLL, 100)
        took, far = page.evaluate(SCROLL, FRAMES)
    shutil.rmtree(folder)
    middle, late = np.quantile(took, [0.5, 0.95])
    record(
        f"explorer_scroll_{rows}",
        {"rows": rows, "runs": runs, "median_ms": float(middle), "p95_ms": float(late)},
    )
    sys.stdout.write(
        f"{rows:,} thumbnails of {runs} run(s), {far:,.0f} pixels in {len(took)} frames: "
        f"median {middle:.1f} ms, p95 {late:.1f} ms from frame to frame, load {os.getloadavg()[0]:.1f}\n"
    )


if __name__ == "__main__":
    act, given = (scrolling, sys.argv[2:]) if sys.argv[1:2] == ["scroll"] else (main, sys.argv[1:])
    act(*map(int, given))
