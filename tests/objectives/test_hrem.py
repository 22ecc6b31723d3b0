"""HREM against loops of our own; its draw of negatives and its relevance are held by their own tests."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch.nn.functional import normalize

from tests.objectives.worlds import DRAWS, load, make_batch, random_embedding, recorded_draws
from tests.oracles import aahr as oracle
from tests.oracles import losses as loops
from tests.toys import close
from workbench import objectives
from workbench.losses.triplet import triplet
from workbench.objectives.contract import check_objective
from workbench.objectives.hrem import relevance_divergence

OWN = [0, 0, 1, 2, 2, 2, 3, 3]


def world(**options):
    """Four images of which regions are padding, eight captions, and an objective that has begun."""
    mask = torch.tensor([[True, True, True, False]] * 4)
    image = replace(random_embedding(4, seed=1), mask=mask)
    return load("hrem", after=0, **options), image, random_embedding(8, seed=2), make_batch(OWN)


def test_the_settings_are_those_of_the_released_code():
    made = objectives.load("hrem")
    assert made.weights == {"triplet": 1, "enhanced": 1, "cross": 1, "kl": 10}
    assert (made.margin, made.cutoff, made.alpha, made.heads, made.best) == (0.2, 1.7, 1.0, 16, 10)
    made.setup(64)
    assert (made.layer.self_attn.num_heads, made.layer.linear1.out_features) == (16, 64)


def test_the_divergence_by_hand():
    # the guide's rows are (1, exp(-sqrt 2) = .243117); d = .756883 apart, and learnt shares are a half each:
    # log(1 + exp d) - d / 2 - log 2 = .069962 a direction
    vectors, flat = torch.eye(2, dtype=torch.float64), torch.zeros(2, 2, dtype=torch.float64)
    assert relevance_divergence(vectors, vectors, (flat, flat)).item() == pytest.approx(
        2 * 0.069962, abs=2e-6
    )
    guide = (-torch.cdist(vectors, vectors)).exp()
    assert relevance_divergence(vectors, vectors, (guide, guide)).item() == pytest.approx(0, abs=1e-6)


def test_the_divergence_is_that_of_the_loops():
    image, text = random_embedding(4, seed=1).mean, random_embedding(8, seed=2).mean
    learnt = torch.rand(4, 8, dtype=torch.float64), torch.rand(8, 4, dtype=torch.float64)
    expected = loops.divergence(image.tolist(), text.tolist(), *(side.tolist() for side in learnt))
    assert relevance_divergence(image, text, learnt).item() == pytest.approx(expected, abs=1e-9)


# three regions are real: as many as are read, and fewer
@pytest.mark.parametrize("best", [2, 3, 5])
def test_learnt_relevance_is_that_of_the_loops(best):
    objective, image, text, _ = world(best=best)
    _, found = objective.relevance(image, text)
    tables = oracle.scan_matches(
        image.parts.tolist(), image.mask.tolist(), text.parts.tolist(), text.mask.tolist()
    )
    for made, table, maps in zip(
        (found[0], found[1].T), tables, (objective.to_text, objective.to_image), strict=True
    ):
        layers = [(maps[n].weight.tolist(), maps[n].bias.tolist()) for n in (0, 2)]
        expected = [[oracle.learnt(matches, layers, best) for matches in row] for row in table]
        close(made, expected)


def test_the_terms_are_triplets_of_what_was_heard(monkeypatch):
    objective, image, text, given = world()
    tables, values = recorded_draws(monkeypatch)
    terms = objective(image, text, given)
    plain = oracle.scan_relevance(
        image.parts.tolist(), image.mask.tolist(), text.parts.tolist(), text.mask.tolist()
    )
    _, learnt = objective.relevance(image, text)
    own = [oracle.near(side.mean.tolist()) for side in (image, text)]
    chosen, whole = (
        [a + b for a, b in zip(own[0], to_text, strict=True)]
        + [a + b for a, b in zip(to_image, own[1], strict=True)]
        for to_text, to_image in (plain, [side.tolist() for side in learnt])
    )
    kept = oracle.row_bias(chosen, 4, 1.0)
    bias = [
        [value if heard is not None else -math.inf for value, heard in zip(*rows, strict=True)]
        for rows in zip(whole, kept, strict=True)
    ]
    nodes = torch.cat([image.mean, text.mean])
    heard = normalize(objective.layer(nodes[None], src_mask=torch.tensor(bias).double())[0], dim=1)
    v, u = heard[:4], heard[4:]
    expected = [image.mean @ text.mean.T, v @ u.T, image.mean @ u.T, v @ text.mean.T]
    for found, table in zip(tables[::2], expected, strict=True):
        torch.testing.assert_close(found, table, atol=1e-5, rtol=0)
    for name, (first, last) in {"triplet": (0, 2), "enhanced": (2, 4), "cross": (4, 8)}.items():
        close(terms[name], sum(values[first:last]))
    close(terms["kl"], 10 * relevance_divergence(image.mean, text.mean, learnt))


def test_the_divergence_teaches_relevance_alone_and_triplets_teach_the_layer():
    objective, image, text, given = world()
    terms = objective(image, text, given)
    terms["kl"].backward(retain_graph=True)
    assert objective.to_text[0].weight.grad.abs().sum() > 0
    assert objective.layer.linear1.weight.grad is None
    assert image.mean.grad is None
    (terms["enhanced"] + terms["cross"]).backward()
    assert objective.layer.linear1.weight.grad.abs().sum() > 0
    assert image.parts.grad is None


def test_the_neighbourhood_begins_at_its_step():
    objective, image, text, given = world()
    objective.after, begun = 2, []
    for _ in range(3):
        terms = objective(image, text, given)
        begun.append([name for name, value in terms.items() if value != 0])
        objective.after_step(image, text, given)
    assert begun == [["triplet"]] * 2 + [["triplet", "enhanced", "cross", "kl"]]


def test_without_the_neighbourhood_it_is_the_drawn_triplet_and_reads_no_parts():
    objective = load("hrem", weights={"enhanced": 0, "cross": 0, "kl": 0})
    assert objective.inputs == ()
    assert not list(objective.parameters())


def test_with_all_negatives_in_place_of_the_draw_the_neighbourhood_keeps_the_contract(monkeypatch):
    # a draw among negatives alike depends on their order
    monkeypatch.setattr(
        DRAWS, lambda scores, own, cutoff, **how: triplet(scores, own, negatives="all", **how)
    )
    check_objective("hrem", after=0)
