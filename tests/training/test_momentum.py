"""The momentum copy: what it is after a step, what it draws, what a killed run keeps of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch
from torch import nn

from tests.training import toy
from workbench import objectives
from workbench.encoders.base import Encoder, Pair
from workbench.training import checkpoint
from workbench.training.averaging import Momentum


class Normed(Encoder):
    """A frozen layer, a trained one, batch statistics and dropout."""

    image_input, encodes_text, embed_dim = "pixels", True, 2

    def __init__(self):
        super().__init__()
        self.frozen = nn.Linear(2, 2).requires_grad_(False)
        self.layer, self.norm, self.dropout = nn.Linear(1, 1, bias=False), nn.BatchNorm1d(1), nn.Dropout(0.5)


@pytest.fixture
def pair():
    return Pair(*(Normed() for _ in range(2)))


def weights(copy):
    return copy.pair.image.layer.weight


def test_a_thousand_steps_by_hand(pair):
    # .999 * 1 + .001 * 0; squared .998001; .999^1000 = .367695.
    with torch.no_grad():
        pair.image.layer.weight.fill_(1)
    copy = Momentum(pair, 0.999)
    with torch.no_grad():
        pair.image.layer.weight.zero_()
    expected = {1: 0.999, 2: 0.998001, 1000: 0.367695}
    for step in range(1, 1001):
        copy.update()
        if step in expected:
            assert weights(copy).item() == pytest.approx(expected[step], abs=1e-5)


def test_frozen_weights_are_shared_and_all_others_are_copied(pair):
    copy = Momentum(pair, 0.9)
    assert copy.pair.image.frozen.weight is pair.image.frozen.weight
    assert weights(copy) is not pair.image.layer.weight
    assert "image.layer.weight" in copy.state()
    assert "image.frozen.weight" not in copy.state()


def test_the_copy_takes_no_gradient_and_stays_in_evaluation(pair):
    copy = Momentum(pair, 0.9)
    pair.train()
    assert not any(parameter.requires_grad for parameter in copy.pair.parameters())
    assert not any(module.training for module in copy.pair.modules())
    assert pair.image.layer.weight.requires_grad


def test_batch_statistics_are_those_of_the_encoders(pair):
    copy = Momentum(pair, 0.9)
    pair.image.norm(torch.randn(8, 1) + 5)
    copy.update()
    assert torch.equal(copy.pair.image.norm.running_mean, pair.image.norm.running_mean)


def test_a_weight_that_the_warm_up_freezes_later_still_follows(pair):
    copy = Momentum(pair, 0.5)
    pair.image.layer.weight.requires_grad_(False)
    with torch.no_grad():
        pair.image.layer.weight.add_(2)
    before = weights(copy).clone()
    copy.update()
    torch.testing.assert_close(weights(copy), before + 1)


def aahr(**options):
    torch.manual_seed(4)
    made = objectives.load(
        "aahr", nsi=0, alignment={"prototypes": 8}, contrast={"bank": 32, "momentum": 0.9}, **options
    )
    made.setup(toy.WIDTH)
    return made


def test_the_batch_holds_what_the_copy_makes_of_it_and_the_first_of_all_is_the_encoders_own():
    seen = []
    objective = aahr()
    objective.register_forward_pre_hook(lambda _, given: seen.append(given))
    start, _ = toy.train(None, epochs=0)
    toy.train(None, objective=objective, epochs=1)
    batch = seen[0][2]
    image, text = batch.momentum
    assert not image.mean.requires_grad
    start.eval()
    torch.testing.assert_close(image.mean, start.image.encode_images(batch).mean.detach())
    torch.testing.assert_close(text.mean, seen[0][1].mean.detach())


def test_an_objective_without_momentum_costs_no_copy():
    seen = []
    objective = aahr(mcl=0)
    objective.register_forward_pre_hook(lambda _, given: seen.append(given[2]))
    toy.train(None, objective=objective, epochs=1)
    assert seen
    assert all(batch.momentum is None for batch in seen)


@pytest.mark.parametrize("die_at", [2, 7])
def test_a_run_that_breaks_off_goes_on_with_the_same_copy_and_the_same_banks(tmp_path, die_at):
    steps = SimpleNamespace(done=0)

    def stop(*_):
        steps.done += 1
        if steps.done == die_at:
            raise KeyboardInterrupt

    broken = aahr()
    broken.register_forward_pre_hook(stop)
    with pytest.raises(KeyboardInterrupt):
        toy.train(tmp_path / "a", objective=broken)
    for name in "ab":
        toy.train(tmp_path / name, objective=aahr())
    first, second = (checkpoint.read(tmp_path / name / checkpoint.LAST)[0] for name in "ab")
    assert first.keys() == second.keys()
    assert {
        "momentum.image.head.weight",
        "objective.texts.vectors",
        "objective.texts.image_ids",
    } <= first.keys()
    assert all(torch.equal(first[key], second[key]) for key in first)
