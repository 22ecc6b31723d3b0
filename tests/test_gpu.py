"""What a person starts, on a GPU: every objective, the verbs that encode and all notebooks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tests.in_process import executed
from tests.test_devices import SMALL as OF_RUN
from tests.test_devices import VERBS
from tests.test_notebooks import FOLDER as NOTEBOOKS
from tests.test_notebooks import SEVERAL
from workbench import devices, evaluate, objectives
from workbench.cli import app
from workbench.runs import Config, prepare
from workbench.runs.train import train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
SMALL: dict[str, Any] = {
    "train_images": 64, "val_images": 16, "test_images": 48, "batch_size": 16, "epochs": 1,
}  # fmt: skip
SETTINGS = {name: value for name, value in SMALL.items() if name != "train_images"}
# what makes a notebook short; 03 trains, and the others look at what the shipped model says
SHORT: dict[str, dict[str, Any]] = {
    "01_descriptiveness": {"images": 100},
    "02_scene_graphs": {"images": 20, "listed": 5},
    "03_train": {"objective": "aahr", "train_images": 64, "config": SETTINGS},
    **SEVERAL,
    "08_relevance": {"images": 40, "rounds": 20, "noise": [0.3]},
    "09_relevance_audit": {"images": 40, "rounds": 20},
}


@pytest.fixture(autouse=True)
def _used(request: pytest.FixtureRequest) -> Iterator[None]:
    """Something of every test lay on the GPU, but for the notebooks that encode nothing."""
    torch.cuda.reset_peak_memory_stats()
    held = torch.cuda.memory_allocated()
    yield
    devices.use()
    reads_captions = any(name in request.node.name for name in ("01_", "02_"))
    assert reads_captions or torch.cuda.max_memory_allocated() > held


@pytest.mark.parametrize("name", objectives.names())
def test_every_objective_trains_and_the_same_seed_gives_the_same_numbers(name: str, tmp_path: Path) -> None:
    found = []
    for number in ("first", "second"):
        made = prepare(Config(objective=name, **SMALL, device="cuda"), progress=False)
        run = train(made, folder=tmp_path / number, progress=False).folder
        found.append(json.loads((run / "results.json").read_text())["metrics"])
    one, other = found
    assert np.isfinite(one["rsum"])
    assert one == other


def test_a_model_says_on_a_gpu_what_it_says_on_the_cpu() -> None:
    here, there = (evaluate("scenes:scenes", {"name": "scenes", "size": 200}, split="test",
                            device=device, rounds=0) for device in ("cpu", "cuda"))  # fmt: skip
    assert float((here.image.mean - there.image.mean).abs().max()) < 1e-3
    assert abs(here["rsum"] - there["rsum"]) < 0.05


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words.partition(" --device")[0][:20])
def test_a_verb_encodes_there(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "RUN" in words:
        train(prepare(Config(**OF_RUN, device="cpu"), progress=False), folder="runs/made")
    done = CliRunner().invoke(app, words.replace("RUN", "runs/made").split())
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", SHORT)
def test_a_notebook_runs_there(name: str, tmp_path: Path) -> None:
    executed(NOTEBOOKS / f"{name}.ipynb", {**SHORT[name], "device": "cuda"}, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["metrics"]
