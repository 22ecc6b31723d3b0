from __future__ import annotations

import pytest
import torch

from tests.oracles import losses as oracle
from tests.toys import S3, S4, close, eye
from workbench.losses.triplet import triplet


def both(scores, positives, reduction="sum", **options):
    one, other = (
        triplet(s, p, reduction=reduction, **options)
        for s, p in ((scores, positives), (scores.T, positives.T))
    )
    return one + other


def test_hardest_negatives_on_three_pairs_give_the_worked_terms():
    # i2t: .2-.80+.70, .2-.60+.55, .2-.50+.65; t2i (columns): .2-.80+.65, .2-.60+.70, .2-.50+.55
    close(triplet(S3, eye(3), margin=0.2, negatives="hardest", reduction="none"), [0.10, 0.15, 0.35])
    close(triplet(S3.T, eye(3), margin=0.2, negatives="hardest", reduction="none"), [0.05, 0.30, 0.25])
    close(both(S3, eye(3), margin=0.2, negatives="hardest"), 1.20)


def test_hardest_and_all_negatives_on_four_pairs_give_the_worked_terms():
    close(triplet(S4, eye(4), margin=0.2, negatives="hardest", reduction="none"), [0.10, 0.18, 0.35, 0.12])
    close(triplet(S4.T, eye(4), margin=0.2, negatives="hardest", reduction="none"), [0.05, 0.30, 0.35, 0.08])
    close(both(S4, eye(4), margin=0.2, negatives="hardest"), 1.53)
    close(triplet(S4, eye(4), margin=0.2, negatives="all", reduction="none"), [0.15, 0.33, 0.50, 0.12])
    close(triplet(S4.T, eye(4), margin=0.2, negatives="all", reduction="none"), [0.05, 0.52, 0.60, 0.08])
    close(both(S4, eye(4), margin=0.2, negatives="all"), 2.35)


def test_captions_of_a_shared_image_are_never_negatives():
    # Items 0 and 1 share an image: .70 and .30 are no negatives any more. The worked terms are those of the
    # diagonal pairs; each anchor's second positive is a pair of its own here and is left out of the
    # comparison.
    positives = eye(4)
    positives[0, 1] = positives[1, 0] = True
    diagonal = torch.tensor([0, 3, 4, 5])
    i2t = triplet(S4, positives, margin=0.2, negatives="hardest", reduction="none")
    t2i = triplet(S4.T, positives, margin=0.2, negatives="hardest", reduction="none")
    close(i2t[diagonal], [0.05, 0.18, 0.35, 0.12])
    close(t2i[diagonal], [0.05, 0.22, 0.35, 0.08])
    close(i2t[diagonal].sum() + t2i[diagonal].sum(), 1.40)


def test_one_image_with_two_captions_gives_two_pairs():
    # One image, captions 0 and 1 its own, caption 2 not: .2-.5+.6 = .3 and .2-.7+.6 = .1
    scores, positives = torch.tensor([[0.5, 0.7, 0.6]]), torch.tensor([[True, True, False]])
    found = triplet(scores, positives, margin=0.2, negatives="hardest", reduction="none")
    torch.testing.assert_close(found, torch.tensor([0.3, 0.1]))
    torch.testing.assert_close(
        triplet(scores, positives, margin=0.2, negatives="all", reduction="mean"), torch.tensor(0.2)
    )


def test_the_hardest_negative_is_the_most_similar_one_and_not_the_worst_violation():
    # Row (.80 own, .50, .45) with margins (.55 against caption 1, 1.45 against caption 2): by similarity
    # .55-.80+.50 = .25
    scores, positives = torch.tensor([[0.80, 0.50, 0.45]]), torch.tensor([[True, False, False]])
    found = triplet(
        scores, positives, margin=torch.tensor([[1.0, 0.55, 1.45]]), negatives="hardest", reduction="sum"
    )
    torch.testing.assert_close(found, torch.tensor(0.25))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("negatives", ["hardest", "all"])
def test_it_equals_a_loop_on_rectangular_matrices_with_several_positives(seed, negatives):
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(5, 8, generator=generator, dtype=torch.float64)
    positives = torch.rand(5, 8, generator=generator) < 0.3
    margins = torch.rand(int(positives.sum()), 8, generator=generator, dtype=torch.float64)
    found = triplet(scores, positives, margin=margins, negatives=negatives, reduction="none")
    number = {
        pair: n
        for n, pair in enumerate(
            zip(*(axis.tolist() for axis in positives.nonzero(as_tuple=True)), strict=True)
        )
    }
    expected = oracle.triplet(
        scores.tolist(),
        positives.tolist(),
        lambda a, p, n: float(margins[number[a, p], n]),
        negatives == "hardest",
    )
    close(found, expected)


def test_hardest_is_at_most_all_and_equal_where_an_anchor_has_one_violator():
    assert both(S4, eye(4), margin=0.2, negatives="hardest") < both(S4, eye(4), margin=0.2, negatives="all")
    # With margin .1 no row and no column of S3 has more than one violator, e.g. row 1: .1-.60+.55 = .05 but
    # .1-.60+.30 < 0.
    close(
        both(S3, eye(3), margin=0.1, negatives="hardest"),
        float(both(S3, eye(3), margin=0.1, negatives="all")),
    )


def test_it_is_zero_exactly_when_every_positive_leads_by_the_margin():
    scores = torch.tensor([[0.5, 0.25], [0.25, 0.5]])
    assert both(scores, eye(2), margin=0.25, negatives="all") == 0
    assert both(scores, eye(2), margin=0.26, negatives="all") > 0


@pytest.mark.parametrize("negatives", ["hardest", "all"])
def test_adding_a_constant_turning_the_matrix_or_permuting_pairs_changes_nothing(negatives):
    order = torch.tensor([2, 0, 3, 1])
    expected = float(both(S4, eye(4), margin=0.2, negatives=negatives))
    for scores in (S4 - 3.0, S4.T, S4[order][:, order]):
        close(both(scores, eye(4), margin=0.2, negatives=negatives), expected)


def test_an_anchor_without_negatives_contributes_a_differentiable_zero():
    scores = torch.tensor([[0.3, 0.4], [0.9, 0.1]], requires_grad=True)
    positives = torch.tensor([[True, True], [False, True]])
    for negatives in ("hardest", "all"):
        terms = triplet(scores, positives, margin=0.2, negatives=negatives, reduction="none")
        assert terms[:2].tolist() == [0, 0]
        (gradient,) = torch.autograd.grad(terms.sum(), scores)
        assert gradient[0].tolist() == [0, 0]
        assert gradient[1].tolist() == [1, -1]


def test_a_batch_doubled_as_separate_pairs_doubles_the_sum_and_keeps_the_mean():
    # The second copy of the anchors meets the same candidates, so no new negatives come in.
    twice, positives = torch.cat([S4, S4]), torch.cat([eye(4), eye(4)])
    options = {"margin": 0.2, "negatives": "hardest"}
    close(
        triplet(twice, positives, reduction="sum", **options),
        2 * float(triplet(S4, eye(4), reduction="sum", **options)),
    )
    close(
        triplet(twice, positives, reduction="mean", **options),
        float(triplet(S4, eye(4), reduction="mean", **options)),
    )


@pytest.mark.parametrize("negatives", ["hardest", "all"])
def test_its_gradient_is_that_of_finite_differences(negatives):
    scores = torch.rand(
        4, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64
    ).requires_grad_()
    positives = torch.rand(4, 6, generator=torch.Generator().manual_seed(4)) < 0.4
    assert torch.autograd.gradcheck(
        lambda s: triplet(s, positives, margin=0.2, negatives=negatives, reduction="sum"), scores, atol=1e-7
    )


def test_half_precision_scores_are_summed_in_single_precision():
    assert triplet(S4.bfloat16(), eye(4), margin=0.2, negatives="all", reduction="sum").dtype == torch.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"negatives": "hardset"}, "negatives is 'hardset'"),
        ({"reduction": "average"}, "reduction is 'average'"),
        ({"positives": eye(3)}, r"scores \(4, 4\) and positives \(3, 3\)"),
        ({"positives": torch.eye(4)}, "boolean"),
    ],
)
def test_wrong_arguments_are_refused_by_name(change, message):
    options = {"positives": eye(4), "margin": 0.2, "negatives": "all", "reduction": "sum"} | change
    with pytest.raises(ValueError, match=message):
        triplet(S4, **options)
