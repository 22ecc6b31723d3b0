"""A run is gone on with only from the same configuration and data, and by one process at a time."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tests.io.test_files import held
from tests.runs.test_experiment import SMALL, TINY
from workbench.cli import app
from workbench.io import ChecksumError, write_json
from workbench.runs import Config, prepare
from workbench.runs import store as runs
from workbench.runs.train import train
from workbench.training import checkpoint
from workbench.training.checkpoint import LAST


@pytest.fixture
def ready(tmp_path):
    """Prepares a small experiment with some changes."""
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    image = {"name": "towers", "model": str(tmp_path / "tiny.json"), "pretrained": ""}
    small = SMALL | {"image_encoder": image, "text_encoder": "towers", "schedule": "constant"}

    def made(**changes):
        return prepare(Config(**(small | {"objective": "vsepp"} | changes)), progress=False)

    return made


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def test_other_objectives_options_data_and_folders_in_use_are_refused_and_the_run_stays_as_it_was(
    ready, tmp_path
):
    out = tmp_path / "run"
    train(ready(keep_optimizer=True), folder=out, progress=False)
    before = content(out)
    for changes, words in (
        ({"objective": "dias"}, "objective was vsepp, is dias"),
        ({"objective": {"name": "vsepp", "margin": 0.5}}, "objective.margin was not there, is 0.5"),
        (
            {"train_images": 13},
            r"split.train was 12 images, 60 captions, \w+, is 13 images, 65 captions, \w+",
        ),
        ({"val_images": 7, "metrics": ("ndcg",)}, r"metrics was \[\], is \['ndcg'\]; split.val was 6 images"),
        ({"schedule": "cosine"}, "schedule was constant, is cosine"),
    ):
        with pytest.raises(ChecksumError, match=words):
            train(ready(**changes), folder=out, progress=False)
        assert content(out) == before
    with (
        held(out),
        pytest.raises(BlockingIOError, match="is being written by another process"),
    ):
        train(ready(), folder=out, progress=False)
    assert content(out) == before
    train(ready(epochs=2, checkpoint_every=1), folder=out, progress=False)
    run = runs.read(out)
    assert (run.status, run.results["steps"], run.params["epochs"]) == ("ok", 18, 2)
    straight = train(ready(epochs=2), folder=tmp_path / "straight", progress=False).folder
    assert run.results == runs.read(straight).results


@pytest.mark.slow
def test_the_verb_says_in_one_line_why_it_refuses(ready, tmp_path):
    out, config = tmp_path / "run", tmp_path / "config.json"
    config.write_text(json.dumps(train(ready(), folder=out, progress=False) and runs.read(out).params))
    command = [
        sys.executable,
        "-m",
        "workbench",
        "train",
        config,
        "-p",
        "lr",
        "0.1",
        "--resume",
        "--out",
        out,
    ]
    refused = subprocess.run(command, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert refused.stderr.splitlines()[-1].startswith("workbench: ")
    assert "other settings (lr was 0.0005, is 0.1); choose" in refused.stderr
    assert runs.read(out).status == "ok"


def resume(out, *words):
    """The verb with the folder of a run and what more is typed."""
    return CliRunner().invoke(app, ["train", "--resume", "--out", str(out), *words])


def test_a_run_is_resumed_with_the_fields_that_lie_in_its_folder(ready, tmp_path):
    out = train(ready(keep_optimizer=True), folder=tmp_path / "run", progress=False).folder
    done = resume(out, "-p", "epochs=2", "-p", "objective=vsepp")
    assert done.exit_code == 0, done.output
    straight = train(
        ready(keep_optimizer=True, epochs=2), folder=tmp_path / "straight", progress=False
    ).folder
    for name in (runs.RESULTS, runs.PARAMS, runs.GIVEN):
        assert (out / name).read_bytes() == (straight / name).read_bytes()


def test_a_finished_run_keeps_the_facts_of_its_checkpoint_and_no_state(ready, tmp_path):
    out, whole = tmp_path / "run", tmp_path / "whole"
    for folder, keep in ((out, False), (whole, True)):
        train(ready(keep_optimizer=keep), folder=folder, progress=False)
    assert (out / LAST).stat().st_size * 10 < (whole / LAST).stat().st_size
    facts, kept = (checkpoint.read_facts(folder / LAST) for folder in (out, whole))
    assert facts["step"] == kept["step"]
    assert [row["epoch"] for row in facts["history"]] == [row["epoch"] for row in kept["history"]]
    before = content(out)
    refused = resume(out, "-p", "epochs=2")
    assert (refused.exit_code, len(refused.stderr.splitlines())) == (2, 1), refused.stderr
    assert "ended after 1 epochs and kept no optimiser state" in refused.stderr
    assert content(out) == before


def test_a_run_that_was_killed_between_its_results_and_its_status_ends_by_resuming(ready, tmp_path):
    out = train(ready(), folder=tmp_path / "run", progress=False).folder
    before = {name: (out / name).read_bytes() for name in (runs.RESULTS, "rankings.parquet", runs.VALUES)}
    (out / runs.STATUS).unlink()
    done = resume(out)
    assert done.exit_code == 0, done.stderr
    assert runs.read(out).status == "ok"
    assert {name: (out / name).read_bytes() for name in before} == before
    (out / runs.MODEL).unlink()
    lost = resume(out)
    assert (lost.exit_code, "its model.safetensors is not there" in lost.stderr) == (2, True)


@pytest.mark.parametrize("left", [(runs.PARAMS, runs.GIVEN, runs.ENV, runs.STATUS), (runs.PARAMS,), ()])
def test_a_run_killed_before_its_first_checkpoint_begins_anew_with_the_same_command(ready, tmp_path, left):
    straight = train(ready(), folder=tmp_path / "straight", progress=False).folder
    out = tmp_path / "run"
    out.mkdir()
    (out / ".lock").touch()
    for name in left:
        shutil.copy(straight / name, out)
    config = tmp_path / "config.json"
    config.write_text((straight / runs.GIVEN).read_text())
    done = resume(out, str(config))
    assert done.exit_code == 0, done.output
    assert (out / runs.RESULTS).read_bytes() == (straight / runs.RESULTS).read_bytes()
    assert runs.read(out).status == "ok"


@pytest.mark.parametrize("has_checkpoint", [True, False])
@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("lr=0.1", "lr was 0.0005, is 0.1"),
        ("objective=dias", "objective was vsepp, is dias"),
        ("batch_size=6", "batch_size was 4, is 6"),
        ("objective.margin=0.5", "objective.margin was not there, is 0.5"),
    ],
)
def test_a_field_that_differs_from_that_of_the_run_is_refused_by_name(
    ready, tmp_path, pair, message, has_checkpoint
):
    out = tmp_path / "run"
    write_json(out / runs.PARAMS, ready().config.as_dict())
    if has_checkpoint:
        (out / LAST).touch()
    before = content(out)
    done = resume(out, "-p", pair)
    assert (done.exit_code, len(done.output.splitlines())) == (2, 1), done.output
    assert message in done.output
    assert content(out) == before


@pytest.mark.parametrize("params", [{"config": {}}, {"objective": "ViT-B-32", "model": "ViT-B-32"}])
def test_a_run_that_another_command_made_is_not_resumed_by_train(tmp_path, params):
    write_json(tmp_path / runs.PARAMS, params)
    done = resume(tmp_path)
    assert (done.exit_code, len(done.output.splitlines())) == (2, 1), done.output
    assert "no run of `workbench train`" in done.output


def test_where_no_run_began_there_is_nothing_to_resume(tmp_path):
    (tmp_path / "photo.png").touch()
    for place in (tmp_path, tmp_path / "nowhere"):
        done = resume(place)
        assert (done.exit_code, "nothing to resume" in done.output) == (2, True)


def test_a_folder_without_fields_is_no_run_of_the_defaults(tmp_path):
    refused = resume(tmp_path)
    assert refused.exit_code == 2
    assert f"{tmp_path} holds no fields of a run" in refused.output
    assert list(tmp_path.iterdir()) == []
