"""From the many words of captions to the canonical ones of the embedded world, to hold parsed graphs against
true ones.
"""

from __future__ import annotations

from workbench.data._scene_vocabulary import BACKDROPS, KINDS, NOUNS, PATTERNS, PLURAL, RELATIONS, SIZES
from workbench.records import SceneGraph

_OBJECTS = {said: name for name, noun in NOUNS.items() for said in noun.says}
_OBJECTS |= {said: kind for kind, says in KINDS.items() for said in says}
_OBJECTS |= {
    said.removeprefix("a ").removeprefix("the "): name
    for name, (_, says) in BACKDROPS.items()
    for said in says
}
_LOOKS = {said: name for table in (SIZES, PATTERNS) for name, says in table.items() for said in says}
_TIES = {said: name for name, says in RELATIONS.items() for said in says}
# What a thing does while it is somewhere says no more than "is" in this world.
_STAYING = ("sit", "stand", "fly", "park")


def canonical(graph: SceneGraph) -> SceneGraph:
    """A graph in canonical words: *bunny* is a rabbit, *little* is small, *sits beside* is next to.

    A backdrop is behind all that a picture shows, and a caption ties it to one thing at random (*at night, a
    cat is on a table*: the cat or the table). Its relation is therefore written as one of the backdrop to
    itself, whatever thing the graph names.

    Args:
        graph: parsed from a caption, or true of one. Words outside the vocabulary stay as they are.

    Returns:
        A graph with the same nodes; the attribute that marks a plural is left out, since no word of a caption
        says it.
    """
    objects = tuple(_OBJECTS.get(name, name) for name in graph.objects)
    looks = tuple((node, _LOOKS.get(look, look)) for node, look in graph.attributes if look != PLURAL)
    ties = (
        (thing if objects[thing] in BACKDROPS else subject, _tie(tie), thing)
        for subject, tie, thing in graph.relations
    )
    return SceneGraph(objects, looks, tuple(ties))


def _tie(relation: str) -> str:
    verb, _, rest = relation.partition(" ")
    place = rest if verb in _STAYING else relation
    return _TIES.get(place, place)
