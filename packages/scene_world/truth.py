"""The model checker: of which scenes is a caption true, and how much of it.

A caption is true of a scene if its nodes can be given *different* nodes of the scene such that every
statement holds. A statement is an object (the thing may be called so), an attribute of an object, or a
relation of two; an attribute or a relation counts as held only where its objects do. "two" asks for a group
of exactly two, a plural without a number for two or more, the singular for nothing. The graded truth is the
share of the statements that hold, at the best assignment; it is 1 exactly where the caption is true.

All assignments of a caption are tried on all scenes at once: scenes are columns of integer arrays, attributes
and relations bits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from scene_world.vocabulary import (
    ATTRIBUTES,
    BACKDROPS,
    COUNTS,
    KINDS,
    NOUNS,
    PLURAL,
    RELATIONS,
    is_a,
)
from workbench.records import Judgements, LazyJudgements, Rows, SceneGraph, require

# shares of so many pairs are kept from one kind of judgements to the other, 64 MB
FEW_PAIRS = 2**24
Shares = Callable[[], Iterable[NDArray[np.float32]]]
_NAMES = (*NOUNS, *BACKDROPS)
_NUMBER = {name: i for i, name in enumerate(_NAMES)}
WORDS = (*_NAMES, *KINDS)


def _names_matching(word: str) -> NDArray[np.bool_]:
    """Return which names are a word, and no name, which is none."""
    return np.array([*(is_a(name, word) for name in _NAMES), False])


_IS_A = {word: _names_matching(word) for word in WORDS}
_BIT = {a: np.uint32(1 << i) for i, a in enumerate(ATTRIBUTES)}
_LINK = {r: np.uint16(1 << i) for i, r in enumerate(RELATIONS)}
MOST = 7


@dataclass(frozen=True)
class World:
    """Scene graphs as arrays, slots first.

    Args:
        noun: ``(S, I)`` number of the noun in each slot; an empty slot has the number past the last.
        looks: ``(S, I)`` attributes of each slot as bits.
        links: ``(S, S, I)`` relations from slot to slot as bits.
    """

    noun: NDArray[np.int64]
    looks: NDArray[np.uint32]
    links: NDArray[np.uint16]

    @staticmethod
    def from_graphs(graphs: Sequence[SceneGraph]) -> "World":
        """Return the arrays of these scenes, the backdrop in slot 0; words outside the vocabulary hold
        nowhere.
        """
        slots = max((len(g.objects) + 1 for g in graphs), default=1)
        noun = np.full((slots, len(graphs)), len(_NAMES))
        looks = np.zeros(noun.shape, dtype=np.uint32)
        links = np.zeros((slots, *noun.shape), dtype=np.uint16)
        for i, graph in enumerate(graphs):
            # the first backdrop has slot 0, everything else follows
            nodes = range(len(graph.objects))
            backdrop = next((n for n in nodes if graph.objects[n] in BACKDROPS), len(nodes))
            slot = [n + (n < backdrop) for n in nodes]
            slot[backdrop : backdrop + 1] = [0] * (backdrop < len(nodes))
            noun[slot, i] = [_NUMBER.get(name, len(_NAMES)) for name in graph.objects]
            for node, a in graph.attributes:
                looks[slot[node], i] |= _BIT.get(a, np.uint32(0))
            for s, r, o in graph.relations:
                links[slot[s], slot[o], i] |= _LINK.get(r, np.uint16(0))
        numbered = sum((looks & _BIT[count]) for count in COUNTS.values()) > 0
        return World(noun, looks | np.where(numbered, _BIT[PLURAL], np.uint32(0)), links)


@cache
def _assignments(fits: tuple[tuple[bool, ...], ...]) -> NDArray[np.int64]:
    """Return ``(nodes, A)``: the ways to give nodes different slots that they fit in some scene; -1 for a
    node left without one.
    """
    slots = max(len(fits), len(fits[0]))
    ways = set()
    for places in permutations(range(slots), len(fits)):
        way = [-1] * len(fits)
        for n, place in enumerate(places):
            if place < len(fits[n]) and fits[n][place]:
                way[n] = place
        ways.add(tuple(way))
    return np.array(sorted(ways), dtype=np.int64).T


def count_statements(graph: SceneGraph) -> int:
    """Return how many statements a caption makes: objects, distinct attributes of an object, distinct
    relations.
    """
    return len(graph.objects) + len(set(graph.attributes)) + len(set(graph.relations))


def count_satisfied(caption: SceneGraph, world: World) -> NDArray[np.uint8]:
    """Return how many of a caption's statements hold in each scene, at the best assignment of its nodes.

    Args:
        caption: up to seven objects.
        world: ``I`` scenes.

    Returns:
        ``(I,)`` counts.

    Raises:
        ValueError: the caption has no object, or more than seven.
    """
    nodes, (slots, scenes) = len(caption.objects), world.noun.shape
    require(
        1 <= nodes <= MOST,
        f"a caption graph has {nodes} objects, 1 to {MOST} can be checked; leave it out, or split it",
    )
    never = np.zeros(len(_NAMES) + 1, dtype=bool)
    fits = np.zeros((nodes, slots + 1, scenes), dtype=bool)
    for n, word in enumerate(caption.objects):
        fits[n, :slots] = _IS_A.get(word, never)[world.noun]
    anywhere = np.asarray(fits[:, :slots].any(axis=2))
    places = _assignments(tuple(tuple(node.tolist()) for node in anywhere))
    # a node without a place, -1, reads the last slot, which is empty
    total = np.zeros((places.shape[1], scenes), dtype=np.uint8)
    for n in range(nodes):
        value = fits[n].astype(np.uint8)
        for a in {a for m, a in caption.attributes if m == n}:
            value[:slots] += fits[n, :slots] & ((world.looks & _BIT.get(a, np.uint32(0))) > 0)
        total += value[places[n]]
    for s, r, o in set(caption.relations):
        holds = np.zeros((slots + 1, slots + 1, scenes), dtype=bool)
        holds[:slots, :slots] = (world.links & _LINK.get(r, np.uint16(0))) > 0
        total += holds[places[s], places[o]] & fits[s][places[s]] & fits[o][places[o]]
    return np.asarray(total.max(axis=0))


def satisfied_shares(
    captions: Sequence[SceneGraph], images: Sequence[SceneGraph]
) -> Iterator[NDArray[np.float32]]:
    """Yield for each caption the ``(I,)`` share of it that holds in each scene."""
    world = World.from_graphs(images)
    for caption in captions:
        yield count_satisfied(caption, world).astype(np.float32) / np.float32(count_statements(caption))


def exact_and_graded(
    captions: Sequence[SceneGraph], images: Sequence[SceneGraph]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Return whether each caption is true of each scene, and which share of it.

    Args:
        captions: ``T`` graphs of what captions state, e.g. ``Split.caption_graphs`` or an edited one.
        images: ``I`` whole graphs of scenes, e.g. ``Split.image_graphs``.

    Returns:
        binary: ``(I, T)`` bool.
        graded: ``(I, T)`` in [0, 1]; 1 exactly where ``binary``.

    Raises:
        ValueError: a caption has no object, or more than seven.
    """
    graded = (
        np.array([*satisfied_shares(captions, images)], dtype=np.float32)
        .reshape(len(captions), len(images))
        .T
    )
    return graded == 1, graded


_RULES = {
    "exact": "exact truth: everything that the caption states holds in the scene",
    "graded": "exact truth, graded: share of the caption's statements (objects, attributes, relations) "
    "that hold in the scene",
}


def _truth_tables(
    captions: Sequence[SceneGraph], images: Sequence[SceneGraph]
) -> dict[str, Callable[[], Judgements]]:
    """Return how ``"exact"`` and ``"graded"`` are made; shares of few pairs are computed once for both."""
    shape = len(images), len(captions)
    shares: Shares = partial(satisfied_shares, captions, images)
    if len(images) * len(captions) <= FEW_PAIRS:
        shares = cache(lambda: [*satisfied_shares(captions, images)])
    return {name: partial(_judgements_named, name, shares, shape) for name in _RULES}


def _judgements_named(name: str, shares: Shares, shape: tuple[int, int]) -> Judgements:
    """Return the judgements ``"exact"`` or ``"graded"`` of a split, from the shares of each caption."""
    rows, grades = list[Rows](), list[NDArray[np.float32]]()
    for share in shares():
        rows.append(np.flatnonzero(share == 1 if name == "exact" else share))
        grades.append(share[rows[-1]])
    columns = np.repeat(np.arange(shape[1], dtype=np.int64), [len(r) for r in rows])
    values = (np.concatenate(rows), columns, np.concatenate(grades))
    return Judgements(name, _RULES[name], shape, *values, source="model checking of scene graphs")


def judgements(own: Rows, captions: Sequence[SceneGraph], images: Sequence[SceneGraph]) -> LazyJudgements:
    """Return ``"own"``, ``"exact"`` and ``"graded"`` of a split, computed when asked for."""

    def part_tables(image_rows: Rows, caption_rows: Rows) -> dict[str, Callable[[], Judgements]]:
        return _truth_tables([captions[t] for t in caption_rows], [images[i] for i in image_rows])

    tables = {"own": lambda: Judgements.from_own(own, len(images)), **_truth_tables(captions, images)}
    return LazyJudgements((len(images), len(captions)), tables, part_tables)
