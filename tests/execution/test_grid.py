"""A grid file becomes runs: what it may say, how arms are made, who executes them, and what is not done
twice."""

from __future__ import annotations

import errno
import json
import uuid
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from workbench.cli import app
from workbench.execution import executors, grid, library, parameters
from workbench.execution.executors import executor
from workbench.execution.notebook import Outcome
from workbench.execution.parameters import ParameterError
from workbench.progress import Task
from workbench.runs import Config
from workbench.runs import store as runs
from workbench.runs.about import About
from workbench.runs.spellings import name_of


@pytest.fixture
def write(tmp_path: Path):
    def made(**content) -> Path:
        path = tmp_path / "grid.yaml"
        path.write_text(yaml.safe_dump(content))
        return path

    return made


def test_arms_meet_every_combination_and_the_more_special_value_wins():
    described = {
        "fixed": {"seed": 0, "options": {"a": 1, "b": 1}},
        "arms": {"plain": {}, "other": {"options": {"b": 2}}},
        "grid": {"options.tau": [5, 6], "seed": [1]},
    }
    found = grid.expand(described, {"epochs": 9})
    assert list(found) == [f"{arm}, tau={tau}, seed=1" for arm in ("plain", "other") for tau in (5, 6)]
    assert found["other, tau=5, seed=1"] == {"seed": 1, "options": {"a": 1, "b": 2, "tau": 5}, "epochs": 9}
    assert described["fixed"]["options"] == {"a": 1, "b": 1}


def test_a_grid_alone_is_named_after_its_values():
    assert list(grid.expand({"grid": {"x": [1], "o.y": [2, 3]}})) == ["x=1, y=2", "x=1, y=3"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"arm": {}}, "no key 'arm'; did you mean arms"),
        ({"fixed": {}}, "no arm; give `arms`"),
        ({"arms": [1]}, "arms must be a mapping"),
        ({"grid": {"x": 1}}, "grid: x must be a list of values"),
    ],
)
def test_a_file_that_says_something_else_is_refused(write, content, message):
    with pytest.raises(ParameterError, match=message):
        grid.read_grid(write(**content))


def test_a_time_limit_is_an_option_of_every_executor():
    executors.require_executor("local", {"jobs": 2, "time_limit": 0.5})
    for name, wrong in (("local", 0), ("submitit", "long")):
        with pytest.raises(ValueError, match=f"time_limit is {wrong!r}; give seconds"):
            executors.require_executor(name, {"time_limit": wrong})


def test_a_plan_checks_every_arm_before_anything_runs(make_notebook):
    path = make_notebook("1")
    assert grid.plan(path, {"arms": {"a": {"seed": 3}}}) == {"a": {"seed": 3}}
    with pytest.raises(ParameterError, match="arm 'b': no parameter 'sed'; did you mean seed"):
        grid.plan(path, {"arms": {"a": {}, "b": {"sed": 3}}})
    with pytest.raises(ParameterError, match="the grid is for the notebook 'other', not for 'tiny'"):
        grid.plan(path, {"notebook": "other", "arms": {"a": {}}})


def test_changes_that_make_two_arms_the_same_are_refused():
    grid_of = {"arms": {"a": {"train_images": 5}, "b": {"train_images": 7}, "c": {"train_images": 7}}}
    assert len(grid.plan("03_train", grid_of)) == 3
    with pytest.raises(ParameterError, match="-p train_images makes the arms 'a' and 'b' the same"):
        grid.plan("03_train", grid_of, {"train_images": 9})
    assert len(grid.plan("03_train", grid_of, {"seed": 9})) == 3
    # of other data another preset, whose own value one arm has
    fixed = {"preset": "butd_aahr_bert_{data}", "data": "flickr30k"}
    arms = {"K 768": {"objective": {"alignment": {"prototypes": 768}}}, "preset": {}}
    first, second = grid.plan("03_train", {"fixed": fixed, "arms": arms}, {"data": "coco"}).values()
    assert first == second


def test_fields_that_a_training_notebook_does_not_name_go_into_its_config():
    fields = {"objective": "ditm", "captions_per_image": 2}
    found = grid.plan("03_train", {"arms": {"a": fields}})["a"]
    assert (found["objective"], found["config"]) == ("ditm", {"captions_per_image": 2})
    with pytest.raises(
        TypeError, match="arm 'a': config has no field 'captions_per_imag'; did you mean captions_per_image"
    ):
        grid.plan("03_train", {"arms": {"a": {"captions_per_imag": 2}}})
    with pytest.raises(TypeError, match=r"arm 'a': .* no option 'taus'; did you mean tau"):
        grid.plan("03_train", {"arms": {"a": {"objective": {"name": "ditm", "taus": 2}}}})


@pytest.mark.slow
def test_a_preset_lies_below_all_that_the_grid_says():
    known = parameters.read_parameters(library.find_file("03_train"))
    described = {"fixed": {"preset": "clip_daa", "epochs": 3}, "arms": {
        "DAA": {}, "SAM": {"preset": "clip_sam", "objective.tau": 5.0}}}  # fmt: skip
    arms = grid.expand(described, {"seed": 4}, known)
    assert [name_of(arms[label]["objective"]) for label in ("DAA", "SAM")] == ["daa", "sam"]
    found, kept = arms["SAM"], Config.read(library.find_file("clip_sam", "configuration"))
    assert (found["data"], found["seed"], found["config"]["epochs"]) == ("coco", 4, 3)
    assert found["objective"] == kept.objective.model_dump() | {"tau": 5.0}
    assert found["config"]["image_encoder"] == kept.image_encoder.model_dump()
    with pytest.raises(FileNotFoundError, match=r"no configuration 'clip_samm'.*did you mean clip_sam"):
        grid.expand({"arms": {"a": {"preset": "clip_samm"}}}, {}, known)


@pytest.mark.parametrize(
    ("objective", "options"),
    [
        ("hrem", {"cutoff": 1.9, "after": 8000}),
        ("hrem+dias.dim", {"hrem": {"cutoff": 1.9, "after": 8000}}),
        ("vsepp+0.5*hrem.triplet", {"hrem": {"cutoff": 1.9, "after": 8000}}),
        ("vsepp+dias.dim", None),
        ("dias", None),
    ],
)
def test_the_options_of_a_preset_go_where_its_objective_stands(objective, options, tmp_path):
    preset = tmp_path / "mine.yaml"
    preset.write_text("objective: {name: hrem, cutoff: 1.9, after: 8000}\n")
    arms = grid.expand({"fixed": {"preset": str(preset)}, "arms": {"a": {"objective": objective}}})
    wanted = objective if options is None else {"name": objective, **options}
    assert arms["a"]["objective"] == wanted


def test_all_data_that_are_missing_are_named_at_once(monkeypatch, tmp_path):
    monkeypatch.setenv("WORKBENCH_DATA", str(tmp_path))
    arms = {name: {"data": name} for name in ("coco", "scenes", "flickr30k")}
    assert [line.partition(":")[0] for line in grid.missing_needs({}, arms)] == ["coco", "flickr30k"]


def test_every_arm_is_run_and_a_good_one_is_not_repeated(make_notebook, tmp_path):
    path, root = make_notebook("1 / (seed - 1)"), tmp_path / "runs"
    arms = grid.plan(path, {"grid": {"seed": [0, 1, 2]}})
    first = grid.run_grid(path, arms, root=root)
    assert [(one.label, one.status, one.exit_code) for one in first] == [
        ("seed=0", "ok", 0), ("seed=1", "failed:4", 1), ("seed=2", "ok", 0),
    ]  # fmt: skip
    assert "ZeroDivisionError" in first[1].error
    again = grid.run_grid(path, arms, root=root, skip_existing=True, about=About(tags=["late"]))
    assert [one.skipped for one in again] == [True, False, True]
    assert [runs.read(one.folder).about.tags for one in again] == [("late",)] * 3
    assert again[0].folder == first[0].folder
    assert json.loads((first[2].folder / runs.RESULTS).read_text())["seed"] == 2


def test_runs_of_other_code_or_parameters_are_not_the_same():
    assert runs.run_key({"seed": 1}, "a") == runs.run_key({"seed": 1}, "a")
    assert (
        len({runs.run_key({"seed": 1}, "a"), runs.run_key({"seed": 2}, "a"), runs.run_key({"seed": 1}, "b")})
        == 3
    )


@pytest.mark.parametrize("options", [{}, {"jobs": 2}])
def test_the_local_executor_runs_one_or_several_at_a_time(tmp_path, options):
    with executor("local", tmp_path, options) as pool:
        assert [future.result() for future in [pool.submit(pow, 2, 3), pool.submit(pow, 3, 2)]] == [8, 9]


def test_a_run_that_raises_takes_no_other_with_it(tmp_path):
    with executor("local", tmp_path, {"jobs": 2}) as pool:
        assert isinstance(pool.submit(pow, 0, -1).exception(), ZeroDivisionError)
        assert pool.submit(pow, 2, 3).result() == 8


def test_an_arm_whose_worker_dies_is_tried_again_so_often_and_then_reported():
    answers = {"a": [], "b": ["killed"] * 1 + ["ok"], "c": ["killed"] * 9, "d": ["failed:2"]}
    said = []

    def submit(label):
        def result():
            if not answers[label]:
                raise BrokenProcessPool("its process ended")
            status = answers[label].pop(0)
            return Outcome(Path(label), status, int(status != "ok"), 1.0, "why")

        return SimpleNamespace(result=result, done=lambda: True)

    task = Task("grid", len(answers), "arms")
    found = grid.collect({label: partial(submit, label) for label in answers}, said.append, task)
    assert task.count == 4
    assert {label: done.status for label, done in found.items()} == {
        "a": "killed", "b": "ok", "c": "killed", "d": "failed:2",
    }  # fmt: skip
    assert found["a"].error == "its worker died: its process ended"
    assert len(answers["c"]) == 9 - grid.TRIES
    assert "c: killed after 1 s why; try 3 of 3" in said
    assert said[-1].startswith("4/4 ")


@pytest.mark.slow
# what these libraries leave to the garbage collector is not ours
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_dask_executes_the_same_call_twice(tmp_path):
    options = {
        "processes": False,
        "n_workers": 1,
        "threads_per_worker": 1,
        "dashboard_address": "127.0.0.1:0",
    }
    with executor("dask", tmp_path, options) as pool:
        first, second = (pool.submit(uuid.uuid4) for _ in range(2))
        assert first.result() != second.result()


@pytest.mark.parametrize(("name", "package"), [("submitit", "submitit"), ("dask", "distributed")])
def test_an_executor_that_refuses_its_options_ends_in_one_line(name, package, monkeypatch, write, tmp_path):
    def refuse(*_, **options):
        raise RuntimeError(f"unknown option {next(iter(options))}")

    module = SimpleNamespace(
        AutoExecutor=lambda folder: SimpleNamespace(update_parameters=refuse), Client=refuse
    )
    monkeypatch.setattr(executors, "import_module", {package: module}.__getitem__)
    monkeypatch.setattr(executors, "find_spec", lambda _: True)
    path = write(arms={"a": {}}, executor={"worker": 2})
    words = ["grid", "03_train", str(path), "--executor", name, "--root", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert done.output.startswith(f"workbench: executor '{name}' cannot be started with {{'worker': 2}}: ")
    assert len(done.output.splitlines()) == 1


def test_an_executor_that_is_not_there_says_how_to_get_it(monkeypatch, tmp_path):
    with pytest.raises(KeyError, match="no executor 'slurm'; known: local, submitit, dask"):
        executors.require_executor("slurm", {})
    monkeypatch.setattr(executors, "find_spec", lambda package: None)
    with pytest.raises(
        ModuleNotFoundError,
        match=r"'dask' needs distributed; install it with: pip install 'itm-workbench\[cluster\]'",
    ):
        executors.require_executor("dask", {})


def test_a_full_disk_ends_an_arm_in_one_line_and_another_error_in_its_traceback(tmp_path, monkeypatch):
    raised: list[Exception] = [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("odd")]
    monkeypatch.setattr(grid, "run_notebook", lambda *_, **__: (_ for _ in ()).throw(raised.pop(0)))
    ask = partial(grid._run_arm, Path("03_train.ipynb"), {}, root=tmp_path, arms={}, time_limit=None)
    full, odd = ask(), ask()
    assert (full.status, full.traceback) == ("failed:start", "")
    assert full.error == f"OSError: {tmp_path}: No space left on device"
    assert (odd.status, odd.error) == ("failed:start", "RuntimeError: odd")
    assert "Traceback" in odd.traceback
