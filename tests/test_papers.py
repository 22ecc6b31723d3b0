"""Each table and figure of the five papers is made once on tiny settings, and what came out is read.

Runs are shared: an arm that several grids train alike is trained once, and two runs serve every notebook.
Arms train in this process, by the parameters that their notebook would get; the notebooks run in kernels.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
import pytest
from typer.testing import CliRunner

from tests.data import fixtures
from workbench.cli import app
from workbench.execution import grid, library, notebook, report, table
from workbench.execution.notebook import RunResult, run_notebook
from workbench.experiment import Config, run, runs, standalone

pytestmark = pytest.mark.slow

COMMANDS = {one.table: shlex.split(one.command)[1:] for one in table.listed()}
FEW = {
    "train_images": 12, "seed": 0, "device": "cpu", "epochs": 1, "batch_size": 8, "clusters": 3,
    "clusters_per_batch": 2, "val_images": 6, "test_images": 10,
}  # fmt: skip
# what makes a notebook small
SMALL: dict[str, dict[str, Any]] = {
    "01_descriptiveness": {"images": 60},
    "02_scene_graphs": {"images": 12},
    "04_embedding_map": {"images": 10, "clusters": 2, "neighbours": 3, "shown": 2, "by_kind": True},
    "05_hierarchy": {"images": 10, "shown": [0, 1]},
    "06_retrieval_explorer": {"images": 10},
    "07_compare": {"images": 10, "differ": 1, "k": 2},
    "08_relevance": {"images": 10, "rounds": 10, "k": 2},
}
# how the title of a figure begins
FIGURES = {
    "DITM Fig. 3": "What each word adds",
    "DITM Fig. 5": "Recall by level",
    "DITM Fig. 7": "From each image to the root",
    "DITM Fig. 8": "Descriptiveness by level of the chain",
    "CORA Fig. 1": "The first caption",
    "DIAS Fig. 4": "Distances within and between modalities, 10 images",
    "SAM Table 1": "Agreement with the judgements &#x27;sits&#x27; of cxc/test",
    "SAM Fig. 3": "Recall at 2 without ground truth",
    "AAHR Fig. 5": "A map of each caption by cluster",
    "AAHR Fig. 7": "Accuracy against speed",
}
# what stands on a page
PAGES = {
    "DITM Fig. 6": "<b>descriptiveness 0.",
    "CORA Fig. 3": '"kind":"drop"',
    "SAM Fig. 1": "px solid rgba(0, 114, 178, 1.00)",
    "AAHR Fig. 6": "Captions and the images they find",
    "AAHR Fig. 8": "<b>aahr</b>, image ",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers") / "runs"


def trained(path: Path, given: dict[str, Any], *, root: Path, arms: Any = None, **_: Any) -> RunResult:
    """A run folder as 03_train leaves it."""
    values = notebook.check(path, given)
    folder = runs.new_run(path.stem, values, root, notebook.code(path))
    runs.name_arm(folder, arms or {})
    config = Config(**{**{name: values[name] for name in values.keys() - {"settings"}}, **values["settings"]})
    run(config, folder=folder, progress=False).save(folder)
    return RunResult(runs.write_status(folder, "ok").parent, "ok", 0, 0.0)


@pytest.mark.parametrize("name", [name for name, words in COMMANDS.items() if words[0] == "grid"])
def test_a_grid_ends_in_the_table_of_its_paper(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "run_notebook", trained)
    elsewhere = standalone.evaluate_on
    monkeypatch.setattr(
        standalone, "evaluate_on", lambda folder, target: elsewhere(folder, replace(target, images=6))
    )
    words = [word for option, value in FEW.items() for word in ("-p", option, str(value))]
    done = CliRunner().invoke(app, [*COMMANDS[name], *words, "--skip-existing", "--root", str(root)])
    assert done.exit_code == 0, done.output
    file = library.find(COMMANDS[name][2], "grid")
    made = table.make(file, {option: str(value) for option, value in FEW.items()}, root=root)
    assert made.missing == {}
    assert made.title.replace(", Table", " Table").replace(", Fig", " Fig") == name.partition(",")[0]
    ours = [row for row in made.rows if row.ours]
    # RSUM is at most 6, and a correlation at least -1
    assert all(-1 <= row.values[head][0] <= 6 for row in ours for head in made.columns)
    assert {row.seeds for row in ours} == {1}
    page = (root / "tables" / f"{made.name}.html").read_text(encoding="utf-8")
    assert page.count("<tr") == 1 + len(made.rows)
    assert ('id="curves"' in page) == bool(table.read(grid.read_grid(file)).curves)


@pytest.fixture(scope="module")
def shown(root: Path, tmp_path_factory: pytest.TempPathFactory):
    """What a notebook shows of two runs: its figures by title, and the pages."""

    @cache
    def pair() -> list[str]:
        path = library.find("03_train")
        few = {name: value for name, value in FEW.items() if not name.startswith("clusters")}
        return [str(trained(path, {"objective": one, **few}, root=root).folder) for one in ("aahr", "ditm")]

    @cache
    def of(name: str) -> tuple[dict[str, Any], str]:
        more: dict[str, Any] = {"runs": pair()} if "runs" in notebook.check(library.find(name), {}) else {}
        if name == "08_relevance":
            more["ratings"] = {"cxc:sits": fixtures.cxc(tmp_path_factory.mktemp("cxc"))}
        result = run_notebook(library.find(name), {**SMALL[name], **more}, root=root)
        assert (result.status, result.error) == ("ok", "")
        book = nbformat.read(result.folder / "notebook.ipynb", 4)
        outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
        pages = [output.data["text/html"] for output in outputs if "text/html" in output.get("data", {})]
        return {one["layout"]["title"]["text"]: one for one in report.figures(book)}, "\n".join(pages)

    return of


@pytest.mark.parametrize("name", [name for name, words in COMMANDS.items() if words[0] == "run"])
def test_a_notebook_shows_the_figure_of_the_paper(name: str, shown) -> None:
    figures, pages = shown(COMMANDS[name][1])
    if name in PAGES:
        assert PAGES[name] in pages
        return
    found = [figure for title, figure in figures.items() if title.startswith(FIGURES[name])]
    assert found, list(figures)
    assert all(figure["data"] for figure in found)


def test_every_row_is_read() -> None:
    drawn = {name for name, words in COMMANDS.items() if words[0] == "run"}
    assert drawn == FIGURES.keys() | PAGES.keys()
    assert len(COMMANDS) == 44
