"""The same seed gives the same numbers, whatever the number of threads."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch

from tests.runs.trained_twice import SMALL
from workbench import objectives
from workbench.runs import Config, prepare, run
from workbench.training import deterministic_algorithms


@pytest.mark.slow
def test_every_objective_trained_twice_in_processes_of_their_own_gives_the_same_numbers():
    # threads that wait leave the cores to other tests
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    environment.pop("OMP_NUM_THREADS", None)
    command = [sys.executable, "-m", "tests.runs.trained_twice"]
    both = [
        json.loads(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        )
        for _ in range(2)
    ]
    assert set(both[0]) == set(objectives.names())
    assert {name for name in both[0] if both[0][name] != both[1][name]} == set()


def test_the_block_leaves_the_setting_as_it_was():
    with deterministic_algorithms(True):
        assert torch.are_deterministic_algorithms_enabled()
    assert not torch.are_deterministic_algorithms_enabled()


def test_an_operation_without_a_deterministic_form_is_named_with_the_remedy():
    with (
        pytest.raises(RuntimeError, match=r"put_ .*set deterministic=false"),
        deterministic_algorithms(True),
    ):
        raise RuntimeError("put_ does not have a deterministic implementation, but you set something. More.")


def test_what_is_drawn_between_preparing_and_training_changes_no_number():
    config = Config(objective="vsepp", **SMALL)
    at_once, later = prepare(config), prepare(config)
    both = [run(at_once).history]
    torch.rand(7)
    both.append(run(later).history)
    kept = [[{k: v for k, v in epoch.items() if k != "seconds"} for epoch in history] for history in both]
    assert kept[0] == kept[1]
