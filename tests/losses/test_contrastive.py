from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.oracles import losses as oracle
from tests.toys import S3, S4, close, eye
from workbench.losses.contrastive import contrastive


def both(scores, **options):
    """Half of both directions, mean over anchors."""
    positives = eye(len(scores))
    return (contrastive(scores, positives, **options) + contrastive(scores.T, positives.T, **options)) / 2


@pytest.mark.parametrize(
    ("scale", "expected"), [(1, 0.976188724), (10, 0.839171695), (1 / 0.07, 0.957880382)]
)
def test_three_pairs_give_the_worked_values_at_three_scales(scale, expected):
    close(both(scale * S3, reduction="mean"), expected)


def test_two_positives_share_by_the_rule_that_is_asked_for():
    # Scores (log 2, log 1, log 1), the first two own. Uniform: mean(-log 2/4, -log 1/4) = (log 2 + log 4) /
    # 2. Mask: each against the one negative, mean(-log 2/3, -log 1/2) = (log 1.5 + log 2) / 2.
    scores, positives = torch.tensor([[2.0, 1.0, 1.0]]).log(), torch.tensor([[True, True, False]])
    uniform = contrastive(scores, positives, reduction="sum", extra_positives="uniform")
    masked = contrastive(scores, positives, reduction="sum", extra_positives="mask")
    assert uniform.item() == pytest.approx((math.log(2) + math.log(4)) / 2)
    assert masked.item() == pytest.approx((math.log(1.5) + math.log(2)) / 2)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", ["uniform", "mask"])
def test_it_equals_a_loop_on_rectangular_matrices_with_several_positives(seed, rule):
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(5, 8, generator=generator, dtype=torch.float64)
    positives = torch.rand(5, 8, generator=generator) < 0.3
    found = contrastive(scores, positives, reduction="none", extra_positives=rule)
    close(found, oracle.contrastive(scores.tolist(), positives.tolist(), rule))


@pytest.mark.parametrize("rule", ["uniform", "mask"])
def test_one_positive_an_anchor_is_the_cross_entropy_of_the_row(rule):
    expected = functional.cross_entropy(S4, torch.arange(4), reduction="none")
    torch.testing.assert_close(contrastive(S4, eye(4), reduction="none", extra_positives=rule), expected)


def test_it_ignores_a_constant_and_tends_to_the_log_of_the_batch_at_scale_zero():
    close(both(S3 + 7, reduction="mean"), float(both(S3, reduction="mean")))
    close(both(1e-12 * S4, reduction="mean"), math.log(4))


@pytest.mark.parametrize("rule", ["uniform", "mask"])
def test_large_scores_stay_finite(rule):
    scores = torch.tensor([[-1e4, 1e4], [1e4, -1e4]], requires_grad=True)
    loss = contrastive(scores, eye(2), reduction="mean", extra_positives=rule)
    (gradient,) = torch.autograd.grad(loss, scores)
    assert loss.item() == 2e4
    assert gradient.isfinite().all()


@pytest.mark.parametrize("rule", ["uniform", "mask"])
def test_an_anchor_without_negatives_or_without_positives_is_finite_with_its_gradient(rule):
    scores = torch.tensor([[0.3], [0.9]], requires_grad=True)
    terms = contrastive(scores, torch.tensor([[True], [False]]), reduction="none", extra_positives=rule)
    (gradient,) = torch.autograd.grad(terms.sum(), scores)
    assert terms.tolist() == [0]
    assert gradient.tolist() == [[0], [0]]


@pytest.mark.parametrize("rule", ["uniform", "mask"])
def test_its_gradient_is_that_of_finite_differences(rule):
    scores = torch.rand(
        4, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    ).requires_grad_()
    positives = torch.rand(4, 6, generator=torch.Generator().manual_seed(4)) < 0.5
    assert torch.autograd.gradcheck(
        lambda s: contrastive(s, positives, reduction="sum", extra_positives=rule), scores
    )


def test_half_precision_scores_are_read_in_single_precision():
    assert contrastive(S4.bfloat16(), eye(4), reduction="sum").dtype == torch.float32


def test_an_unknown_rule_is_refused_by_name():
    with pytest.raises(ValueError, match="extra_positives is 'drop'; choose one of uniform, mask"):
        contrastive(S4, eye(4), reduction="sum", extra_positives="drop")
