"""Scenes: which things stand where, and everything that is true of them.

A scene is one to four things on a backdrop, in one to three columns. A column is one thing alone, or two that
belong together (one on, in, in front of, or above the other). Coordinates are integers in thousandths of the
image side, y down. Truth is never a matter of taste, because layouts keep away from doubtful cases: columns
never overlap in x; a gap between neighbours is either at most ``NEAR`` or at least ``FAR``. Then: *left of* =
in an earlier column; *next to* = in neighbouring columns and the same row, gap at most ``NEAR``; *above* =
over it in its own column with air between (so a thing *on* another is not *above* it); *in front of* = lower
in the image and covering part of it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product

from scene_world.dice import Dice
from scene_world.vocabulary import BACKDROPS, COLOURS, CONVERSE, COUNTS, NOUNS, PATTERNS, SIZES
from workbench.records import SceneGraph

SIDE = {("small", False): 205, ("large", False): 345, ("small", True): 180, ("large", True): 285}
# the nouns that may be in a place, as often as their entry says


def _nouns_of_place(place: str) -> tuple[str, ...]:
    """Return the nouns of things that may be in a place, a noun as often as it names the place."""
    nouns: list[str] = []
    for name, noun in NOUNS.items():
        nouns += [name] * noun.places.count(place)
    return tuple(nouns)


_WHO = {place: _nouns_of_place(place) for place in ("ground", "air", "top", "inside")}


@dataclass(frozen=True)
class Thing:
    """One node of a scene: a noun with its looks, its place, and the box that it fills (a group fills one
    box).
    """

    noun: str
    colour: str
    pattern: str
    size: str
    count: int
    row: str
    box: tuple[int, int, int, int] = (0, 0, 0, 0)
    column: int = 0
    flipped: bool = False

    def item(self) -> tuple[int, int]:
        """Return the width and height of one item of the group, in thousandths."""
        side, width = SIDE[self.size, self.count > 1], NOUNS[self.noun].width
        return (side, side * 100 // width) if width >= 100 else (side * width // 100, side)

    def offsets(self) -> tuple[tuple[int, int], ...]:
        """Return where the items of the group lie in its box, back to front: two or three side by side, or a
        third behind two.
        """
        w, h = self.item()
        if self.count == 3 and w >= h * 4 // 5:
            return ((w // 2, 0), (0, h * 55 // 100), (w, h * 55 // 100))
        return tuple((k * w * 104 // 100, 0) for k in range(self.count))

    def extent(self) -> tuple[int, int]:
        """Return the width and height of the whole group, in thousandths."""
        w, h = self.item()
        return max(x for x, _ in self.offsets()) + w, max(y for _, y in self.offsets()) + h

    def move_to(self, x: int, bottom: int) -> "Thing":
        """Return the same thing with its left edge and its bottom in these places."""
        w, h = self.extent()
        return replace(self, box=(x, bottom - h, x + w, bottom))


def _random_thing(
    dice: Dice, names: tuple[str, ...], row: str, sizes: tuple[str, ...], groups: bool
) -> Thing:
    """Return a thing with random looks."""
    count = dice.pick((1, 1, 1, 2, 3)) if groups else 1
    looks = dice.pick(tuple(COLOURS)), dice.pick(("plain", *PATTERNS))
    return Thing(dice.pick(names), *looks, dice.pick(sizes), count, row, flipped=dice.chance(50))


def single_column(dice: Dice) -> list[Thing]:
    """Return a column with one thing, on the ground or in the air."""
    row = dice.pick(("ground", "ground", "ground", "ground", "air"))
    thing = _random_thing(dice, _WHO[row], row, tuple(SIZES), True)
    height = thing.extent()[1]
    bottoms = (870, 910) if row == "ground" else (height + 40, max(height + 60, 480))
    return [thing.move_to(0, dice.between(*bottoms))]


def _perched_column(dice: Dice, surface: str, row: str, sunk: int) -> list[Thing]:
    """Return a small thing on or in a large one, ``sunk`` percent of its height below the large one's
    ``surface`` (``"carries"`` or ``"holds"``); empty where it does not fit.
    """
    hosts = tuple(name for name, noun in NOUNS.items() if getattr(noun, surface))
    host = _random_thing(dice, hosts, "ground", ("large",), False).move_to(0, dice.between(870, 910))
    guest = _random_thing(dice, _WHO[row], row, ("small",), False)
    height, left, right = getattr(NOUNS[host.noun], surface)
    if host.flipped:
        left, right = 100 - right, 100 - left
    x0, y0, x1, y1 = host.box
    left, right = (x0 + end * (x1 - x0) // 100 for end in (left, right))
    w, h = guest.extent()
    slack, bottom = right - left - w, y0 + height * (y1 - y0) // 100 + sunk * h // 100
    if sunk and (slack < 0 or bottom > y1):
        return []
    return [
        guest.move_to(left + dice.between(0, slack) if slack > 0 else (left + right - w) // 2, bottom),
        host,
    ]


def _front_column(dice: Dice) -> list[Thing]:
    """Return a small thing in front of a large one: it covers part of it, and at most two fifths."""
    back = _random_thing(dice, _WHO["ground"], "ground", ("large",), False).move_to(0, dice.between(850, 880))
    front = _random_thing(dice, _WHO["ground"], "front", ("small",), True)
    w, (x0, y0, x1, y1) = front.extent()[0], back.box
    x = dice.between(x0 - w // 3, x1 - w + w // 3) if x1 - x0 > w // 3 else x0
    front = front.move_to(x, y1 + dice.between(60, 85))
    wide, high = min(x1, x + w) - max(x0, x), y1 - max(y0, front.box[1])
    seen = wide * 2 >= min(w, x1 - x0) and wide * high * 5 <= (x1 - x0) * (y1 - y0) * 2
    return [front, back] if seen else []


def _above_column(dice: Dice) -> list[Thing]:
    """Return a thing in the air over one on the ground, with air between."""
    low = _random_thing(dice, _WHO["ground"], "ground", tuple(SIZES), True).move_to(0, dice.between(870, 910))
    high = _random_thing(dice, _WHO["air"], "air", tuple(SIZES), True)
    w, h = high.extent()
    top, shift = low.box[1] - 60, low.box[2] // 6
    if h + 30 > top:
        return []
    x = low.box[2] // 2 - w // 2 + dice.between(-shift, shift)
    return [high.move_to(x, dice.between(h + 30, min(top, max(h + 30, 500)))), low]


PAIRS: dict[str, Callable[[Dice], list[Thing]]] = {
    "on": partial(_perched_column, surface="carries", row="top", sunk=0),
    "in": partial(_perched_column, surface="holds", row="inside", sunk=30),
    "in front of": _front_column,
    "above": _above_column,
}


NEAR, FAR = 45, 120
TOUCH, EDGE = 25, 25
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
    1: ((1,),),
    2: ((2,), (1, 1)),
    3: ((2, 1), (1, 2), (1, 1, 1)),
    4: ((2, 2), (2, 1, 1), (1, 2, 1), (1, 1, 2)),
}


def _columns(dice: Dice) -> list[tuple[str, list[Thing]]]:
    """Return random columns, each with the relation of its two things ("" where it has one); empty where one
    of them does not fit.
    """
    shape = dice.pick(_SHAPES[dice.pick((1, 2, 2, 2, 2, 3, 3, 3, 4, 4))])
    columns = []
    nouns: list[str] = []
    for size in shape:
        relation = dice.pick(tuple(PAIRS)) if size == 2 else ""
        if not (things := PAIRS[relation](dice) if relation else single_column(dice)):
            return []
        columns.append((relation, things))
        nouns += [thing.noun for thing in things]
    return columns if len(set(nouns)) == len(nouns) else []


def _gaps(dice: Dice, spans: list[tuple[int, int]]) -> list[int]:
    """Return room before each column; empty where the columns are too wide."""
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


def _try_scene(dice: Dice) -> Scene | None:
    columns = _columns(dice)
    spans = [_span(things) for _, things in columns]
    gaps = _gaps(dice, spans) if columns else []
    if not gaps:
        return None
    things, links = list[Thing](), list[tuple[int, str, int]]()
    end = 0
    for number, ((relation, members), span, gap) in enumerate(zip(columns, spans, gaps, strict=True)):
        links += [(len(things), relation, len(things) + 1)] if relation else []
        shift = end + gap - span[0]
        for thing in members:
            left, top, right, bottom = thing.box
            things.append(replace(thing, box=(left + shift, top, right + shift, bottom), column=number))
        end = span[1] + shift
    return Scene(dice.pick(tuple(BACKDROPS)), dice.below(VARIANTS), tuple(things), tuple(links))


def _span(things: Iterable[Thing]) -> tuple[int, int]:
    """Return the left and the right edge of things together."""
    lefts, _, rights, _ = zip(*(thing.box for thing in things), strict=True)
    return min(lefts), max(rights)


def make_scene(dice: Dice) -> Scene:
    """Return one random scene; layouts with too little room or with a doubtful relation are thrown again."""
    while True:
        scene = _try_scene(dice)
        if scene is not None and not any(NEAR < gap < FAR for _, _, gap in _neighbour_pairs(scene)):
            return scene


def _gap(a: Thing, b: Thing) -> int:
    """Return room between two things side by side: in x, and in y where they fly at heights that do not
    meet.
    """
    apart = max(a.box[1], b.box[1]) - min(a.box[3], b.box[3])
    return max(b.box[0] - a.box[2], apart + FAR // 2 if a.row == "air" else 0)


def _neighbour_pairs(scene: Scene) -> list[tuple[int, int, int]]:
    """Return pairs of things in neighbouring columns and the same row, with the gap between them."""
    pairs = []
    for (i, a), (j, b) in product(enumerate(scene.things), repeat=2):
        if b.column == a.column + 1 and a.row == b.row and a.row in ("ground", "front", "air"):
            pairs.append((i, j, _gap(a, b)))
    return pairs


def relations(scene: Scene) -> tuple[tuple[int, str, int], ...]:
    """Return every relation that holds between two things of a scene, converses included, sorted."""
    one_way = set(scene.links)
    one_way |= {(i, "next to", j) for i, j, gap in _neighbour_pairs(scene) if gap <= NEAR}
    columns = [thing.column for thing in scene.things]
    for i, j in permutations(range(len(columns)), 2):
        if columns[i] < columns[j]:
            one_way.add((i, "left of", j))
    converse = {(o, CONVERSE[r], s) for s, r, o in one_way if r in CONVERSE}
    return tuple(sorted(one_way | converse))


def graph_of(scene: Scene) -> SceneGraph:
    """Return the whole truth about a scene as a graph; its last node is the backdrop, which every other node
    is in, on or at.
    """
    backdrop, where = len(scene.things), BACKDROPS[scene.backdrop][0]
    looks: list[tuple[int, str]] = []
    for i, thing in enumerate(scene.things):
        words = (thing.size, thing.pattern, thing.colour, COUNTS.get(thing.count))
        looks += [(i, word) for word in words if word]
    nouns = (*(thing.noun for thing in scene.things), scene.backdrop)
    places = ((i, where, backdrop) for i in range(backdrop))
    return SceneGraph(nouns, tuple(looks), (*relations(scene), *places))
