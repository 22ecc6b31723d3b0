"""A run is gone on with only from the same configuration and data, and by one process at a time."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.io.test_files import held
from tests.runs.test_experiment import SMALL, TINY
from workbench.io import ChecksumError
from workbench.runs import Config, prepare
from workbench.runs import store as runs
from workbench.runs.train import train


@pytest.fixture
def ready(tmp_path):
    """Prepares a small experiment with some changes."""
    (tmp_path / "tiny.json").write_text(json.dumps(TINY))
    towers = {"image_options": {"model": str(tmp_path / "tiny.json"), "pretrained": ""}}
    small = SMALL | towers | {"image_encoder": "towers", "text_encoder": "towers", "schedule": "constant"}

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
    train(ready(), out=out, progress=False)
    before = content(out)
    for changes, words in (
        ({"objective": "dias"}, "objective was vsepp, is dias"),
        ({"objective_options": {"margin": 0.5}}, "objective_options.margin was not there, is 0.5"),
        (
            {"train_images": 13},
            r"split.train was 12 images, 60 captions, \w+, is 13 images, 65 captions, \w+",
        ),
        ({"val_images": 7, "metrics": ("ndcg",)}, r"metrics was \[\], is \['ndcg'\]; split.val was 6 images"),
        ({"schedule": "cosine"}, "schedule was constant, is cosine"),
    ):
        with pytest.raises(ChecksumError, match=words):
            train(ready(**changes), out=out, resume=True, progress=False)
        assert content(out) == before
    with (
        held(out),
        pytest.raises(BlockingIOError, match="is being written by another process"),
    ):
        train(ready(), out=out, resume=True, progress=False)
    assert content(out) == before
    train(ready(epochs=2, checkpoint_every=1), out=out, resume=True, progress=False)
    run = runs.read(out)
    assert (run.status, run.results["steps"], run.params["epochs"]) == ("ok", 18, 2)
    straight = train(ready(epochs=2), out=tmp_path / "straight", progress=False)
    assert run.results == runs.read(straight).results


@pytest.mark.slow
def test_the_verb_says_in_one_line_why_it_refuses(ready, tmp_path):
    out, config = tmp_path / "run", tmp_path / "config.json"
    config.write_text(json.dumps(train(ready(), out=out, progress=False) and runs.read(out).params))
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
