"""What is measured on which split; ensembles: the mean of two score matrices, of one split only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from tests.data import fixtures
from tests.objectives.worlds import source
from workbench import data, objectives, text
from workbench.metrics.blocks import products
from workbench.metrics.evaluation import Evidence
from workbench.metrics.evaluation import evaluate as by_table
from workbench.records import Embedding, Judgements, MetricKey
from workbench.runs.evaluate import evaluate
from workbench.runs.measure import evaluate_split
from workbench.runs.model import Model
from workbench.runs.own import Ensemble, Joint


class Fixed(Model):
    """A model whose scores are given."""

    def __init__(self, scores):
        self.name, self.given = "fixed", np.asarray(scores, dtype=np.float32)

    def embed_images(self, images):
        return Embedding(torch.zeros(self.given.shape[0], 1))

    def embed_texts(self, texts):
        return Embedding(torch.zeros(self.given.shape[1], 1))

    def scores(self, image, text):
        return self.given


def mean(members):
    """The scores of an ensemble."""
    sides = (
        Joint.from_members([one.embed_images(()) for one in members]),
        Joint.from_members([one.embed_texts(()) for one in members]),
    )
    return Ensemble(members).scores(*sides)


@pytest.fixture(scope="module")
def world():
    return source(objectives.load("vsepp"))


def test_the_scores_of_an_ensemble_are_the_mean_of_its_members():
    # (.2 + .6) / 2 and (.9 - .1) / 2
    members = [Fixed([[0.2, 0.9]]), Fixed([[0.6, -0.1]])]
    np.testing.assert_allclose(mean(members), [[0.4, 0.4]], rtol=1e-6)
    np.testing.assert_array_equal(mean(members[:1]), members[0].given)


def test_an_ensemble_of_two_halves_of_the_truth_is_right(world):
    own = world.split.judgements["own"].dense()
    halves = [np.where(np.arange(own.shape[1]) % 2 == half, own, 0.5) for half in (0, 1)]
    rsum = {
        m.label: m.value
        for m in evaluate_split(mean([Fixed(half) for half in halves]), world.split, rounds=0)[0]
    }["rsum"]
    assert rsum == 6
    assert {m.label: m.value for m in evaluate_split(halves[0], world.split, rounds=0)[0]}["rsum"] < 6


def test_models_of_different_splits_are_refused():
    eyes = {"images": np.eye(2), "texts": np.eye(2)}
    results = [evaluate(**eyes, own=own, rounds=0) for own in ([0, 1], [1, 0])]
    with pytest.raises(ValueError, match="different pairs"):
        evaluate(results, rounds=0)
    with pytest.raises(ValueError, match="at least one model"):
        Ensemble([])


@pytest.fixture(scope="module")
def crisscrossed(tmp_path_factory):
    split = data.load("cxc", **fixtures.cxc(tmp_path_factory.mktemp("cxc")))
    rng = np.random.default_rng(0)
    made = [
        rng.standard_normal((len(ids), 8)).astype(np.float32) for ids in (split.image_ids, split.caption_ids)
    ]
    return split, tuple(one / np.linalg.norm(one, axis=1, keepdims=True) for one in made)


def test_crisscrossed_captions_are_measured_in_four_directions_with_vectors_and_in_two_without(crisscrossed):
    split, vectors = crisscrossed
    with_vectors = {
        m.label: m for m in evaluate_split(vectors[0] @ vectors[1].T, split, vectors=vectors, rounds=10)[0]
    }
    without = {m.label for m in evaluate_split(vectors[0] @ vectors[1].T, split, rounds=10)[0]}
    within = {f"cxc:{d}/R@{k}" for d in ("i2i", "t2t") for k in (1, 5, 10)} | {"cxc:rsum"}
    assert within <= set(with_vectors)
    assert {f"cxc:{d}/R@{k}" for d in ("i2t", "t2i") for k in (1, 5, 10)} <= without
    assert not within & without
    # captions 141 and 151 were written for the images they were rated with, and only 141 is rated 3 or better
    rated = with_vectors["cxc:t2i/R@1"]
    assert (rated.queries, rated.left_out) == (1, len(split.captions) - 1)
    assert {"sits:i2t/ndcg", "sits:pearson", "sts:spearman"} <= set(with_vectors)
    # a metric that is asked for takes the place of itself alone, not of another of that name
    asked, _ = evaluate_split(vectors[0] @ vectors[1].T, split, vectors=vectors, metrics=["cxc"], rounds=10)
    assert {m.label for m in asked} == set(with_vectors)


def test_of_cocos_test_split_the_five_folds_are_measured_too(crisscrossed):
    split, vectors = crisscrossed
    split = replace(split, folds=len(split.image_ids))
    found = {
        m.key.local: m
        for m in evaluate_split(vectors[0] @ vectors[1].T, split, rounds=0)[0]
        if m.key.folds > 1
    }
    # a gallery of one image: every caption finds it
    assert (found["t2i/R@1"].value, found["t2i/R@1"].gallery) == (1.0, 1)
    assert found["rsum"].label == f"rsum[{len(split.image_ids)} folds]"


def test_a_judges_grades_measure_what_reads_grades_with_own_items_and_without():
    split = data.load("scenes", split="test", size=6)
    scores = np.random.default_rng(0).standard_normal((6, 30)).astype(np.float32)
    usual, _ = evaluate_split(scores, split, metrics=["nsum"], rounds=0)
    found, by_query = evaluate_split(scores, split, metrics=["nsum", "ncs"], judge="cider", rounds=0)
    judged = {m.label: m.value for m in found if m.label not in {one.label for one in usual}}
    assert {label for label in judged if label.startswith("cider:i2t")} == {
        f"cider:i2t/ncs@{k}{part}" for k in (1, 5, 10) for part in ("", "[without own]")
    }
    phi = text.load("cider").fit(split.captions, split.own).transform(split.captions, split.own)
    for part, without in (("", False), ("[without own]", True)):
        evidence = Evidence(scores, phi, split.own, without_own=without)
        (alone,) = by_table(evidence, ["nsum"], rounds=0)
        assert judged[f"cider:nsum{part}"] == alone.value
        assert len(by_query[f"cider:nsum{part}"]) == 36
    # the data's own grades stay under their own name
    assert {"graded:nsum"} == {m.label for m in usual if m.key.metric == "nsum"}
    folded = {
        m.label
        for m in evaluate_split(scores, replace(split, folds=3), metrics=["nsum"], judge="cider", rounds=0)[0]
    }
    assert {str(MetricKey("nsum", "", "cider", None, part, 3)) for part in ("", "without own")} <= folded


def test_scores_made_by_rows_are_measured_as_the_whole_matrix_is(monkeypatch):
    split = data.load("scenes", split="test", size=12)
    rng = np.random.default_rng(1)
    # whole numbers, whose products do not depend on how they are cut
    image, words = (
        rng.integers(-3, 4, (len(ids), 5)).astype(np.float32) for ids in (split.image_ids, split.caption_ids)
    )
    monkeypatch.setattr("workbench.metrics.blocks.COMPUTED", 100)
    lazy, whole = (
        evaluate_split(scores, split, rounds=5)[0] for scores in (products(image, words), image @ words.T)
    )
    assert [m.label for m in lazy] == [m.label for m in whole]
    for field in ("value", "low", "high", "queries", "left_out", "gallery"):
        np.testing.assert_allclose(
            *([getattr(m, field) for m in found] for found in (lazy, whole)), rtol=1e-12
        )


def test_who_is_asked_stands_in_the_contract(world):
    images, captions = world.split.judgements["own"].shape
    own = world.split.judgements["own"]
    asked = Judgements(
        "eccv", "binary", own.shape, own.images, own.captions, own.grades,
        image_queries=np.array([1]), caption_queries=np.array([0, 2]), missing_captions=np.array([1]),
    )  # fmt: skip
    split = replace(world.split, judgements={"own": own, "eccv": asked})
    found = {m.label: m for m in evaluate_split(own.dense(), split, rounds=0)[0]}
    listed = int((own.images == 1).sum())
    first, second = found["eccv:i2t/r_precision"], found["eccv:t2i/r_precision"]
    assert (first.queries, first.left_out, first.value) == (1, images - 1, listed / (listed + 1))
    assert (second.queries, second.left_out, second.value) == (2, captions - 2, 1.0)
