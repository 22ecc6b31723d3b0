"""The documentation site: ``sphinx-build -c docs . build/site``; it is read without a network.

Pages are the repository's own texts where they lie, the guides of this folder, the interface from its
docstrings, the list of the papers' tables, and the pages of the tour where ``runs/tour`` holds one.
"""

import shutil
from pathlib import Path

from paper_tables import table
from sphinx.application import Sphinx

from workbench import __version__

ROOT = Path(__file__).parent.parent
TOUR = ROOT / "runs" / "tour"

project, author, release = "itm-workbench", "the itm-workbench authors", __version__
copyright, smartquotes = author, False
extensions = ["myst_parser", "sphinx.ext.apidoc", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "docs/index"
include_patterns = ["docs/**", "data_cards/*.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = ["docs/conf.py", "docs/templates", "docs/static"]
templates_path = ["templates"]
html_theme = "furo"
html_title = f"itm-workbench {release}"
html_additional_pages = {"index": "redirect.html"}
html_copy_source = False
html_static_path, html_js_files = ["static"], [("reading.js", {"defer": "defer"})]
myst_heading_anchors = 3
apidoc_modules = [{"path": str(ROOT / "workbench"), "destination": "docs/api", "module_first": True}]
# what a package offers from its files stands with the file
autodoc_default_options = {"members": True, "show-inheritance": True, "ignore-module-all": True}
autodoc_typehints, autodoc_use_type_comments = "description", False
napoleon_google_docstring, napoleon_numpy_docstring, napoleon_use_ivar = True, False, True
napoleon_custom_sections = [("Source", "notes_style")]


def tables() -> str:
    """Every table and figure of the papers with the command that makes it, as Markdown."""
    rows = [
        f"| {one['table']} | {one['shows']} | `{one['command']}` | {one['remark']} |"
        for one in table.list_tables()
    ]
    return "\n".join(["| table | shows | command | to know |", "|---|---|---|---|", *rows])


def with_tables(_: Sphinx, page: str, source: list[str]) -> None:
    """Put the list of tables into the page that asks for it."""
    if page == "docs/papers":
        source[0] = source[0].replace("<!-- tables -->", tables())


def with_tour(app: Sphinx, error: Exception | None) -> None:
    """Put the pages of the last tour beside the site."""
    if error is None and (TOUR / "index.html").is_file():
        left = shutil.ignore_patterns("*.safetensors", "*.parquet", "*.npy", "*.json", "embeddings")
        shutil.copytree(TOUR, app.outdir / "tour", dirs_exist_ok=True, ignore=left)


def apart(_: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Part lists and examples of a docstring from the sentence before them."""
    out, inside = list[str](), False
    for line in lines:
        begins = line.lstrip().startswith(("- ", ">>> "))
        out += [""] if begins and not inside and out and out[-1].strip() else []
        inside = bool(line.strip()) and (begins or inside)
        out.append(line)
    lines[:] = out


def setup(app: Sphinx) -> None:
    """Hooks of the build."""
    app.connect("source-read", with_tables)
    app.connect("autodoc-process-docstring", apart, priority=400)
    app.connect("build-finished", with_tour)
