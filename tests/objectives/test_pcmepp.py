from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from tests.objectives.worlds import make_batch, random_embedding
from tests.oracles import probabilistic as oracle
from tests.toys import close, eye
from workbench import objectives
from workbench.losses import similarity
from workbench.losses.bottleneck import bottleneck
from workbench.objectives.parts.gaussian import matching_loss
from workbench.objectives.pcmepp import pseudo_labels, smooth_labels
from workbench.records import Embedding


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


IMAGE = Embedding(tensor([[1.0, 0.0], [0.0, 1.0]]), tensor([[0.02, 0.02], [0.03, 0.01]]).log())
TEXT = Embedding(tensor([[0.8, 0.6], [0.6, 0.8]]), tensor([[0.01, 0.01], [0.05, 0.05]]).log())


def made(**options):
    return objectives.load("pcmepp", **{"label_smoothing": 0.0, **options}).double()


def terms(logits, labels, **options):
    """The terms of a given matrix of logits: scores are the logits, under a scale of 1 and a shift of 0."""
    objective = made(scale=1.0, shift=0.0, beta=0.0, **options)
    objective.scores = lambda image, text: logits
    given = replace(make_batch(range(logits.shape[1])), labels=labels)
    return objective(random_embedding(1, seed=0), random_embedding(1, seed=1), given)


def test_two_pairs_give_the_worked_distances_and_logits():
    # |(1,0)-(.8,.6)|^2 = .04 + .36 = .4, and .02 + .02 + .01 + .01 = .06
    close(made().scores(IMAGE, TEXT), [[-0.46, -0.94], [-0.86, -0.54]])
    objective = made()
    close(objective.scale * objective.scores(IMAGE, TEXT) + objective.shift, [[2.7, 0.3], [0.7, 2.3]])


def test_two_pairs_give_the_worked_loss():
    # 2 * .529532580 + .1 * 2 * .529532580 (no pseudo-positive) + 1e-4 * 3.417197377
    found = made()(IMAGE, TEXT, make_batch([0, 1]))
    close(found["match"], 2 * 0.529532580)
    close(found["pseudo"], 0.2 * 0.529532580)
    close(found["vib"], 3.417197377e-4)
    close(torch.stack(list(found.values())).sum(), 1.165313396)


def test_in_warm_up_epochs_nothing_is_a_pseudo_positive():
    objective = made()
    objective.warm_up(True)
    found = objective(IMAGE, TEXT, make_batch([0, 1]))
    close(found["match"], 2 * 0.529532580)
    assert found["pseudo"].item() == 0


def test_a_caption_above_the_labelled_one_is_a_pseudo_positive_of_its_image_only():
    # Row 0: 2 >= 1, so both captions; column 1: 3 is the largest, so none.
    logits, labels = tensor([[1.0, 2.0], [0.0, 3.0]]), eye(2).double()
    assert pseudo_labels(logits, labels).tolist() == [[1, 1], [0, 1]]
    assert pseudo_labels(logits.T, labels.T).tolist() == [[1, 0], [0, 1]]
    close(matching_loss(logits, pseudo_labels(logits, labels)), 0.295481058)
    close(matching_loss(logits, labels), 0.795481058)
    close(torch.stack(list(terms(logits, None).values())).sum(), 1.700058327)


def test_three_pairs_give_the_worked_labels():
    logits = tensor([[1.0, 2.0, -1.0], [0.0, 3.0, -2.0], [0.5, -0.5, 0.4]])
    assert pseudo_labels(logits, eye(3).double()).tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


def test_of_several_positives_the_lowest_score_decides_and_a_soft_label_below_the_largest_does_not():
    logits = tensor([[3.0, 1.0, 2.0, 0.0], [3.0, 1.0, 2.0, 0.0]])
    labels = tensor([[1.0, 1.0, 0.0, 0.0], [0.6, 0.4, 0.0, 0.0]])
    assert pseudo_labels(logits, labels).tolist() == [[1, 1, 1, 0], [0.6, 0.4, 0, 0]]


def test_smoothing_moves_both_labels_by_epsilon():
    close(smooth_labels(tensor([1.0, 0.0, 0.5]), 0.1), [0.9, 0.1, 0.5])


def test_the_bottleneck_is_zero_for_a_standard_gaussian_only():
    zero = torch.zeros(2, 3, dtype=torch.float64)
    assert bottleneck(zero, zero, reduction="sum").item() == 0
    # (mu, sigma^2) = (1, e): (1 + e - 1 - 1) / 2
    close(bottleneck(zero[:1, :1] + 1, zero[:1, :1] + 1, reduction="mean"), (torch.e - 1) / 2)


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_a_double_loop_with_several_captions_an_image_and_soft_labels(seed):
    own = [0, 0, 1, 2, 2]
    image, text, given = random_embedding(3, seed=seed), random_embedding(5, seed=seed + 9), make_batch(own)
    if seed % 2:
        labels = given.positives.double() * 0.7 + 0.3 * given.positives.double().roll(1, 0)
        given = replace(given, labels=labels)
    found = made(beta=0.01)(image, text, given)
    v, lv, t, lt = (x.tolist() for x in (image.mean, image.log_var, text.mean, text.log_var))
    var = [[list(map(oracle.math.exp, row)) for row in side] for side in (lv, lt)]
    logits = [[5 - 5 * oracle.csd(v[i], var[0][i], t[j], var[1][j]) for j in range(5)] for i in range(3)]
    match, pseudo = oracle.pcmepp(logits, given.targets.double().tolist(), 0.1)
    both = [sum(kl) / len(kl) for kl in (oracle.vib(v, lv), oracle.vib(t, lt))]
    close(found["match"], match)
    close(found["pseudo"], pseudo)
    close(found["vib"], 0.01 * sum(both))


def test_at_zero_variance_it_is_the_squared_distance_of_the_means():
    nothing = torch.full((2, 2), -torch.inf, dtype=torch.float64)
    score = made().scores(replace(IMAGE, log_var=nothing), replace(TEXT, log_var=nothing))
    close(score, 2 * similarity.cosine(IMAGE.mean, TEXT.mean) - 2)
    close(score, made(distance="mean_only").scores(Embedding(IMAGE.mean), Embedding(TEXT.mean)))


def test_with_equal_variances_it_ranks_as_the_cosine_does():
    image, text = (
        replace(random_embedding(n, seed=n), log_var=torch.full((n, 6), -2.0, dtype=torch.float64))
        for n in (5, 7)
    )
    cosine = similarity.cosine(image.mean, text.mean)
    assert torch.equal(made().scores(image, text).argsort(1), cosine.argsort(1))
    assert torch.equal(made().scores(image, text).argsort(0), cosine.argsort(0))


def test_an_uncertain_image_keeps_its_own_ranking_and_falls_in_every_captions():
    image, text = random_embedding(5, seed=1), random_embedding(7, seed=2)
    wider = image.log_var.detach().clone()
    wider[2] += 1
    before, after = made().scores(image, text), made().scores(replace(image, log_var=wider), text)
    assert torch.equal(before[2].argsort(), after[2].argsort())
    assert (after[2] < before[2]).all()
    assert torch.equal(before[[0, 1, 3, 4]], after[[0, 1, 3, 4]])


def test_by_wasserstein_two_equal_gaussians_are_one_however_wide():
    same = made(distance="wasserstein").scores(IMAGE, IMAGE).diagonal()
    close(same, [0.0, 0.0])
    # (sqrt .02 - sqrt .01)^2 * 2 + .4
    expected = -(2 * (0.02**0.5 - 0.01**0.5) ** 2 + 0.4)
    close(made(distance="wasserstein").scores(IMAGE, TEXT)[0, 0], expected)


def test_pseudo_positives_pass_no_gradient():
    logits = tensor([[1.0, 2.0], [0.0, 3.0]]).requires_grad_()
    assert not pseudo_labels(logits, eye(2).double()).requires_grad


def test_switches_take_their_terms_and_needs_away():
    objective = made(alpha=0.0, beta=0.0)
    assert objective.terms == ("match",)
    assert objective.inputs == ("log_var",)
    assert made(distance="mean_only").terms == ("match", "pseudo")
    assert made(distance="mean_only").inputs == ()


def test_scale_and_shift_are_learnt():
    objective = made()
    torch.stack(list(objective(IMAGE, TEXT, make_batch([0, 1])).values())).sum().backward()
    assert {name for name, p in objective.named_parameters() if p.grad.abs() > 0} == {"scale", "shift"}


def test_under_autocast_the_distance_keeps_single_precision():
    generator = torch.Generator().manual_seed(0)
    v, u = (normalize(torch.randn(n, 64, generator=generator), dim=1) for n in (4, 5))
    with torch.autocast("cpu", torch.bfloat16):
        found = similarity.squared_distance(v, u)
    torch.testing.assert_close(
        found.double(), torch.cdist(v.double(), u.double()).square(), atol=1e-6, rtol=0
    )


def test_a_mean_over_pairs_does_not_change_when_the_batch_stands_twice():
    once = made(alpha=0.0)(IMAGE, TEXT, make_batch([0, 1]))
    double = [Embedding(torch.cat([x.mean] * 2), torch.cat([x.log_var] * 2)) for x in (IMAGE, TEXT)]
    ids = ["i0", "i1", "i0", "i1"]
    twice = made(alpha=0.0)(*double, make_batch([0, 1, 2, 3], image_ids=ids))
    close(twice["match"], once["match"])
    close(twice["vib"], once["vib"])
    assert made(alpha=0.0, reduction="sum")(IMAGE, TEXT, make_batch([0, 1]))["match"].item() == pytest.approx(
        4 * once["match"].item()
    )


def test_missing_variances_are_named_with_the_remedy():
    with pytest.raises(ValueError, match="set log_var=true in the options of both encoders"):
        made()(Embedding(IMAGE.mean), Embedding(TEXT.mean), make_batch([0, 1]))
