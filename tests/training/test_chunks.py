"""Chunk by chunk as the whole: losses, gradients, batch norms, random numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from tests.training import normed, toy
from tests.training.ranks import ROWS, gradients
from tests.training.test_processes import same
from workbench import objectives
from workbench.encoders.base import Encoder
from workbench.records import Batch, Embedding
from workbench.training import processes
from workbench.training.chunks import Chunks

CPU = torch.device("cpu")


def test_chunks_hold_every_image_and_every_caption_once():
    (share,) = processes.loader(toy.source(), [np.array([0, 1, 2, 4, 6])], chunk=2)
    assert [list(one.image_ids) for one in share.images] == [["i0", "i1"], ["i2", "i3"]]
    assert [list(one.caption_ids) for one in share.captions] == [["c0", "c1"], ["c2", "c4"], ["c6"]]
    assert (list(share.batch.image_ids), share.batch.inputs) == (["i0", "i1", "i2", "i3"], {})


@pytest.mark.parametrize("name", objectives.names())
@pytest.mark.parametrize("chunk", [3, len(ROWS)])
def test_the_gradient_of_chunks_is_that_of_the_whole(name, chunk):
    same(gradients(name, chunk=chunk), gradients(name))


@pytest.mark.parametrize("chunk", [3, normed.SIZE])
def test_twenty_steps_of_chunks_through_batch_norms_are_those_of_the_whole(chunk):
    (losses, state), (found, found_state) = normed.trained(), normed.trained(chunk)
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(found, losses, rtol=0, atol=1e-9)
    assert found_state["image.body.1.num_batches_tracked"] == normed.STEPS
    # a bias before a norm has no gradient but rounding, which Adam divides by its size
    for name, value in state.items():
        torch.testing.assert_close(found_state[name], value, rtol=0, atol=1e-7)


class Dropping(Encoder):
    """Dropout before and after a norm."""

    image_input, embed_dim = "pixels", 4

    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Dropout(), nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout())

    def images(self, batch):
        return Embedding(self.body(batch.inputs["pixels"]))


def test_a_chunk_drops_the_same_each_time_and_another_one_something_else():
    torch.manual_seed(0)
    encoder = Dropping().double()
    pixels = torch.ones(6, 4, dtype=torch.double)
    batches = [
        Batch(list("abc"), [], torch.empty(0, dtype=torch.long), {"pixels": one}) for one in pixels.split(3)
    ]
    before = torch.get_rng_state()
    made = Chunks(encoder, encoder.images, batches, CPU)
    assert not torch.equal(before, torch.get_rng_state())
    assert not torch.equal(made.embedding.mean[:3], made.embedding.mean[3:])
    again = Embedding.joined([made._one(number) for number in range(2)])
    assert torch.equal(again.mean, made.embedding.mean)
    (made.embedding.mean**3).sum().backward()
    after = torch.get_rng_state()
    made.backward()
    assert torch.equal(after, torch.get_rng_state())
    found = [one.grad.clone() for one in encoder.parameters()]
    # the two chunks as one graph: their norms share mean and variance, which are functions of the weights
    encoder.zero_grad()
    scale = encoder.body[2]
    hidden, left = [], []
    for state, one in zip(made._states, pixels.split(3), strict=True):
        torch.set_rng_state(state["cpu"])
        hidden.append(encoder.body[1](encoder.body[0](one)))
        left.append(torch.get_rng_state())
    normed_whole = nn.functional.batch_norm(
        torch.cat(hidden), None, None, scale.weight, scale.bias, training=True
    )
    whole = []
    for state, one in zip(left, normed_whole.split(3), strict=True):
        torch.set_rng_state(state)
        whole.append(encoder.body[3](one))
    (torch.cat(whole) ** 3).sum().backward()
    for one, parameter in zip(found, encoder.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, rtol=0, atol=1e-9)


def test_an_encoder_that_stands_still_takes_no_gradient():
    encoder = Dropping().requires_grad_(False).eval()
    batch = Batch(list("ab"), [], torch.empty(0, dtype=torch.long), {"pixels": torch.ones(2, 4)})
    made = Chunks(encoder, encoder.images, [batch, batch], CPU)
    made.embedding.mean.sum().backward()
    made.backward()
    assert [one.grad for one in encoder.parameters()] == [None] * 4


def test_a_run_of_chunks_is_the_run_of_the_whole_and_goes_on_bit_for_bit(tmp_path, monkeypatch):
    straight, _ = toy.train(None, chunk_size=5, epochs=2, schedule="constant")
    toy.train(tmp_path, chunk_size=5, epochs=1, schedule="constant")
    longer, _ = toy.train(tmp_path, chunk_size=5, epochs=2, schedule="constant")
    assert all(map(torch.equal, straight.state_dict().values(), longer.state_dict().values()))
    monkeypatch.setattr(nn.Dropout, "forward", lambda _, values: values)
    (_, whole), (_, chunks) = (toy.train(None, chunk_size=size) for size in (0, 5))
    assert [row["loss"] for row in chunks[1:]] == pytest.approx([row["loss"] for row in whole[1:]], rel=1e-4)
