"""An executed notebook as a page that reads offline: one plotly.js in the page draws the figures, nothing is
fetched.
"""

import copy
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from jinja2 import Environment, FileSystemLoader
from nbformat.sign import NotebookNotary

from workbench.execution.summary import summary
from workbench.io import write_text
from workbench.runs import store as runs

PLOTLY = "application/vnd.plotly.v1+json"

HERE = Path(__file__).parent
# pages, and the file by which one knows of each: a report is written last
PAGES = (
    ("Tour", "../index.html", "../index.html"),
    ("Report", "notebook.html", "notebook.ipynb"),
    ("Explorer", "explorer.html", "explorer.html"),
    ("Notebook", "notebook.ipynb", "notebook.ipynb"),
)


def pages_near(page: Path) -> list[tuple[str, str]]:
    """Return name and address of the pages that one in a run's folder leads to, where they are or will be."""
    return [
        (name, link) for name, link, sign in PAGES if link != page.name and (page.parent / sign).is_file()
    ]


def figures(notebook: nbformat.NotebookNode) -> Iterator[dict[str, Any]]:
    """Yield the plotly figures of an executed notebook, in order, as ``{"data": ..., "layout": ...}``."""
    for output in _cell_outputs(notebook):
        figure = output.get("data", {}).get(PLOTLY)
        if figure is not None:
            yield {"data": figure["data"], "layout": figure["layout"]}


def _cell_outputs(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    for cell in notebook.cells:
        yield from cell.get("outputs", [])


def plotly_script() -> str:
    """Return plotly.js in a script element, about 5 MB; a page needs it once."""
    from plotly.offline import get_plotlyjs

    return _template_environment().get_template("plotly.html.j2").render(source=get_plotlyjs())


def figure_div(figure: dict[str, Any], key: str, *, static: bool = False) -> str:
    """Return a place on a page, and the script that draws a figure there.

    Args:
        figure: ``{"data": ..., "layout": ...}``, JSON values.
        key: id of the element, unique on the page.
        static: draw it without tools and zoom; hover stays.
    """
    # JSON is printed so that no text of a figure can end its script element
    return (
        _template_environment().get_template("figure.html.j2").render(figure=figure, key=key, static=static)
    )


@cache
def _template_environment() -> Environment:
    return Environment(loader=FileSystemLoader(HERE), autoescape=True)


def to_html(
    notebook: nbformat.NotebookNode, title: str, found: str = "", links: Sequence[tuple[str, str]] = ()
) -> str:
    """Return the notebook as one HTML page without any request to another place.

    Args:
        notebook: executed; it is not changed.
        title: title of the page.
        found: what it found, in a sentence, which stands above it.
        links: names and addresses of other pages, which stand at its top.
    """
    from nbconvert import HTMLExporter

    notebook = copy.deepcopy(notebook)
    drawn = [output for output in _cell_outputs(notebook) if PLOTLY in output.get("data", {})]
    for number, output in enumerate(drawn, 1):
        output["data"] = {"text/html": figure_div(output["data"][PLOTLY], f"figure-{number}")}
    exporter = HTMLExporter(raw_template=(HERE / "report.html.j2").read_text(encoding="utf-8"))
    resources = {
        "plotly_js": plotly_script() if drawn else "",
        "metadata": {"name": title},
        "found": found,
        "links": links,
        "header_css": (HERE / "header.css").read_text(encoding="utf-8"),
    }
    return str(exporter.from_notebook_node(notebook, resources=resources)[0])


def write_page(path: Path, name: str) -> int:
    """Drop saved widget state (megabytes of script, dead without a kernel), write ``notebook.html`` beside it
    and sign it.

    A signed notebook is trusted by JupyterLab, which then shows its HTML output.

    Args:
        path: the executed notebook, in its run folder.
        name: of the notebook that was executed.

    Returns:
        Size of the notebook in bytes.
    """
    notebook = nbformat.read(path, 4)
    notebook.metadata.pop("widgets", None)
    write_text(path, nbformat.writes(notebook))
    try:
        found = summary(name, runs.read(path.parent).results)
    except ValueError:  # results that cannot be read are said where they are read
        found = ""
    page = path.with_suffix(".html")
    write_text(page, to_html(notebook, name, found, pages_near(page)))
    NotebookNotary().sign(notebook)
    return path.stat().st_size
