"""Captions against their counterfactuals: by hand, by a double loop, and what a model has that binds
nothing.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from PIL import Image

from tests.oracles import metrics as oracle
from workbench import assets, objectives
from workbench.data.counterfactuals import Counterfactual, with_counterfactuals
from workbench.metrics import blocks
from workbench.metrics.counterfactual_accuracy import counterfactual_accuracies
from workbench.records import MetricKey, Split
from workbench.runs.measure import evaluate_split


def world(own, counterfactuals):
    """A split of one-letter captions with counterfactuals: ``(caption, kind)``."""
    images = max(own) + 1
    captions = tuple(f"caption {n}" for n in range(len(own)))
    split = Split(
        "some/test", tuple(f"image {n}" for n in range(images)), captions, captions, np.array(own),
        lambda row: Image.new("RGB", (8, 8)),
    )  # fmt: skip
    return with_counterfactuals(
        split, [Counterfactual(row, f"counterfactual of {row}", kind) for row, kind in counterfactuals]
    )


def test_by_hand():
    split = world([0, 0, 1, 2], [(0, "looks"), (1, "looks"), (2, "looks"), (3, "things")])
    # captions 0 to 3, then the counterfactuals of 0, 1, 2 and 3
    scores = np.array(
        [
            [0.9, 0.5, 0.0, 0.0, 0.1, 0.7, 0.0, 0.0],
            [0.0, 0.0, 0.4, 0.0, 0.9, 0.9, 0.4, 0.9],
            [0.0, 0.0, 0.0, 0.2, 0.9, 0.9, 0.9, 0.1],
        ]
    )
    found = {
        m.label: (m, values)
        for m, values in counterfactual_accuracies(scores, split.counterfactuals, split.own)
    }
    looks, of_looks = found["i2t/counterfactual_accuracy[looks]"]
    # one of the first image's two is higher; the second image scores both alike, which counts half
    assert (looks.value, looks.queries, looks.left_out, looks.chance) == (0.5, 2, 1, 0.5)
    assert_allclose(of_looks, [0.5, 0.5, np.nan])
    assert found["i2t/counterfactual_accuracy[things]"][0].value == 1


@pytest.mark.parametrize("seed", range(4))
def test_by_a_double_loop(seed):
    rng = np.random.default_rng(seed)
    own = [0, 1, 2, 3, *rng.integers(4, size=8).tolist()]
    counterfactuals = [(row, kind) for row in range(12) for kind in ("a", "b") if rng.random() < 0.7]
    split = world(own, counterfactuals)
    scores = rng.integers(4, size=(4, len(split.captions))).astype(float)
    pairs = [(row, 12 + n, kind) for n, (row, kind) in enumerate(counterfactuals)]
    for m, _ in counterfactual_accuracies(scores, split.counterfactuals, split.own, rounds=0):
        mine = [(row, counterfactual) for row, counterfactual, kind in pairs if kind == m.key.subset]
        assert_allclose(m.value, oracle.counterfactual_accuracy(scores.tolist(), own, mine))


def test_only_the_order_matters_blocks_give_the_same_and_equal_scores_are_guesses(monkeypatch):
    split = world([0, 0, 1, 2], [(0, "looks"), (1, "looks"), (3, "looks")])
    rng = np.random.default_rng(1)
    image, text = (rng.integers(-3, 4, (size, 4)).astype(np.float32) for size in (3, 7))

    def value(scores):
        return next(counterfactual_accuracies(scores, split.counterfactuals, split.own, rounds=0))[0].value

    whole = value(image @ text.T)
    assert value(np.exp(image @ text.T / 8)) == value(image @ text.T - 100) == whole
    monkeypatch.setattr(blocks, "COMPUTED", 10)
    assert value(blocks.products(image, text)) == whole
    assert value(np.zeros((3, 7))) == 0.5
    # what rounding moves is equal, whatever the scale
    moved = 1 + 1e-6 * rng.standard_normal((3, 7))
    assert value(moved) == value(1e-8 * moved) == value(-moved) == 0.5


def test_every_objective_was_asked_over_five_seeds():
    rows = assets.read_recorded("counterfactual_scenes")
    asked = rows[rows.key.str.contains("counterfactual_accuracy")].groupby("objective")
    # these are younger than the recording
    assert {*asked.groups} == {*objectives.names()} - {"rince", "three_ranks"}
    assert {tuple(sorted(set(of.seed))) for _, of in asked} == {(0, 1, 2, 3, 4)}
    assert {len(of) for _, of in asked} == {15}
    # what reads words without their order cannot see a counterfactual
    means = rows[rows.key == "i2t/counterfactual_accuracy[attributes]"].groupby("objective").value.mean()
    assert means["vsepp"] == means["infonce"] == 0.5 < 0.7 < means["cora"]


def test_random_scores_are_at_chance_and_the_interval_says_so():
    split = world(np.repeat(np.arange(400), 5).tolist(), [(row, "looks") for row in range(2000)])
    scores = np.random.default_rng(3).standard_normal((400, len(split.captions)))
    ((found, _),) = counterfactual_accuracies(scores, split.counterfactuals, split.own)
    assert found.low < 0.5 < found.high
    assert found.high - found.low < 0.06


def test_it_stands_among_the_numbers_of_an_evaluation_and_counterfactuals_are_right_for_no_image():
    split = world([0, 0, 1, 2], [(0, "looks"), (2, "looks")])
    scores = np.random.default_rng(0).standard_normal((3, 6))
    measurements, values = evaluate_split(scores, split)
    label = str(MetricKey("counterfactual_accuracy", "i2t", subset="looks"))
    (found,) = [m for m in measurements if m.label == label]
    assert (found.queries, found.gallery, len(values[label])) == (2, 2, 3)
    assert split.judgements["own"].relevant().sum(axis=0).tolist() == [1, 1, 1, 1, 0, 0]
    assert split.first(1).captions == ("caption 0", "caption 1", "counterfactual of 0")
    assert [len(one.grades) for one in split.first(1).counterfactuals.values()] == [1]


@pytest.mark.parametrize(("text", "message"), [(" ", "is empty"), ("caption 0", "is the caption itself")])
def test_a_counterfactual_that_is_none_is_refused(text, message):
    split = world([0, 1], [(1, "looks")])
    with pytest.raises(ValueError, match=f"the counterfactual of caption 'caption 0' by looks {message}"):
        with_counterfactuals(split, [Counterfactual(0, text, "looks")])
