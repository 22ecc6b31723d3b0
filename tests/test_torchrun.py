"""``torchrun`` around ``workbench train``: several processes, one run folder, the weights of one process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file
from typer.testing import CliRunner

from tests.runs.test_experiment import SMALL, TINY
from tests.training import curves
from tests.training.ranks import of_several
from workbench import objectives
from workbench.cli import app
from workbench.runs.store import MODEL

TOGETHER = [
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--nproc-per-node=2",
    "--standalone",
    "-m",
    "workbench",
]


def test_several_processes_are_refused_where_no_folder_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    done = CliRunner().invoke(app, ["train", "-p", "objective=ditm"])
    assert done.exit_code == 2
    assert "several processes write one run; name its folder with --out" in done.output


@pytest.mark.slow
def test_two_processes_leave_one_run_with_the_weights_of_one(tmp_path: Path) -> None:
    model, config = tmp_path / "tiny.json", tmp_path / "config.json"
    model.write_text(json.dumps(TINY))
    towers = {"image_encoder": {"name": "towers", "model": str(model), "pretrained": ""}}
    config.write_text(json.dumps(SMALL | towers | {"objective": "ditm", "captions_per_image": 2}))
    words = ["train", str(config), "--out"]
    together = subprocess.run(
        [*TOGETHER, *words, str(tmp_path / "together")], capture_output=True, text=True, check=False
    )
    assert together.returncode == 0, together.stderr
    alone = CliRunner().invoke(app, [*words, str(tmp_path / "alone")])
    assert alone.exit_code == 0, alone.output
    assert {(tmp_path / name / "STATUS").read_text().strip() for name in ("alone", "together")} == {"ok"}
    weights = {name: load_file(tmp_path / name / MODEL) for name in ("alone", "together")}
    # Double precision is compared in tests/training; here the whole path runs in single precision, through
    # AdamW's division.
    for key, value in weights["alone"].items():
        assert (value - weights["together"][key]).abs().max() < 1e-3, key


@pytest.mark.slow
def test_several_processes_have_the_curve_of_one_chunk_by_chunk_and_gone_on_with(tmp_path: Path) -> None:
    with curves.doubled():
        made = {name: curves.ready(name) for name in objectives.names()}
        found = of_several(
            lambda: {name: curves.curve(one, chunk=4, folder=tmp_path / name) for name, one in made.items()},
            2,
        )
        for name, one in made.items():
            expected = curves.curve(one)
            assert len(expected) == curves.STEPS
            np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-9, err_msg=name)
