from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding
from tests.oracles import losses as oracle
from tests.toys import S3, close
from workbench import objectives
from workbench.objectives import daa
from workbench.objectives.daa import average_semantic_precision, soft_ranks

Y3 = torch.tensor([[1, 0.6, 0.1], [0.5, 1, 0.2], [0.1, 0.3, 1]], dtype=torch.float64)


def both(scores, relevance, **options):
    """Image-to-text and text-to-image."""
    options = {"temperature": 1e-3} | options
    one, other = (
        average_semantic_precision(s, y, **options) for s, y in ((scores, relevance), (scores.T, relevance.T))
    )
    return torch.stack([one, other])


def terms(scores, relevance, own, **options):
    objective = objectives.load("daa", **options)
    objective.scores = lambda image, text: scores
    given = replace(make_batch(own), relevance={options.get("relevance", "tfidf"): relevance})
    return objective(random_embedding(1, seed=0), random_embedding(1, seed=1), given)


def test_ranks_count_who_stands_above():
    # Row .80 .70 .10: 1, 2, 3; row .30 .60 .55: 3, 1, 2; row .65 .20 .50: 1, 3, 2
    found = soft_ranks(S3, S3, temperature=1e-3, clip=50)
    close(found, [[1, 2, 3], [3, 1, 2], [1, 3, 2]])


def test_a_tie_counts_one_half():
    close(soft_ranks(torch.zeros(1, 3), torch.zeros(1, 3), temperature=1e-3, clip=50), [[2.0, 2, 2]])


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"temperature": 1e-3}, (0.759259259, 0.703703704)),
        ({"temperature": 0.1}, (0.703867699, 0.720990422)),
        ({"temperature": 1e-3, "ranks": "released"}, (0.814814815, 0.888888889)),
    ],
)
def test_three_pairs_give_the_worked_precision(options, expected):
    torch.testing.assert_close(
        both(S3, Y3, **options), torch.tensor(expected, dtype=torch.float64), atol=1e-9, rtol=0
    )


@pytest.mark.parametrize(("temperature", "expected"), [(1e-3, 13.425925926), (0.1, 14.378546973)])
def test_three_pairs_give_the_worked_loss(temperature, expected):
    found = terms(S3, Y3, range(3), weight=25.0, temperature=temperature)
    close(found["i2t"] + found["t2i"], 1.20)
    torch.testing.assert_close((found["asp_i2t"] + found["asp_t2i"]).item(), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("seed", range(4))
def test_it_equals_a_loop_whatever_the_size_of_a_block(seed, monkeypatch):
    generator = torch.Generator().manual_seed(seed)
    scores, relevance = (torch.rand(5, 7, generator=generator, dtype=torch.float64) for _ in range(2))
    expected = oracle.average_semantic_precision(scores.tolist(), relevance.tolist(), 0.05)
    for block in (1, 2 * 49, 1 << 20):
        monkeypatch.setattr(daa, "block_entries", lambda _, block=block: block)
        close(average_semantic_precision(scores, relevance, temperature=0.05), expected)


def test_the_gradient_does_not_depend_on_the_size_of_a_block(monkeypatch):
    found = []
    for block in (1, 1 << 20):
        monkeypatch.setattr(daa, "block_entries", lambda _, block=block: block)
        scores = S3.clone().requires_grad_()
        average_semantic_precision(scores, Y3, temperature=0.1).backward()
        found.append(scores.grad)
    close(found[0], found[1])
    assert found[0].abs().sum() > 0


@pytest.mark.parametrize("ranks", ["definition", "released"])
@pytest.mark.parametrize("clip", [50.0, 2.2])
def test_the_gradient_of_the_ranks_is_that_of_finite_differences(ranks, clip):
    scores = S3.clone().requires_grad_()
    assert torch.autograd.gradcheck(
        lambda s: average_semantic_precision(s, Y3, temperature=0.1, clip=clip, ranks=ranks),
        scores,
        atol=1e-7,
    )


def test_it_is_one_where_both_rank_alike_and_never_leaves_zero_to_one():
    close(both(Y3, 7 * Y3 - 2), (1, 1))
    assert ((both(S3, -S3) > 0) & (both(S3, -S3) < 1)).all()


def test_the_released_ranks_take_one_row_a_caption():
    # Two captions of one image: its row stands twice, and the matrix is square.
    scores, relevance = S3[:2], Y3[:2]
    found = terms(scores, relevance, [0, 1, 1], ranks="released")
    own = torch.tensor([0, 1, 1])
    close(found["asp_i2t"], 10 * (1 - both(scores[own], relevance[own], ranks="released")[0]))


def test_nearly_all_comparisons_are_without_gradient_at_the_released_temperature():
    scores = S3.clone().requires_grad_()
    average_semantic_precision(scores, Y3, temperature=1e-3).backward()
    assert scores.grad.abs().max() < 1e-12


def test_any_relevance_may_be_asked_for():
    assert objectives.load("daa").relevance_sources() == {"tfidf": {}}
    loaded = objectives.load("daa", relevance="cider", relevance_options={"variant": "cider"})
    assert loaded.relevance_sources() == {"cider": {"variant": "cider"}}


def test_what_is_not_asked_for_is_not_computed(monkeypatch):
    objective = objectives.load("daa")
    objective.select(["i2t"])
    monkeypatch.setattr(daa, "average_semantic_precision", None)
    given = replace(make_batch(range(3)), relevance={"tfidf": Y3})
    assert set(objective(random_embedding(3, seed=0), random_embedding(3, seed=1), given)) == {"i2t", "t2i"}


def test_an_unknown_order_and_a_temperature_of_nothing_are_refused():
    with pytest.raises(ValueError, match="ranks is 'transposed'; choose one of definition, released"):
        objectives.load("daa", ranks="transposed")
    with pytest.raises(ValueError, match="temperature is 0; it should be greater than 0"):
        objectives.load("daa", temperature=0)
