from __future__ import annotations

from scene_world import canonical_graph
from scene_world.vocabulary import BACKDROPS

from workbench import data
from workbench.records import SceneGraph


def test_synonyms_become_the_canonical_words_and_the_nodes_stay():
    looks = ((0, "little"), (0, "stripy"), (1, "plural"), (3, "quick"))
    ties = ((0, "sit beside", 1), (1, "on top of", 0), (0, "chase", 3), (3, "stand on", 2))
    folded = canonical_graph(SceneGraph(("bunny", "crate", "city street", "zebra"), looks, ties))
    assert folded.objects == ("rabbit", "box", "street", "zebra")
    assert folded.attributes == ((0, "small"), (0, "striped"), (3, "quick"))
    assert folded.relations == ((0, "next to", 1), (1, "on", 0), (0, "chase", 3), (2, "on", 2))


def test_the_relation_to_a_backdrop_is_the_backdrops_own():
    graph = SceneGraph(("cat", "table", "night"), (), ((0, "on", 1), (1, "at", 2)))
    assert canonical_graph(graph).relations == ((0, "on", 1), (2, "at", 2))


def test_true_graphs_are_canonical_already_but_for_plurals_and_backdrops():
    for graph in data.load("scenes", split="test", size=40).caption_graphs:
        folded = canonical_graph(graph)
        assert folded.objects == graph.objects
        assert folded.attributes == tuple((node, look) for node, look in graph.attributes if look != "plural")
        for ours, (subject, tie, thing) in zip(folded.relations, graph.relations, strict=True):
            assert ours == ((thing if graph.objects[thing] in BACKDROPS else subject), tie, thing)
