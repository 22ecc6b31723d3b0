"""The notebooks in JupyterLab, opened on runs that somebody chose."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import nbformat

from workbench.execution import library
from workbench.experiment import runs
from workbench.records import require

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


def of_model(model: str, pretrained: str, images: str, *, root: str = "runs") -> Path:
    """A notebook that opens the explorer on a model that was made elsewhere and a folder of pictures.

    Args:
        model: open_clip name, or the path of a JSON configuration, which is made whole as the others are.
        pretrained: a tag, or the path of a checkpoint.
        images: the folder of pictures.
        root: the notebook goes to ``<root>/explore/``, and one that lies there is replaced.

    Returns:
        The path of the notebook.

    Raises:
        FileNotFoundError: there is no such folder.
    """
    require(Path(images).is_dir(), f"--images: there is no folder {images!r}", FileNotFoundError)
    places = [str(Path(one).resolve()) if one and Path(one).exists() else one for one in (model, pretrained)]
    given = f"model={places[0]!r}, pretrained={places[1]!r}, images={str(Path(images).resolve())!r}"
    cells = [
        nbformat.v4.new_markdown_cell(
            f"# {model} on {Path(images).name}\n\nRun the cell: pictures are embedded once."
        ),
        nbformat.v4.new_code_cell(f"from workbench import Explorer\n\nExplorer({given})"),
    ]
    book = nbformat.v4.new_notebook(cells=cells)
    book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return runs.write_text(Path(root) / "explore" / "model.ipynb", nbformat.writes(book))


def open_lab(path: Path) -> int:
    """Start JupyterLab on a notebook and wait until it is closed.

    Args:
        path: the notebook.

    Returns:
        The exit code of JupyterLab.
    """
    return subprocess.run([sys.executable, "-m", "jupyterlab", str(path)], check=False).returncode
