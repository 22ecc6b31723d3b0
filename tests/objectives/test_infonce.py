from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.objectives.worlds import make_batch, random_embedding, total_loss
from tests.oracles import losses as oracle
from tests.toys import S3, S4
from workbench import objectives


def total(scores, own, **options):
    """The loss of a given score matrix."""
    objective = objectives.load("infonce", **options)
    objective.scores = lambda image, text: scores
    return total_loss(
        objective, random_embedding(1, seed=0), random_embedding(1, seed=1), make_batch(own)
    ).item()


def test_three_pairs_give_the_worked_values_at_three_scales():
    # The scale is kept in single precision, hence the tolerance.
    assert total(S3, range(3), scale="learnable_linear") == pytest.approx(0.976188724, abs=1e-7)
    assert total(S3, range(3), scale="fixed", initial=10.0) == pytest.approx(0.839171695, abs=1e-7)
    assert total(S3, range(3)) == pytest.approx(0.957880382, abs=1e-6)


@pytest.mark.parametrize("rule", ["uniform", "mask"])
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_it_equals_a_loop_with_several_captions_an_image(rule, reduction):
    own = [0, 0, 1, 2, 2, 2]
    scores = torch.rand(3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    positives = make_batch(own).positives.tolist()
    i2t = oracle.contrastive(scores.tolist(), positives, rule)
    t2i = oracle.contrastive(oracle.transpose(scores.tolist()), oracle.transpose(positives), rule)
    parts = (3, 6) if reduction == "mean" else (1, 1)
    expected = 0.75 * sum(i2t) / parts[0] + 0.25 * sum(t2i) / parts[1]
    found = total(
        scores, own, scale="learnable_linear", weights=(0.75, 0.25), extra_positives=rule, reduction=reduction
    )
    assert found == pytest.approx(expected, abs=1e-9)


def test_a_square_batch_of_pairs_is_the_mean_of_two_cross_entropies():
    targets = torch.arange(4)
    expected = (functional.cross_entropy(5 * S4, targets) + functional.cross_entropy(5 * S4.T, targets)) / 2
    assert total(S4, range(4), scale="fixed", initial=5.0) == pytest.approx(expected.item(), abs=1e-9)


@pytest.mark.parametrize(
    ("scale", "expected"), [("learnable_exp", 1 / 0.07), ("learnable_linear", 1.0), ("fixed", 1 / 0.07)]
)
def test_the_scale_starts_where_the_papers_start_it(scale, expected):
    objective = objectives.load("infonce", scale=scale)
    assert objective.scale.item() == pytest.approx(expected)
    assert len(list(objective.parameters())) == (scale != "fixed")


def test_a_learnt_exponential_scale_is_held_at_one_hundred_and_can_come_back():
    objective = objectives.load("infonce", initial=100.0)
    with torch.no_grad():
        objective.parameter += 1
    image, text, given = random_embedding(2, seed=0), random_embedding(2, seed=1), make_batch([0, 1])
    objective.after_step(image, text, given)
    assert objective.scale.item() == pytest.approx(100)
    total_loss(objective, image, text, given).backward()
    assert objective.parameter.grad.abs() > 0


def test_a_fixed_scale_moves_with_the_module_and_is_not_trained():
    objective = objectives.load("infonce", scale="fixed")
    assert "parameter" in objective.state_dict()
    assert objective.double().scale.dtype == torch.float64
    assert not objective.scale.requires_grad


@pytest.mark.parametrize(
    "options", [{"initial": 0.0}, {"initial": -1.0}, {"initial": 101.0}, {"initial": math.inf}]
)
def test_a_scale_that_cannot_be_is_refused(options):
    with pytest.raises(ValueError, match="initial is"):
        objectives.load("infonce", **options)


def test_a_scale_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="choose one of learnable_exp, learnable_linear, fixed"):
        objectives.load("infonce", scale="learnable")
