"""``torchrun`` around ``workbench train``: several processes, one run folder, the weights of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from tests.runs.test_experiment import SMALL, TINY
from tests.training import curves
from workbench import objectives
from workbench.runs.store import MODEL

ALONE = [sys.executable, "-m", "workbench"]
TOGETHER = [
    sys.executable,
    "-m",
    "torch.distributed.run",
    "--nproc-per-node=2",
    "--standalone",
    "-m",
    "workbench",
]


def train(how: list[str], config: Path, *more: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*how, "train", str(config), *more], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.slow
def test_two_processes_leave_one_run_with_the_weights_of_one(tmp_path: Path) -> None:
    model, config = tmp_path / "tiny.json", tmp_path / "config.json"
    model.write_text(json.dumps(TINY))
    towers = {"image_encoder": "towers", "image_options": {"model": str(model), "pretrained": ""}}
    config.write_text(json.dumps(SMALL | towers | {"objective": "ditm", "captions_per_image": 2}))
    nameless = train(TOGETHER, config)
    assert nameless.returncode != 0
    assert "several processes write one run; name its folder with --out" in nameless.stderr
    weights = {}
    for name, how in (("alone", ALONE), ("together", TOGETHER)):
        ran = train(how, config, "--out", str(tmp_path / name))
        assert ran.returncode == 0, ran.stderr
        assert (tmp_path / name / "STATUS").read_text().strip() == "ok"
        weights[name] = load_file(tmp_path / name / MODEL)
    # Double precision is compared in tests/training; here the whole path runs in single precision, through
    # AdamW's division.
    for key, value in weights["alone"].items():
        assert (value - weights["together"][key]).abs().max() < 1e-3, key


@pytest.mark.slow
def test_several_processes_have_the_curve_of_one_chunk_by_chunk_and_gone_on_with(tmp_path: Path) -> None:
    with curves.doubled():
        made = {name: curves.ready(name) for name in objectives.names()}
        found = curves.of_several(made, 2, 4, tmp_path)
        for name, one in made.items():
            expected = curves.curve(one)
            assert len(expected) == curves.STEPS
            np.testing.assert_allclose(found[name], expected, rtol=0, atol=1e-9, err_msg=name)
