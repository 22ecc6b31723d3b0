"""Each table and figure of the five papers is made once on tiny settings, and what came out is read.

Of a grid the first arm and the last are trained, since ``test_grids`` builds them all. Runs are shared: an
arm that several grids train alike is trained once, and two runs serve every notebook. All is done in this
process, by the parameters that a kernel would get.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import plotly.io as pio
import pytest
import yaml
from paper_tables import layout as layouts
from paper_tables import pages, table
from typer.testing import CliRunner

from tests import stand_ins
from tests.data import fixtures
from tests.in_process import executed
from tests.oracles import cora as oracle
from workbench.cli import app
from workbench.execution import grid, library, notebook
from workbench.execution.notebook import Outcome
from workbench.execution.report import PLOTLY
from workbench.runs import Config
from workbench.runs import evaluate as evaluation
from workbench.runs import store as runs
from workbench.runs.build import load_split
from workbench.runs.models import load_model
from workbench.runs.result import Result
from workbench.runs.spellings import fields
from workbench.runs.target import Target
from workbench.runs.train import train

pytestmark = pytest.mark.slow

COMMANDS = {row["table"]: shlex.split(row["command"])[1:] for row in table.list_tables()}
FEW = {
    "train_images": 12,
    "seed": 0,
    "device": "cpu",
    "epochs": 1,
    "batch_size": 8,
    "clusters": 3,
    "clusters_per_batch": 2,
    "val_images": 6,
    "test_images": 10,
}
# what makes a notebook small
SMALL: dict[str, dict[str, Any]] = {
    "01_descriptiveness": {"images": 60},
    "02_scene_graphs": {"images": 12},
    "04_embedding_map": {"images": 10, "clusters": 2, "neighbours": 3, "shown": 2, "by_kind": True},
    "05_hierarchy": {"images": 10, "shown": [0, 1]},
    "06_retrieval_explorer": {"images": 10, "caption": 4},
    "07_compare": {"images": 10, "differ": 1, "k": 2},
    "08_relevance": {"images": 10, "rounds": 10, "k": 2},
    "09_relevance_audit": {"images": 10, "rounds": 10},
}
# how the title of a figure begins
FIGURES = {
    "DITM Fig. 3": "What each word adds",
    "DITM Fig. 5": "Recall by level",
    "DITM Fig. 7": "From each image to the root",
    "DITM Fig. 8": "Descriptiveness by level of the chain",
    "CORA Fig. 1": "The first caption",
    "SAM Table 1": "Agreement with the judgements &#x27;sits&#x27; of cxc/test",
    "SAM Fig. 3": "Recall at 2 without ground truth",
    "AAHR Fig. 5": "A map of each caption by cluster",
}
# what stands on a page
PAGES = {
    "CORA Fig. 3": '"kind":"drop"',
    "SAM Fig. 1": "px solid rgba(0, 114, 178, 1.00)",
    "AAHR Fig. 6": "Captions and the images they find",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("papers") / "runs"


def trained(path: Path, params: dict[str, Any], *, root: Path, arms: Any = None, **_: Any) -> Outcome:
    """A run folder as 03_train leaves it."""
    values = notebook.check_parameters(path, params)
    folder = runs.new_run(path.stem, values, root, notebook.read_code(path))
    runs.add_arms(folder, arms or {})
    config = Config(**fields(values))
    train(config, folder=folder, progress=False).save(folder)
    return Outcome(runs.write_status(folder, "ok").parent, "ok", 0, 0.0)


planned = grid.plan


def options_of(params: Mapping[str, Any]) -> list[str]:
    """Parameters as words of a command."""
    words = []
    for option, value in params.items():
        words += ["-p", option, str(value)]
    return words


def two(notebook: str, described: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> grid.Arms:
    """The first and the last arm of a grid."""
    arms = list(described["arms"].items())
    return planned(notebook, {**described, "arms": dict([arms[0], arms[-1]])}, changes)


@pytest.mark.parametrize("name", [name for name, words in COMMANDS.items() if words[0] == "grid"])
def test_a_grid_ends_in_the_table_of_its_paper(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid, "run_notebook", trained)
    monkeypatch.setattr(grid, "plan", two)
    measured = evaluation.evaluate

    def few(model: Any, data: Any = None, **more: Any) -> Result:
        smaller = data.model_copy(update={"images": 6}) if isinstance(data, Target) else data
        return measured(model, smaller, **more)

    monkeypatch.setattr(evaluation, "evaluate", few)
    words = options_of(FEW)
    done = CliRunner().invoke(app, [*COMMANDS[name], *words, "--skip-existing", "--root", str(root)])
    assert done.exit_code == 0, done.output
    file = library.find_file(COMMANDS[name][2], "grid")
    written = table.make(file, {option: str(value) for option, value in FEW.items()}, root=root)
    assert written.missing == {}
    titled = written.title.replace(", Table", " Table").replace(", Fig", " Fig")
    assert titled.partition(":")[0] == name.partition(",")[0]
    ours = [row for row in written.rows if row.seeds]
    # RSUM is at most 6, and a correlation at least -1
    for row in ours:
        assert all(-1 <= row.values[head][0] <= 6 for head in written.columns)
    derived = layouts.read(grid.read_grid(file), file).derived
    own = [row for row in ours if row.name not in derived]
    assert [row.seeds for row in own] == [1] * min(2, len(grid.read_grid(file)["arms"]))
    names = {row.name for row in own}
    made_of = {name for name, how in derived.items() if how.arm in names}
    assert {row.name for row in ours} - names == made_of
    page = (root / "tables" / f"{written.name}.html").read_text(encoding="utf-8")
    compared = {difference.run for difference in written.differences}
    blocks = [pages.texts(written)[1]]
    blocks += [rows for _, _, rows in pages.tables_of_other_sets(written)]
    if compared:
        blocks.append(pages.differences(written)[2])
    # each has one row of headings
    assert page.count("<tr") == sum(1 + len(rows) for rows in blocks)
    assert len(compared) == (len(blocks[-1]) if compared else 0)
    assert ('id="curves"' in page) == bool(layouts.read(grid.read_grid(file)).curves)


def test_table_4_of_cora_trains_each_model_once_and_its_rows_are_those_of_a_double_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began = list[Path]()

    def counted(path: Path, params: dict[str, Any], **more: Any) -> Outcome:
        began.append(path)
        return trained(path, params, **more)

    monkeypatch.setattr(grid, "run_notebook", counted)
    seeded = tmp_path / "cora_table4.yaml"
    described = grid.read_grid(library.find_file("cora_table4", "grid"))
    few = {name: value for name, value in FEW.items() if name != "seed"} | {"val_images": 12}
    described = {
        **described,
        "fixed": {**described["fixed"], **few, "train_images": 40, "lr": 0.002},
        "grid": {"seed": [0, 1]},
    }
    seeded.write_text(yaml.safe_dump(described, sort_keys=False), encoding="utf-8")
    done = CliRunner().invoke(app, ["grid", "03_train", str(seeded), "--root", str(tmp_path / "runs")])
    assert (done.exit_code, len(began)) == (0, 2), done.output
    monkeypatch.setattr(evaluation, "evaluate", None)  # the verb reads what is stored
    by_name = {row.name: row for row in table.make(seeded, root=tmp_path / "runs").rows if row.seeds}
    assert {name: row.seeds for name, row in by_name.items()} == {
        "CORA": 2,
        "CORA + reranking": 2,
        "CORA(ensemble)": 1,
        "CORA + reranking(ensemble)": 1,
    }
    plain, reranked = [], []
    own = np.empty(0)
    for stored in runs.list_runs(tmp_path / "runs", "03_train"):
        val, test = (entity_scores(stored.folder, split) for split in ("val", "test"))
        weights = [step / 20 for step in range(20, -1, -1)]
        betas = {beta: rsum(oracle.reranked(*val[:3], beta), val[3]) for beta in weights}
        plain.append(test[0])
        reranked.append(oracle.reranked(*test[:3], max(betas, key=betas.__getitem__)))
        own = test[3]
    wanted = {
        "CORA": [rsum(scores, own) for scores in plain],
        "CORA + reranking": [rsum(scores, own) for scores in reranked],
        "CORA(ensemble)": [rsum(mean(plain), own)],
        "CORA + reranking(ensemble)": [rsum(mean(reranked), own)],
    }
    for name, values in wanted.items():
        assert by_name[name].values["rsum"][0] == pytest.approx(sum(values) / len(values), abs=1e-6), name
    assert wanted["CORA"] != wanted["CORA + reranking"]


def entity_scores(folder: Path, name: str) -> tuple[Any, Any, Any, Any]:
    """Scores with captions and entities, the caption of each entity, the image of each caption."""
    model = load_model(folder)
    split = load_split(model.config, name)
    image, text = model.embed(model.source(split, every_signal=False))
    lists = ((image.mean @ vectors.T).double().tolist() for vectors in (text.mean, text.entities))
    return *lists, text.owner.tolist(), split.own


def mean(matrices: list[Any]) -> list[list[float]]:
    """Entry by entry."""
    return np.mean(matrices, axis=0).tolist()


def rsum(scores: Any, own: Any) -> float:
    """The six recalls, by the place of the first own item in each list; ties count against."""
    """The six recalls, by the place of the first own item in each list; ties count against."""
    total, table = 0.0, np.asarray(scores)
    right = np.asarray(own) == np.arange(len(table))[:, None]
    for values, hits in ((table, right), (table.T, right.T)):
        order = np.lexsort((hits, -values))
        places = np.take_along_axis(hits, order, axis=1).argmax(axis=1)
        total += sum(float((places < k).mean()) for k in (1, 5, 10))
    return total


@pytest.fixture(scope="module")
def pair(root: Path) -> list[str]:
    """Two runs."""
    path = library.find_file("03_train")
    few = {name: value for name, value in FEW.items() if not name.startswith("clusters")}
    arms = ({"objective": objective, **few} for objective in ("aahr", "ditm"))
    return [str(trained(path, params, root=root).folder) for params in arms]


@pytest.fixture(scope="module")
def shown(pair: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """What a notebook shows of two runs: its figures by title, and the pages."""

    @cache
    def cell(name: str) -> tuple[dict[str, Any], str]:
        path, more = library.find_file(name), dict[str, Any]()
        if "runs" in notebook.check_parameters(path, {}):
            more["runs"] = pair
        if name == "09_relevance_audit":
            more["ratings"] = {"cxc:sits": fixtures.cxc(tmp_path_factory.mktemp("cxc"))}
        outputs = executed(path, {**SMALL[name], **more}, tmp_path_factory.mktemp(name))
        figures = [output[PLOTLY] for output in outputs if PLOTLY in output]
        pages = [output["text/html"] for output in outputs if "text/html" in output]
        return {figure["layout"]["title"]["text"]: figure for figure in figures}, "\n".join(pages)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WORKBENCH_BATCH", "1")
        was, pio.renderers.default = pio.renderers.default, "plotly_mimetype"
        yield cell
        pio.renderers.default = was


@pytest.mark.parametrize("name", [name for name, words in COMMANDS.items() if words[0] == "run"])
def test_a_notebook_shows_the_figure_of_the_paper(name: str, shown) -> None:
    figures, pages = shown(COMMANDS[name][1])
    if name in PAGES:
        assert PAGES[name] in pages
        return
    drawn = [figure for title, figure in figures.items() if title.startswith(FIGURES[name])]
    assert drawn, list(figures)
    assert all(figure["data"] for figure in drawn)


# what the page of a figure holds
DRAWN = {
    "DITM Fig. 6": "<b>descriptiveness 0.",
    "DIAS Fig. 4": "Distances within and between modalities, 10 images",
    "AAHR Fig. 7": "Accuracy against speed",
    "AAHR Fig. 8": "<b>aahr</b>, image ",
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_of_finished_runs_is_a_page_that_needs_no_network(
    name: str, pair: list[str], tmp_path: Path
) -> None:
    words = [word for word in COMMANDS[name] if word != "RUN"]
    done = CliRunner().invoke(app, [*words, *pair, "--out", str(tmp_path / "figure.html")])
    assert done.exit_code == 0, done.output
    page = (tmp_path / "figure.html").read_text(encoding="utf-8")
    assert DRAWN[name] in page
    assert "<link" not in page
    assert not re.findall(r'<(?:script|img)[^>]+src="https?:', page)


def test_runs_of_another_test_set_have_a_table_of_their_own_above_the_rows_that_papers_print(
    pair: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "figure.html"
    words = ["figure", "MS-COCO 5K, full", *pair, "--images", "8", "--out", str(file)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    page = file.read_text(encoding="utf-8")
    assert page.index("The runs, on their own test set") < page.index("AAHR, table 2")
    assert "measured here" not in page


def test_an_unknown_figure_is_named_with_near_ones_before_a_run_is_opened() -> None:
    done = CliRunner().invoke(app, ["figure", "aahr_figur8", "nowhere"])
    assert done.exit_code == 2
    assert "aahr_figure8" in done.output


def test_every_row_is_read() -> None:
    drawn = {name for name, words in COMMANDS.items() if words[0] in ("run", "figure")}
    assert drawn == FIGURES.keys() | PAGES.keys() | DRAWN.keys()
    assert len(COMMANDS) == 44


PAPER = {
    "cora_table3_losses": {"text_encoder.pretrained": "glove.txt"},
    "dias_figure6": {"clusters": 4, "clusters_per_batch": 2},
    "sam_table3": {},
    "ditm_table2": {"image_encoder.model": "tiny.json", "image_encoder.pretrained": "tiny.safetensors"},
    "aahr_table4": {
        "image_encoder.guide_options.model": "tiny.json",
        "image_encoder.guide_options.pretrained": "tiny.safetensors",
        "image_encoder.text_base_options.features": "bert",
        "image_encoder.text_base_options.word_dim": 8,
    },
}


@pytest.mark.parametrize("name", PAPER)
def test_a_table_in_the_settings_of_its_paper_runs_through_on_stand_ins_in_the_true_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(grid, "run_notebook", trained)
    monkeypatch.setattr(grid, "plan", two)
    stand_ins.weights(tmp_path)
    options = stand_ins.bottom_up(tmp_path / "flickr30k", "flickr30k") | {"root": str(tmp_path / "flickr30k")}
    if name == "ditm_table2":
        options["source"] = "photographs"
    few = {"epochs": 1, "step_epochs": "[1]", "batch_size": 4, "seed": 0, "device": "cpu", **PAPER[name]}
    few["data"] = json.dumps(options)
    words = options_of(few)
    done = CliRunner().invoke(app, ["grid", "03_train", name, "--paper", *words, "--root", "runs"])
    assert done.exit_code == 0, done.output
    written = table.make(name, {option: str(value) for option, value in few.items()}, root="runs", paper=True)
    ours = [row for row in written.rows if row.seeds]
    assert written.missing == {}
    assert len(ours) >= 2
    assert written.name.endswith("_paper")
    for row in ours:
        assert all(value is not None for value, *_ in row.values.values())
