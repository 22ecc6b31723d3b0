"""What ``workbench show`` says of a run: enough to know it, on one screen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from workbench.cli import app
from workbench.io import write_json
from workbench.records import MetricKey
from workbench.records.measurement import Measurement
from workbench.runs import Config
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate

LABELS = ["rsum", *(f"{way}/R@{k}" for way in ("i2t", "t2i") for k in (1, 5, 10, 20, 50))]
LABELS += [f"{judge}:{way}/map_at_r" for judge in ("exact", "cider", "eccv") for way in ("i2t", "t2i")]


def results(**more) -> dict[str, object]:
    measured = [Measurement(MetricKey.parse(label), 0.5, 0.4, 0.6, queries=20) for label in LABELS]
    contracts = {one.label: one.as_dict() for one in measured}
    metrics = {one.label: one.value for one in measured}
    split = {"name": "scenes/test", "images": 20}
    return {"objective": "ditm", "split": split, "metrics": metrics, "contracts": contracts, **more}


def show(folder: Path, *words: str) -> list[str]:
    done = CliRunner().invoke(app, ["show", str(folder), *words])
    assert done.exit_code == 0, done.output
    return done.output.splitlines()


@pytest.fixture
def trained(tmp_path) -> Path:
    folder = tmp_path / "train" / "mine"
    write_json(folder / runs.PARAMS, Config(objective="ditm").as_dict())
    write_json(folder / runs.GIVEN, {"objective": {"name": "ditm", "tau": 5}, "epochs": 7})
    history = [{"epoch": number} for number in range(3)]
    runs.write_results(folder, results(kept=[2], select="rsum", history=history))
    write_json(folder / runs.ENV, {"seconds": 75.0, "versions": {f"package{n}": "1" for n in range(40)}})
    write_json(folder / runs.ARMS, {f"grid{n}": "an arm" for n in range(9)})
    for number in range(9):
        place = folder / runs.EVALUATIONS / f"data{number}"
        write_json(place / runs.RESULTS, results(training="scenes"))
    runs.write_status(folder, "ok")
    return folder


def test_a_run_is_said_in_thirty_lines_with_what_it_was_given_and_numbers_with_intervals(trained):
    lines = show(trained)
    assert len(lines) <= 30
    assert str(trained) in lines[0]
    assert {"ok", "0:01:15"} <= set(lines[0].split())
    words = [line.split() for line in lines]
    assert ["epochs", "7"] in words
    assert ["objective.tau", "5"] in words
    assert sum(line[1:4] == ["50.0", "(40.0", "to"] for line in words) == 9
    assert not any("clip_norm" in line or "package1" in line for line in lines)
    assert "results.json" in " ".join(lines[-3:])
    assert sum("--all" in line for line in lines) == 3


def test_with_all_come_all_fields_numbers_evaluations_and_files(trained):
    lines = show(trained, "--all")
    firsts = [line.split()[0] for line in lines]
    assert {"clip_norm", "versions.package39", *LABELS} <= set(firsts)
    assert sum(line.startswith("measured on") for line in lines) == 9
    assert f"  {trained / 'results.json'}" in lines


@pytest.mark.parametrize("given", [True, False])
def test_of_many_fields_those_that_are_not_as_by_default_are_shown(trained, given):
    fields = Config().as_dict() | {"objective": {"name": "sam"}, "lr": 0.25}
    write_json(trained / runs.PARAMS, fields)
    (trained / runs.GIVEN).unlink()
    if given:
        write_json(trained / runs.GIVEN, fields)
    lines = show(trained)
    words = [line.split() for line in lines]
    assert len(lines) <= 30
    assert ["lr", "0.25"] in words
    assert ["objective", "sam"] in words
    assert not any(word[:1] == ["batch_size"] for word in words)


def test_a_run_of_a_notebook_says_its_parameters_that_are_not_as_in_the_notebook(tmp_path):
    folder = tmp_path / "04_embedding_map" / "mine"
    same = {"device": "auto", "method": "tsne", "neighbours": 10, "clusters": 7, "by_kind": False}
    write_json(folder / runs.PARAMS, same | {"images": 77, "seed": 0, "shown": 12, "precision": "auto"})
    words = [line.split() for line in show(folder)]
    assert ["images", "77"] in words
    assert not any(word[:1] == ["neighbours"] for word in words)


@pytest.mark.parametrize("words", [(), ("--all",)])
def test_an_evaluation_is_shown_without_the_fields_of_a_training(tmp_path, words):
    vectors = {side: tmp_path / f"{side}.npy" for side in ("images", "texts")}
    for file in vectors.values():
        np.save(file, np.eye(3))
    evaluate(**vectors, own=[0, 1, 2], rounds=2).save(tmp_path / "run")
    lines = show(tmp_path / "run", *words)
    names = [line.split()[0] for line in lines]
    assert {"data", "rsum"} <= set(names)
    assert not {"clip_norm", "epochs", "lr", "batch_size", "text_encoder"} & set(names)
    assert words or len(lines) <= 30


def test_a_run_that_failed_says_so_before_its_numbers(trained):
    runs.write_status(trained, "failed:train")
    lines = show(trained)
    assert len(lines) <= 30
    assert "failed:train" in lines[0]
    assert any("Rerun" in line for line in lines[:5])
