from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding, total_loss
from workbench import objectives
from workbench.objectives.contract import check_objective

OWN = [0, 0, 1, 2, 2, 2]
RIGHT = torch.tensor([[0, 0, 1, 0, 1, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]).bool()
SCORES = torch.rand(3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
ONES = {"scales": (1.0, 1.0)}


def total(scores=SCORES, judged=RIGHT, own=OWN, **options):
    """The loss of a given score matrix, with judgements of the pairs."""
    objective = objectives.load("three_ranks", **options).double()
    objective.scores = lambda image, text: scores
    given = replace(make_batch(own, objective=objective), also=judged)
    return total_loss(objective, random_embedding(1, seed=0), random_embedding(1, seed=1), given).item()


def one_way(scores, own, right, k1, k2, weight, rivals):
    """Both terms of one direction as a double loop: mean over the queries, and over each one's positives."""
    sums = [0.0, 0.0]
    for row, mine, others in zip(scores, own, right, strict=True):
        annotated = [c for c in range(len(row)) if mine[c]]
        middle = [c for c in range(len(row)) if others[c]]
        wrong = [c for c in range(len(row)) if not mine[c] and not others[c]]
        against = middle + wrong if rivals == "all" else middle
        groups = [(k1, annotated + middle, wrong), (k2, annotated, against)]
        for term, (scale, positives, negatives) in enumerate(groups):
            below = sum(math.exp(scale * row[n]) for n in negatives)
            for p in positives:
                above = math.exp(scale * row[p])
                sums[term] -= math.log(above / (above + below)) / len(positives)
    return (sums[0] + weight * sums[1]) / len(scores)


@pytest.mark.parametrize("rivals", ["all", "right"])
@pytest.mark.parametrize("weight", [0.0, 0.6, 1.0])
def test_it_equals_a_double_loop_in_both_directions(rivals, weight):
    own = make_batch(OWN).belongs
    right = RIGHT & ~own
    how = (3.0, 2.0, weight, rivals)
    i2t = one_way(SCORES.tolist(), own.tolist(), right.tolist(), *how)
    t2i = one_way(SCORES.T.tolist(), own.T.tolist(), right.T.tolist(), *how)
    found = total(scales=(3.0, 2.0), weight=weight, rivals=rivals)
    assert found == pytest.approx((i2t + t2i) / 2, abs=1e-6)


def test_equal_scores_by_hand():
    # image 0: own 2, right 2, wrong 2; image 1: 1, 1, 4; image 2: 3, 0, 3
    # captions: one own each, right and wrong 0 2, 1 1, 1 1, 0 2, 1 1, 0 2
    right = (math.log(3) + math.log(5) + math.log(4)) / 3 + (3 * math.log(3) + 3 * math.log(2)) / 6
    own = (math.log(5) + math.log(6) + math.log(4)) / 3 + math.log(3)
    found = total(torch.zeros(3, 6, dtype=torch.float64), **ONES)
    assert found == pytest.approx((right + own) / 2, abs=1e-9)


def test_without_other_right_pairs_both_terms_are_infonce_that_masks_the_others():
    infonce = objectives.load("infonce", extra_positives="mask")
    infonce.scores = lambda image, text: SCORES
    reference = total_loss(
        infonce, random_embedding(1, seed=0), random_embedding(1, seed=1), make_batch(OWN)
    ).item()
    assert total(judged=None) == pytest.approx(2 * reference, abs=1e-6)
    assert total(judged=None, weight=0.0) == pytest.approx(reference, abs=1e-6)


def test_the_middle_rank_is_pushed_below_the_annotated_pairs_and_drawn_above_the_wrong_ones():
    matrix = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    objective = objectives.load("three_ranks", **ONES).double()
    objective.scores = lambda image, text: matrix
    given = replace(make_batch([0, 1, 2]), also=torch.eye(3).roll(1, 1).bool())
    total_loss(objective, random_embedding(1, seed=0), random_embedding(1, seed=1), given).backward()
    pull = matrix.grad
    assert (pull.diagonal() < pull.roll(-1, 1).diagonal()).all()
    assert (pull.roll(-1, 1).diagonal() < pull.roll(-2, 1).diagonal()).all()


def test_the_scales_start_at_the_temperature_of_clip_are_learnt_and_held_at_one_hundred():
    objective = objectives.load("three_ranks")
    assert objective.log_scales.exp().tolist() == pytest.approx([1 / 0.07] * 2)
    image, text, given = random_embedding(2, seed=0), random_embedding(2, seed=1), make_batch([0, 1])
    total_loss(objective, image, text, given).backward()
    assert (objective.log_scales.grad.abs() > 0).all()
    with torch.no_grad():
        objective.log_scales += 3
    objective.after_step(image, text, given)
    assert objective.log_scales.exp().tolist() == pytest.approx([100, 100])


@pytest.mark.parametrize(
    "options",
    [
        {"weight": 0.0},
        {"rivals": "right", "ranks": {"relevance": "cider", "thresholds": [0.8], "false_below": 0.4}},
        {"reduction": "sum", "scales": (1.0, 50.0)},
    ],
)
def test_it_keeps_the_contract_with_other_options(options):
    check_objective("three_ranks", **options)


def test_a_scale_above_the_cap_is_refused():
    with pytest.raises(ValueError, match="100"):
        objectives.load("three_ranks", scales=(1.0, 101.0))
