"""The same seed and the same number of threads give the same numbers, and a run says the number."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from tests.runs.trained_twice import SMALL
from workbench import objectives
from workbench.runs import Config, prepare
from workbench.runs import store as runs
from workbench.runs.train import train
from workbench.training import checkpoint, computing_threads, deterministic_algorithms


@pytest.mark.slow
def test_every_objective_trained_twice_in_processes_of_their_own_gives_the_same_numbers():
    # threads that wait leave the cores to other tests
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-m", "tests.runs.trained_twice", "2"]
    both = [
        json.loads(
            subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
        )
        for _ in range(2)
    ]
    assert set(both[0]) == set(objectives.names())
    assert {name for name in both[0] if both[0][name] != both[1][name]} == set()


TINY = {"train_images": 16, "val_images": 8, "test_images": 8, "batch_size": 8, "epochs": 1}


def trained(folder, threads):
    config = Config(objective="vsepp", threads=threads, **TINY)
    return runs.read(train(prepare(config, progress=False), folder=folder, progress=False).folder)


def test_runs_with_one_thread_and_with_two_say_so_and_a_difference_names_it(tmp_path):
    usual = torch.get_num_threads()
    first, again, second = (trained(tmp_path / str(n), threads) for n, threads in enumerate((1, 1, 2)))
    assert [run.env["threads"] for run in (first, second)] == [1, 2]
    assert [run.results["threads"] for run in (first, second)] == [1, 2]
    assert first.results == again.results
    differences = runs.diff(first, second)
    assert [differences[file]["threads"] for file in ("params", "results", "env")] == [(1, 2)] * 3
    assert torch.get_num_threads() == usual


# what a run keeps of its times and of the machine, and the lock of its folder
TIMED = {runs.ENV, checkpoint.LAST, ".lock"}


def contents(folder):
    files = [path for path in folder.rglob("*") if path.is_file() and path.name not in TIMED]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


@pytest.mark.slow
def test_two_equal_runs_in_processes_of_their_own_have_equal_files_to_the_byte(tmp_path):
    pairs = [word for name, value in TINY.items() for word in ("-p", f"{name}={value}")]
    command = [sys.executable, "-m", "workbench", "train", *pairs, "-p", "objective=vsepp", "-p", "threads=1"]
    both = []
    for number in ("first", "second"):
        subprocess.run([*command, "--out", tmp_path / number], check=True, capture_output=True)
        both.append(contents(tmp_path / number))
    first, second = both
    assert {runs.MODEL, runs.RESULTS, runs.VALUES, "embeddings/image.npy"} <= first.keys()
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []


def test_a_checkpoint_of_the_same_content_has_the_same_bytes_and_an_older_one_is_read(tmp_path):
    tensors, facts = {"b": torch.ones(2), "a": torch.zeros(3)}, {"step": 1, "config": {"lr": 0.1}}
    bytes_written = set()
    for number in range(8):
        checkpoint.write(tmp_path / f"{number}.safetensors", tensors, facts)
        bytes_written.add((tmp_path / f"{number}.safetensors").read_bytes())
    assert len(bytes_written) == 1
    with safe_open(tmp_path / "0.safetensors", framework="pt") as file:
        apart = json.loads(file.metadata()[checkpoint.HEADER])
    save_file(tensors, tmp_path / "older.safetensors", apart)
    assert checkpoint.read(tmp_path / "older.safetensors")[1] == facts


def test_a_run_that_names_no_number_keeps_that_of_its_process(tmp_path):
    with computing_threads(3):
        run = trained(tmp_path, 0)
    assert (run.params["threads"], run.results["threads"], run.env["threads"]) == (0, 3, 3)


def test_a_resumed_run_goes_on_with_the_threads_that_it_began_with(tmp_path):
    ready = prepare(Config(objective="vsepp", **TINY), progress=False)
    for usual in (3, 1):
        with computing_threads(usual):
            assert train(ready, folder=tmp_path, progress=False).threads == 3


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
    both = [train(at_once).history]
    torch.rand(7)
    both.append(train(later).history)
    kept = [[{k: v for k, v in epoch.items() if k != "seconds"} for epoch in history] for history in both]
    assert kept[0] == kept[1]
