"""While a notebook runs, its heading is shown, and below it what its kernel does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from workbench import progress
from workbench.execution.cells import Cells, headings
from workbench.execution.notebook import run_notebook

Make = Callable[..., Path]
markdown, code = nbformat.v4.new_markdown_cell, nbformat.v4.new_code_cell


@pytest.fixture
def book(tmp_path: Path) -> Path:
    cells = [
        code("import json"), markdown("# Train\n\nwith one objective\n\n## The data  "), code("x = 1"),
        code(""), markdown("no heading, but #1"), code("y = 2"), markdown("## Training"), code("z = 3"),
    ]  # fmt: skip
    path = tmp_path / "small.ipynb"
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def test_a_cell_is_named_by_the_last_heading_before_it(book):
    assert headings(book) == ["small", "The data", "The data", "Training"]


def test_a_line_is_said_where_a_part_begins(book):
    said: list[str] = []
    injected = code("x = 2", metadata={"tags": ["injected-parameters"]})
    sources = [code("import json"), code("x = 1"), injected, code("y = 2"), code("z = 3")]
    with Cells(book, "small", said.append) as cells:
        for number, cell in enumerate(sources):
            cells.begin(cell, number)
            assert cells.task.count == number
        assert cells.task.detail == "Training"
    assert said == ["cell 1 of 5: small", "cell 2 of 5: The data", "cell 5 of 5: Training"]


@pytest.mark.slow
def test_what_a_kernel_does_is_shown_by_whoever_runs_it(make_notebook: Make, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress.media, "LINE_SECONDS", 0.1)
    monkeypatch.setattr(progress.media.Lines, "every", 0.1)
    trains = """
import time
from workbench.progress import Task
with Task("training", 4, "steps") as task:
    task.update(1, "loss 0.43")
    task.update(0)
    time.sleep(2)
"""
    result = run_notebook(make_notebook(trains), root=tmp_path / "runs")
    assert result.exit_code == 0
    lines = capsys.readouterr().err.splitlines()
    assert any("tiny: 3 of 5 cells" in line and "training: " in line for line in lines)
    book = nbformat.read(result.folder / "notebook.ipynb", 4)
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert "training" not in str(outputs)
