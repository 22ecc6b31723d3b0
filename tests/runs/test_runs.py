"""The run folder."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import nbformat
import numpy as np
import papermill
import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config as Options

from workbench.runs import store as runs

# the first cells of a notebook; the last two names are no parameters that anybody can check
CELLS = (
    "from workbench.registry import Count, Natural\nfrom workbench.runs import store",
    "images: Count = 5\nk: Natural = 1\nshare: float = 0.5\nobjective: str = 'vsepp'\nruns: list = []",
    "other: Exception = None\nlater: int",
)


def cells_run(injected: str, folder: Path) -> None:
    """Run the first cells of a notebook, with a cell that papermill injects before that of the setup."""
    options = Options({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(user_module=ModuleType("notebook"), config=options)
    try:
        for cell in (*CELLS, f"# Parameters\n{injected}\n", f"store.run_folder('x', {str(folder)!r}, {{}})"):
            shell.run_cell(cell, store_history=True).raise_error()
    finally:
        InteractiveShell.clear_instance()


def test_a_results_file_is_sorted_json_with_plain_numbers(tmp_path: Path) -> None:
    path = runs.write_results(
        tmp_path, {"metrics": {"t2i/R@1": np.float32(0.5)}, "k": np.arange(2), "a": None, "where": Path("x")}
    )
    assert path == tmp_path / "results.json"
    assert list(json.loads(path.read_text())) == ["a", "k", "metrics", "where"]
    assert json.loads(path.read_text()) == {"a": None, "k": [0, 1], "metrics": {"t2i/R@1": 0.5}, "where": "x"}


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), np.float32("nan")])
def test_a_number_that_is_not_finite_is_refused_by_its_place(tmp_path: Path, bad: float) -> None:
    with pytest.raises(ValueError, match=r"results.json/metrics/list\[1\] is (nan|inf)"):
        runs.write_results(tmp_path, {"metrics": {"list": [1.0, bad]}})
    assert not list(tmp_path.iterdir()), "neither a file nor a temporary one is left"


def test_a_value_without_a_json_form_is_refused_by_its_place(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"results.json/model is of type object"):
        runs.write_results(tmp_path, {"model": object()})


def test_a_writer_killed_before_the_rename_leaves_the_old_file(tmp_path: Path) -> None:
    runs.write_results(tmp_path, {"value": 1})
    code = (
        "import os, sys, pathlib; from workbench.runs import store as runs\n"
        "pathlib.Path.replace = lambda self, other: os.kill(os.getpid(), 9)\n"
        "runs.write_results(sys.argv[1], {'value': 2})"
    )
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert killed.returncode == -9
    assert runs.read(tmp_path).results == {"value": 1}


def test_a_run_id_is_a_time_and_eight_hex_digits_of_parameters_and_code(tmp_path: Path) -> None:
    first, again = (runs.new_run("nb", {"epochs": 1}, tmp_path) for _ in range(2))
    other = runs.new_run("nb", {"epochs": 2}, tmp_path)
    code = runs.new_run("nb", {"epochs": 1}, tmp_path, code="x = 1")
    keys = [path.name[16:24] for path in (first, again, other, code)]
    assert len({first, again, other, code}) == 4
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert all(path.name[8] == "-" and path.parent == tmp_path / "nb" for path in (first, again, other, code))


def test_a_notebook_writes_where_it_is_told_and_else_below_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert runs.run_folder("nb", tmp_path / "there", {"a": 1}) == tmp_path / "there"
    assert runs.run_folder("nb", "", {"a": 1}).parent == tmp_path / "runs" / "nb"
    assert [run.params for run in runs.list_runs()] == [{"a": 1}]
    assert runs.read("there").params == {"a": 1}


@pytest.mark.parametrize("status", ["ok", "killed", "failed:3", "interrupted", "timeout"])
def test_a_status_is_read_as_written(tmp_path: Path, status: str) -> None:
    runs.write_status(tmp_path, status)
    assert runs.read(tmp_path).status == status


def test_an_unknown_status_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="fine"):
        runs.write_status(tmp_path, "fine")


def test_a_run_without_a_status_is_unfinished_or_unwatched(tmp_path: Path) -> None:
    folder = runs.new_run("nb", {}, tmp_path)
    assert runs.read(folder).status == "unfinished"
    runs.write_results(folder, {"value": 1})
    assert runs.read(folder).status == "unwatched"
    (folder / runs.WATCHED).touch()  # whoever watched it was killed before it could say how it ended
    assert runs.read(folder).status == "unfinished"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="nowhere"):
        runs.read(tmp_path / "nowhere")


def test_runs_are_listed_oldest_first_over_all_notebooks(tmp_path: Path) -> None:
    for name in (
        "b/20260102-000000-00000000",
        "a/20260101-000000-00000000",
        "a/20260103-000000-00000000",
        "tour/assets",
    ):
        (tmp_path / name).mkdir(parents=True)
        if name != "tour/assets":
            runs.write_status(tmp_path / name, "ok")
    assert [(run.notebook, run.id[:8]) for run in runs.list_runs(tmp_path)] == [
        ("a", "20260101"),
        ("b", "20260102"),
        ("a", "20260103"),
    ]
    assert runs.list_runs(tmp_path / "none") == []


def test_of_runs_of_one_second_the_last_is_the_one_that_was_made_last(tmp_path: Path) -> None:
    folders = [runs.new_run("nb", {"number": number}, tmp_path) for number in range(8)]
    assert [run.params["number"] for run in runs.list_runs(tmp_path)] == list(range(8))
    assert runs.find("last", tmp_path).folder == folders[-1]


def test_a_run_is_found_by_path_id_part_of_the_id_notebook_or_as_the_last(tmp_path: Path) -> None:
    for name in ("one/20260101-000000-0000aaaa", "two/20260102-000000-0000bbbb"):
        runs.write_status(tmp_path / name, "ok")
    for name in (
        tmp_path / "two" / "20260102-000000-0000bbbb",
        "20260102-000000-0000bbbb",
        "20260102",
        "bbbb",
        "two",
        "last",
    ):
        assert runs.find(name, tmp_path).notebook == "two"
    with pytest.raises(LookupError, match="2 runs are called '2026'"):
        runs.find("2026", tmp_path)
    runs.write_status(tmp_path / "more" / "20260103-000000-0000cccc", "ok")
    runs.write_status(tmp_path / "more" / "20260104-000000-0000dddd", "ok")
    with pytest.raises(LookupError, match="2 runs are called 'more', name one of them: 20260103-"):
        runs.find("more", tmp_path)
    with pytest.raises(FileNotFoundError, match="no run 'eeee'"):
        runs.find("eeee", tmp_path)


def test_a_diff_holds_only_what_differs(tmp_path: Path) -> None:
    first, second = (
        runs.new_run("nb", {"a": 1, "b": 2}, tmp_path),
        runs.new_run("nb", {"a": 1, "b": 3, "c": {"d": 4}}, tmp_path),
    )
    runs.write_results(first, {"metrics": {"rsum": 2.0}})
    runs.write_results(second, {"metrics": {"rsum": 2.0}})
    found = runs.diff(runs.read(first), runs.read(second))
    assert found == {"params": {"b": (2, 3), "c.d": (None, 4)}, "results": {}, "env": {}}


def test_the_environment_names_versions_commit_and_seed_without_loading_torch() -> None:
    code = "import json, sys; from workbench.runs.environment import environment; found = environment(7)\n"
    code += "print(json.dumps([found, 'torch' in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found, loaded = json.loads(done.stdout)
    assert found["seed"] == 7
    assert found["versions"]["itm-workbench"]
    assert found["versions"]["numpy"] == np.__version__
    assert found["device"] is None
    assert not loaded


def test_published_results_are_shown_in_scrapbooks_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = runs.publish(tmp_path, {"metrics": {"rsum": 1.5}}, seed=3)
    assert json.loads(path.read_text()) == {"metrics": {"rsum": 1.5}}
    assert runs.read(tmp_path).env["seed"] == 3
    assert "results.json" in capsys.readouterr().out


def test_a_notebook_of_captions_alone_may_name_its_split_by_a_word(tmp_path):
    (tmp_path / runs.RESULTS).write_text('{"split": "scenes/train", "metrics": {}}', encoding="utf-8")
    assert runs.read(tmp_path).results["split"] == "scenes/train"
    (tmp_path / runs.KIND).write_text('{"kind": "training"}', encoding="utf-8")
    with pytest.raises(ValueError, match="split holds str and no mapping"):
        runs.read(tmp_path)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("objectve", "ditm", "'objectve'; did you mean objective"),
        ("images", True, "images is True"),
        ("images", "5", "images is '5'"),
        ("images", -3, "images is -3"),
        ("k", 0, "k is 0"),
        ("share", "a", "share is 'a'"),
        ("runs", 5, "runs is 5"),
    ],
)
def test_the_setup_cell_refuses_a_parameter_that_does_not_fit(name, value, message, tmp_path):
    with pytest.raises((TypeError, ValueError), match=message):
        cells_run(f"{name} = {value!r}", tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_setup_cell_takes_parameters_that_fit(tmp_path):
    cells_run("images = 0\nk = 1\nshare = 1\nruns = []\nother = 3", tmp_path / "run")
    assert (tmp_path / "run").is_dir()


def test_plain_papermill_refuses_a_misspelt_parameter_in_the_setup_cell(tmp_path):
    book, options = nbformat.v4.new_notebook(), {"progress_bar": False, "kernel_name": "python3"}
    setup = f"store.run_folder('x', {str(tmp_path / 'run')!r}, {{}})"
    sources = ("from workbench.runs import store", 'objective: str = "infonce"  # which', setup)
    book.cells = [nbformat.v4.new_code_cell(one) for one in sources]
    book.cells[1].metadata["tags"] = ["parameters"]
    nbformat.write(book, tmp_path / "tiny.ipynb")
    given = (tmp_path / "tiny.ipynb", tmp_path / "out.ipynb")
    with pytest.raises(papermill.PapermillExecutionError, match="'objectve'; did you mean objective"):
        papermill.execute_notebook(*given, {"objectve": "ditm"}, language="python", **options)
    assert not (tmp_path / "run").exists()
    papermill.execute_notebook(*given, {"objective": "ditm"}, language="python", **options)
    assert (tmp_path / "run").is_dir()
