"""Chunk by chunk as the whole: losses, gradients, random numbers; batch norms are refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.training import toy
from tests.training.ranks import ROWS, gradients
from tests.training.test_processes import same
from workbench import objectives
from workbench.encoders.base import Encoder
from workbench.records import Batch, Embedding
from workbench.training.batches import Shards, loader
from workbench.training.chunks import ChunkedEmbedding, require_no_batch_norms

CPU = torch.device("cpu")


def test_chunks_hold_every_image_and_every_caption_once():
    (shard,) = loader(Shards(toy.source(), chunk=2), [np.array([0, 1, 2, 4, 6])])
    assert [list(one.image_ids) for one in shard.images] == [["i0", "i1"], ["i2", "i3"]]
    assert [list(one.caption_ids) for one in shard.captions] == [["c0", "c1"], ["c2", "c4"], ["c6"]]
    assert (list(shard.batch.image_ids), shard.batch.inputs) == (["i0", "i1", "i2", "i3"], {})


@pytest.mark.parametrize("name", objectives.names())
@pytest.mark.parametrize("chunk", [3, len(ROWS)])
def test_the_gradient_of_chunks_is_that_of_the_whole(name, chunk):
    same(gradients(name, chunk=chunk), gradients(name))


class Dropping(Encoder):
    """A linear map between two dropouts."""

    image_input, embed_dim = "pixels", 4

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Dropout(), nn.Linear(4, 4), nn.Dropout())

    def encode_images(self, batch):
        return Embedding(self.body(batch.inputs["pixels"]))


def test_a_chunk_drops_the_same_in_both_passes_and_another_one_something_else():
    torch.manual_seed(0)
    encoder = Dropping().double()
    pixels = torch.ones(6, 4, dtype=torch.double)
    batches = [
        Batch(list("abc"), [], torch.empty(0, dtype=torch.long), {"pixels": one}) for one in pixels.split(3)
    ]
    start = torch.get_rng_state()
    made = ChunkedEmbedding(encoder.encode_images, batches, CPU)
    assert not torch.equal(made.embedding.mean[:3], made.embedding.mean[3:])
    (made.embedding.mean**3).sum().backward()
    after = torch.get_rng_state()
    assert not torch.equal(start, after)
    made.backward()
    assert torch.equal(after, torch.get_rng_state())
    gradients = [one.grad.clone() for one in encoder.parameters()]
    # the two chunks as one graph, which draws the same numbers
    encoder.zero_grad()
    torch.set_rng_state(start)
    (torch.cat([encoder.encode_images(batch).mean for batch in batches]) ** 3).sum().backward()
    for gradient, parameter in zip(gradients, encoder.parameters(), strict=True):
        torch.testing.assert_close(gradient, parameter.grad, rtol=0, atol=1e-12)


def test_an_encoder_that_stands_still_takes_no_gradient():
    encoder = Dropping().requires_grad_(False).eval()
    batch = Batch(list("ab"), [], torch.empty(0, dtype=torch.long), {"pixels": torch.ones(2, 4)})
    made = ChunkedEmbedding(encoder.encode_images, [batch, batch], CPU)
    made.embedding.mean.sum().backward()
    made.backward()
    assert [one.grad for one in encoder.parameters()] == [None] * 2


def test_batch_norms_that_train_are_refused_with_the_remedies_and_frozen_ones_are_not():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    with pytest.raises(ValueError, match=r"chunk_size: a batch norm .*set hidden_dim=0 \(regions\)"):
        require_no_batch_norms(model)
    model[1].eval()
    require_no_batch_norms(model)


def test_a_run_of_chunks_is_the_run_of_the_whole_and_goes_on_bit_for_bit(tmp_path, monkeypatch):
    straight, _ = toy.train(None, chunk_size=5, epochs=2, schedule="constant")
    toy.train(tmp_path, chunk_size=5, epochs=1, schedule="constant")
    longer, _ = toy.train(tmp_path, chunk_size=5, epochs=2, schedule="constant")
    assert all(map(torch.equal, straight.state_dict().values(), longer.state_dict().values()))
    monkeypatch.setattr(nn.Dropout, "forward", lambda _, values: values)
    (_, whole), (_, chunks) = (toy.train(None, chunk_size=size) for size in (0, 5))
    assert [row["loss"] for row in chunks[1:]] == pytest.approx([row["loss"] for row in whole[1:]], rel=1e-4)
