"""Python, ``train FILE``, the notebook's parameters and an arm of a grid give one and the same completed
configuration, and the recorded tables are what their grids write.
"""

import json
from io import StringIO
from pathlib import Path

import nbformat
import pandas as pd
import pytest
import yaml
from paper_tables import search
from typer.testing import CliRunner

import workbench
from tests import in_process
from tests.runs.test_experiment import SMALL, TINY
from workbench import assets, data, objectives
from workbench import runs as experiment
from workbench.cli import app
from workbench.execution import grid, library, notebook
from workbench.io import write_json
from workbench.runs import Config
from workbench.runs import store as runs
from workbench.runs.resolve import resolve

NAMED = {"train_images": 30, "epochs": 2, "batch_size": 16, "lr": 1e-3, "seed": 3, "device": "cpu"}


def of_notebook(values):
    """The configuration that the code of 03_train builds from its parameters."""
    cells = nbformat.read(library.find_file("03_train"), 4).cells
    (code,) = [cell.source for cell in cells if " = wb.Config(" in cell.source]
    space = {**values, "wb": workbench}
    exec(code.partition("\nfolder = ")[0], space)
    return resolve(space["experiment"])


@pytest.mark.parametrize("name", objectives.names())
def test_python_a_file_a_notebook_and_a_grid_complete_one_configuration(name, tmp_path, monkeypatch):
    given = {**NAMED, "objective": name, "val_images": 7}
    wanted = resolve(Config(**given))
    assert of_notebook(notebook.check_parameters(library.find_file("03_train"), given)) == wanted
    described = {"fixed": NAMED, "arms": {"a": {"objective": name, "val_images": 7}}}
    (arm,) = grid.plan("03_train", described).values()
    assert of_notebook(arm) == wanted

    def stop(config, **_):
        raise ValueError(json.dumps(resolve(config).as_dict()))

    monkeypatch.setattr(experiment, "prepare", stop)
    monkeypatch.chdir(tmp_path)
    Path("mine.json").write_text(json.dumps(given))
    done = CliRunner().invoke(app, ["train", "mine.json"])
    assert done.exit_code == 2
    assert json.loads(done.output.partition(": ")[2]) == wanted.as_dict()
    words = [word for key, value in given.items() for word in ("-p", f"{key}={value}")]
    done = CliRunner().invoke(app, ["train", *words])
    assert json.loads(done.output.partition(": ")[2]) == wanted.as_dict()


@pytest.mark.parametrize("name", ["scenes", "coco", "flickr30k", "flickr8k", "folder"])
def test_positives_that_a_data_set_cannot_have_are_refused_before_data_are_read(name, monkeypatch):
    monkeypatch.setattr(data, "load", lambda *_, **__: pytest.fail("data were read"))
    with pytest.raises(ValueError, match=f"'exacd' names judgements; the training split of '{name}' has own"):
        resolve(Config(data=name, positives="exacd"))
    assert Config(data=name, positives="own").positives == "own"


@pytest.mark.slow
def test_every_arm_of_a_grid_runs_with_the_settings_that_a_caller_lays_over_it(tmp_path, monkeypatch):
    monkeypatch.setattr(grid, "run_notebook", in_process.ran)
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    settings = {name: SMALL[name] for name in ("val_images", "test_images", "captions_per_image", "epochs")}
    options = {"model": str(tmp_path / "tiny.json"), "pretrained": ""}
    settings |= {"image_encoder": {"name": "towers", **options}, "text_encoder": "towers"}
    described = {
        "fixed": {"train_images": 12, "batch_size": 4, **settings},
        "arms": {"vsepp": {"objective": "vsepp"}, "ditm": {"objective": "ditm", "mix": 0.0}},
        "record": ["rsum"],
    }
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(described))
    over = json.dumps({"weight_decay": 0.5, "val_images": 5})
    words = ["grid", "03_train", str(tmp_path / "tiny.yaml"), "-p", "config", over]
    words += ["--root", str(tmp_path / "runs"), "--record", str(tmp_path / "out.tsv")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    kept = {
        config["objective"]["name"]: config for config in map(read, tmp_path.glob("runs/*/*/config.json"))
    }
    assert kept.keys() == {"vsepp", "ditm"}
    for config in kept.values():
        assert (config["weight_decay"], config["val_images"], config["test_images"]) == (0.5, 5, 8)
        assert (config["captions_per_image"], config["image_encoder"]["model"]) == (2, options["model"])
    first, _, rest = (tmp_path / "out.tsv").read_text().partition("\n")
    assert first.startswith("# workbench grid 03_train ")
    assert pd.read_csv(StringIO(rest), sep="\t").objective.tolist() == ["ditm"] * 2 + ["vsepp"] * 2


def read(path):
    """What a JSON file holds."""
    return json.loads(path.read_text())


@pytest.fixture
def outcomes(tmp_path):
    """Finished runs, one of each of these parameters."""

    def made(*params):
        for n, values in enumerate(params):
            write_json(tmp_path / f"{n}" / runs.PARAMS, values)
            runs.write_results(tmp_path / f"{n}", {"metrics": {"rsum": n + 0.1234567}})
            write_json(tmp_path / f"{n}" / runs.ENV, {"seconds": 2.04})
        return [notebook.Outcome(tmp_path / f"{n}", "ok", 0) for n in range(len(params))]

    return made


def test_a_recorded_table_has_what_is_swept_and_one_row_a_number(outcomes, tmp_path):
    described = {
        "reference": {"start": {"epochs": 0}},
        "grid": {"seed": [0, 1], "positives": ["own"]},
        "record": ["rsum"],
    }
    assert list(grid.expand(described)) == ["start", "seed=0, positives=own", "seed=1, positives=own"]
    found = outcomes(*({"seed": seed, "config": {"positives": "own"}} for seed in (0, 0, 1)))
    path = grid.record(described, found, tmp_path / "out.tsv", "workbench grid tiny")
    assert path.read_text().splitlines() == [
        "# workbench grid tiny", "seed\tpositives\tkey\tvalue",
        "start\t\trsum\t0.123457", "start\t\tseconds\t2.0",
        "0\town\trsum\t1.123457", "0\town\tseconds\t2.0", "1\town\trsum\t2.123457", "1\town\tseconds\t2.0",
    ]  # fmt: skip


@pytest.mark.parametrize(("label", "head"), [("vsepp", "objective"), ("mine", "arm")])
def test_the_column_of_the_arms_is_called_after_the_field_that_names_them(outcomes, tmp_path, label, head):
    described = {"arms": {label: {"objective": "vsepp"}}, "record": ["rsum"]}
    path = grid.record(described, outcomes({"objective": "vsepp"}), tmp_path / "out.tsv", "workbench")
    assert path.read_text().splitlines()[1:3] == [f"{head}\tkey\tvalue", f"{label}\trsum\t0.123457"]


def test_what_validation_measured_and_the_steps_can_be_recorded(outcomes, tmp_path):
    described = {"arms": {"a": {}}, "record": ["val/rsum", "steps"]}
    done = outcomes({})
    results = {"metrics": {}, "validation": {"rsum": 3.25}, "steps": 186}
    runs.write_results(done[0].folder, results)
    path = grid.record(described, done, tmp_path / "out.tsv", "workbench")
    assert path.read_text().splitlines()[2:4] == ["a\tval/rsum\t3.25", "a\tsteps\t186"]


def test_a_number_that_a_run_does_not_have_is_not_recorded(outcomes, tmp_path):
    described = {"arms": {"a": {}}, "record": ["rsun"]}
    with pytest.raises(KeyError, match="has no number 'rsun'; did you mean rsum"):
        grid.record(described, outcomes({}), tmp_path / "out.tsv", "workbench")
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize(
    "name",
    [
        *search.GRIDS,
        *search.WIDER,
        "comparison_scenes",
        "components_scenes",
        "released_scenes",
        "objectives_flickr8k",
    ],
)
def test_the_columns_and_keys_of_a_recorded_table_are_those_of_its_grid(name):
    table = assets.read_recorded(name)
    described = grid.read_grid(library.find_file(name, "grid"))
    assert set(table.key) == {*described["record"], "seconds"}
    axes = list(described["grid"])
    arms = "arm" if "arm" in table else "objective"
    names = list(dict.fromkeys([arms, *axes]))
    assert list(table) == [*names, "key", "value"]
    assert table.groupby(names).ngroups == len(grid.expand(described))
