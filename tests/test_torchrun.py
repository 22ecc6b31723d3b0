"""``torchrun`` around ``workbench train``: several processes, one run folder, the weights of one process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from tests.experiment.test_experiment import SMALL, TINY
from tests.training import curves
from workbench import objectives
from workbench.experiment.running import Prepared
from workbench.experiment.runs import MODEL

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


@pytest.fixture(scope="module")
def alone() -> Iterator[tuple[dict[str, Prepared], dict[str, list[float]]]]:
    with curves.doubled():
        made = {name: curves.ready(name) for name in objectives.names()}
        yield made, {name: curves.curve(one) for name, one in made.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("world", "chunk"), [(2, 0), (3, 3)])
def test_several_processes_have_the_curve_of_one_also_where_they_were_stopped(alone, tmp_path, world, chunk):
    made, expected = alone
    found = curves.of_several(made, world, chunk, tmp_path)
    for name, losses in expected.items():
        assert len(losses) == curves.STEPS
        np.testing.assert_allclose(found[name], losses, rtol=0, atol=1e-9, err_msg=name)


def test_the_record_of_all_curves_keeps_the_bar() -> None:
    rows = [line.split("\t") for line in curves.TABLE.read_text().splitlines()[2:]]
    told = {tuple(row[:3]) for row in rows}
    cases = (("1", "3"), ("2", "0"), ("3", "0"), ("2", "3"), ("3", "3"))
    assert told == {(name, *case) for name in objectives.names() for case in cases}
    assert {row[3] for row in rows} == {str(curves.STEPS)}
    assert max(float(row[4]) for row in rows) < 1e-9
