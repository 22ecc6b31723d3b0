"""An executed notebook as a page that reads offline: one plotly.js in the page draws the figures, nothing is
fetched.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from nbformat.sign import NotebookNotary

PLOTLY = "application/vnd.plotly.v1+json"

# nbconvert's own page asks content networks for require.js, MathJax, Mermaid and widgets; a report must open
# on a train.
_TEMPLATE = """{%- extends 'lab/index.html.j2' -%}
{%- block html_head_js -%}{{ resources.plotly_js }}{%- endblock -%}
{%- block jupyter_widgets -%}{%- endblock -%}
{%- block html_head_js_mathjax -%}{%- endblock -%}
{%- block html_head_js_mermaidjs -%}{%- endblock -%}
{%- block html_head_css -%}<style>
body.jp-Notebook { background: #fff; } main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
.jp-InputArea-editor { overflow-x: auto; } .jp-MarkdownOutput > * { max-width: 52rem; }
/* IPython's colours of an error cannot be read on the pink ground that it has here */
[data-mime-type="application/vnd.jupyter.stderr"] pre span { color: #1f1f1f !important; }
</style>{%- endblock -%}
"""


def figures(notebook: nbformat.NotebookNode) -> Iterator[dict[str, Any]]:
    """The plotly figures of an executed notebook, in order, as ``{"data": ..., "layout": ...}``."""
    for output in _outputs(notebook):
        figure = output.get("data", {}).get(PLOTLY)
        if figure is not None:
            yield {"data": figure["data"], "layout": figure["layout"]}


def _outputs(notebook: nbformat.NotebookNode) -> Iterator[nbformat.NotebookNode]:
    return (output for cell in notebook.cells for output in cell.get("outputs", []))


def plotly_script() -> str:
    """plotly.js in a script element, about 5 MB; a page needs it once."""
    from plotly.offline import get_plotlyjs

    return f"<script>{get_plotlyjs()}</script>"


def div(figure: dict[str, Any], key: str, *, static: bool = False) -> str:
    """A place on a page, and the script that draws a figure there.

    Args:
        figure: ``{"data": ..., "layout": ...}``, JSON values.
        key: id of the element, unique on the page.
        static: draw it without tools and hover, as a thumbnail.
    """
    # "</script" would end the script element if a caption contained it, "<!--<script" would keep it from
    # ending.
    spec = json.dumps(figure).replace("<", "\\u003c")
    config = json.dumps({"responsive": True, "displaylogo": False, "staticPlot": static})
    script = f'<script>{{const f = {spec}; Plotly.newPlot("{key}", f.data, f.layout, {config})}}</script>'
    return f'<div id="{key}" class="plotly-graph-div" style="height:{figure["layout"].get("height", 450)}px"></div>{script}'


def to_html(notebook: nbformat.NotebookNode, title: str) -> str:
    """The notebook as one HTML page without any request to another place.

    Args:
        notebook: executed; it is not changed.
        title: title of the page.
    """
    from nbconvert import HTMLExporter

    notebook = copy.deepcopy(notebook)
    number = 0
    for output in _outputs(notebook):
        if PLOTLY in output.get("data", {}):
            number += 1
            output["data"] = {"text/html": div(output["data"][PLOTLY], f"figure-{number}")}
    script = plotly_script() if number else ""
    exporter = HTMLExporter(raw_template=_TEMPLATE)
    page, _ = exporter.from_notebook_node(
        notebook, resources={"plotly_js": script, "metadata": {"name": title}}
    )
    return str(page)


def tidy(path: Path) -> int:
    """Drop saved widget state (megabytes of script, dead without a kernel), write ``notebook.html`` beside it
    and sign it.

    A signed notebook is trusted by JupyterLab, which then shows its HTML output.

    Args:
        path: the executed notebook.

    Returns:
        Size of the notebook in bytes.
    """
    notebook = nbformat.read(path, 4)
    notebook.metadata.pop("widgets", None)
    nbformat.write(notebook, path)
    path.with_suffix(".html").write_text(to_html(notebook, path.parent.parent.name), encoding="utf-8")
    NotebookNotary().sign(notebook)
    return path.stat().st_size
