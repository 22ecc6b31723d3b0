"""A slow model checker for the embedded world, written from its definition; it shares only the vocabulary
with the package."""

from __future__ import annotations

from scene_world.vocabulary import NOUNS

from workbench.records import SceneGraph

NUMBERS = {"two", "three"}


def may_be_called(thing: str, word: str) -> bool:
    if thing == word:
        return True
    return thing in NOUNS and word in NOUNS[thing].kinds


def looks(scene: SceneGraph, node: int) -> set[str]:
    found = set()
    for n, attribute in scene.attributes:
        if n == node:
            found.add(attribute)
            if attribute in NUMBERS:
                found.add("plural")
    return found


def held_under(caption: SceneGraph, scene: SceneGraph, place: list[int | None]) -> int:
    held = 0
    for node in place:
        if node is not None:
            held += 1
    for node, attribute in sorted(set(caption.attributes)):
        there = place[node]
        if there is not None and attribute in looks(scene, there):
            held += 1
    for subject, relation, other in sorted(set(caption.relations)):
        if (place[subject], relation, place[other]) in scene.relations:
            held += 1
    return held


def most_held(caption: SceneGraph, scene: SceneGraph, place: list[int | None]) -> int:
    """The best completion of a partial assignment, node by node."""
    node = len(place)
    if node == len(caption.objects):
        return held_under(caption, scene, place)
    best = most_held(caption, scene, [*place, None])
    for there, thing in enumerate(scene.objects):
        if there not in place and may_be_called(thing, caption.objects[node]):
            best = max(best, most_held(caption, scene, [*place, there]))
    return best


def share_held(caption: SceneGraph, scene: SceneGraph) -> float:
    """The share of a caption's statements that hold in a scene."""
    said = len(caption.objects) + len(set(caption.attributes)) + len(set(caption.relations))
    return most_held(caption, scene, []) / said
