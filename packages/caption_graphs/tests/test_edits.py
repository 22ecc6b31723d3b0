from __future__ import annotations

import pytest
import scene_world as scenes
from caption_graphs import parse
from caption_graphs.panels.edits import Change, apply_change, describe_change, possible_drops
from caption_graphs.sentences import sentence, write_participle

from workbench.records import SceneGraph

RIDER = SceneGraph(("man", "horse", "tree"), ((1, "brown"), (2, "big")), ((0, "ride", 1), (1, "next to", 2)))


def test_things_attributes_and_relations_stand_in_their_places():
    assert sentence(RIDER) == "a man riding a brown horse. The horse is next to a big tree."


def test_counts_make_plurals_and_mass_nouns_go_without_an_article():
    assert (
        sentence(SceneGraph(("baby", "grass"), ((0, "small"), (0, "two")), ((0, "sit on", 1),)))
        == "two small babies sitting on grass"
    )


@pytest.mark.parametrize("word", ["one", "no", "another"])
def test_a_word_in_an_articles_place_stands_without_one(word):
    graph = SceneGraph(("cat", "box"), ((0, "red"), (0, word)), ((0, "in", 1),))
    assert sentence(graph) == f"{word} red cat in a box"


def test_things_without_relations_are_joined():
    assert sentence(SceneGraph(("orange", "cup"))) == "an orange and a cup"


def test_a_dropped_object_takes_its_attributes_and_relations_along():
    assert apply_change(RIDER, Change("objects", 1)) == SceneGraph(("man", "tree"), ((1, "big"),), ())


def test_a_swap_changes_one_word():
    assert (
        sentence(apply_change(RIDER, Change("objects", 1, "camel")))
        == "a man riding a brown camel. The camel is next to a big tree."
    )
    assert apply_change(RIDER, Change("attributes", 0, "white")).attributes == ((1, "white"), (2, "big"))
    assert apply_change(RIDER, Change("relations", 0, "lead")).relations == (
        (0, "lead", 1),
        (1, "next to", 2),
    )


def test_changes_are_said_in_words():
    assert [describe_change(RIDER, change) for change in possible_drops(RIDER)] == [
        "without man",
        "without horse",
        "without tree",
        "without brown horse",
        "without big tree",
        "without man ride horse",
        "without horse next to tree",
    ]
    assert describe_change(RIDER, Change("relations", 0, "lead")) == "man ride horse → man lead horse"


def test_the_last_object_cannot_be_dropped():
    assert possible_drops(SceneGraph(("cup",), ((0, "red"),))) == [Change("attributes", 0)]


@pytest.mark.parametrize("change", [Change("objects", 3), Change("objects", -1), Change("names", 0)])
def test_a_part_that_is_not_there_is_refused(change: Change):
    with pytest.raises(ValueError, match="the graph has no"):
        apply_change(RIDER, change)


def test_most_captions_of_the_embedded_world_say_the_same_when_made_again():
    """Parsed, said again and parsed again: the objects stay, since else an edit would be lost in the
    wording."""
    captions = [
        caption
        for caption in scenes.load("test", size=10, image_size=32).captions
        if "photo" not in caption and "picture" not in caption
    ]
    graphs = parse(captions)
    again = parse([sentence(graph) for graph in graphs])
    same = sum(sorted(a.objects) == sorted(b.objects) for a, b in zip(graphs, again, strict=True))
    assert same / len(graphs) > 0.95


@pytest.mark.parametrize(
    ("relation", "said"),
    [
        ("play with", "playing with"),
        ("run through", "running through"),
        ("look at", "looking at"),
        ("see", "seeing"),
        ("in front of", "in front of"),
        ("be", "being"),
        ("fill with", "filled with"),
        ("surround by", "surrounded by"),
        ("chase by", "chased by"),
        ("throw", "throwing"),
    ],
)
def test_verbs_stand_as_participles(relation: str, said: str):
    assert write_participle(relation) == said
