"""The model checker of the synthetic scenes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scene_world import truth
from scene_world.truth import exact_and_graded
from scene_world.vocabulary import ATTRIBUTES, BACKDROPS, KINDS, NOUNS, RELATIONS

from tests.oracles.scenes import share_held
from workbench import data
from workbench.records import SceneGraph

_BOTH_WAYS = ((0, "left of", 1), (1, "right of", 0), (0, "next to", 1), (1, "next to", 0))
_LOOKS = ((0, "small"), (0, "red"), (0, "plain"), (0, "two"), (1, "large"), (1, "green"), (1, "striped"))
CAT_AND_TREE = SceneGraph(("cat", "tree", "meadow"), _LOOKS, (*_BOTH_WAYS, (0, "in", 2), (1, "in", 2)))
TWO_ANIMALS = SceneGraph(
    ("dog", "bird", "beach"), ((0, "red"), (1, "blue")), ((1, "above", 0), (0, "below", 1))
)


def graded(caption: SceneGraph, scene: SceneGraph = CAT_AND_TREE) -> float:
    return float(exact_and_graded([caption], [scene])[1][0, 0])


@pytest.mark.parametrize(
    ("objects", "attributes", "relations", "share"),
    [
        (("cat",), (), (), 1),
        (("animal",), (), (), 1),
        (("building",), (), (), 0),
        (("cat",), ((0, "two"),), (), 1),
        (("cat",), ((0, "three"),), (), 1 / 2),  # the object holds, the count does not
        (("cat",), ((0, "plural"),), (), 1),
        (("tree",), ((0, "plural"),), (), 1 / 2),  # one tree is not "trees"
        (("cat", "tree"), ((0, "green"),), (), 2 / 3),  # the tree is green, not the cat
        (("cat", "tree"), (), ((0, "next to", 1),), 1),
        (("cat", "tree"), (), ((1, "left of", 0),), 2 / 3),
        (("dog", "tree"), (), ((0, "left of", 1),), 1 / 3),  # a relation holds only where both its objects do
        (("dog",), ((0, "red"),), (), 0),  # and so does an attribute
        (("cat", "meadow"), (), ((0, "in", 1),), 1),
        (("cat", "beach"), (), ((0, "on", 1),), 1 / 3),
        (("animal", "cat"), (), (), 1 / 2),  # one cat cannot be both nodes
        (("plant", "animal"), ((0, "striped"), (1, "two")), ((0, "right of", 1),), 1),
    ],
)
def test_a_caption_is_as_true_as_the_share_of_its_statements(objects, attributes, relations, share):
    assert graded(SceneGraph(objects, attributes, relations)) == pytest.approx(share)


def test_the_best_assignment_counts():
    # "a blue animal above a red animal": bird and dog in that order hold 5 of 5, the other way round 2 of 5
    caption = SceneGraph(("animal", "animal"), ((0, "blue"), (1, "red")), ((0, "above", 1),))
    assert graded(caption, TWO_ANIMALS) == 1
    turned = SceneGraph(("animal", "animal"), ((1, "blue"), (0, "red")), ((0, "above", 1),))
    assert graded(turned, TWO_ANIMALS) == pytest.approx(4 / 5)


def test_words_outside_the_vocabulary_hold_nowhere():
    assert graded(SceneGraph(("unicorn",))) == 0
    assert graded(SceneGraph(("cat",), ((0, "invisible"),))) == pytest.approx(1 / 2)
    assert graded(SceneGraph(("cat", "tree"), (), ((0, "orbits", 1),))) == pytest.approx(2 / 3)


def test_a_graph_with_no_object_or_with_too_many_is_refused():
    with pytest.raises(ValueError, match="0 objects"):
        exact_and_graded([SceneGraph(())], [CAT_AND_TREE])
    with pytest.raises(ValueError, match=r"8 objects.*split it"):
        exact_and_graded([SceneGraph(("cat",) * 8)], [CAT_AND_TREE])


def random_graph(rng: np.random.Generator) -> SceneGraph:
    """A caption as a person might edit it: any words, any number of nodes up to five, statements that may
    repeat."""
    words = [*NOUNS, *KINDS, *BACKDROPS, *(["animal", "cat", "meadow"] * 8)]
    n = int(rng.integers(1, 6))
    objects = tuple(str(rng.choice(words)) for _ in range(n))
    attributes = tuple((int(rng.integers(n)), str(rng.choice(ATTRIBUTES))) for _ in range(rng.integers(0, 4)))
    relations = []
    for _ in range(rng.integers(0, 4)):
        subject, relation = int(rng.integers(n)), str(rng.choice(list(RELATIONS)))
        relations.append((subject, relation, int(rng.integers(n))))
    return SceneGraph(objects, attributes, tuple(relations))


def shares_held(captions, scenes):
    """One row a scene, one column a caption."""
    return np.array([share_held(c, s) for s, c in product(scenes, captions)]).reshape(len(scenes), -1)


def test_the_checker_agrees_with_a_recursive_one_on_random_graphs():
    rng = np.random.default_rng(0)
    scenes = data.load("scenes", split="val", size=30).image_graphs
    captions = [random_graph(rng) for _ in range(60)]
    slow = shares_held(captions, scenes)
    binary, fast = exact_and_graded(captions, scenes)
    np.testing.assert_allclose(fast, slow, atol=1e-6)
    np.testing.assert_array_equal(binary, slow == 1)


@pytest.mark.parametrize("texts", ["captions", "chains"])
def test_the_checker_agrees_with_a_recursive_one_on_all_pairs_of_a_split(texts):
    split = data.load("scenes", split="test", size=40, texts=texts)
    slow = shares_held(split.caption_graphs, split.image_graphs)
    np.testing.assert_allclose(split.judgements["graded"].dense(), slow, atol=1e-6)
    np.testing.assert_array_equal(split.judgements["exact"].relevant(), slow == 1)
    np.testing.assert_array_equal(split.judgements["graded"].relevant(), slow == 1)


@pytest.mark.parametrize("texts", ["captions", "chains"])
def test_every_caption_is_true_of_its_own_image(texts):
    split = data.load("scenes", split="train", size=300, texts=texts)
    assert split.judgements["exact"].dense()[split.own, np.arange(len(split.own))].all()


def test_each_text_of_a_chain_follows_from_the_next():
    split = data.load("scenes", split="test", size=300, texts="chains")
    relevant = split.judgements["exact"].relevant()
    for level in (1, 2, 3):
        assert (relevant[:, split.level == level] >= relevant[:, split.level == level + 1]).all()


def test_the_most_specific_captions_single_out_their_image_among_a_thousand():
    split = data.load("scenes", split="test")
    counts = split.judgements["exact"].relevant().sum(axis=0)
    alone = [(counts[split.level == level] == 1).mean() for level in (1, 2, 3, 4, 5)]
    assert alone == sorted(alone)
    assert alone[-1] > 0.95
    assert counts[split.level == 1].mean() > 100


def test_some_pairs_are_graded_as_in_the_whole_without_making_it():
    split = data.load("scenes", split="val", size=12)
    images, captions = np.array([3, 0, 11]), np.array([59, 4, 15, 16])
    for name in ("exact", "graded"):
        taken = split.relevance(name).take(images, captions)
        cut = split.first(8).relevance(name).take(images[1:2], captions[1:])
        whole = split.judgements[name]
        np.testing.assert_array_equal(taken, whole.dense()[np.ix_(images, captions)])
        np.testing.assert_array_equal(cut, taken[1:2, 1:])
        np.testing.assert_array_equal(split.relevance(name).take(images, captions), taken)
        assert split.relevance(name) is whole


def test_the_truth_of_a_part_is_that_of_the_whole_cut_and_is_computed_once_for_the_part_alone(monkeypatch):
    whole = data.load("scenes", split="test", size=12)
    cut = {name: whole.judgements[name].restrict(np.arange(4), np.arange(20)) for name in whole.judgements}
    checked, count = [], truth.count_satisfied
    monkeypatch.setattr(truth, "count_satisfied", lambda *both: checked.append(both) or count(*both))
    part = data.load("scenes", split="test", size=12).first(8)
    part = part.restrict(np.arange(4), np.arange(20))
    for name, expected in cut.items():
        made = part.judgements[name]
        assert (made.name, made.rule, made.source) == (expected.name, expected.rule, expected.source)
        np.testing.assert_array_equal(made.dense(), expected.dense())
    assert [world.noun.shape[1] for _, world in checked] == [4] * 20
