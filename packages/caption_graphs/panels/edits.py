"""Edits of a scene graph: one part dropped or renamed."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from caption_graphs.sentences import sentence
from workbench.records import SceneGraph

Part = Literal["objects", "attributes", "relations"]
PARTS: tuple[Part, ...] = get_args(Part)


@dataclass(frozen=True)
class Change:
    """One change to a scene graph: drop a part, or put another word in its place.

    Args:
        part: ``"objects"``, ``"attributes"`` or ``"relations"``.
        index: which of them, in the graph as the changes before have left it.
        word: the new word; ``""`` drops the part, and an object takes its attributes and relations with it.
    """

    part: Part
    index: int
    word: str = ""


def apply_change(graph: SceneGraph, change: Change) -> SceneGraph:
    """Return the graph with one part dropped or renamed.

    Raises:
        ValueError: there is no such part.
    """
    if change.part not in PARTS or not 0 <= change.index < len(getattr(graph, change.part)):
        raise ValueError(f"the graph has no {change.part} number {change.index}; it reads: {sentence(graph)}")
    if not change.word and change.part == "objects":
        return _drop_node(graph, change.index)
    values = list(getattr(graph, change.part))
    old = values.pop(change.index)
    if change.word:
        values.insert(change.index, _rename_part(change.part, old, change.word))
    return replace(graph, **{change.part: tuple(values)})


def _rename_part(part: Part, old: tuple[int, str, int], word: str) -> object:
    """Return an object, an attribute or a relation with another word."""
    if part == "objects":
        return word
    return (old[0], word) if part == "attributes" else (old[0], word, old[2])


def _drop_node(graph: SceneGraph, node: int) -> SceneGraph:
    # the objects behind the one that is dropped move up by one
    rest = [other for other in range(len(graph.objects)) if other != node]
    place = {other: number for number, other in enumerate(rest)}
    objects = tuple(graph.objects[other] for other in rest)
    attributes = tuple((place[thing], word) for thing, word in graph.attributes if thing != node)
    relations = tuple((place[a], word, place[b]) for a, word, b in graph.relations if node not in (a, b))
    return SceneGraph(objects, attributes, relations)


def possible_drops(graph: SceneGraph) -> list[Change]:
    """Return every part that can be dropped alone; the only object of a graph cannot, since nothing would be
    left to say.
    """
    changes = []
    for part in PARTS if len(graph.objects) > 1 else PARTS[1:]:
        changes += [Change(part, index) for index in range(len(getattr(graph, part)))]
    return changes


def describe_change(graph: SceneGraph, change: Change) -> str:
    """Describe a change in words.

    >>> describe_change(SceneGraph(("cup",), ((0, "red"),)), Change("attributes", 0, "blue"))
    'red cup → blue cup'
    """
    before = _changed_phrase(graph, change, "")
    return f"{before} → {_changed_phrase(graph, change, change.word)}" if change.word else f"without {before}"


def _changed_phrase(graph: SceneGraph, change: Change, word: str) -> str:
    """Return the part that is changed, with another word if one is given."""
    names = graph.objects
    if change.part == "objects":
        return word or names[change.index]
    if change.part == "attributes":
        thing, attribute = graph.attributes[change.index]
        return f"{word or attribute} {names[thing]}"
    subject, relation, thing = graph.relations[change.index]
    return f"{names[subject]} {word or relation} {names[thing]}"
