"""Hubs, the gap between the modalities, alignment and uniformity."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from workbench.metrics import load
from workbench.metrics.intervals import Draws
from workbench.metrics.ranks import Ranked
from workbench.metrics.space import Uniformity, pair_potentials, space_numbers
from workbench.records import Judgements

NAMES = ("skew", "modality_gap", "alignment", "uniformity")


def measured(scores, own, vectors=None, *, k=0, names=NAMES, rounds=50):
    ranked = Ranked(scores, [Judgements.from_own(own, scores.shape[0])], k)
    rows = [load(name) for name in names]
    return {m.label: m for m in space_numbers(ranked, own, vectors, rows, rounds=rounds)}


def unit(rng, count, width):
    vectors = rng.standard_normal((count, width))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_random_scores_have_the_skew_of_a_binomial_distribution(rng):
    own = np.arange(4000) // 4
    found = measured(rng.random((1000, 4000)).astype(np.float32), own, names=["skew"])
    for way, queries, gallery in (("i2t", 1000, 4000), ("t2i", 4000, 1000)):
        share = 10 / gallery
        theory = (1 - 2 * share) / np.sqrt(queries * share * (1 - share))
        # the standard error of a skew of so many items
        assert found[f"{way}/skew@10"].value == pytest.approx(theory, abs=4 * np.sqrt(6 / gallery))


def test_the_skew_of_known_lists_by_hand():
    # item 0 is in each of the lists of ten, and ten others in one list of nine each
    scores = np.zeros((10, 91))
    scores[:, 0] = 2
    for query in range(10):
        scores[query, 1 + 9 * query : 10 + 9 * query] = 1
    counts = np.array([10] + [1] * 90)
    deviation = counts - counts.mean()
    expected = (deviation**3).mean() / (deviation**2).mean() ** 1.5
    found = measured(scores, np.arange(91) % 10, names=["skew"])
    assert found["i2t/skew@10"].value == pytest.approx(expected)
    # the same from lists that were found before
    assert measured(scores, np.arange(91) % 10, names=["skew"], k=12)["i2t/skew@10"].value == pytest.approx(
        expected
    )


def test_the_interval_of_the_skew_holds_the_value_of_random_scores():
    inside = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        found = measured(rng.random((200, 200)), np.arange(200), names=["skew"], rounds=100)["i2t/skew@10"]
        theory = (1 - 0.1) / np.sqrt(200 * 0.05 * 0.95)
        inside += found.low <= theory <= found.high
    assert inside >= 32


def test_gap_and_alignment_by_hand():
    image, text = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0.6, 0.8], [0.0, 1.0], [0.0, -1.0]])
    own = np.array([0, 1, 1])
    found = measured(image @ text.T, own, (image, text))
    # means (.5, .5) and (.2, .8 / 3)
    assert found["modality_gap"].value == pytest.approx(np.hypot(0.3, 0.5 - 0.8 / 3))
    # .4^2 + .8^2, 0, 4
    assert found["t2i/alignment"].value == pytest.approx((0.8 + 0 + 4) / 3)


def test_the_gap_of_sides_that_were_moved_apart_is_how_far_they_were_moved(rng):
    image = rng.standard_normal((300, 8))
    text = image[np.arange(900) // 3] + 0.1 * rng.standard_normal((900, 8))
    text[:, 0] += 3
    found = measured(image @ text.T, np.arange(900) // 3, (image, text), names=["modality_gap"])
    gap = found["modality_gap"]
    assert gap.low < 3 < gap.high
    assert gap.high - gap.low < 0.1


def test_uniformity_equals_a_double_loop(rng):
    image, text = unit(rng, 7, 5), unit(rng, 20, 5)
    own = np.arange(20) % 7
    found = measured(image @ text.T, own, (image, text), names=["uniformity"])
    for key, side in (("i2i/uniformity", image), ("t2t/uniformity", text)):
        terms = []
        for a in range(len(side)):
            for b in range(len(side)):
                if a != b:
                    terms.append(np.exp(-2 * ((side[a] - side[b]) ** 2).sum()))
        assert found[key].value == pytest.approx(np.log(np.mean(terms)))


def test_a_resample_of_uniformity_pairs_no_vector_with_itself(rng):
    text, own = unit(rng, 6, 3), np.array([0, 0, 1, 1, 2, 2])
    draws = Draws(own, 3, rounds=200)
    resampled = Uniformity().aggregate(text, "t2t", draws)[1]
    potential = np.exp(-2 * ((text[:, None] - text[None]) ** 2).sum(axis=2))
    counts = np.concatenate([*draws.blocks()])
    for value, count in zip(resampled[:20], counts[:20], strict=True):
        total = number = 0.0
        for a in range(6):
            for b in range(6):
                weight = count[own[a]] * count[own[b]] if own[a] != own[b] else count[own[a]] * (a != b)
                total, number = total + weight * potential[a, b], number + weight
        assert value == pytest.approx(np.log(total / number))


def test_potentials_by_blocks_are_those_of_the_whole(rng, monkeypatch):
    vectors, rows = unit(rng, 30, 4), np.arange(30) % 8
    whole = pair_potentials(vectors, rows, 8)
    monkeypatch.setattr("workbench.metrics.space.BLOCK", 7)
    assert_allclose(pair_potentials(vectors, rows, 8), whole, atol=1e-12)


def test_many_vectors_are_read_in_part(rng, monkeypatch):
    image, text = unit(rng, 40, 4), unit(rng, 200, 4)
    own = np.arange(200) // 5
    whole = measured(image @ text.T, own, (image, text), names=["uniformity"])
    monkeypatch.setattr("workbench.metrics.space.MOST", 100)
    part = measured(image @ text.T, own, (image, text), names=["uniformity"])
    assert part["i2i/uniformity"].value == pytest.approx(whole["i2i/uniformity"].value)
    assert part["t2t/uniformity"].value != whole["t2t/uniformity"].value
    assert part["t2t/uniformity"].value == pytest.approx(whole["t2t/uniformity"].value, abs=0.3)


def test_without_vectors_there_is_the_skew_alone(rng):
    found = measured(rng.random((20, 40)), np.arange(40) % 20)
    assert list(found) == ["i2t/skew@10", "t2i/skew@10"]
    assert "jackknife" in found["i2t/skew@10"].interval
