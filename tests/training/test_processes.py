"""Several processes have the gradient of one: every objective, in double precision, over gloo."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.training import normed, sharded, toy
from tests.training.ranks import CHUNKS, gradients
from tests.training.test_batches import source
from workbench import objectives
from workbench.records import Embedding
from workbench.training import processes

ROOT = Path(__file__).parent.parent.parent


def test_workers_give_the_same_batches_as_this_process():
    rows = [np.array([0, 2]), np.array([1])]
    here, there = ([share.batch for share in processes.loader(source(), rows, workers=n)] for n in (0, 1))
    assert (
        [list(b.caption_ids) for b in here] == [list(b.caption_ids) for b in there] == [["a0", "b0"], ["a1"]]
    )


def test_reading_batches_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    list(processes.loader(source(), [np.array([0])]))
    assert torch.equal(before, torch.get_rng_state())


def test_one_process_encodes_the_batch_itself():
    (share,) = processes.loader(source(), [np.array([0, 2])])
    assert share.images[0] is share.batch is share.captions[0]
    assert len(share.images) == len(share.captions) == 1
    embedding = Embedding(torch.eye(2))
    assert processes.gather(embedding) is embedding


def test_gradients_are_sent_in_buckets_of_bounded_size_and_one_type():
    sizes = [3, 5, 9, 1, 1, 20, 2]
    given = [torch.zeros(size, dtype=torch.float64 if size == 5 else torch.float32) for size in sizes]
    found = list(processes.buckets(given, size=44))
    assert [[one.numel() for one in bucket] for bucket in found] == [[3], [5], [9, 1, 1], [20], [2]]
    assert list(processes.buckets([])) == []


def ran(module, path, world):
    """What the last of several processes leaves, each of which is this program."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    common = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(world)}
    started = [
        subprocess.Popen([sys.executable, "-m", module, path], cwd=ROOT, env={**common, "RANK": str(rank)})
        for rank in range(world)
    ]
    assert [process.wait() for process in started] == [0] * world
    return torch.load(path)


@pytest.fixture(scope="module", params=[2, 3])
def of_several(request, tmp_path_factory):
    return ran("tests.training.ranks", tmp_path_factory.mktemp("ranks") / "made.pt", request.param)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 3])
def test_batch_norms_of_several_processes_are_those_of_one(tmp_path, world):
    losses, state = normed.trained()
    for found, found_state in ran("tests.training.normed", tmp_path / "made.pt", world).values():
        assert losses[-1] < losses[0]
        np.testing.assert_allclose(found, losses, rtol=0, atol=1e-9)
        assert sum("running" in name for name in state) == 8
        # a bias before a norm has no gradient but rounding, which Adam divides by its size
        for name, value in state.items():
            torch.testing.assert_close(found_state[name], value, rtol=0, atol=1e-7)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("vsepp", {}, "these encoders have no tower with blocks; set shard=false"),
        ("vsepp", {"batch_size": 3}, "the smallest batch has 6 captions, and 2 processes need 4 each"),
        ("vsepp", {"chunk_size": 7}, "chunk_size=7 leaves chunks of fewer than 4 captions; set 8 or more"),
        ("aahr", {}, "this objective keeps a second copy of the encoders, which is not cut"),
    ],
)
def test_what_cannot_be_cut_is_refused(name, changes, message, monkeypatch):
    monkeypatch.setattr(processes, "world", lambda: 2)
    with pytest.raises(ValueError, match=f"shard: {message}"):
        toy.train(None, objectives.load(name), shard=True, **changes)


@pytest.mark.slow
@pytest.mark.parametrize("world", [2, 3])
def test_towers_whose_blocks_are_cut_train_as_whole_ones(tmp_path, world):
    found = ran("tests.training.sharded", tmp_path / "made.pt", world)
    for name, (losses, weights, shares) in found.items():
        expected, plain, none = sharded.trained(name, tmp_path / f"{name} alone", shard=True)
        assert len(losses) == len(expected) == 8
        np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-9)
        # one process cuts nothing; of several each holds its part of every matrix of a block
        assert (none, len(shares) >= 20, max(shares) < 1) == ([], True, True)
        for key, value in plain.items():
            torch.testing.assert_close(weights[key], value, rtol=0, atol=1e-7, msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("name", objectives.names())
@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_gradient_of_several_processes_is_that_of_one(of_several, chunk, name):
    same(of_several[chunk][name], gradients(name))


def same(found, expected):
    """Whether gradients and states of an objective agree."""
    assert set(found[0]) == set(expected[0])
    assert any(key.startswith("image") for key in expected[0])
    for key, value in expected[0].items():
        torch.testing.assert_close(
            found[0][key], value, rtol=0, atol=1e-9, msg=lambda text, key=key: f"{key}: {text}"
        )
    for key, value in expected[1].items():
        torch.testing.assert_close(found[1][key], value, rtol=0, atol=1e-9)
