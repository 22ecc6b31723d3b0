"""Declared scores of benchmarks: by hand, by the papers' rules, by chance, and by the unit that is drawn."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from workbench.metrics.declared import declared_numbers, draws_of_units
from workbench.records.benchmark import Benchmark, Comparisons

TEXT = [((0, 0), (0, 1)), ((1, 1), (1, 0))]
IMAGE = [((0, 0), (1, 0)), ((1, 1), (0, 1))]
SCORES = {"text_score": ("i2t", TEXT), "image_score": ("t2i", IMAGE), "group_score": ("", TEXT + IMAGE)}


def winoground(examples, kinds=()):
    """The benchmark of examples that are two images and two captions each."""
    scores = []
    for name, (direction, pairs) in SCORES.items():
        rows = np.repeat(np.arange(examples), len(pairs))
        above, below = (np.tile([pair[n] for pair in pairs], (examples, 1)) for n in (0, 1))
        scores.append(
            Comparisons(name, direction, rows, above + 2 * rows[:, None], below + 2 * rows[:, None])
        )
    return Benchmark(tuple(scores), "examples", np.arange(examples), kinds)


def numbers(table, benchmark, **options):
    score = lambda pairs, _: table[tuple(pairs.T)]  # noqa: E731
    return {m.label: (m, v) for m, v in declared_numbers(score, benchmark, **options)}


def blocks(tables):
    """One matrix with the 2 x 2 scores of each example on its diagonal."""
    size = 2 * len(tables)
    out = np.zeros((size, size))
    for n, table in enumerate(tables):
        out[2 * n : 2 * n + 2, 2 * n : 2 * n + 2] = table
    return out


def test_all_orders_and_ties_of_four_scores_are_judged_as_the_paper_says():
    tables = [np.array(cells).reshape(2, 2) for cells in product(range(1, 5), repeat=4)]
    found = numbers(blocks(tables), winoground(len(tables)), rounds=0)
    for n, ((c0_i0, c1_i0), (c0_i1, c1_i1)) in enumerate(tables):
        # the three functions of the paper's appendix
        text = c0_i0 > c1_i0 and c1_i1 > c0_i1
        image = c0_i0 > c0_i1 and c1_i1 > c1_i0
        assert found["i2t/text_score"][1][n] == text
        assert found["t2i/image_score"][1][n] == image
        assert found["group_score"][1][n] == (text and image)
    ties = sum(a == b or c == d for (a, b), (c, d) in tables)
    assert f"ties in {ties} examples" in found["i2t/text_score"][0].ties


def test_chance_is_that_of_random_scores():
    rng = np.random.default_rng(0)
    benchmark = winoground(10_000)
    cells = rng.normal(size=(10_000, 2, 2))
    score = lambda pairs, _: cells[pairs[:, 0] // 2, pairs[:, 0] % 2, pairs[:, 1] % 2]  # noqa: E731
    expected = {"i2t/text_score": 0.25, "t2i/image_score": 0.25, "group_score": 1 / 6}
    for number, _ in declared_numbers(score, benchmark, rounds=0):
        assert number.chance == pytest.approx(expected[number.label])
        assert number.value == pytest.approx(number.chance, abs=0.015)


def test_a_bag_of_words_cannot_solve_an_example_whose_captions_have_the_same_words():
    table = blocks([np.eye(2)] * 2)
    found = numbers(table, winoground(2), bags=np.array([7, 7, 1, 2]), rounds=0)
    beside = {label: number.beside for label, (number, _) in found.items()}
    assert beside == {label: {"a bag of words at most": 0.5} for label in found}


def test_scores_that_are_equal_up_to_rounding_count_against_the_model():
    table = np.array([[1.0, 1.0 - 1e-7], [0.0, 2.0]])
    found = numbers(table, winoground(1), rounds=0)
    assert found["i2t/text_score"][0].value == 0
    assert found["t2i/image_score"][0].value == 1


def test_kinds_have_numbers_of_their_own_and_a_mean_in_which_each_weighs_the_same():
    table = blocks([np.eye(2)] * 3 + [1 - np.eye(2)])
    found = numbers(table, winoground(4, ("Object", "Object", "Object", "Relation")), rounds=50)
    values = {label: number.value for label, (number, _) in found.items() if "text" in label}
    assert values == {
        "i2t/text_score": 0.75,
        "i2t/text_score[Object]": 1.0,
        "i2t/text_score[Relation]": 0.0,
        "i2t/text_score[mean of kinds]": 0.5,
    }
    assert found["i2t/text_score"][0].unit == "examples"


def test_the_interval_covers_the_true_share_where_examples_of_a_photograph_are_alike():
    rng, covered, rounds = np.random.default_rng(1), 0, 150
    photographs, each = 60, 5
    drawn_with = np.repeat(np.arange(photographs), each)
    for seed in range(rounds):
        values = (rng.random(photographs) < 0.6).astype(float)[drawn_with]
        drawn = draws_of_units(drawn_with, "photographs", 200, seed).resample(values, "i2t")
        low, high = np.quantile(drawn, [0.025, 0.975])
        covered += low <= 0.6 <= high
    # nominal 95 %, four standard errors of a share of 150
    assert covered / rounds > 0.95 - 4 * np.sqrt(0.95 * 0.05 / rounds)
    naive = draws_of_units(np.arange(len(drawn_with)), "examples", 200).resample(values, "i2t")
    assert drawn.std() > 1.5 * naive.std()


def test_examples_that_are_left_out_take_their_comparisons_along():
    whole = winoground(3, ("a", "b", "c"))
    rows = np.array([-1, -1, 0, 1, 2, 3])
    part = whole.restrict(rows, rows)
    assert part.kinds == ("b", "c")
    assert part.drawn_with.tolist() == [0, 1]
    table = blocks([np.eye(2), 1 - np.eye(2)])
    assert numbers(table, part, rounds=0)["group_score"][0].value == 0.5
