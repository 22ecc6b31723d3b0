"""The symbolic judge: weights and shares by hand, a slow double loop, Lin's similarity, and its reasons."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from workbench import text
from workbench.records import SceneGraph

CAPTIONS = ["dog", "cat", "dog cat", "bird"]
OWN = np.arange(4)


def words_as_objects(captions):
    return [SceneGraph(tuple(caption.split())) for caption in captions]


def plain(**options):
    settings = {"synonyms": False, "tuples": 1.0, "parser": words_as_objects} | options
    return text.load("symbolic", **settings).fit(CAPTIONS, OWN)


def test_shares_of_the_weight_are_the_worked_ones():
    # D = 4; "dog" and "cat" stand in two images, idf log 2, "bird" in one, log 4. The caption "dog cat"
    # against the image "dog": half of its weight, root .707107; with a = .5 log 2 / (.5 2 log 2 + .5 log 2)
    # = 2/3, root .816497. "dog" against "dog cat": all of it, 1.
    scores = plain().transform(CAPTIONS, OWN).dense()
    np.testing.assert_allclose(scores[0], [1, 0, math.sqrt(0.5), 0], atol=1e-6)
    np.testing.assert_allclose(scores[2], [1, 1, 1, 0], atol=1e-6)
    half = plain(precision=0.5).transform(CAPTIONS, OWN).dense()
    assert half[0, 2] == half[2, 0] == pytest.approx(math.sqrt(2 / 3), abs=1e-6)


def test_beside_cider_it_is_the_sum_of_the_roots():
    captions = ["a dog runs on grass", "a brown dog runs", "a cat sleeps", "a man rides a horse"]
    own = np.array([0, 0, 1, 2])
    cider = text.load("cider", tokens="words").fit(captions, own).transform(captions, own).dense()
    alone, both = (
        text.load("symbolic", tuples=b, parser=words_as_objects)
        .fit(captions, own)
        .transform(captions, own)
        .dense()
        for b in (1.0, 0.25)
    )
    np.testing.assert_allclose(both, 0.25 * alone + 0.75 * np.sqrt(cider / 10), atol=1e-6)


GRAPHS = {
    "small puppy on a couch": SceneGraph(("puppy", "couch"), ((0, "small"),), ((0, "on", 1),)),
    "little dog sits on a sofa": SceneGraph(("dog", "sofa"), ((0, "little"),), ((0, "sit on", 1),)),
    "cat under a red chair": SceneGraph(("cat", "chair"), ((1, "red"),), ((0, "under", 1),)),
    "red chair": SceneGraph(("chair",), ((0, "red"),)),
    "": SceneGraph(()),
}


def parsed(captions):
    return [GRAPHS[caption] for caption in captions]


@pytest.mark.parametrize("precision", [0.3, 1.0])
def test_it_is_the_slow_double_loop(precision):
    captions, own = list(GRAPHS), np.array([0, 1, 0, 2, 3])
    maker = text.load("symbolic", tuples=1.0, precision=precision, parser=parsed).fit(captions, own)
    stated = maker._read_statements(captions)
    images = [set() for _ in range(4)]
    every = {}
    for image, statements in zip(own, stated, strict=True):
        images[image] |= statements.keys()
        every |= statements

    def idf(statement):
        return math.log(4 / max(1, sum(statement in image for image in images)))

    def weight(statement):
        broader, part = every[statement]
        factor = {"objects": 1, "attributes": 0.25, "relations": 1}[part]
        return factor * max(0, idf(statement) - max([0, *map(idf, broader)]))

    scores = maker.transform(captions, own).dense()
    for i, image in enumerate(images):
        for t, caption in enumerate(stated):
            c, r, m = (sum(map(weight, part)) for part in (caption, image, image & caption.keys()))
            bottom = precision * c + (1 - precision) * r
            assert scores[i, t] == pytest.approx(math.sqrt(m / bottom) if bottom and m else 0, abs=1e-6)


def test_two_words_have_lins_similarity():
    captions, own = ["couch", "chair", "cup", "tree", "dog"], np.arange(5)
    maker = text.load("symbolic", tuples=1.0, precision=0.5, parser=words_as_objects)
    scores = maker.fit(captions, own).transform(captions, own).dense()
    # what couch and chair share is a seat, which two of five images show
    seat, narrow = math.log(5 / 2), math.log(5)
    assert scores[0, 1] ** 2 == pytest.approx(2 * seat / (2 * narrow), abs=1e-6)


def test_a_synonym_counts_as_the_word_and_a_narrower_one_for_more_than_a_stranger():
    captions = [*GRAPHS][:4]
    maker = text.load("symbolic", parser=parsed).fit(captions, np.arange(4))
    scores = maker.transform(captions, np.arange(4)).dense()
    assert scores[1, 0] > scores[2, 0]
    without = text.load("symbolic", synonyms=False, parser=parsed).fit(captions, np.arange(4))
    assert without.transform(captions, np.arange(4)).dense()[1, 0] < scores[1, 0]


def test_a_relation_has_credit_for_two_of_its_three_places():
    captions, relations = ["x", "y", "z"], [(0, "ride", 1), (0, "lead", 1), (1, "carry", 0)]
    graphs = {
        x: SceneGraph(("man", "horse"), (), (relation,))
        for x, relation in zip(captions, relations, strict=True)
    }
    maker = text.load("symbolic", tuples=1.0, precision=0.5, parser=lambda texts: [graphs[x] for x in texts])
    scores = maker.fit(captions, np.arange(3)).transform(captions, np.arange(3)).dense()
    # the same two in the same places, though otherwise related, against the two in each other's places
    assert 1 > scores[0, 1] > scores[0, 2]


def test_a_score_is_explained_by_its_statements():
    relevance = plain().transform(CAPTIONS, OWN)
    reasons = relevance.explain(0, 2)
    assert reasons.statement.tolist() == ["noun:dog", "noun:cat"]
    both = reasons[reasons.caption & reasons.image]
    assert both.weight.sum() / reasons[reasons.caption].weight.sum() == pytest.approx(
        relevance.dense()[0, 2] ** 2
    )


def test_what_was_learnt_survives_its_state():
    maker = plain(tuples=0.3)
    again = text.load("symbolic", synonyms=False, parser=words_as_objects)
    again.restore(json.loads(json.dumps(maker.state())))
    np.testing.assert_array_equal(
        again.transform(CAPTIONS, OWN).dense(), maker.transform(CAPTIONS, OWN).dense()
    )


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"call fit\(captions, own\) first"):
        text.load("symbolic", parser=words_as_objects).transform(CAPTIONS, OWN)
    with pytest.raises(ValueError, match="senses"):
        text.load("symbolic", senses=3)
    with pytest.raises(ValueError, match="made with synonyms False"):
        text.load("symbolic").restore(plain().state())
