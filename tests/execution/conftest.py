"""Tiny notebooks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

PARAMETERS = 'seed: int = 0  # seed\nout: str = ""  # run folder'


@pytest.fixture
def make_notebook(tmp_path: Path) -> Callable[..., Path]:
    """``make_notebook("1 / 0", ...)`` writes a notebook of these code cells; ``publishes`` adds a results
    cell."""

    def make(
        *cells: str, parameters: str | None = PARAMETERS, publishes: bool = True, name: str = "tiny"
    ) -> Path:
        book = nbformat.v4.new_notebook(
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}}
        )
        book.cells = [nbformat.v4.new_code_cell("from workbench.runs import store as runs")]
        if parameters is not None:
            book.cells.append(nbformat.v4.new_code_cell(parameters, metadata={"tags": ["parameters"]}))
        book.cells += [nbformat.v4.new_code_cell(source) for source in cells]
        if publishes:
            source = 'runs.publish(runs.run_folder("tiny", out, {"seed": seed}), {"seed": seed}, seed=seed)'
            book.cells.append(nbformat.v4.new_code_cell(source, metadata={"tags": ["results"]}))
        path = tmp_path / f"{name}.ipynb"
        nbformat.write(book, path)
        return path

    return make
