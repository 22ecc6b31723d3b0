"""Where the parts of a scene graph stand in a drawing, in pixels: the same graph always gives the same
drawing.

Objects stand in a row in their order, attributes above their object, relations below as brackets from subject
to object. Nothing overlaps, however long the words are: objects move apart for their attributes and for the
relations between them.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import Literal

from workbench.records import SceneGraph

Kind = Literal["object", "attribute", "relation"]
Point = tuple[float, float]
# pixels: a letter, the room at both ends of a box, a box, between boxes, between rows, between ends of
# relations at an object
LETTER, ENDS, BOX, GAP, ROW, PORT = 7.3, 22.0, 26.0, 28.0, 34.0, 16.0
LONGEST, MANY = 22, 8


@dataclass(frozen=True)
class Box:
    """One word of the graph.

    Args:
        kind: what it is.
        label: as in the graph.
        shown: the label, cut where it is too long.
        centre: where it stands.
        width: of the box.
        about: what it belongs to, for the hover text.
    """

    kind: Kind
    label: str
    shown: str
    centre: Point
    width: float
    about: str


@dataclass(frozen=True)
class Drawing:
    """Boxes and lines of a graph.

    Args:
        boxes: all boxes; the objects stand at height 0.
        lines: the corners of each line.
        arrows: points at which a relation arrives at its object.
        left, right, bottom, top: the edges.
        left_out: how many objects, attributes and relations are not drawn.
    """

    boxes: tuple[Box, ...]
    lines: tuple[tuple[Point, ...], ...]
    arrows: tuple[Point, ...]
    left: float
    right: float
    bottom: float
    top: float
    left_out: int


def letters(text: str) -> int:
    """Width of a text in letters; signs of East Asian scripts and emoji count twice.

    >>> letters("dog"), letters("狗")
    (3, 2)
    """
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


def cut(text: str, longest: int = LONGEST) -> str:
    """The text, or its beginning with a mark where it is longer.

    >>> cut("dog"), cut("a very very long name", 8)
    ('dog', 'a very …')
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 2].rstrip() + " …"


def width_of(text: str) -> float:
    """Width of the box around a text."""
    return LETTER * letters(cut(text)) + ENDS


def arrange(graph: SceneGraph, limit: int = 12) -> Drawing:
    """Place a graph.

    Args:
        graph: objects, attributes, relations.
        limit: the first so many objects are drawn, and twice as many of the relations between them.
    """
    names = graph.objects[:limit]
    looks = [[look for node, look in graph.attributes if node == i] for i in range(len(names))]
    ties = [tie for tie in graph.relations if tie[0] < limit and tie[2] < limit][: 2 * limit]
    depths = _depths(ties)
    widths = [max(width_of(name), PORT * (_ports(ties, i) + 1)) for i, name in enumerate(names)]
    places = _places(widths, looks, ties)
    boxes = [
        Box("object", name, cut(name), (x, 0.0), w, ", ".join(of))
        for name, x, w, of in zip(names, places, widths, looks, strict=True)
    ]
    boxes += [
        box for name, x, of in zip(names, places, looks, strict=True) for box in _above(name, of[:MANY], x)
    ]
    lines: list[tuple[Point, ...]] = [
        ((x, 0.0), (x, ROW * min(len(of), MANY))) for x, of in zip(places, looks, strict=True) if of
    ]
    ends = _ends(ties, depths, places)
    arrows = []
    for (s, label, o), depth, (start, end) in zip(ties, depths, ends, strict=True):
        y = -ROW * (depth + 1) - 12
        lines.append(((start, -BOX / 2), (start, y), (end, y), (end, -BOX / 2 - 8)))
        arrows.append((end, -BOX / 2 - 6))
        boxes.append(
            Box(
                "relation",
                label,
                cut(label),
                ((start + end) / 2, y),
                width_of(label),
                f"{names[s]} → {names[o]}",
            )
        )
    sides = [(box.centre[0] - box.width / 2, box.centre[0] + box.width / 2) for box in boxes] or [(0.0, 0.0)]
    heights = [box.centre[1] for box in boxes] or [0.0]
    all_parts = len(graph.objects) + len(graph.attributes) + len(graph.relations)
    edges = (
        min(left for left, _ in sides),
        max(right for _, right in sides),
        min(heights) - BOX / 2,
        max(heights) + BOX / 2,
    )
    return Drawing(tuple(boxes), tuple(lines), tuple(arrows), *edges, all_parts - len(boxes))


def _above(name: str, looks: list[str], x: float) -> list[Box]:
    """What is said of an object, upwards."""
    return [
        Box("attribute", look, cut(look), (x, ROW * i), width_of(look), f"of {name}")
        for i, look in enumerate(looks, 1)
    ]


def _ports(ties: list[tuple[int, str, int]], i: int) -> int:
    """Ends of relations at an object."""
    return sum((s == i) + (o == i) for s, _, o in ties)


def _places(widths: list[float], looks: list[list[str]], ties: list[tuple[int, str, int]]) -> list[float]:
    """The middle of each object: no boxes touch, and every relation has room between its ends."""
    loops = [[width_of(label) for s, label, o in ties if s == o == i] for i in range(len(widths))]
    rooms = [max(w, *map(width_of, looks[i][:MANY]), *loops[i], 0.0) for i, w in enumerate(widths)]
    places: list[float] = []
    for i, room in enumerate(rooms):
        least = [places[i - 1] + (rooms[i - 1] + room) / 2 + GAP] if i else [room / 2]
        for s, label, o in ties:
            first = min(s, o)
            if first < i == max(s, o):
                ports = PORT * (_ports(ties, first) + _ports(ties, i)) / 2
                least.append(places[first] + width_of(label) + ports)
        places.append(max(least))
    return places


def _depths(ties: list[tuple[int, str, int]]) -> list[int]:
    """The row below the objects in which each relation runs; short ones first, so that no bracket cuts one
    inside it.
    """
    # a relation of a thing with itself takes a little room on both sides of it
    spans = [(min(s, o) - 0.4 * (s == o), max(s, o) + 0.4 * (s == o)) for s, _, o in ties]
    depths: dict[int, int] = {}
    for i in sorted(range(len(ties)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        taken = {depths[j] for j in depths if spans[i][0] < spans[j][1] and spans[j][0] < spans[i][1]}
        depths[i] = next(depth for depth in range(len(ties)) if depth not in taken)
    return [depths[i] for i in range(len(ties))]


def _ends(
    ties: list[tuple[int, str, int]], depths: list[int], places: list[float]
) -> list[tuple[float, float]]:
    """Where each relation leaves its subject and arrives at its object, side by side along the bottom of the
    boxes.

    Brackets to the left end at the left, the deepest innermost; so no line cuts another one of the same
    object.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in places]
    for i, (s, _, o) in enumerate(ties):
        for here, there, which in ((s, o, 0), (o, s, 1)):
            side = (there > here) - (there < here)
            at[here].append((side, -side * depths[i], i, which))
    x: dict[tuple[int, int], float] = {}
    for middle, several in zip(places, at, strict=True):
        for number, (_, _, i, which) in enumerate(sorted(several)):
            x[i, which] = middle + PORT * (number - (len(several) - 1) / 2)
    return [(x[i, 0], x[i, 1]) for i in range(len(ties))]
