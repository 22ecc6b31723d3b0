"""From graphs to English."""

from __future__ import annotations

from itertools import pairwise

import pytest
from scene_world.dice import Dice
from scene_world.language import short_phrase, verbalise
from scene_world.vocabulary import (
    BACKDROPS,
    COLOURS,
    COUNTS,
    KINDS,
    NOUNS,
    PATTERNS,
    RELATIONS,
    SIZES,
)

from workbench import data
from workbench.english import plural
from workbench.records import SceneGraph

SYNONYMS = {
    **{noun: entry.says for noun, entry in NOUNS.items()},
    **KINDS,
    **SIZES,
    **PATTERNS,
    **RELATIONS,
    **{name: phrases for name, (_, phrases) in BACKDROPS.items()},
    **{word: (word,) for word in (*COLOURS, *COUNTS.values())},
    "plural": ("some",),
}
CAT_LEFT_OF_TREE = SceneGraph(("cat", "tree"), ((0, "two"), (0, "red")), ((0, "left of", 1),))


def ways(graph: SceneGraph) -> set[str]:
    """What a graph may sound like."""
    return {verbalise(graph, Dice(i)) for i in range(300)}


def test_one_thing_may_be_named_shown_or_said_to_be_there():
    captions = ways(SceneGraph(("elephant",)))
    assert {
        "an elephant",
        "There is an elephant.",
        "a photo of an elephant",
        "This picture shows an elephant.",
    } <= captions


def test_numbers_agree_with_nouns_and_verbs():
    captions = ways(CAT_LEFT_OF_TREE)
    assert "two red cats to the left of a tree" in captions
    assert "Two red cats are to the left of a tree." in captions
    assert "There are two red cats left of a tree." in captions
    assert not any("cat " in caption or "is to" in caption for caption in captions)


def test_a_thing_told_of_again_keeps_its_word():
    graph = SceneGraph(("rabbit", "car", "boat"), (), ((0, "next to", 1), (2, "behind", 0)))
    for caption in ways(graph):
        lower = caption.lower()
        assert ("bunny" in lower) != ("rabbit" in lower)
        assert ("the bunny" in lower) or ("the rabbit" in lower)


def test_the_backdrop_may_come_first_or_last():
    captions = ways(SceneGraph(("cat", "tree", "night"), (), ((0, "next to", 1), (0, "at", 2))))
    assert any(caption.startswith("At night, ") for caption in captions)
    assert any(caption.rstrip(".").endswith("at night") for caption in captions)


def test_what_english_does_not_count_is_said_without_an_article():
    assert "some green fruit" in ways(SceneGraph(("fruit",), ((0, "green"),)))


def test_a_colour_may_have_a_sentence_of_its_own():
    assert any("The cats are red." in caption for caption in ways(CAT_LEFT_OF_TREE))


def test_edited_graphs_are_said_too_lone_things_and_unknown_words_included():
    graph = SceneGraph(("cat", "tree", "unicorn"), ((2, "shiny"),), ((0, "orbits", 1),))
    for caption in ways(graph):
        assert "orbits a tree" in caption
        assert "shiny unicorn" in caption


def test_a_bare_phrase_has_no_article():
    assert short_phrase(SceneGraph(("dog",), ((0, "white"),)), Dice(0)) == "white dog"


@pytest.mark.parametrize("texts", ["captions", "chains"])
def test_captions_say_every_statement_of_their_graph(texts):
    split = data.load("scenes", split="train", size=200, texts=texts)
    for caption, graph in zip(split.captions, split.caption_graphs, strict=True):
        lower = caption.lower()
        words = (*graph.objects, *(a for _, a in graph.attributes), *(r for _, r, _ in graph.relations))
        for word in words:
            forms = SYNONYMS[word] + tuple(plural(form) for form in SYNONYMS[word])
            assert any(form in lower for form in forms), (caption, word)


def test_captions_are_well_formed():
    for caption in data.load("scenes", split="train", size=300).captions:
        assert caption == caption.strip()
        assert "  " not in caption
        assert (caption[0].isupper()) == caption.endswith(".")
        words = caption.lower().replace(",", "").replace(".", "").split()
        for first, second in pairwise(words):
            assert first != second, caption
            assert (first == "an") <= (second[0] in "aeiou"), caption
            assert (first == "a") <= (second[0] not in "aeiou"), caption
