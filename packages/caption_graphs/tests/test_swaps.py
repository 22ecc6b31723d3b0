"""Counterfactuals of captions: their words, their truth, and what a bag of words makes of them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from itertools import chain

import numpy as np
import pytest
from caption_graphs import parse
from caption_graphs.swaps import exchange_phrases, swapped
from scene_world.typed import fold_graph

from tests.oracles import scenes as oracle
from workbench import data
from workbench.metrics.counterfactual_accuracy import counterfactual_accuracies
from workbench.records import SceneGraph


@pytest.fixture(scope="module")
def world():
    return data.load("scenes", split="test", size=150)


@pytest.fixture(scope="module")
def counterfactuals(world):
    return data.load("scenes", split="test", size=150, texts="swaps")


def counterfactuals_of(split):
    """The image and the text of each counterfactual."""
    rows = chain.from_iterable(pairs.captions for pairs in split.counterfactuals.values())
    return [(int(split.own[row]), split.captions[row]) for row in rows]


def shares_held(pairs, world):
    """How much of each text its image shows, by the parser and the slow model checker."""
    graphs = map(fold_graph, parse([text for _, text in pairs]))
    return [
        oracle.share_held(graph, world.image_graphs[image])
        for (image, _), graph in zip(pairs, graphs, strict=True)
    ]


def with_caption(caption, graph, **more):
    base = data.load("scenes", split="test", size=1, levels=(1,))
    new = {"captions": (caption,), "caption_graphs": (graph,), "grade": None, "judgements": {}}
    return replace(base, **new | more)


def test_the_three_counterfactuals_of_a_caption():
    graph = SceneGraph(("cat", "dog"), ((0, "red"), (1, "blue")), ((0, "left of", 1),))
    measured = swapped(with_caption("A red cat is left of a blue dog.", graph))
    assert {
        kind: measured.captions[pairs.captions[0]] for kind, pairs in measured.counterfactuals.items()
    } == {
        "attributes": "A blue cat is left of a red dog.",
        "things": "A red dog is left of a blue cat.",
        "relations": "A blue dog is left of a red cat.",
    }


def test_what_is_not_said_once_is_not_exchanged():
    assert exchange_phrases("a red cat and a red dog", "red", "blue") == ""
    assert exchange_phrases("an apple by a cat", "apple", "cat") == "a cat by an apple"
    graph = SceneGraph(("cat", "dog"), ((0, "two"), (1, "blue")), ((0, "next to", 1),))
    measured = swapped(
        with_caption("two cat next to a blue dog", graph)
    )  # numbers stay, and nearness holds both ways
    assert list(measured.counterfactuals) == ["things"]
    with pytest.raises(ValueError, match="no caption has two things"):
        swapped(with_caption("a cat", SceneGraph(("cat",))))


def test_no_counterfactual_is_true_of_its_image_and_those_that_are_are_left_out(world, counterfactuals):
    assert min(len(pairs.grades) for pairs in counterfactuals.counterfactuals.values()) > 40
    assert max(shares_held(counterfactuals_of(counterfactuals)[::5], world)) < 1
    graph = SceneGraph(("cat", "dog"), ((0, "red"), (1, "blue")), ((0, "left of", 1),))
    looks = ((0, "red"), (1, "blue"), (2, "blue"), (3, "red"))
    ties = ((0, "left of", 1), (2, "left of", 3))
    both = SceneGraph(("cat", "dog", "cat", "dog", "meadow"), looks, ties)
    known = with_caption("a red cat left of a blue dog", graph, image_graphs=(both,), grade=world.grade)
    assert list(swapped(known).counterfactuals) == [
        "things",
        "relations",
    ]  # a blue cat is left of a red dog there


def test_a_bag_of_words_is_at_chance_on_exchanged_attributes(counterfactuals):
    pairs = counterfactuals.counterfactuals["attributes"]
    bags = [Counter(re.findall(r"\w+", text.lower())) for text in counterfactuals.captions]
    words = sorted(set().union(*bags))
    counts = np.array([[*map(bag.__getitem__, words)] for bag in bags], dtype=float)
    rng = np.random.default_rng(5)
    scores = rng.integers(9, size=(len(counterfactuals.image_ids), len(words))) @ counts.T
    mine = {"attributes": pairs}
    ((measured, _),) = counterfactual_accuracies(scores, mine, counterfactuals.own)
    assert measured.value == 0.5
    ((measured, _),) = counterfactual_accuracies(
        scores + rng.random(scores.shape) / 9, mine, counterfactuals.own
    )
    assert measured.low < 0.5 < measured.high
    # one that knows every caption of an image has them all
    knows = np.zeros(scores.shape)
    knows[counterfactuals.own[pairs.images], pairs.images] = 1
    ((measured, _),) = counterfactual_accuracies(knows, mine, counterfactuals.own)
    assert measured.value == 1
