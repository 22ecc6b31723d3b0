from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

from tests.oracles import losses as oracle
from tests.toys import S4, close, eye
from workbench.losses.contrastive import contrastive
from workbench.losses.ranked import VARIANTS, ranked
from workbench.objectives.contract import seed_draws

RANKS = torch.tensor([[1, 2, 0, -1], [2, 1, 1, 0], [3, 2, 1, 0], [0, 0, -1, 0]])
TAUS = (0.5, 1.0, 2.0)


def terms(scores, ranks, temperatures=TAUS, variant="in", reduction="none"):
    return ranked(scores, ranks, temperatures=temperatures, variant=variant, reduction=reduction)


def test_equal_scores_give_the_logarithm_of_the_choice_among_lower_ranks():
    # rank 1: two against one of rank 2 and three negatives; rank 2: one against three
    ranks = torch.tensor([[1, 1, 2, 0, 0, 0]])
    close(terms(torch.zeros(1, 6).double(), ranks), [math.log(1 + 4 / 2) + math.log(1 + 3)])
    close(terms(torch.zeros(1, 6).double(), ranks, variant="out"), [math.log(1 + 4) + math.log(1 + 3)])


@pytest.mark.parametrize("variant", ["in", "out", "out_in"])
def test_it_equals_a_loop_of_the_paper(variant):
    generator = torch.Generator().manual_seed(4)
    scores = torch.rand(6, 9, generator=generator, dtype=torch.float64)
    ranks = torch.randint(-1, 4, (6, 9), generator=generator)
    for matrix, places in ((S4, RANKS), (scores, ranks), (scores.T, ranks.T)):
        expected = oracle.ranked(matrix.tolist(), places.tolist(), TAUS, variant)
        close(terms(matrix, places, variant=variant), expected)
        total = terms(matrix, places, variant=variant, reduction="mean")
        close(total, sum(expected) / len(expected))


def test_one_positive_of_each_rank_is_drawn_and_the_others_are_in_no_sum():
    generator = torch.Generator().manual_seed(4)
    scores = torch.rand(1, 7, generator=generator, dtype=torch.float64)
    ranks = torch.tensor([[1, 1, 2, 2, 2, 0, 0]])
    possible = set()
    for first in (0, 1):
        for second in (2, 3, 4):
            single = [-1] * 5 + [0, 0]
            single[first], single[second] = 1, 2
            value = oracle.ranked(scores.tolist(), [single], TAUS, "in")[0]
            possible.add(round(value, 9))
    with seed_draws():
        drawn = {round(terms(scores, ranks, variant="uni").item(), 9) for _ in range(100)}
    assert drawn == possible


@pytest.mark.parametrize("variant", VARIANTS)
def test_one_positive_of_one_rank_is_the_cross_entropy_of_the_row(variant):
    expected = functional.cross_entropy(S4 / 0.5, torch.arange(4), reduction="none")
    close(terms(S4, eye(4).long(), variant=variant), expected)
    # without pairs of rank 2 a second temperature changes nothing
    close(terms(S4, eye(4).long(), (0.5,), variant), expected)


def test_one_rank_with_each_positive_by_itself_is_infonce_that_masks_the_others():
    positives = RANKS > 0
    expected = contrastive(S4 / 0.5, positives, reduction="none", extra_positives="mask")
    found = terms(S4, positives.long(), variant="out")
    close(found, expected)


def test_ranks_that_change_places_change_the_loss():
    other = torch.tensor([[2, 1, 0, -1]])
    assert not torch.isclose(terms(S4[:1], RANKS[:1]), terms(S4[:1], other))


def test_the_gradient_draws_each_rank_above_the_next_and_leaves_out_what_is_in_no_sum():
    scores = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    terms(scores, torch.tensor([[1, 2, 0, -1]]), (1.0, 1.0), reduction="sum").backward()
    # rank 1 against two: 1/3 each; rank 2 against one: 1/2
    close(scores.grad, [[-2 / 3, 1 / 3 - 1 / 2, 1 / 3 + 1 / 2, 0.0]])


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_row_of_positives_alone_and_a_row_without_any_have_gradients_of_zero(variant):
    scores = torch.rand(3, 3, requires_grad=True)
    ranks = torch.tensor([[1, 1, 1], [0, 0, 0], [-1, 1, -1]])
    found = terms(scores, ranks, variant=variant, reduction="sum")
    found.backward()
    assert found.item() == 0
    assert (scores.grad == 0).all()


def test_arguments_that_do_not_fit_are_named():
    with pytest.raises(ValueError, match=r"\(4, 4\) and ranks \(3, 4\)"):
        terms(S4, RANKS[:3])
    with pytest.raises(ValueError, match="rank 3, and there are 2 temperatures"):
        terms(S4, RANKS, (0.1, 0.2))
    with pytest.raises(ValueError, match="variant is 'within'"):
        terms(S4, RANKS, variant="within")
