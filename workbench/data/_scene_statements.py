"""What a caption says: a part of a scene's graph, at five levels of detail or as a chain of four.

Level 1 names one thing, mostly by its kind; level 2 adds an attribute; level 3 tells of two things and their
relation (or of one and its backdrop); level 4 of up to three things with some of their looks; level 5 tells
everything that the picture shows, except now and then that a thing is plain, and one relation for each thing
where there may be several.
"""

from __future__ import annotations

from workbench.data._scene_dice import Dice
from workbench.data._scene_vocabulary import BACKDROPS, COLOURS, COUNTS, MASS, NOUNS, PATTERNS, PLURAL
from workbench.records import SceneGraph

Triple = tuple[int, str, int]
LEVELS = 5
_SIDEWAYS = ("left of", "right of")


def things_of(scene: SceneGraph) -> int:
    """How many nodes of a scene's graph are things; the backdrop comes after them."""
    return len(scene.objects) - 1


def part(
    scene: SceneGraph, names: dict[int, str], attributes: list[tuple[int, str]], relations: list[Triple]
) -> SceneGraph:
    """The part of a scene that a caption tells.

    Args:
        scene: the whole truth.
        names: what to call each told node, in the order of telling.
        attributes: what to tell of them, with the scene's node numbers.
        relations: likewise.

    Returns:
        A graph whose nodes are numbered in the order of ``names``.
    """
    number = {node: i for i, node in enumerate(names)}
    told = tuple((number[node], a) for node, a in attributes)
    return SceneGraph(tuple(names.values()), told, tuple((number[s], r, number[o]) for s, r, o in relations))


def looks(scene: SceneGraph, node: int, plain: bool = False) -> list[tuple[int, str]]:
    """The attributes of a node; that it is plain only when asked for."""
    return [(n, a) for n, a in scene.attributes if n == node and (plain or a != "plain")]


def _telling(dice: Dice, scene: SceneGraph, node: int) -> tuple[int, str]:
    """One attribute of a node, colour more often than the others."""
    often = {*COLOURS, *COUNTS.values()}
    return dice.pick(
        [
            look
            for look in looks(scene, node, plain=dice.chance(15))
            for _ in range(3 if look[1] in often else 1)
        ]
    )


def _some(dice: Dice, scene: SceneGraph, node: int, percent: int) -> list[tuple[int, str]]:
    """Each attribute of a node with this chance; a count is nearly always told, now and then only as a
    plural.
    """
    out = []
    for n, a in looks(scene, node):
        if a in COUNTS.values():
            out.append((n, a if dice.chance(75) else PLURAL))
        elif dice.chance(percent):
            out.append((n, a))
    return out


def _links(scene: SceneGraph, told: list[int], node: int) -> list[Triple]:
    """Relations that tie a node to those already told, either way round; in-column and *next to* before
    *left* and *right of*.
    """
    ties = [r for r in scene.relations if (r[0] == node and r[2] in told) or (r[2] == node and r[0] in told)]
    return [r for r in ties if r[1] not in _SIDEWAYS] or ties


def _joined(dice: Dice, scene: SceneGraph, nodes: list[int]) -> list[Triple]:
    """Relations that join the nodes, each new one to an earlier one."""
    chosen: list[Triple] = []
    for i, node in enumerate(nodes[1:], 1):
        near = [t for t in _links(scene, nodes[:i], node) if t[1] not in _SIDEWAYS] or _links(
            scene, nodes[i - 1 : i], node
        )
        chosen.append(dice.pick(near or _links(scene, nodes[:i], node)))
    return chosen


def _stage(scene: SceneGraph, node: int) -> Triple:
    """The relation of a node to the backdrop."""
    where = scene.objects[-1]
    return node, BACKDROPS[where][0], things_of(scene)


def _named(dice: Dice, scene: SceneGraph, nodes: list[int], kind_percent: int) -> dict[int, str]:
    """Names for nodes: the noun, or with this chance one of its kinds; no name twice, so that "the animal" is
    one of them.
    """
    names: dict[int, str] = {}
    for node in nodes:
        noun = scene.objects[node]
        kind = dice.pick(NOUNS[noun].kinds) if noun in NOUNS and dice.chance(kind_percent) else noun
        names[node] = noun if kind in names.values() else kind
    return names


def _speakable(names: dict[int, str], attributes: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The attributes without counts of what English does not count: two foods, two furnitures."""
    uncounted = {*COUNTS.values(), PLURAL}
    return [(n, a) for n, a in attributes if not (names[n] in MASS and a in uncounted)]


def _generic(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 1: one thing, mostly by its kind."""
    return part(scene, _named(dice, scene, [dice.below(things_of(scene))], 60), [], [])


def _attributed(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 2: one thing with one attribute."""
    node = dice.below(things_of(scene))
    look = _telling(dice, scene, node)
    return part(scene, _named(dice, scene, [node], 0 if look[1] in COUNTS.values() else 20), [look], [])


def _related(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 3: two things and how they stand to each other, or one thing on its backdrop."""
    nodes = dice.shuffled(range(things_of(scene)))[:2]
    if len(nodes) == 1 or dice.chance(20):
        names = _named(dice, scene, [nodes[0], things_of(scene)], 15)
        return part(
            scene, names, _speakable(names, [_telling(dice, scene, nodes[0])]), [_stage(scene, nodes[0])]
        )
    names = _named(dice, scene, nodes, 15)
    told = [a for node in nodes if dice.chance(55) for a in [_telling(dice, scene, node)]]
    return part(scene, names, _speakable(names, told), _joined(dice, scene, nodes))


def _detailed(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 4: up to three things with some of their looks."""
    nodes = dice.shuffled(range(things_of(scene)))[:3]
    staged = len(nodes) == 1 or dice.chance(55)
    names = _named(dice, scene, [*nodes, things_of(scene)] if staged else nodes, 5)
    told = _speakable(names, [a for node in nodes for a in _some(dice, scene, node, 55)])
    return part(
        scene, names, told, [*_joined(dice, scene, nodes), *([_stage(scene, nodes[0])] if staged else [])]
    )


def _complete(dice: Dice, scene: SceneGraph) -> SceneGraph:
    """Level 5: everything."""
    nodes = dice.shuffled(range(things_of(scene)))
    told = [a for node in nodes for a in looks(scene, node, plain=dice.chance(15))]
    names = _named(dice, scene, [*nodes, things_of(scene)], 0)
    return part(scene, names, told, [*_joined(dice, scene, nodes), _stage(scene, nodes[0])])


_TELL = (_generic, _attributed, _related, _detailed, _complete)


def statement(dice: Dice, scene: SceneGraph, level: int) -> SceneGraph:
    """What a caption of this level says of a scene.

    Args:
        dice: the choices.
        scene: the whole truth, its last node the backdrop.
        level: 1 (generic) to 5 (specific).

    Returns:
        A graph that is true of the scene.
    """
    return _TELL[level - 1](dice, scene)


def chain(dice: Dice, scene: SceneGraph) -> list[SceneGraph]:
    """Four statements about a scene, each of which follows from the next: a kind, a noun with a look, a
    relation, everything.
    """
    nodes = dice.shuffled(range(things_of(scene)))
    first = nodes[0]
    look = dice.pick([a for a in looks(scene, first) if a[1] in COLOURS or a[1] in PATTERNS])
    kind = {first: NOUNS[scene.objects[first]].kinds[-1]}
    ties = _joined(dice, scene, nodes)
    staged = _stage(scene, first)
    pair = [first, nodes[1] if len(nodes) > 1 else things_of(scene)]
    nouns = _named(dice, scene, [*nodes, things_of(scene)], 0)
    everything = part(scene, nouns, [a for node in nodes for a in looks(scene, node)], [*ties, staged])
    return [
        part(scene, kind, [], []),
        part(scene, {first: nouns[first]}, [look], []),
        part(scene, {n: nouns[n] for n in pair}, [look], [ties[0] if ties else staged]),
        everything,
    ]
