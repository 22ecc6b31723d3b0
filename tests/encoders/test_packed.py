"""What runs without padding is what PyTorch's padded forms say, gradients included."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from tests.encoders.graphs import GRAPHS, batch
from workbench.encoders import load, packed
from workbench.encoders.packed import PackedIndex
from workbench.records import Batch

WORDS = ["a", "red", "bus", "stands", "by", "trees"]
SIZES = (3, 1, 6, 2, 6, 3, 9)


def layout(sizes=SIZES):
    return PackedIndex(torch.arange(max(sizes)) < torch.tensor(sizes)[:, None])


def rows(width, seed=0):
    made = torch.randn(sum(SIZES), width, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    return made.requires_grad_()


def both_forms(monkeypatch, run):
    """What ``run`` gives without padding and with it: tensors, and gradients of the sum of their squares."""
    found = []
    for padded in (False, True):
        monkeypatch.setattr(packed, "uses_padded_form", lambda _, padded=padded: padded)
        torch.manual_seed(0)
        values, parameters = run()
        total = torch.stack([value.square().sum() for value in values]).sum()
        found.append([*values, *torch.autograd.grad(total, parameters, allow_unused=True)])
    return zip(*found, strict=True)


def test_rows_are_found_again_whatever_form_they_had():
    # Sets of sizes 2 and 1, padded to 3: places 0, 1 and 3 are real.
    made = PackedIndex(torch.tensor([[True, True, False], [True, False, False]]))
    parts = torch.tensor([[[1.0], [2.0], [9.0]], [[3.0], [9.0], [9.0]]])
    assert made.rows(parts).flatten().tolist() == [1, 2, 3]
    assert made.pad(made.rows(parts)).flatten().tolist() == [1, 2, 0, 3, 0, 0]
    assert [block.flatten().tolist() for block in made.blocks(made.rows(parts))] == [[3], [1, 2]]
    assert made.join_sets([torch.tensor([7]), torch.tensor([8])]).tolist() == [8, 7]
    assert made.join_rows(made.blocks(made.rows(parts))).flatten().tolist() == [1, 2, 3]


def test_a_mask_with_holes_is_read_as_it_is():
    mask = torch.tensor([[False, True, True], [True, False, True]])
    parts = torch.arange(6.0).view(2, 3, 1)
    assert PackedIndex(mask).rows(parts).flatten().tolist() == [1, 2, 3, 5]
    assert torch.equal(PackedIndex(mask).pad(PackedIndex(mask).rows(parts)), parts * mask[..., None])


def test_a_gru_reads_each_set_alone_whatever_the_others_are():
    torch.manual_seed(0)
    rnn, given = nn.GRU(4, 3, batch_first=True, bidirectional=True).double(), rows(4)
    alone = torch.cat([rnn(part[None])[0][0] for part in given.split(SIZES)])
    torch.testing.assert_close(torch.cat(packed.gru(rnn, given, torch.tensor(SIZES)), dim=1), alone)


@pytest.mark.parametrize("both", [False, True])
def test_a_gru_and_its_gradients_are_those_of_pytorch(both):
    torch.manual_seed(0)
    rnn, sizes = nn.GRU(5, 4, batch_first=True, bidirectional=both).double(), torch.tensor([3, 9, 1, 9, 4])
    given = torch.randn(26, 5, dtype=torch.float64, requires_grad=True)
    mask = torch.arange(9) < sizes[:, None]
    padded = given.new_zeros(5, 9, 5).masked_scatter(mask[..., None], given)
    sequence = pack_padded_sequence(padded, sizes, batch_first=True, enforce_sorted=False)
    expected = pad_packed_sequence(rnn(sequence)[0], batch_first=True)[0][mask]
    found = torch.cat(packed.gru(rnn, given, sizes), dim=1)
    ways = [
        [one, *torch.autograd.grad(one.tanh().sum(), [given, *rnn.parameters()])] for one in (found, expected)
    ]
    # the last digit depends on how many numbers a processor takes at a time
    for one, other in zip(*ways, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)


@pytest.mark.parametrize("norm_first", [False, True])
def test_a_transformer_layer_without_padding_is_that_of_pytorch(monkeypatch, norm_first):
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True, norm_first=norm_first).double()
    given = rows(8)

    def run():
        return [packed.transformer(layer, given, layout())], [given, *layer.parameters()]

    for found, expected in both_forms(monkeypatch, run):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


def of_words(**options):
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(4, 10, (len(SIZES), max(SIZES)), generator=generator) * layout().mask
    ids[:, 0] = 2  # the start sign, which is never deleted
    values = torch.randn(*ids.shape, 8, dtype=torch.float64, generator=generator)
    signals = {"tokens": ids, "word_features": {"values": values, "mask": layout().mask}}
    captions = Batch(
        [], [str(n) for n in range(len(ids))], torch.zeros(len(ids), dtype=torch.long), {}, signals
    )
    return load("sequence", embed_dim=8, word_dim=8, vocabulary=WORDS, **options), captions


def of_graphs(**options):
    vocabulary = batch(*GRAPHS).signals["graph_tokens"]["words"].max().item()
    made = load("graph", vocabulary=[f"w{n}" for n in range(vocabulary)], embed_dim=16, **options)
    return made, batch(*GRAPHS)


MADE = {
    "gru": lambda: of_words(),
    "variances": lambda: of_words(log_var=True),
    "linear": lambda: of_words(layer="linear", features="minilm-package", pooling="max"),
    "mlp": lambda: of_words(layer="mlp", features="minilm-package"),
    "transformer": lambda: of_words(layer="transformer", pooling="mean"),
    "graph": lambda: of_graphs(),
    "both ways": lambda: of_graphs(concepts={"bidirectional": True}),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", MADE)
def test_captions_without_padding_are_captions_with_it(monkeypatch, name, training):
    def run():
        encoder, captions = MADE[name]()
        encoder = encoder.double().train(training)
        if name == "transformer":  # its dropout draws as often as there are words, padded ones or not
            encoder.layer.block.eval()
        made = encoder.encode_texts(captions)
        values = [made.mean, made.parts, made.log_var, made.entities]
        return [value for value in values if value is not None], list(encoder.parameters())

    for found, expected in both_forms(monkeypatch, run):
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", MADE)
def test_the_same_seed_draws_the_same(name):
    made = []
    for _ in range(2):
        torch.manual_seed(3)
        encoder, captions = MADE[name]()
        made.append(encoder.train().double().encode_texts(captions).mean)
    assert torch.equal(*made)
