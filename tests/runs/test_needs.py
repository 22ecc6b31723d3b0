"""What an objective needs is refused before training, with the remedy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from workbench import data
from workbench.records import Judgements
from workbench.runs import Config
from workbench.runs import build as running
from workbench.runs.build import build
from workbench.runs.resolve import resolve
from workbench.training.batches import Source


@pytest.mark.parametrize("objective", ["pcme", "pcmepp"])
def test_an_objective_that_reads_variances_says_how_to_give_them(objective):
    with pytest.raises(
        ValueError,
        match=f"'{objective}' reads 'log_var' and Towers gives parts; set log_var=true in the options",
    ):
        build(resolve(Config(objective=objective, start="scenes", image_options={"log_var": False})), ())
    build(resolve(Config(objective=objective, start="scenes")), ())


def test_an_objective_without_soft_labels_refuses_mixed_images():
    with pytest.raises(
        ValueError, match="'vsepp' reads no soft labels, so images cannot be mixed; set mix=0"
    ):
        resolve(Config(objective="vsepp", mix=0.25))
    resolve(Config(objective="pcmepp", mix=0.25))


def test_the_ablation_without_variances_needs_none():
    alone = {"objective": "pcmepp", "objective_options": {"distance": "mean_only"}}
    build(resolve(Config(start="scenes", **alone)), ())


def test_positives_are_the_pairs_that_the_judgements_call_right():
    split = data.load("scenes", split="train", size=6)
    images, captions = np.array([4, 0, 2]), np.array([22, 2, 20, 13, 12])
    batch = Source(split, {}, {}, positives=running.positives("exact", split)).batch(captions)
    whole = split.judgements["exact"].relevant()
    assert (batch.also.numpy() == whole[np.ix_(images, captions)]).all()
    assert running.positives("own", split) is None


def test_a_grade_below_the_bar_and_a_pair_nobody_judged_are_not_right():
    split = data.load("scenes", split="train", size=2)
    images, captions, grades = np.array([0, 0]), np.array([0, 9]), np.array([5.0, 2.0], dtype=np.float32)
    rated = Judgements("rated", "0 to 5", (2, 10), images, captions, grades, relevant_from=3, unlisted=None)
    split = replace(split, judgements={"own": split.judgements["own"], "rated": rated})
    batch = Source(split, {}, {}, positives=running.positives("rated", split)).batch(np.array([0, 5, 9]))
    assert batch.also.tolist() == [[True, False, False], [False, False, False]]
    with pytest.raises(ValueError, match=r"positives='exact' names judgements; .* has own, rated"):
        running.positives("exact", split)
