"""Metrics, a judge and rounds are asked for where numbers are made, by the command as in Python."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import workbench as wb
from workbench.cli import app
from workbench.runs import Config, Target, evaluate, where
from workbench.runs import store as runs
from workbench.runs.train import train

OWN = '''
from workbench import Metric


class Reciprocal(Metric):
    """One over the rank of the best relevant item."""

    name, hit = "mrr_{}", "1 / rank of the best relevant item"

    def per_query(self, ranks, k=None):
        return 1 / ranks.first
'''
SMALL = {"train_images": 16, "val_images": 8, "test_images": 12, "batch_size": 16}
ON = {"data": "scenes", "images": 12}


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def numbers(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    rows = printed if isinstance(printed, list) else printed["results"][0]["numbers"]
    return {row["key"]: (row["value"], row["low"], row["high"]) for row in rows}


def measured(measurements: Any) -> dict[str, Any]:
    return {m.label: (m.value, m.low, m.high) for m in measurements}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run whose configuration asks for another metric."""
    place: Path = tmp_path_factory.mktemp("run")
    train(Config(start="scenes", epochs=0, device="cpu", metrics=["ncs"], **SMALL), progress=False).save(
        place
    )
    runs.write_status(place, "ok")
    return place


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A metric of a user's own in the working directory, each time of another name."""
    name = f"asked_{tmp_path.parent.name.replace('-', '_')}_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(OWN.replace("{}", "own"))
    monkeypatch.chdir(tmp_path)
    return f"{name}:Reciprocal"


def test_a_model_and_its_vectors_are_measured_by_what_is_asked_for(own, tmp_path):
    words = ["--data", json.dumps(ON), "--metrics", f"{own}, nsum", "--judge", "cider", "--rounds", 20]
    by_model = numbers(call("evaluate", "--model", "scenes:scenes", *words, "--root", tmp_path, "--json"))
    model, split = wb.open_model("scenes", "scenes"), wb.load_data("scenes", split="test").first(12)
    asked: dict[str, Any] = {"metrics": [own, "nsum"], "judge": "cider", "rounds": 20}
    found = wb.evaluate(model, split, **asked)
    assert by_model == measured(found.measurements)
    assert {"i2t/mrr_own", "cider:nsum"} <= by_model.keys()
    for side, vectors in (("images", found.image), ("texts", found.text)):
        np.save(f"{side}.npy", vectors.mean.numpy())
    files = ["--images", "images.npy", "--texts", "texts.npy"]
    by_vectors = numbers(call("evaluate", *files, *words, "--root", tmp_path, "--json"))
    assert by_vectors == measured(
        wb.evaluate(images="images.npy", texts="texts.npy", data=split, **asked).measurements
    )


@pytest.mark.parametrize("data", [[], ["--data", json.dumps(ON)]])
def test_a_finished_run_is_measured_by_them_and_else_by_those_of_its_configuration(data, own, folder):
    asked: dict[str, Any] = {"metrics": [own, "nsum"], "judge": "cider", "rounds": 20}
    words = ["--metrics", own, "--metrics", "nsum", "--judge", "cider", "--rounds", 20, "--json"]
    found = numbers(call("evaluate", folder, *data, *words))
    wanted = wb.evaluate(folder, Target(**ON) if data else None, **asked)
    assert found == measured(wanted.measurements)
    assert {"i2t/mrr_own", "cider:nsum"} <= found.keys()
    assert not [label for label in found if "ncs@" in label]
    plain = numbers(call("evaluate", folder, *data, "--rounds", 0, "--json"))
    assert [label for label in plain if "ncs@" in label]
    assert {low for _, low, _ in plain.values()} == {None}


def test_kept_vectors_are_measured_again_and_other_data_need_their_model(own, tmp_path):
    place, drawn = tmp_path / "vectors", np.random.default_rng(0)
    vectors = {"images": drawn.normal(size=(6, 4)), "texts": drawn.normal(size=(6, 4)), "own": np.arange(6)}
    result = wb.evaluate(**vectors, metrics=[own])
    result.save(place)
    assert numbers(call("evaluate", place, "--metrics", own, "--json")) == measured(result.measurements)
    elsewhere = call("evaluate", place, "--data", '{"data": "scenes", "images": 6}')
    assert elsewhere.exit_code == 2
    assert "without their model" in elsewhere.output


def test_the_terminal_shows_what_was_asked_for_in_every_table(own, tmp_path):
    one, two = json.dumps(ON), json.dumps({**ON, "images": 10})
    asked = ["--metrics", own, "--rounds", 0, "--root", tmp_path]
    for words in (
        ["--model", "scenes:scenes", "--data", one],
        ["--model", "scenes:scenes", "--data", one, "--data", two],
        ["--model", "scenes:scenes", "--model", "scenes", "--random-weights", "--data", one],
    ):
        done = call("evaluate", *words, *asked)
        assert done.exit_code == 0, done.output
        assert "t2i/mrr_own" in done.output
    split = wb.load_data("scenes", split="test").first(10)
    assert "t2i/mrr_own" in repr(
        wb.evaluate(wb.open_model("scenes", "scenes"), split, metrics=[own], rounds=0)
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--metrics", "nsumm"], "no 'nsumm'; did you mean nsum"),
        (["--metrics", "nsum", "--judge", "cidr"], "no 'cidr'; did you mean cider"),
        (["--judge", "cider", "--metrics", "R"], "none that reads grades is asked for"),
        (["--metrics", "nowhere:Mine"], "no module 'nowhere'"),
        (["--rounds", "-3"], "rounds is -3"),
        (["--metrics", "ncs,"], "no ''"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_read(words, message, folder, monkeypatch):
    for module, name in ((evaluate, "open_model"), (where, "load_target"), (where, "load_split")):
        monkeypatch.setattr(module, name, None)
    monkeypatch.setattr(wb, "open_model", None, raising=False)
    for target in ([folder], [folder, "--data", json.dumps(ON)], ["--model", "scenes", "--data", "scenes"]):
        done = call("evaluate", *target, *words)
        assert (done.exit_code, message in done.output, done.output.count("\n")) == (2, True, 1), done.output


def test_one_text_in_place_of_a_list_of_metrics_is_refused():
    with pytest.raises(TypeError, match="metrics is 'nsum'; give a list"):
        wb.evaluate(images=np.eye(3), texts=np.eye(3), own=[0, 1, 2], metrics="nsum")


def test_a_metric_that_the_data_have_nothing_for_is_refused_where_it_is_asked_for(folder):
    words = ["--data", json.dumps(ON), "--metrics", "hierarcaps_radius_P"]
    done = call("evaluate", folder, *words)
    assert done.exit_code == 2
    assert "hierarcaps_radius_P" in done.output


def test_a_usual_metric_that_is_asked_for_is_shown_and_another_result_shows_none_of_it():
    split = wb.load_data("scenes", split="test", size=8)
    asked, plain = (wb.evaluate("scenes:scenes", split, rounds=0, metrics=names) for names in (["ndcg"], []))
    assert "t2i/ndcg" in str(asked)
    assert "ndcg" not in str(plain)
