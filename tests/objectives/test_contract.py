"""What is true of every objective on the shelf."""

from __future__ import annotations

import inspect
from dataclasses import replace

import pytest
import torch
from torch.nn import functional

from tests.objectives.worlds import batch, embedding, load, loss, permuted
from workbench import objectives

OWN = [0, 0, 1, 2, 2, 2, 3, 3]
every_objective = pytest.mark.parametrize("name", objectives.names())
# Sinkhorn's targets are constants of a step, which finite differences would move; test_aahr.py holds them
# fixed.
CONSTANT_TARGETS = {"aahr": {"pga", "nsi_pga"}}
both_phases = pytest.mark.parametrize("warming", [False, True], ids=["training", "warm-up"])


def world(own=OWN, images=None, seed=0):
    given = batch(own, images, seed=seed)
    return embedding(len(given.image_ids), seed=seed + 1), embedding(len(own), seed=seed + 2), given


@every_objective
@both_phases
def test_terms_are_finite_scalars_and_the_loss_is_their_sum(name, warming):
    objective = load(name)
    objective.warm_up(warming)
    terms = objective(*world())
    assert set(terms) == set(objective.terms)
    assert all(term.shape == () and term.isfinite() for term in terms.values())
    assert loss(objective, *world()).item() == pytest.approx(sum(term.item() for term in terms.values()))


@every_objective
@both_phases
def test_the_gradient_is_that_of_finite_differences(name, warming):
    objective = load(name)
    if name in CONSTANT_TARGETS:
        objective.select(set(objective.terms) - CONSTANT_TARGETS[name])
    objective.warm_up(warming)
    image, text, given = world()

    def of(v, u):
        return loss(objective, embedding(4, seed=1, mean=v), embedding(8, seed=2, mean=u), given)

    assert torch.autograd.gradcheck(of, (image.mean, text.mean), atol=1e-6)


@every_objective
@both_phases
def test_the_order_of_images_and_captions_does_not_matter(name, warming):
    objective = load(name)
    objective.warm_up(warming)
    image, text, given = world()
    moved = permuted(given, image, text, torch.tensor([2, 0, 3, 1]), torch.tensor([7, 1, 4, 0, 2, 6, 5, 3]))
    torch.testing.assert_close(loss(objective, *moved[1:], moved[0]), loss(objective, image, text, given))


@every_objective
@both_phases
def test_a_gradient_step_raises_the_positives_against_the_negatives(name, warming):
    objective = load(name)
    objective.warm_up(warming)
    image, text, given = world()
    # Negatives start above positives, so that every ranking loss has something to say.
    mean = functional.normalize(
        torch.roll(text.mean.detach(), 1, 0) + 0.3 * image.mean.detach().sum(0), dim=1
    )
    image = embedding(4, seed=1, mean=functional.normalize(mean[[2, 3, 6, 0]], dim=1).requires_grad_())
    before = lead(objective, image.mean, text.mean, given)
    gradients = torch.autograd.grad(loss(objective, image, text, given), (image.mean, text.mean))
    stepped = [
        functional.normalize(side - 0.05 * gradient / gradient.norm(), dim=1)
        for side, gradient in zip((image.mean, text.mean), gradients, strict=True)
    ]
    assert lead(objective, *stepped, given) > before


def lead(objective, v, u, given):
    """Mean score of the positives less that of the negatives."""
    with torch.no_grad():
        scores = objective.scores(embedding(len(v), seed=1, mean=v), embedding(len(u), seed=2, mean=u))
    return (scores[given.positives].mean() - scores[~given.positives].mean()).item()


@every_objective
@both_phases
@pytest.mark.parametrize("own", [[0], [0, 0]], ids=["one pair", "one image"])
def test_a_batch_without_any_negative_is_finite_and_differentiable(name, own, warming):
    objective = load(name)
    objective.warm_up(warming)
    image, text, given = world(own)
    total = loss(objective, image, text, given)
    gradients = torch.autograd.grad(total, (image.mean, text.mean), allow_unused=True)
    assert total.isfinite()
    assert all(gradient is None or gradient.isfinite().all() for gradient in gradients)


@every_objective
@both_phases
def test_identical_embeddings_are_finite_with_finite_gradients(name, warming):
    objective = load(name)
    objective.warm_up(warming)
    _, _, given = world()
    one = functional.normalize(torch.ones(1, 6, dtype=torch.float64), dim=1)
    image = embedding(4, seed=1, mean=one.repeat(4, 1).requires_grad_())
    text = embedding(8, seed=2, mean=one.repeat(8, 1).requires_grad_())
    total = loss(objective, image, text, given)
    assert total.isfinite()
    assert all(gradient.isfinite().all() for gradient in torch.autograd.grad(total, (image.mean, text.mean)))


@every_objective
@both_phases
def test_what_shares_an_image_by_id_is_never_pushed_apart_where_all_scores_are_equal(name, warming):
    # Rows 0 and 3 are one image that stands twice; captions 0, 1 and 4 are its own. Raising the score of any
    # of those six pairs must not raise the loss, and raising any other must not lower it.
    objective = load(name)
    objective.warm_up(warming)
    given = batch([0, 0, 1, 2, 3], image_ids=["a", "b", "c", "a"])
    # A graded relevance may well ask that one negative stand above another; here all negatives are equally
    # wrong.
    given = replace(given, relevance={key: given.positives.float() for key in given.relevance})
    matrix = torch.full((4, 5), 0.5, dtype=torch.float64, requires_grad=True)
    objective.scores = lambda image, text: matrix
    (pull,) = torch.autograd.grad(loss(objective, embedding(4, seed=1), embedding(5, seed=2), given), matrix)
    assert given.positives.sum() == 8
    assert (pull[given.positives] <= 1e-12).all()
    assert (pull[~given.positives] >= -1e-12).all()
    assert pull[~given.positives].sum() > 0


@every_objective
@both_phases
def test_signals_receive_no_gradient_and_both_encoders_do(name, warming):
    objective = load(name)
    objective.warm_up(warming)
    image, text, given = world()
    signals, grades = (
        {
            key: value.clone().requires_grad_() if isinstance(value, torch.Tensor) else value
            for key, value in both.items()
        }
        for both in (given.signals, given.relevance)
    )
    given = replace(batch(OWN), signals=signals, relevance=grades)
    loss(objective, image, text, given).backward()
    # A graph is whole numbers, through which no gradient can pass.
    assert all(
        value.grad is None
        for value in [*signals.values(), *grades.values()]
        if isinstance(value, torch.Tensor)
    )
    assert all(made.mean.grad is not None and made.mean.grad.abs().sum() > 0 for made in (image, text))


@every_objective
def test_two_forwards_agree_and_leave_the_state_untouched(name):
    objective = load(name)
    before = {key: value.clone() for key, value in objective.state_dict().items()}
    first, second = (loss(objective, *world()).item() for _ in range(2))
    assert first == second
    assert all(torch.equal(before[key], value) for key, value in objective.state_dict().items())


@every_objective
def test_an_unknown_option_is_refused_with_the_near_names(name):
    option = next(iter(inspect.signature(type(load(name))).parameters))
    with pytest.raises(
        TypeError, match=rf"objectives '{name}' has no option '{option}s'; did you mean .*{option}"
    ):
        objectives.load(name, **{f"{option}s": 1})


@every_objective
def test_its_signals_are_those_that_it_needs(name):
    objective = load(name)
    assert set(objective.signals()) == set(objective.needs)
    assert objective.captions_per_image >= 1


@every_objective
@both_phases
def test_bfloat16_scores_still_give_a_single_precision_loss(name, warming):
    objective = load(name).float()
    objective.warm_up(warming)
    _, _, given = world()
    image, text = (embedding(n, seed=n, dtype=torch.float32) for n in (4, 8))
    with torch.autocast("cpu", torch.bfloat16):
        total = loss(objective, image, text, given)
    exact = loss(objective, image, text, given)
    assert total.dtype == torch.float32
    torch.testing.assert_close(total, exact, rtol=0.05, atol=0.05)


@every_objective
@both_phases
def test_a_selected_term_keeps_its_value(name, warming):
    whole = load(name)
    whole.warm_up(warming)
    torch.manual_seed(1)
    expected = whole(*world())
    for term in whole.terms:
        part = load(name)
        part.select([term])
        part.warm_up(warming)
        torch.manual_seed(1)
        torch.testing.assert_close(part(*world())[term], expected[term])
        assert set(part.signals()) == set(part.needs)
        assert part.captions_per_image <= whole.captions_per_image
