"""Where the words of a scene graph stand: objects in a row, attributes above, relations below as brackets.

Nothing overlaps, however long the words are: objects move apart for their attributes and for the relations
between them. One unit is one pixel.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.records import SceneGraph

Kind = Literal["object", "attribute", "relation"]
Point = tuple[float, float]
# subject, label, object
Edge = tuple[int, str, int]
# pixels: a letter, the room at both ends of a box, a box, between boxes, between rows, between ends of
# relations at an object
LETTER = 7.3
ENDS = 22.0
BOX = 26.0
GAP = 28.0
ROW = 34.0
PORT = 16.0
# letters of a word, and attributes of an object, that are drawn
LONGEST = 22
MANY = 8


@dataclass(frozen=True)
class Box:
    """One word of the graph: where it stands, and what it belongs to, for the hover text."""

    kind: Kind
    label: str
    centre: Point
    width: float
    about: str


@dataclass(frozen=True)
class Drawing:
    """Boxes and lines of a graph.

    Args:
        boxes: all boxes; the objects stand at height 0.
        lines: an SVG path each.
        arrows: points at which a relation arrives at its object.
        left, right, bottom, top: the edges.
        left_out: how many objects, attributes and relations are not drawn.
    """

    boxes: tuple[Box, ...]
    lines: tuple[str, ...]
    arrows: tuple[Point, ...]
    left: float
    right: float
    bottom: float
    top: float
    left_out: int


def letter_width(text: str) -> int:
    """Return the width of a text in letters; signs of East Asian scripts and emoji count twice.

    >>> letter_width("dog"), letter_width("狗")
    (3, 2)
    """
    wide = sum(unicodedata.east_asian_width(sign) in "WF" for sign in text)
    return len(text) + wide


def shorten(text: str, longest: int = LONGEST) -> str:
    """Return the text, or its beginning with a mark where it is longer.

    >>> shorten("dog"), shorten("a very very long name", 8)
    ('dog', 'a very …')
    """
    flat = " ".join(text.split())
    return flat if len(flat) <= longest else flat[: longest - 2].rstrip() + " …"


def box_width(text: str) -> float:
    """Return the width of the box around a text."""
    return LETTER * letter_width(shorten(text)) + ENDS


def place_graph(graph: SceneGraph, limit: int = 12) -> Drawing:
    """Place a graph: the first ``limit`` objects, and twice as many of the relations between them."""
    names = graph.objects[:limit]
    attributes: list[list[str]] = [[] for _ in names]
    for node, word in graph.attributes:
        if node < limit:
            attributes[node].append(word)
    edges = [tie for tie in graph.relations if tie[0] < limit and tie[2] < limit][: 2 * limit]
    widths = [max(box_width(name), PORT * (_count_ports(edges, i) + 1)) for i, name in enumerate(names)]
    depths = _relation_depths(edges)
    ports = _port_offsets(edges, depths, len(names))
    places = _object_middles(widths, attributes, edges, ports)
    boxes: list[Box] = []
    paths: list[str] = []
    arrows: list[Point] = []
    for name, x, width, words in zip(names, places, widths, attributes, strict=True):
        boxes.append(Box("object", name, (x, 0.0), width, ", ".join(words)))
        for i, word in enumerate(words[:MANY], 1):
            boxes.append(Box("attribute", word, (x, ROW * i), box_width(word), f"of {name}"))
        paths.append(f"M {x},0 V {ROW * len(words[:MANY])}")
    for (s, label, o), depth, (leaves, arrives) in zip(edges, depths, ports, strict=True):
        start = places[s] + leaves
        end = places[o] + arrives
        y = -ROW * (depth + 1) - 12
        paths.append(_bracket_path(start, end, y))
        arrows.append((end, -BOX / 2 - 6))
        boxes.append(
            Box("relation", label, ((start + end) / 2, y), box_width(label), f"{names[s]} → {names[o]}")
        )
    parts = len(graph.objects) + len(graph.attributes) + len(graph.relations)
    return Drawing(tuple(boxes), tuple(paths), tuple(arrows), *_bounding_box(boxes), parts - len(boxes))


def _bounding_box(boxes: Sequence[Box]) -> tuple[float, float, float, float]:
    """Return left, right, bottom and top of all boxes."""
    if not boxes:
        return 0.0, 0.0, -BOX / 2, BOX / 2
    heights = [box.centre[1] for box in boxes]
    left = min(box.centre[0] - box.width / 2 for box in boxes)
    right = max(box.centre[0] + box.width / 2 for box in boxes)
    return left, right, min(heights) - BOX / 2, max(heights) + BOX / 2


def _count_ports(edges: list[Edge], i: int) -> int:
    """Return ends of relations at an object."""
    return sum((s == i) + (o == i) for s, _, o in edges)


def _object_middles(
    widths: list[float], attributes: list[list[str]], edges: list[Edge], ports: list[Point]
) -> list[float]:
    """Return the middle of each object: no boxes touch, and every relation has room between its ends."""
    rooms = [max(width, *map(box_width, attributes[i][:MANY]), 0.0) for i, width in enumerate(widths)]
    for (s, label, o), (leaves, arrives) in zip(edges, ports, strict=True):
        # a relation of a thing to itself hangs below it, beside its middle where there are several
        if s == o:
            rooms[s] = max(rooms[s], box_width(label) + abs(leaves + arrives))
    places: list[float] = []
    for i, room in enumerate(rooms):
        least = [places[i - 1] + (rooms[i - 1] + room) / 2 + GAP] if i else [room / 2]
        for s, label, o in edges:
            if (first := min(s, o)) < i == max(s, o):
                ends = PORT * (_count_ports(edges, first) + _count_ports(edges, i)) / 2
                least.append(places[first] + box_width(label) + ends)
        places.append(max(least))
    return places


def _relation_depths(edges: list[Edge]) -> list[int]:
    """Return the row below the objects in which each relation runs; short ones first, so that no bracket cuts
    one inside it.
    """
    # a relation of a thing with itself takes a little room on both sides of it
    spans = [(min(s, o) - 0.4 * (s == o), max(s, o) + 0.4 * (s == o)) for s, _, o in edges]
    depths: dict[int, int] = {}
    for i in sorted(range(len(edges)), key=lambda i: (spans[i][1] - spans[i][0], i)):
        taken = {depths[j] for j in depths if spans[i][0] < spans[j][1] and spans[j][0] < spans[i][1]}
        depths[i] = next(depth for depth in range(len(edges)) if depth not in taken)
    return [depths[i] for i in range(len(edges))]


def _port_offsets(edges: list[Edge], depths: list[int], objects: int) -> list[Point]:
    """Return where each relation leaves its subject and arrives at its object, counted from the middles of
    both.

    Ends stand side by side. Brackets to the left end at the left, the deepest innermost; so no line cuts
    another one of the same object.
    """
    at: list[list[tuple[int, int, int, int]]] = [[] for _ in range(objects)]
    for i, (s, _, o) in enumerate(edges):
        for here, there, which in ((s, o, 0), (o, s, 1)):
            side = (there > here) - (there < here)
            at[here].append((side, -side * depths[i], i, which))
    offsets: dict[tuple[int, int], float] = {}
    for ports in at:
        for number, (_, _, i, which) in enumerate(sorted(ports)):
            offsets[i, which] = PORT * (number - (len(ports) - 1) / 2)
    return [(offsets[i, 0], offsets[i, 1]) for i in range(len(edges))]


def _bracket_path(start: float, end: float, y: float) -> str:
    """Return the way from the subject's bottom down to a height and up to the object's, with rounded
    corners.
    """
    bend = float(np.copysign(min(7, abs(end - start) / 2), end - start))
    down = f"M {start},{-BOX / 2} V {y + 7} Q {start},{y} {start + bend},{y}"
    up = f"Q {end},{y} {end},{y + 7} V {-BOX / 2 - 8}"
    return f"{down} H {end - bend} {up}"
