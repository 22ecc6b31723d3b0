"""Scenes: which things stand where, and everything that is true of them.

A scene is one to four things on a backdrop, in one to three columns. A column holds one thing, or two that
belong together (one on, in, in front of, or above the other). Truth is never a matter of taste, because
layouts keep away from doubtful cases: columns never overlap in x; a gap between neighbours is either at most
``NEAR`` or at least ``FAR``. Then: *left of* = in an earlier column; *next to* = in neighbouring columns and
the same row, gap at most ``NEAR``; *above* = over it in its own column with air between (so a thing *on*
another is not *above* it); *in front of* = lower in the picture and covering part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from workbench.data._scene_dice import Dice
from workbench.data._scene_things import PAIRS, Thing, single
from workbench.data._scene_vocabulary import BACKDROPS, CONVERSE, COUNTS
from workbench.records import SceneGraph

NEAR, FAR, TOUCH, EDGE = 45, 120, 25, 25
VARIANTS = 4


@dataclass(frozen=True)
class Scene:
    """A backdrop (with the number of its drawn variant) and the things before it; ``links`` are the relations
    inside columns.
    """

    backdrop: str
    variant: int
    things: tuple[Thing, ...]
    links: tuple[tuple[int, str, int], ...]


_SHAPES: dict[int, tuple[tuple[int, ...], ...]] = {
    1: ((1,),), 2: ((2,), (1, 1)), 3: ((2, 1), (1, 2), (1, 1, 1)), 4: ((2, 2), (2, 1, 1), (1, 2, 1), (1, 1, 2)),
}  # fmt: skip


def _columns(dice: Dice) -> list[tuple[str, list[Thing]]]:
    """Random columns, each with the relation of its two things ("" where it has one); empty where one of them
    does not fit.
    """
    shape = dice.pick(_SHAPES[dice.pick((1, 2, 2, 2, 2, 3, 3, 3, 4, 4))])
    columns = []
    for size in shape:
        relation = dice.pick(tuple(PAIRS)) if size == 2 else ""
        things = PAIRS[relation](dice) if relation else single(dice)
        if not things:
            return []
        columns.append((relation, things))
    nouns = [thing.noun for _, things in columns for thing in things]
    return columns if len(set(nouns)) == len(nouns) else []


def _widths(columns: list[tuple[str, list[Thing]]]) -> list[tuple[int, int]]:
    return [(min(t.box[0] for t in things), max(t.box[2] for t in things)) for _, things in columns]


def _gaps(dice: Dice, spans: list[tuple[int, int]]) -> list[int]:
    """Room before each column; empty where the columns are too wide."""
    room = 1000 - 2 * EDGE - sum(b - a for a, b in spans)
    gaps = []
    for left in range(len(spans) - 1, 0, -1):
        spare = room - TOUCH * (left - 1)
        if spare < TOUCH:
            return []
        far = spare >= FAR + 10 and dice.chance(50)
        gaps.append(dice.between(FAR, min(spare, 300)) if far else dice.between(TOUCH, min(spare, NEAR)))
        room -= gaps[-1]
    return [EDGE + dice.between(0, room), *gaps] if room >= 0 else []


def _attempt(dice: Dice) -> Scene | None:
    columns = _columns(dice)
    spans = _widths(columns)
    gaps = _gaps(dice, spans) if columns else []
    if not gaps:
        return None
    things: list[Thing] = []
    links: list[tuple[int, str, int]] = []
    x = 0
    for number, ((relation, members), (start, end), gap) in enumerate(zip(columns, spans, gaps, strict=True)):
        x += gap
        if relation:
            links.append((len(things), relation, len(things) + 1))
        for t in members:
            box = (t.box[0] - start + x, t.box[1], t.box[2] - start + x, t.box[3])
            things.append(replace(t, box=box, column=number))
        x += end - start
    return Scene(dice.pick(tuple(BACKDROPS)), dice.below(VARIANTS), tuple(things), tuple(links))


def make_scene(dice: Dice) -> Scene:
    """One random scene; layouts with too little room or with a doubtful relation are thrown again."""
    while True:
        scene = _attempt(dice)
        if scene is not None and not _doubtful(scene):
            return scene


def _gap(a: Thing, b: Thing) -> int:
    """Room between two things side by side: in x, and in y where they fly at heights that do not meet."""
    apart = max(a.box[1], b.box[1]) - min(a.box[3], b.box[3])
    return max(b.box[0] - a.box[2], apart + FAR // 2 if a.row == "air" else 0)


def _pairs(scene: Scene) -> list[tuple[int, int, int]]:
    """Pairs of things in neighbouring columns and the same row, with the gap between them."""
    return [
        (i, j, _gap(a, b))
        for i, a in enumerate(scene.things)
        for j, b in enumerate(scene.things)
        if b.column == a.column + 1 and a.row == b.row and a.row in ("ground", "front", "air")
    ]


def _doubtful(scene: Scene) -> bool:
    """Whether a gap is neither near nor far."""
    return any(NEAR < gap < FAR for _, _, gap in _pairs(scene))


def relations(scene: Scene) -> tuple[tuple[int, str, int], ...]:
    """Every relation that holds between two things of a scene, converses included, sorted."""
    things = scene.things
    one_way = list(scene.links)
    one_way += [(i, "next to", j) for i, j, gap in _pairs(scene) if gap <= NEAR]
    one_way += [
        (i, "left of", j) for i, a in enumerate(things) for j, b in enumerate(things) if a.column < b.column
    ]
    both = one_way + [(o, CONVERSE[r], s) for s, r, o in one_way if r in CONVERSE]
    return tuple(sorted(set(both)))


def graph_of(scene: Scene) -> SceneGraph:
    """The whole truth about a scene as a graph; its last node is the backdrop, which every other node is in,
    on or at.
    """
    backdrop, objects = len(scene.things), tuple(t.noun for t in scene.things)
    attributes = [
        (i, a)
        for i, t in enumerate(scene.things)
        for a in (t.size, t.pattern, t.colour, COUNTS.get(t.count))
        if a
    ]
    where = BACKDROPS[scene.backdrop][0]
    everywhere = tuple((i, where, backdrop) for i in range(backdrop))
    return SceneGraph((*objects, scene.backdrop), tuple(attributes), relations(scene) + everywhere)
