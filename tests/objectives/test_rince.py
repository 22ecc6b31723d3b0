from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from tests.objectives.worlds import make_batch, random_embedding, total_loss
from tests.oracles import losses as oracle
from workbench import objectives
from workbench.objectives.contract import check_objective

OWN = [0, 0, 1, 2, 2, 2]
GRADES = torch.tensor(
    [[0.9, 0.2, 0.7, 0.4, 0.0, 0.6], [0.1, 0.95, 0.3, 0.5, 0.8, 0.2], [0.3, 0.0, 0.65, 0.1, 0.9, 0.7]]
)
JUDGED = torch.tensor([[0, 0, 1, 0, 0, 0], [0, 1, 0, 0, 0, 0], [0, 0, 0, 0, 0, 0]]).bool()
SCORES = torch.rand(3, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)


def total(own=OWN, scores=SCORES, judged=None, grades=GRADES, **options):
    """The loss of a given score matrix, with judgements and grades of the pairs."""
    objective = objectives.load("rince", **options)
    objective.scores = lambda image, text: scores
    given = replace(make_batch(own, objective=objective), also=judged)
    given = replace(given, relevance=dict.fromkeys(given.relevance, grades[:, : len(own)]))
    return total_loss(objective, random_embedding(1, seed=0), random_embedding(1, seed=1), given).item()


def expected(ranks, temperatures, variant):
    """Both directions by the oracle, half each."""
    one = oracle.ranked(SCORES.tolist(), ranks, temperatures, variant)
    other = oracle.ranked(oracle.transpose(SCORES.tolist()), oracle.transpose(ranks), temperatures, variant)
    return sum(one) / len(one) / 2 + sum(other) / len(other) / 2


@pytest.mark.parametrize("variant", ["in", "out", "out_in"])
def test_annotated_pairs_are_rank_one_and_pairs_that_judgements_call_right_rank_two(variant):
    ranks = [[1, 1, 2, 0, 0, 0], [0, 2, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]
    found = total(judged=JUDGED, variant=variant, temperatures=(0.2, 0.5))
    assert found == pytest.approx(expected(ranks, (0.2, 0.5), variant), abs=1e-9)


def test_thresholds_of_a_graded_relevance_make_further_ranks_and_a_gap_that_is_left_out():
    ranks = [[1, 1, 2, -1, 0, 3], [0, 2, 1, -1, 2, 0], [0, 0, 3, 1, 1, 1]]
    wanted = {"relevance": "cider", "thresholds": [0.7, 0.6], "false_below": 0.35}
    found = total(temperatures=(0.1, 0.3), ranks=wanted)
    assert found == pytest.approx(expected(ranks, (0.1, 0.2, 0.3), "in"), abs=1e-9)


def test_judgements_go_before_grades_and_a_pair_that_nobody_graded_is_negative():
    grades = GRADES.clone()
    grades[1, 1], grades[0, 5] = torch.nan, torch.nan
    ranks = [[1, 1, 2, 0, 0, 0], [0, 2, 1, 0, 2, 0], [0, 0, 0, 1, 1, 1]]
    wanted = {"relevance": "cider", "thresholds": [0.7]}
    found = total(judged=JUDGED, grades=grades, temperatures=(0.1, 0.3), ranks=wanted)
    assert found == pytest.approx(expected(ranks, (0.1, 0.3), "in"), abs=1e-9)


@pytest.mark.parametrize("variant", ["in", "out", "out_in", "uni"])
def test_with_annotated_pairs_alone_it_is_infonce_at_the_temperature_of_rank_one(variant):
    infonce = objectives.load("infonce", scale="fixed", initial=5.0)
    infonce.scores = lambda image, text: SCORES[:, [0, 2, 4]]
    pairs = make_batch([0, 1, 2])
    reference = total_loss(infonce, random_embedding(1, seed=0), random_embedding(1, seed=1), pairs).item()
    found = total([0, 1, 2], SCORES[:, [0, 2, 4]], variant=variant, temperatures=(0.2, 0.6))
    assert found == pytest.approx(reference, abs=1e-7)


def test_the_temperatures_are_those_of_the_paper_and_spread_over_the_ranks():
    assert objectives.load("rince").temperatures == pytest.approx([0.1, 0.6])
    wanted = {"relevance": "tfidf", "thresholds": [0.7, 0.6, 0.5, 0.4]}
    several = objectives.load("rince", ranks=wanted)
    assert several.temperatures == pytest.approx([0.1, 0.225, 0.35, 0.475, 0.6])
    assert several.relevance_sources() == {"tfidf": {}}


@pytest.mark.parametrize(
    "options",
    [
        {"variant": "out"},
        {"variant": "out_in", "weights": (0.2, 0.8)},
        {"ranks": {"relevance": "cider", "thresholds": [0.9, 0.5], "false_below": 0.2}, "reduction": "sum"},
    ],
)
def test_it_keeps_the_contract_with_other_options(options):
    check_objective("rince", **options)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"temperatures": (0.6, 0.1)}, "temperatures are 0.6 and 0.1"),
        ({"ranks": {"relevance": "cider"}}, "thresholds are \\[\\]"),
        ({"ranks": {"thresholds": [0.5]}}, "relevance is ''"),
        ({"ranks": {"false_below": 0.5}}, "false_below"),
        ({"ranks": {"relevance": "cider", "thresholds": [0.5, 0.7]}}, r"\[0.5, 0.7\]"),
        ({"ranks": {"relevance": "cider", "thresholds": [0.5], "false_below": 0.6}}, r"\[0.5, 0.6\]"),
    ],
)
def test_ranks_that_contradict_one_another_are_refused(options, named):
    with pytest.raises(ValueError, match=named):
        objectives.load("rince", **options)
