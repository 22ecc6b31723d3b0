from __future__ import annotations

import pytest
import torch

from tests.oracles import dias as oracle
from tests.toys import S3, close, eye
from workbench.losses.distance_weighted import distance_weighted, draw_probabilities
from workbench.losses.triplet import triplet


def chances(sims, cutoff=1.7):
    """Chances where everything is a negative."""
    scores = torch.tensor([sims], dtype=torch.float64)
    return draw_probabilities(scores, torch.zeros_like(scores, dtype=torch.bool), cutoff=cutoff)[0]


@pytest.mark.parametrize(
    ("sims", "expected"),
    [
        ((0.9, 0.5, 0.2, -0.2, -0.6), (1, 0, 0, 0, 0)),
        ((0.9, 0.85, 0.80), (1, 0, 0)),  # distances .447 -> .5, .548, .632
        ((0.9, 0.88, 0.80), (0.5, 0.5, 0)),  # .447 and .490 both count as .5
    ],
)
def test_the_worked_chances(sims, expected):
    torch.testing.assert_close(chances(sims), torch.tensor(expected, dtype=torch.float64), atol=5e-7, rtol=0)


def test_the_cutoff_shuts_out_the_far_ones_and_an_anchor_without_a_near_one_has_no_chance():
    # D(-.5) = 1.732 and D(-.4) = 1.673
    assert chances((-0.5, -0.4)).tolist() == [0, 1]
    assert chances((-0.5, -0.9)).tolist() == [0, 0]
    assert chances((-0.5, -0.9), cutoff=1.9).tolist() == [1, 0]


@pytest.mark.parametrize("seed", range(3))
def test_the_chances_equal_a_loop(seed):
    scores = torch.empty(5, 7, dtype=torch.float64).uniform_(
        -1, 1, generator=torch.Generator().manual_seed(seed)
    )
    positives = torch.zeros(5, 7, dtype=torch.bool)
    positives[0, :3] = positives[4] = True
    for n in (8, 512):
        found = draw_probabilities(scores, positives, cutoff=1.7, dimensions=n)
        rows = [
            oracle.draw_probabilities(s, p, 1.7, n)
            for s, p in zip(scores.tolist(), positives.tolist(), strict=True)
        ]
        close(found, rows)


def test_in_few_dimensions_draws_follow_the_chances():
    scores = torch.tensor([[0.9, 0.4, 0.1, -0.3]], dtype=torch.float64)
    positives = torch.tensor([[True, False, False, False]])
    expected = draw_probabilities(scores, positives, cutoff=1.7, dimensions=4)[0]
    assert (expected[1:] > 0.05).all()
    torch.manual_seed(0)
    many = distance_weighted(
        scores.repeat(20_000, 1),
        positives.repeat(20_000, 1),
        margin=2.0,
        cutoff=1.7,
        reduction="none",
        dimensions=4,
    )
    shares = [((many - (2.0 - 0.9 + s)).abs() < 1e-9).double().mean().item() for s in (0.4, 0.1, -0.3)]
    assert shares == pytest.approx(expected[1:].tolist(), abs=0.015)


def test_in_many_dimensions_it_is_the_hardest_triplet():
    # METHODS' S3 by hand: i2t (.10, .15, .35), t2i (.05, .30, .25)
    for scores, values in ((S3, (0.10, 0.15, 0.35)), (S3.T, (0.05, 0.30, 0.25))):
        found = distance_weighted(scores, eye(3), margin=0.2, cutoff=1.7, reduction="none")
        close(found, values)
        close(found, triplet(scores, eye(3), margin=0.2, negatives="hardest", reduction="none"))


def test_the_gradient_is_that_of_the_hinge_and_none_passes_through_the_chances():
    scores = S3.clone().requires_grad_()
    distance_weighted(scores, eye(3), margin=0.2, cutoff=1.7, reduction="sum").backward()
    assert scores.grad.tolist() == [[-1, 1, 0], [0, -1, 1], [1, 0, -1]]


@pytest.mark.parametrize("positives", [[[True]], [[False]]])
def test_without_a_negative_or_a_positive_it_is_a_differentiable_zero(positives):
    scores = torch.tensor([[0.4]], requires_grad=True)
    total = distance_weighted(scores, torch.tensor(positives), margin=0.2, cutoff=1.7, reduction="mean")
    assert total.item() == 0
    assert torch.autograd.grad(total, scores)[0].item() == 0


@pytest.mark.parametrize("cutoff", [0.5, 2.0])
def test_a_cutoff_outside_its_range_is_refused(cutoff):
    with pytest.raises(ValueError, match=r"above 0\.5 and below 2"):
        distance_weighted(S3, eye(3), margin=0.2, cutoff=cutoff, reduction="sum")
