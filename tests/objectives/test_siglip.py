from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import logsigmoid

from tests.objectives.worlds import make_batch, random_embedding, total_loss
from tests.oracles import losses as oracle
from tests.toys import S3, S4, close
from workbench import objectives


def total(scores, own, **options):
    """The loss of a given score matrix."""
    objective = objectives.load("siglip", **options).double()
    objective.scores = lambda image, text: scores
    return total_loss(
        objective, random_embedding(len(scores), seed=0), random_embedding(1, seed=1), make_batch(own)
    ).item()


def test_two_pairs_by_hand():
    # logits (0, -5), (-2, -1): log 2 + log(1 + e^-5) = .699862; log(1 + e^-2) + log(1 + e) = 1.440190
    scores = torch.tensor([[1.0, 0.5], [0.8, 0.9]], dtype=torch.float64)
    assert total(scores, [0, 1]) == pytest.approx((0.699862 + 1.440190) / 2, abs=2e-6)
    assert total(scores, [0, 1], reduction="sum") == pytest.approx(0.699862 + 1.440190, abs=2e-6)


def test_it_equals_a_loop_with_several_captions_an_image():
    own = [0, 0, 1, 2, 2, 2]
    scores = torch.rand(3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    expected = oracle.sigmoid(scores.tolist(), make_batch(own).positives.tolist(), 4.0, -2.0)
    assert total(scores, own, scale=4.0, shift=-2.0) == pytest.approx(expected, abs=1e-6)


def test_a_square_batch_of_pairs_is_the_pseudocode_of_the_paper():
    # Algorithm 1: labels = 2 eye(n) - ones(n); -sum(log_sigmoid(labels * logits)) / n
    labels = 2 * torch.eye(4, dtype=torch.float64) - 1
    assert total(S4, range(4)) == pytest.approx(-logsigmoid(labels * (10 * S4 - 10)).sum().item() / 4, 1e-6)


def test_scale_and_shift_start_where_the_paper_starts_them_and_learn():
    objective = objectives.load("siglip")
    assert objective.log_scale.exp().item() == pytest.approx(10)
    assert objective.shift.item() == -10
    total_loss(
        objective, random_embedding(2, seed=0), random_embedding(2, seed=1), make_batch([0, 1])
    ).backward()
    assert all(one.grad.abs() > 0 for one in objective.parameters())


def test_labels_of_mixed_images_are_soft():
    # between the losses of either image's captions, in proportion
    objective = objectives.load("siglip").double()
    objective.scores = lambda image, text: S3
    given, sides = make_batch(range(3)), (random_embedding(3, seed=0), random_embedding(3, seed=1))
    other = given.positives[[1, 0, 2]]
    ends = [
        total_loss(objective, *sides, replace(given, labels=labels.double())).detach()
        for labels in (given.positives, other, 0.7 * given.positives.double() + 0.3 * other.double())
    ]
    close(ends[2], 0.7 * ends[0] + 0.3 * ends[1])
