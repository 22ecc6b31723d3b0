"""The rules that every committed notebook keeps, and that each runs for every objective."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from typing import Any

import nbformat
import numpy as np
import papermill
import pytest

import workbench as wb
from tests.data import fixtures
from tests.in_process import executed
from workbench import objectives
from workbench.execution.notebook import check_parameters, run_notebook
from workbench.execution.parameters import read_parameters
from workbench.io import read_options
from workbench.runs import Config
from workbench.runs import store as runs

FOLDER = Path(__file__).parent.parent / "notebooks"
PATHS = sorted(FOLDER.glob("*.ipynb"))
LONGEST, MEDIAN = 12, 5
SMALL = {
    "train_images": 64,
    "device": "cpu",
    "config": {"epochs": 1, "batch_size": 32, "val_images": 32, "test_images": 48},
}


def published(name: str, given: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """What a notebook leaves in ``results.json`` with these parameters, in this process."""
    folder.mkdir(exist_ok=True)
    executed(FOLDER / f"{name}.ipynb", dict(given), folder)
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(params=PATHS, ids=lambda path: path.stem)
def path(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.fixture
def book(path: Path) -> nbformat.NotebookNode:
    return nbformat.read(path, 4)


def code_cells(book: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in book.cells if cell.cell_type == "code"]


def lines(cell: nbformat.NotebookNode) -> int:
    return sum(bool(line.strip()) for line in cell.source.splitlines())


def test_there_are_notebooks() -> None:
    assert [path.stem[:2] for path in PATHS] == ["01", "02", "03", "04", "05", "06", "07", "08", "09", "10"]


def test_it_is_valid_and_asks_for_the_kernel_that_everybody_has(book: nbformat.NotebookNode) -> None:
    nbformat.validate(book)
    assert book.metadata.kernelspec.name == "python3"


def test_it_is_committed_without_outputs_or_traces_of_a_run(book: nbformat.NotebookNode) -> None:
    assert [cell.outputs for cell in code_cells(book)] == [[] for _ in code_cells(book)]
    assert {cell.execution_count for cell in code_cells(book)} == {None}
    assert not {"papermill", "widgets"} & set(book.metadata)
    assert not [cell for cell in book.cells if {"papermill", "execution"} & set(cell.metadata)]


def test_imports_come_first_then_parameters_then_the_config_and_results_last(
    book: nbformat.NotebookNode,
) -> None:
    tags = [cell.metadata.get("tags", []) for cell in code_cells(book)]
    assert tags[1] == ["parameters"]
    assert tags[2] == ["setup"]
    assert tags[-1] == ["results"]
    assert sum("parameters" in tag for tag in tags) == sum("results" in tag for tag in tags) == 1
    statements = ast.parse(code_cells(book)[0].source).body
    assert all(isinstance(statement, ast.Import | ast.ImportFrom) for statement in statements)
    later = [node for cell in code_cells(book)[1:] for node in ast.walk(ast.parse(cell.source))]
    assert not [node for node in later if isinstance(node, ast.Import | ast.ImportFrom)]


def test_parameters_are_typed_literals_with_help_and_the_last_is_the_run_folder(path: Path) -> None:
    parameters = read_parameters(path)
    assert [name for name, parameter in parameters.items() if not parameter.help] == []
    assert list(parameters)[-1] == "out"
    assert parameters["out"].default == ""


def test_papermill_reads_the_same_parameters(path: Path) -> None:
    """Its reader trips over an equals sign in a comment, and then ignores the parameter with a warning."""
    ours, theirs = read_parameters(path), papermill.inspect_notebook(path)
    assert {name: (p.type, p.help) for name, p in ours.items()} == {
        name: (p["inferred_type_name"], p["help"]) for name, p in theirs.items()
    }


def test_cells_are_short(book: nbformat.NotebookNode) -> None:
    cells = code_cells(book)
    assert max(map(lines, cells)) <= LONGEST
    assert median(map(lines, cells)) <= MEDIAN


def test_it_defines_nothing_and_knows_no_place_on_a_machine(book: nbformat.NotebookNode) -> None:
    nodes = [node for cell in code_cells(book) for node in ast.walk(ast.parse(cell.source))]
    banned = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.While)
    assert [ast.unparse(node) for node in nodes if isinstance(node, banned)] == []
    strings = [node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    assert [text for text in strings if text.startswith(("/", "~", "C:"))] == []
    assert not any(
        line.startswith(("%", "!")) for cell in code_cells(book) for line in cell.source.splitlines()
    )


def test_prose_stands_before_code(book: nbformat.NotebookNode) -> None:
    assert book.cells[0].cell_type == "markdown"
    assert book.cells[0].source.startswith("# ")
    words = sum(len(cell.source.split()) for cell in book.cells if cell.cell_type == "markdown")
    assert words >= 4 * sum(lines(cell) for cell in code_cells(book))
    kinds = [cell.cell_type for cell in book.cells]
    assert "code code code code" not in " ".join(kinds), (
        "imports, parameters and setup may stand together, nothing else"
    )


def test_the_training_notebook_names_its_parameters_after_the_fields_of_config() -> None:
    names = set(read_parameters(FOLDER / "03_train.ipynb")) - {"config", "out"}
    assert names <= Config.model_fields.keys()


PARAMETERS = sorted((FOLDER / "parameters").glob("*.yaml"))


@pytest.mark.parametrize("path", PARAMETERS, ids=lambda path: path.stem)
def test_a_file_of_parameters_fits_the_notebook_of_its_number(path: Path) -> None:
    (book,) = FOLDER.glob(f"{path.stem[:2]}_*.ipynb")
    assert set(check_parameters(book, read_options(path))) == set(read_parameters(book)) - {"out"}


REAL = {"01_descriptiveness": "01_hierarcaps", "02_scene_graphs": "02_flickr8k"}


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("name", REAL)
def test_the_notebooks_on_captions_run_on_real_data_by_parameter(
    name: str, tmp_path: Path, real_data: Path
) -> None:
    parameters = {**read_options(FOLDER / "parameters" / f"{REAL[name]}.yaml"), "images": 30}
    assert published(name, parameters, tmp_path)["metrics"]


SEVERAL = {
    "04_embedding_map": {"images": 20, "clusters": 3},
    "05_hierarchy": {"images": 60},
    "06_retrieval_explorer": {"images": 40},
    "07_compare": {"images": 40, "differ": 1, "k": 3},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
def test_the_notebooks_on_trained_models_run_on_the_shipped_encoder_alone(name: str, tmp_path: Path) -> None:
    """With several runs the tour runs them; 08 and 09 stand below."""
    assert published(name, SEVERAL[name], tmp_path)["metrics"]


@pytest.mark.slow
def test_the_notebook_on_relevance_reads_the_ratings_of_cxc(tmp_path: Path) -> None:
    given = {
        "images": 40,
        "rounds": 20,
        "judges": {"tfidf": {}, "cider": {"leave_one_out": True}},
        "ratings": {"cxc:sits": fixtures.cxc(tmp_path)},
    }
    found = published("09_relevance_audit", given, tmp_path)
    assert found["judge"].startswith("TF-IDF cosine")
    asked = {"judge: tfidf | sits:pearson", "judge: tfidf | sits:kendall_tau_c"}
    assert asked | {"judge: cider leave_one_out=True | sits:pearson"} <= found["metrics"].keys()


@pytest.mark.slow
def test_vectors_and_models_of_elsewhere_are_compared_and_what_they_lack_is_said(tmp_path: Path) -> None:
    split = wb.load_data("scenes", split="test", size=40)
    random = np.random.default_rng(0)
    names = [tmp_path / name for name in ("noise", "model")]
    sizes = len(split.image_ids), len(split.captions)
    images, texts = (random.standard_normal((size, 4), dtype=np.float32) for size in sizes)
    wb.evaluate(images=images, texts=texts, data=split).save(names[0])
    wb.evaluate(wb.open_model("scenes", "scenes"), split).save(names[1])
    small = SEVERAL["07_compare"]
    found = published("07_compare", {**small, "runs": [str(names[0])]}, tmp_path / "alone")
    assert [row["verdict"] for row in found["differences"].values()]
    found = published("07_compare", {**small, "runs": list(map(str, names))}, tmp_path / "both")
    assert len(found["models"]) == 2
    assert {row["against"] for row in found["differences"].values()} == {found["models"][0]}
    found = published(
        "07_compare", {**small, "runs": list(map(str, names)), "by": ["level"]}, tmp_path / "by"
    )
    assert any(key.endswith("t2i/R@1[level=1]") for key in found["differences"])


ELSEWHERE = {
    "07_compare": {"differ": 1, "k": 3},
    "08_relevance": {"rounds": 20, "noise": [0.3]},
    "09_relevance_audit": {"rounds": 20},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ELSEWHERE)
def test_runs_are_looked_at_on_other_data_by_parameter(name: str, tmp_path: Path) -> None:
    """One's own photographs, which know no judgements beyond the labels."""
    place = fixtures.photographs(tmp_path / "mine", images=16)
    on = {"data": {"name": "folder", "root": str(place)}, "split": "all"}
    found = published(name, {**ELSEWHERE[name], "images": 0, "evaluate_on": on}, tmp_path)
    if name == "07_compare":
        assert (found["dataset"], set(found["training"].values())) == ("folder", {"scenes"})
    else:
        assert (found["dataset"], found["truth"]) == ("mine/all", "own")


@pytest.mark.slow
def test_regions_without_photographs_go_through_the_notebooks(tmp_path: Path) -> None:
    """A made-up set in the form of bottom-up attention: trained in 03, looked at in 04, 07, 08 and 09."""
    place = fixtures.bottom_up(tmp_path / "mine", images=64)
    given = {"objective": "dias", "train_images": 0, "device": "cpu", "epochs": 1, "batch_size": 16}
    given |= {"data": {"name": "folder", "root": str(place), "regions": "butd"}}
    given |= {"image_encoder": {"name": "regions", "embed_dim": 16}}
    given |= {"text_encoder": {"name": "sequence", "word_dim": 8, "embed_dim": 16}}
    trained = run_notebook(FOLDER / "03_train.ipynb", given, folder=tmp_path / "trained")
    assert (trained.status, trained.error, trained.warnings) == ("ok", "", ())
    assert (trained.folder / "notebook.ipynb").stat().st_size < 8_000_000
    small = {"04_embedding_map": {"clusters": 3, "neighbours": 3, "shown": 3}, "07_compare": {"differ": 1}}
    small |= {"08_relevance": {"rounds": 10, "noise": [0.3]}, "09_relevance_audit": {"rounds": 10}}
    for name, more in small.items():
        looked = {**more, "runs": [str(trained.folder)], "images": 0}
        assert published(name, looked, tmp_path / name)["metrics"], name


USERS = {"03_train": (16, 20), "07_compare": (16, 20)}


@pytest.mark.parametrize("name", USERS)
def test_the_notebooks_on_a_users_runs_are_short_and_call_public_names_alone(name: str) -> None:
    book = nbformat.read(FOLDER / f"{name}.ipynb", 4)
    least, most = USERS[name]
    assert least <= len(book.cells) <= most
    trees = [ast.parse(cell.source) for cell in code_cells(book)]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    modules = {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert modules == {"IPython.display", "workbench.registry"}
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    public = {node.attr for node in attributes if ast.unparse(node.value) == "wb"}
    assert public <= {*wb.__all__, "use_device"}
    assert len(public) <= 12


@pytest.mark.slow
def test_the_notebook_of_findings_shows_what_was_recorded(tmp_path: Path) -> None:
    found = published("10_findings", {}, tmp_path)
    assert {name.partition(" | ")[2] for name in found["metrics"]} == {"rsum", *found["same_list"]}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_other_data_that_are_not_there_are_refused_before_a_kernel_starts(name: str) -> None:
    with pytest.raises(KeyError, match="did you mean eccv_caption"):
        check_parameters(FOLDER / f"{name}.ipynb", {"evaluate_on": {"data": "eccv_captions"}})


@pytest.mark.slow
def test_plain_papermill_leaves_a_run_and_its_log_ends_without_an_interrupt(tmp_path: Path) -> None:
    words = ["-p", "images", "20", "--log-output"]
    command = [sys.executable, "-m", "papermill", FOLDER / "04_embedding_map.ipynb", "out.ipynb", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (run,) = runs.list_runs(tmp_path / "runs")
    assert (run.notebook, run.status) == ("04_embedding_map", "unwatched")
    assert run.results["metrics"]
    assert (tmp_path / "out.ipynb").stat().st_size < 8_000_000
    # papermill asks the kernel what it is, and interrupts it as soon as the answer is there; a kernel that is
    # still busy with it logs this line
    log = (done.stdout + done.stderr).replace(
        "[IPKernelApp] ERROR | KeyboardInterrupt caught in kernel.\n", ""
    )
    assert "KeyboardInterrupt" not in log
    assert "Traceback" not in log


@pytest.mark.slow
@pytest.mark.parametrize("objective", objectives.names())
def test_the_notebook_trains_with_every_objective(objective: str, tmp_path: Path) -> None:
    found = published("03_train", {**SMALL, "objective": objective}, tmp_path)
    assert found["objective"] == objective
    assert 0 <= found["metrics"]["rsum"] <= 6
