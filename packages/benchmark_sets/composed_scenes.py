"""Composed queries on the synthetic scenes: "the same scene in the snow", "..., but the dog is red".

The gallery holds each reference scene before several backdrops, and beside it scenes that differ in one
statement: one thing has another colour. Whatever looks at the image alone cannot tell these apart from the
one that is asked for, and the text alone fits many scenes. What is true of a query is what the scene's graph
says: the images in which everything of the changed reference holds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scene_world import placements
from scene_world.drawing import draw_scene
from scene_world.placement import Scene, graph_of
from scene_world.truth import satisfied_shares
from scene_world.vocabulary import BACKDROPS, COLOURS

from benchmark_sets.queries import Gallery, Query, split_of
from workbench.records import require

# the reference's own backdrop and those after it
BACKDROPS_EACH = 3
# of each thing that is painted otherwise
COLOURS_EACH = 2
DEPTHS = (1, 5, 10)


class Asked(NamedTuple):
    """A query: row of the reference, kind of the change, text, and the scene that is asked for."""

    reference: int
    kind: str
    text: str
    wanted: Scene


def load_scenes(root: str | None, size: int = 40, image_size: int = 96) -> list[Gallery]:
    """Return one gallery of scenes, and its queries for another backdrop and for another colour.

    Args:
        root: must be empty, since nothing is read.
        size: number of references.
        image_size: side of an image in pixels.
    """
    require(root is None, "the synthetic scenes are drawn; they take no folder")
    scenes: list[Scene] = []
    ids: list[str] = []
    asked: list[Asked] = []
    for number, scene in enumerate(placements("test", range(size))):
        own = len(scenes)
        for backdrop in backdrops_of(scene):
            for place, near in enumerate(near_scenes(scene)):
                scenes.append(replace(near, backdrop=backdrop))
                ids.append(f"{number}-{place}-{backdrop}")
        asked += [Asked(own, "backdrop", *change) for change in _moved(scene)]
        asked += [Asked(own, "colour", *change) for change in _repainted(scene)]
    truth = true_images(scenes, [query.wanted for query in asked])
    queries = []
    for query, targets in zip(asked, truth, strict=True):
        queries.append(Query(query.reference, query.text, targets, kind=query.kind))
    split = split_of("scenes/composed", ids, lambda row: draw_scene(scenes[row], image_size))
    return [Gallery(split, queries, depths=DEPTHS)]


def backdrops_of(scene: Scene) -> list[str]:
    """Return the backdrop of a scene, and those that follow it in the list of all."""
    every = list(BACKDROPS)
    first = every.index(scene.backdrop)
    return [every[(first + step) % len(every)] for step in range(BACKDROPS_EACH)]


def near_scenes(scene: Scene) -> list[Scene]:
    """Return a scene, and those in which one thing has another colour."""
    near = [scene]
    for place in range(len(scene.things)):
        near += [paint(scene, place, colour) for colour in other_colours(scene, place)]
    return near


def other_colours(scene: Scene, place: int) -> list[str]:
    """Return the colours that follow that of a thing in the list of all."""
    every = list(COLOURS)
    first = every.index(scene.things[place].colour)
    return [every[(first + step) % len(every)] for step in range(1, COLOURS_EACH + 1)]


def paint(scene: Scene, place: int, colour: str) -> Scene:
    """Return a scene in which one thing has a colour."""
    things = list(scene.things)
    things[place] = replace(things[place], colour=colour)
    return replace(scene, things=tuple(things))


def _moved(scene: Scene) -> list[tuple[str, Scene]]:
    """Return a change to each other backdrop of the gallery."""
    changes = []
    for backdrop in backdrops_of(scene)[1:]:
        where, words = BACKDROPS[backdrop]
        changes.append((f"the same scene {where} {words[0]}", replace(scene, backdrop=backdrop)))
    return changes


def _repainted(scene: Scene) -> list[tuple[str, Scene]]:
    """Return a change of colour of each thing that alone has its name."""
    nouns = [thing.noun for thing in scene.things]
    changes = []
    for place, thing in enumerate(scene.things):
        if nouns.count(thing.noun) == 1 and thing.count == 1:
            colour = other_colours(scene, place)[0]
            changes.append((f"the same scene, but the {thing.noun} is {colour}", paint(scene, place, colour)))
    return changes


def true_images(scenes: Sequence[Scene], wanted: Sequence[Scene]) -> list[tuple[int, ...]]:
    """Return the rows of the scenes in which all that holds in a scene holds, for each that is wanted.

    Args:
        scenes: the gallery.
        wanted: the scenes that are asked for.
    """
    graphs = [graph_of(scene) for scene in scenes]
    shares = satisfied_shares([graph_of(scene) for scene in wanted], graphs)
    return [tuple(np.flatnonzero(share == 1).tolist()) for share in shares]
