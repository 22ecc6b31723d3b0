"""A notebook run is good only if nothing was raised, nothing is pending and results were written."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import nbformat
import pytest

from workbench.execution.notebook import Outcome, run_notebook
from workbench.execution.parameters import ParameterError
from workbench.runs import store as runs

Make = Callable[..., Path]
pytestmark = pytest.mark.slow


def test_a_good_run_leaves_everything_a_reader_needs(make_notebook: Make, tmp_path: Path) -> None:
    figure = "import plotly.graph_objects as go\ngo.Figure(go.Scatter(y=[1, 2]))"
    widget = "import ipywidgets\nipywidgets.IntSlider()"
    path = make_notebook(figure, widget)
    before = path.read_bytes()
    result = run_notebook(path, {"seed": "7"}, root=tmp_path / "runs")

    assert (result.status, result.exit_code, result.error, result.warnings) == ("ok", 0, "", ())
    assert path.read_bytes() == before
    assert result.folder.parent == tmp_path / "runs" / "tiny"
    run = runs.read(result.folder)
    assert (run.status, run.params, run.results) == ("ok", {"seed": 7}, {"seed": 7})
    assert run.env["seed"] == 7
    assert run.env["seconds"] == result.seconds
    book = nbformat.read(result.folder / "notebook.ipynb", 4)
    assert "widgets" not in book.metadata
    assert nbformat.sign.NotebookNotary().check_signature(book), "JupyterLab trusts it"
    assert (result.folder / "notebook.ipynb").stat().st_size < 100_000
    outputs = [
        mime for cell in book.cells for output in cell.get("outputs", []) for mime in output.get("data", {})
    ]
    assert "application/vnd.plotly.v1+json" in outputs
    assert runs.SCRAP in outputs


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no sockets in folders")
def test_a_kernel_listens_on_no_port_that_others_could_take(make_notebook: Make, tmp_path: Path) -> None:
    transport = "import json, ipykernel\nprint(json.loads(ipykernel.get_connection_info())['transport'])"
    result = run_notebook(make_notebook(transport), root=tmp_path / "runs")
    assert result.status == "ok"
    book = nbformat.read(result.folder / "notebook.ipynb", 4)
    printed = [output.text for cell in book.cells for output in cell.get("outputs", []) if "text" in output]
    assert printed == ["ipc\n"]


def _fails(make: Make, tmp_path: Path, *cells: str, **options: object) -> Outcome:
    result = run_notebook(make(*cells, **options), root=tmp_path / "runs")
    assert (result.folder / "STATUS").read_text().strip() == result.status
    assert json.loads((result.folder / "env.json").read_text())["error"] == result.error != ""
    assert (result.folder / "notebook.html").is_file(), "a failed run can be read as well"
    return result


def test_a_raising_cell_fails_the_run_and_is_named(make_notebook: Make, tmp_path: Path) -> None:
    result = _fails(make_notebook, tmp_path, "x = 1", "1 / 0")
    # In [1] imports, [2] parameters, [3] injected parameters, [4] x = 1, [5] raises
    assert (result.status, result.exit_code) == ("failed:5", 1)
    assert "cell 5: ZeroDivisionError" in result.error


def test_a_cell_that_exits_with_zero_is_not_success(make_notebook: Make, tmp_path: Path) -> None:
    result = _fails(make_notebook, tmp_path, "import sys; sys.exit(0)")
    assert (result.status, result.exit_code) == ("failed:4", 3)


def test_a_killed_kernel_is_told_from_a_failed_cell(make_notebook: Make, tmp_path: Path) -> None:
    result = _fails(make_notebook, tmp_path, "import os; os.kill(os.getpid(), 9)")
    assert (result.status, result.exit_code) == ("killed", 138)


def test_a_kernel_killed_after_the_results_is_not_success(make_notebook: Make, tmp_path: Path) -> None:
    publish = 'runs.publish(runs.run_folder("tiny", out, {}), {"seed": seed})'
    result = _fails(make_notebook, tmp_path, publish, "import os; os.kill(os.getpid(), 9)", publishes=False)
    assert (result.status, result.exit_code) == ("killed", 138)


def test_a_run_without_results_is_incomplete(make_notebook: Make, tmp_path: Path) -> None:
    result = _fails(make_notebook, tmp_path, "x = 1", publishes=False)
    assert (result.status, result.exit_code) == ("failed:4", 3)
    assert "results.json" in result.error


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sed": 1}, "no parameter 'sed'; did you mean seed"),
        ({"seed": "many"}, "seed is int"),
        ({"out": "x"}, "`out` names the run folder"),
    ],
)
def test_a_wrong_parameter_is_refused_before_anything_starts(
    make_notebook: Make, tmp_path: Path, given: dict, message: str
) -> None:
    with pytest.raises(ParameterError, match=message):
        run_notebook(make_notebook(), given, root=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_notebook_that_cannot_be_told_its_folder_is_refused(make_notebook: Make, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="the parameter `out` is missing"):
        run_notebook(make_notebook(parameters="seed: int = 0"), root=tmp_path / "runs")


def test_a_second_run_in_the_same_folder_keeps_nothing_of_the_first(
    make_notebook: Make, tmp_path: Path
) -> None:
    first = run_notebook(make_notebook(), folder=tmp_path / "there")
    (first.folder / "checkpoint.safetensors").write_text("old")
    second = run_notebook(make_notebook("1 / 0"), folder=tmp_path / "there")
    assert (first.status, second.status) == ("ok", "failed:4")
    assert not (second.folder / "results.json").exists()
    assert not (second.folder / "checkpoint.safetensors").exists()


def test_a_folder_that_is_not_a_run_is_never_removed(make_notebook: Make, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(FileExistsError, match="not a run folder"):
        run_notebook(make_notebook(), folder=tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").exists()


def test_the_environment_of_the_caller_is_left_as_it_was(make_notebook: Make, tmp_path: Path) -> None:
    before = dict(os.environ)
    run_notebook(make_notebook('import os; assert os.environ["TQDM_DISABLE"] == "1"'), root=tmp_path / "runs")
    assert dict(os.environ) == before


def test_a_heavy_notebook_is_reported(make_notebook: Make, tmp_path: Path) -> None:
    result = run_notebook(make_notebook('print("x" * 9_000_000)'), root=tmp_path / "runs")
    assert result.status == "ok"
    assert "9.0 MB" in result.warnings[0]


def test_a_kernel_that_does_not_start_is_killed_and_no_failed_cell(
    make_notebook: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("Kernel died before replying to kernel_info")

    monkeypatch.setattr("papermill.execute_notebook", refuse)
    result = run_notebook(make_notebook("1"), root=tmp_path / "runs")
    assert (result.status, result.exit_code) == ("killed", 138)
    assert "did not start: Kernel died before" in result.error
