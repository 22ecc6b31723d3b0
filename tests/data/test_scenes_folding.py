from __future__ import annotations

from workbench import data
from workbench.data.scenes import canonical
from workbench.records import SceneGraph


def test_synonyms_become_the_canonical_words_and_the_nodes_stay():
    said = SceneGraph(
        ("bunny", "crate", "city street", "zebra"),
        ((0, "little"), (0, "stripy"), (1, "plural"), (3, "quick")),
        ((0, "sit beside", 1), (1, "on top of", 2), (0, "chase", 3), (3, "stand on", 1)),
    )
    assert canonical(said) == SceneGraph(
        ("rabbit", "box", "street", "zebra"),
        ((0, "small"), (0, "striped"), (3, "quick")),
        ((0, "next to", 1), (1, "on", 2), (0, "chase", 3), (3, "on", 1)),
    )


def test_true_graphs_are_canonical_already_but_for_the_mark_of_a_plural():
    for graph in data.load("scenes", split="test", size=40).caption_graphs:
        attributes = tuple((node, look) for node, look in graph.attributes if look != "plural")
        assert canonical(graph) == SceneGraph(graph.objects, attributes, graph.relations)
