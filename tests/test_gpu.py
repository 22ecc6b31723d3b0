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
from workbench import devices, evaluate, objectives
from workbench.cli import app
from workbench.runs import Config, prepare
from workbench.runs.train import train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
SMALL: dict[str, Any] = {
    "train_images": 64, "val_images": 16, "test_images": 48, "batch_size": 16, "epochs": 1,
}  # fmt: skip
SETTINGS = {name: value for name, value in SMALL.items() if name != "train_images"}
# what makes a notebook short; 03 trains, and the others look at what the shipped model says
SHORT: dict[str, dict[str, Any]] = {
    "01_descriptiveness": {"images": 100},
    "02_scene_graphs": {"images": 20, "listed": 5},
    "03_train": {"objective": "aahr", "train_images": 64, "settings": SETTINGS},
    "04_embedding_map": {"images": 20, "clusters": 3},
    "05_hierarchy": {"images": 60},
    "06_retrieval_explorer": {"images": 40},
    "07_compare": {"images": 40, "differ": 1, "k": 3},
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
        run = train(made, out=tmp_path / number, resume=False, progress=False)
        found.append((tmp_path / number / "results.json").read_text())
        assert np.isfinite(json.loads(found[-1])["metrics"]["rsum"]), run
    one, other = (json.loads(text)["metrics"] for text in found)
    assert one == other


def test_a_model_says_on_a_gpu_what_it_says_on_the_cpu() -> None:
    here, there = (evaluate("scenes:scenes", "scenes", data_options={"size": 200}, split="test",
                            device=device, rounds=0) for device in ("cpu", "cuda"))  # fmt: skip
    assert float((here.image.mean - there.image.mean).abs().max()) < 1e-3
    assert abs(here["rsum"] - there["rsum"]) < 0.05


@pytest.mark.parametrize(
    "words",
    [
        "evaluate --model scenes:scenes --data scenes -p size=48 --split test --device cuda --root runs",
        "evaluate RUN --device cuda",
        "explore RUN --page answers.html --device cuda",
        "train --out runs/new -p device=cuda -p objective=vsepp "
        + " ".join(f"-p {name}={one}" for name, one in SMALL.items()),
    ],
    ids=lambda words: words.partition(" --device")[0][:20],
)
def test_a_verb_encodes_there(words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if "RUN" in words:
        config = Config(objective="vsepp", **SMALL, device="cpu")
        train(prepare(config, progress=False), out="runs/made", resume=False, progress=False)
    done = CliRunner().invoke(app, words.replace("RUN", "runs/made").split())
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize("name", SHORT)
def test_a_notebook_runs_there(name: str, tmp_path: Path) -> None:
    executed(NOTEBOOKS / f"{name}.ipynb", {**SHORT[name], "device": "cuda"}, tmp_path)
    assert json.loads((tmp_path / "results.json").read_text())["metrics"]
