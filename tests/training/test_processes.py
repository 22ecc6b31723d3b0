"""Several processes have the gradient of one: every objective, in double precision, over gloo."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from timm.layers import BatchNormAct2d
from torch import nn

from tests.training.ranks import CHUNKS, all_gradients, gradients, of_several
from tests.training.test_batches import source
from workbench import objectives
from workbench.records import Embedding
from workbench.training import processes
from workbench.training.batches import Shards, loader


def test_workers_give_the_same_batches_as_this_process():
    rows = [np.array([0, 2]), np.array([1])]
    here, there = ([shard.batch for shard in loader(Shards(source()), rows, workers=n)] for n in (0, 1))
    assert (
        [list(b.caption_ids) for b in here] == [list(b.caption_ids) for b in there] == [["a0", "b0"], ["a1"]]
    )


def test_reading_batches_leaves_the_global_generator_alone():
    before = torch.get_rng_state()
    list(loader(Shards(source()), [np.array([0])]))
    assert torch.equal(before, torch.get_rng_state())


def test_one_process_encodes_the_batch_itself():
    (shard,) = loader(Shards(source()), [np.array([0, 2])])
    assert shard.images[0] is shard.batch is shard.captions[0]
    assert len(shard.images) == len(shard.captions) == 1
    embedding = Embedding(torch.eye(2))
    assert processes.gather(embedding) is embedding


def test_batch_norms_of_several_processes_are_synchronised_on_gpus_and_refused_on_cpus(monkeypatch):
    monkeypatch.setattr(processes, "process_count", lambda: 2)
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.BatchNorm2d(4), BatchNormAct2d(4), nn.BatchNorm2d(4).eval())
    names = set(model.state_dict())
    with pytest.raises(
        ValueError, match="several processes on CPUs cannot share batch norms; set hidden_dim=0"
    ):
        processes.synchronise_batch_norms(model, torch.device("cpu"))
    processes.synchronise_batch_norms(model, torch.device("cuda"))
    norms = list(model)[1:]
    assert all(isinstance(norm, nn.SyncBatchNorm) for norm in norms)
    assert [norm.training for norm in norms] == [True, True, False]
    assert isinstance(norms[1].act, nn.ReLU)
    assert set(model.state_dict()) == names
    # in evaluation they run anywhere
    assert model.eval()(torch.ones(2, 3, 1, 1)).shape == (2, 4, 1, 1)
    processes.synchronise_batch_norms(nn.Sequential(nn.Linear(2, 2)), torch.device("cpu"))


@pytest.fixture(scope="module", params=[2, 3])
def found(request):
    return of_several(all_gradients, request.param)


@pytest.mark.slow
@pytest.mark.parametrize("name", objectives.names())
@pytest.mark.parametrize("chunk", CHUNKS)
def test_the_gradient_of_several_processes_is_that_of_one(found, chunk, name):
    same(found[chunk][name], gradients(name))


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
