from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding
from tests.oracles import losses as oracle
from tests.toys import S4, close
from workbench import objectives

PHI = torch.tensor(
    [[3, 1.2, 0.1, 0.4], [0.9, 2.4, 0.6, 1.5], [0.1, 0.3, 2.8, 0.2], [0.5, 1.1, 0, 2.6]], dtype=torch.float64
)
PAIRS = range(4)


def pairs(scores, phi, own=PAIRS, images=None, **options):
    """The unweighted terms of every pair."""
    given = replace(make_batch(own, images), relevance={"cider": phi})
    return objectives.load("sam", **options).semantic(scores, given)


def terms(scores, grades, own=PAIRS, *, warming=False, **options):
    """The weighted terms of a given score matrix and relevance."""
    objective = objectives.load("sam", **options)
    objective.warm_up(warming)
    objective.scores = lambda image, text: scores
    given = replace(make_batch(own), relevance={options.get("phi", "cider"): grades})
    return objective(random_embedding(1, seed=0), random_embedding(1, seed=1), given)


@pytest.mark.parametrize(
    ("options", "i2t", "t2i"),
    [
        # Negative captions (1, 3, 0, 1): margins (3-1.2, 2.4-1.5, 2.8-.1, 2.6-1.1) / 10 = (.18, .09, .27,
        # .15), plus the gap of scores (-.10, -.02, .15, -.08). Negative images (2, 0, 0, 1): margins (.29,
        # .15, .27, .15), gaps (-.15, .10, .15, -.12).
        ({"tau": 10.0}, (0.08, 0.07, 0.42, 0.07), (0.14, 0.25, 0.42, 0.03)),
        # The margins change places: (.29, .15, .27, .15) + (-.10, -.02, .15, -.08).
        ({"tau": 10.0, "variant": "printed"}, (0.19, 0.13, 0.42, 0.07), (0.03, 0.19, 0.42, 0.03)),
        ({"tau": 3.0}, (0.5, 0.28, 1.05, 0.42), (2.9 / 3 - 0.15, 0.6, 1.05, 0.38)),
        # Captions (3, 0, 1, 2), images (3, 2, 3, 0).
        (
            {"tau": 3.0, "sampling": "furthest"},
            (0.5 / 3, 0.2, 1.6 / 3, 0.65 / 3),
            (0.95 / 3, 0.2, 1.25 / 3, 0.1),
        ),
        ({"tau": 10.0, "sampling": "furthest"}, (0, 0, 0, 0), (0, 0, 0, 0)),
    ],
)
def test_four_pairs_give_the_worked_terms(options, i2t, t2i):
    found = pairs(S4, PHI, **options)
    close(found[0], i2t)
    close(found[1], t2i)


@pytest.mark.parametrize(("sampling", "total"), [("closest", 0.73), ("furthest", 0.91)])
def test_the_released_code_gives_the_worked_totals(sampling, total):
    # Its options "soft" and "hard".
    i2t, t2i = pairs(S4, PHI, variant="released", sampling=sampling)
    close(i2t.sum() + t2i.sum(), total)


def test_the_released_code_gives_nothing_where_the_pair_itself_is_its_second_best():
    # Row 1 of S4: .60 leads; row 2: caption 0 beats the pair, which is the second largest of its row.
    assert pairs(S4, torch.zeros_like(PHI), variant="released")[0][2] == 0


@pytest.mark.parametrize("variant", ["intended", "printed", "released"])
def test_one_pair_alone_gives_a_differentiable_zero(variant):
    scores = torch.tensor([[0.3]], dtype=torch.float64, requires_grad=True)
    total = sum(term.sum() for term in pairs(scores, torch.ones(1, 1), [0], variant=variant))
    assert total.item() == 0
    assert torch.autograd.grad(total, scores)[0].isfinite().all()


def test_every_semantic_term_is_weighted_and_the_triplet_kept():
    found = terms(S4, PHI)
    close(found["i2t"] + found["t2i"], 1.53)
    close(found["semantic_i2t"] + found["semantic_t2i"], 5 / 3 * 1.48)
    warm = terms(S4, PHI, warming=True)
    close(warm["i2t"] + warm["t2i"], 2.35)


def test_without_a_margin_the_triplet_is_dropped():
    assert set(terms(S4, PHI, margin=None, weight=1.0)) == {"semantic_i2t", "semantic_t2i"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sampling", ["closest", "furthest"])
def test_it_equals_a_loop_with_several_captions_an_image(seed, sampling):
    own = [0, 0, 1, 1, 1, 2, 3]
    generator = torch.Generator().manual_seed(seed)
    scores = 2 * torch.rand(4, 7, generator=generator, dtype=torch.float64) - 1
    phi = 10 * torch.rand(4, 7, generator=generator, dtype=torch.float64)
    positives = make_batch(own).positives.tolist()
    expected = oracle.semantic_margins(
        scores.tolist(), positives, phi.tolist(), own, sampling == "closest", 4.0
    )
    close(torch.stack(pairs(scores, phi, own, tau=4.0, sampling=sampling), dim=1), expected)


def test_a_random_negative_is_any_but_the_pair_and_follows_the_global_generator():
    own, phi = [0, 0, 1, 2], torch.zeros(3, 4, dtype=torch.float64)
    # Only what belongs to another image scores above 0, each with its own value.
    scores = (
        torch.arange(1.0, 13, dtype=torch.float64).reshape(3, 4).masked_fill(make_batch(own).positives, 0)
    )
    seen = set()
    for seed in range(40):
        torch.manual_seed(seed)
        first = pairs(scores, phi, own, sampling="random")
        torch.manual_seed(seed)
        again = pairs(scores, phi, own, sampling="random")
        assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
        seen.add(first[0][0].item())
    assert seen == {3.0, 4.0}


def test_a_constant_relevance_asks_for_no_margin():
    found = pairs(S4, torch.full((4, 4), 2.0, dtype=torch.float64))
    close(found[0], (0, 0, 0.15, 0))
    close(found[1], (0, 0.10, 0.15, 0))
    far = pairs(S4, PHI, tau=1e12)
    close(far[0], found[0])
    close(far[1], found[1])


def test_a_constant_margin_is_vsepp():
    # phi 1 at pairs and 0 elsewhere, tau 5: every margin is .2.
    i2t, t2i = pairs(S4, torch.eye(4, dtype=torch.float64), tau=5.0)
    close(i2t.sum() + t2i.sum(), 1.53)


def test_margins_are_capped_from_above_only():
    # tau .1: every intended margin is above 1 and becomes 1; with phi turned round every margin stays far
    # below 0.
    capped = pairs(S4, PHI, tau=0.1)
    close(capped[0], (0.90, 0.98, 1.15, 0.92))
    assert pairs(S4, -PHI, tau=0.1)[0].sum() == 0
    close(pairs(S4, PHI, tau=0.1, cap=float("inf"))[0], (17.9, 8.98, 27.15, 14.92))


def test_any_relevance_may_be_phi():
    objective = objectives.load("sam", phi="exact", tau=2.0)
    assert objective.relevance_sources() == {"exact": {}}
    assert objectives.load("sam", phi_options={"leave_one_out": True}).relevance_sources() == {
        "cider": {"leave_one_out": True}
    }
    assert terms(S4, PHI, phi="exact")["semantic_i2t"] > 0


def test_no_gradient_reaches_phi():
    phi = PHI.clone().requires_grad_()
    scores = S4.clone().requires_grad_()
    sum(term.sum() for term in pairs(scores, phi)).backward()
    assert phi.grad is None
    assert scores.grad.abs().sum() > 0


@pytest.mark.parametrize(("option", "value"), [("variant", "as printed"), ("sampling", "hard")])
def test_an_unknown_choice_is_named(option, value):
    with pytest.raises(ValueError, match=f"{option} is '{value}'; .*choose one of"):
        objectives.load("sam", **{option: value})
