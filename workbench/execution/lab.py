"""The notebooks in JupyterLab, opened on runs that somebody chose."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from workbench.execution import library
from workbench.experiment import runs

EXPLORER = "06_retrieval_explorer"


def explorer(names: Sequence[str] = (), *, root: str = "runs") -> Path:
    """A copy of the explorer's notebook that opens these runs.

    Args:
        names: run folders, or run ids below ``root``; none = the shipped encoder.
        root: where runs lie; the copy goes to ``<root>/explore/``, and one that lies there is replaced.

    Returns:
        The path of the copy.

    Raises:
        FileNotFoundError: no such run.
    """
    folders = [str(runs.find(name, root).folder.resolve()) for name in names]
    book = nbformat.read(library.find(EXPLORER), 4)
    (place,) = [n for n, cell in enumerate(book.cells) if "parameters" in cell.metadata.get("tags", [])]
    chosen = nbformat.v4.new_code_cell(f"runs = {folders!r}", metadata={"tags": ["injected-parameters"]})
    book.cells.insert(place + 1, chosen)
    return runs.write_text(Path(root) / "explore" / f"{EXPLORER}.ipynb", nbformat.writes(book))


def open_lab(path: Path) -> int:
    """Start JupyterLab on a notebook and wait until it is closed.

    Args:
        path: the notebook.

    Returns:
        The exit code of JupyterLab.
    """
    return subprocess.run([sys.executable, "-m", "jupyterlab", str(path)], check=False).returncode
