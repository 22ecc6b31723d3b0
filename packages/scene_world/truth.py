"""The model checker: of which scenes is a caption true, and how much of it.

A caption is true of a scene if its nodes can be given *different* nodes of the scene such that every
statement holds. A statement is an object (the thing may be called so), an attribute of an object, or a
relation of two; an attribute or a relation counts as held only where its objects do. "two" asks for a group
of exactly two, a plural without a number for two or more, the singular for nothing. The graded truth is the
share of the statements that hold, at the best assignment; it is 1 exactly where the caption is true.

All assignments of a caption are tried on all scenes at once: scenes are columns of integer arrays, attributes
and relations bits. ``canonical`` folds the many words of captions into those of the world, so that graphs
parsed from captions can be held against the true ones. ``grade`` does the same for what a person types or
edits, and names the words that this world has not or cannot check.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from scene_world.vocabulary import (
    ATTRIBUTES,
    BACKDROPS,
    COLOURS,
    COUNTS,
    KINDS,
    NOUNS,
    PATTERNS,
    PLURAL,
    RELATIONS,
    SIZES,
    is_a,
)
from workbench.records import Judgements, LazyJudgements, Rows, SceneGraph, Truth

Bytes = NDArray[np.uint8]
_NAMES = (*NOUNS, *BACKDROPS)
_NUMBER = {name: i for i, name in enumerate(_NAMES)}
_WORDS = (*_NAMES, *KINDS)
_IS_A = {word: np.array([*(is_a(name, word) for name in _NAMES), False]) for word in _WORDS}
_BIT = {a: np.uint32(1 << i) for i, a in enumerate(ATTRIBUTES)}
_LINK = {r: np.uint16(1 << i) for i, r in enumerate(RELATIONS)}
_MOST = 7


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
    def of(graphs: Sequence[SceneGraph]) -> "World":
        """The arrays of these scenes, the backdrop in slot 0; words outside the vocabulary hold nowhere."""
        slots = max((len(g.objects) + 1 for g in graphs), default=1)
        noun = np.full((slots, len(graphs)), len(_NAMES))
        looks = np.zeros(noun.shape, dtype=np.uint32)
        links = np.zeros((slots, *noun.shape), dtype=np.uint16)
        for i, graph in enumerate(graphs):
            slot = _slots(graph)
            noun[slot, i] = [_NUMBER.get(name, len(_NAMES)) for name in graph.objects]
            for node, a in graph.attributes:
                looks[slot[node], i] |= _BIT.get(a, np.uint32(0))
            for s, r, o in graph.relations:
                links[slot[s], slot[o], i] |= _LINK.get(r, np.uint16(0))
        numbered = sum((looks & _BIT[count]) for count in COUNTS.values()) > 0
        return World(noun, looks | np.where(numbered, _BIT[PLURAL], np.uint32(0)), links)


def _slots(graph: SceneGraph) -> list[int]:
    """A slot for each node: the first backdrop has slot 0, everything else follows."""
    backdrop = next((n for n, name in enumerate(graph.objects) if name in BACKDROPS), len(graph.objects))
    return [0 if n == backdrop else n + (n < backdrop) for n in range(len(graph.objects))]


@cache
def _assignments(fits: tuple[tuple[bool, ...], ...]) -> NDArray[np.int64]:
    """``(nodes, A)``: the ways to give nodes different slots that they fit in some scene; -1 for a node left
    without one.
    """
    slots = max(len(fits), len(fits[0]))
    ways = {
        tuple(p if p < len(fits[n]) and fits[n][p] else -1 for n, p in enumerate(places))
        for places in permutations(range(slots), len(fits))
    }
    return np.array(sorted(ways), dtype=np.int64).T


def statements(graph: SceneGraph) -> int:
    """How many statements a caption makes: objects, distinct attributes of an object, distinct relations."""
    return len(graph.objects) + len(set(graph.attributes)) + len(set(graph.relations))


def held(caption: SceneGraph, world: World) -> Bytes:
    """How many of a caption's statements hold in each scene, at the best assignment of its nodes.

    Args:
        caption: up to seven objects.
        world: ``I`` scenes.

    Returns:
        ``(I,)`` counts.

    Raises:
        ValueError: the caption has no object, or more than seven.
    """
    nodes, (slots, scenes) = len(caption.objects), world.noun.shape
    if not 1 <= nodes <= _MOST:
        raise ValueError(
            f"a caption graph has {nodes} objects, 1 to {_MOST} can be checked; leave it out, or split it"
        )
    never = np.zeros(len(_NAMES) + 1, dtype=bool)
    fits = np.zeros((nodes, slots + 1, scenes), dtype=bool)
    for n, word in enumerate(caption.objects):
        fits[n, :slots] = _IS_A.get(word, never)[world.noun]
    places = _assignments(tuple(tuple(bool(slot.any()) for slot in node[:slots]) for node in fits))
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


def _shares(captions: Sequence[SceneGraph], images: Sequence[SceneGraph]) -> Iterator[NDArray[np.float32]]:
    """For each caption the ``(I,)`` share of it that holds in each scene."""
    world = World.of(images)
    return (held(one, world).astype(np.float32) / np.float32(statements(one)) for one in captions)


def truth(
    captions: Sequence[SceneGraph], images: Sequence[SceneGraph]
) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Whether each caption is true of each scene, and which share of it.

    Args:
        captions: ``T`` graphs of what captions state, e.g. ``Split.caption_graphs`` or an edited one.
        images: ``I`` whole graphs of scenes, e.g. ``Split.image_graphs``.

    Returns:
        binary: ``(I, T)`` bool.
        graded: ``(I, T)`` in [0, 1]; 1 exactly where ``binary``.

    Raises:
        ValueError: a caption has no object, or more than seven.
    """
    shares = np.array([*_shares(captions, images)], dtype=np.float32)
    graded = shares.reshape(len(captions), len(images)).T
    return graded == 1, graded


_RULES = {
    "exact": "exact truth: everything that the caption states holds in the scene",
    "graded": "exact truth, graded: share of the caption's statements (objects, attributes, relations) "
    "that hold in the scene",
}


def _judged(name: str, captions: Sequence[SceneGraph], images: Sequence[SceneGraph]) -> Judgements:
    """The judgements ``"exact"`` or ``"graded"`` of a split."""
    rows, grades = list[Rows](), list[NDArray[np.float32]]()
    for share in _shares(captions, images):
        rows.append(np.flatnonzero(share == 1 if name == "exact" else share))
        grades.append(share[rows[-1]])
    return Judgements(
        name,
        _RULES[name],
        (len(images), len(captions)),
        np.concatenate(rows),
        np.repeat(np.arange(len(captions), dtype=np.int64), [len(r) for r in rows]),
        np.concatenate(grades),
        source="model checking of scene graphs",
    )


def judgements(own: Rows, captions: Sequence[SceneGraph], images: Sequence[SceneGraph]) -> LazyJudgements:
    """``"own"``, ``"exact"`` and ``"graded"`` of a split, computed when asked for."""

    def graded(image_rows: Rows, caption_rows: Rows) -> NDArray[np.float32]:
        return truth([captions[t] for t in caption_rows], [images[i] for i in image_rows])[1]

    return LazyJudgements(
        (len(images), len(captions)),
        {
            "own": lambda: Judgements.own(own, len(images)),
            "exact": lambda: _judged("exact", captions, images),
            "graded": lambda: _judged("graded", captions, images),
        },
        {"exact": lambda i, t: (graded(i, t) == 1).astype(np.float32), "graded": graded},
    )


_OBJECTS = (
    {said: name for name, noun in NOUNS.items() for said in noun.says}
    | {said: kind for kind, says in KINDS.items() for said in says}
    | {
        said.removeprefix("a ").removeprefix("the "): name
        for name, (_, says) in BACKDROPS.items()
        for said in says
    }
)
_LOOKS = {said: name for table in (SIZES, PATTERNS) for name, says in table.items() for said in says} | {
    "2": "two", "pair": "two", "couple": "two", "3": "three",
}  # fmt: skip
# Beside what captions of this world say, what people type for the same.
_TYPED = {"underneath": "below", "atop": "on", "inside of": "in", "by": "next to"}
_TIES = {said: name for name, says in RELATIONS.items() for said in says} | _TYPED
# What a thing does while it is somewhere says no more than "is" in this world.
_STAYING = ("sit", "stand", "fly", "park", "lie", "locate", "place")
_DENIED = ("no", "not", "without", "never", "zero")
# one thing has one of each; "red and blue balls" are said of several, which a graph cannot tell apart
_EXCLUSIVE = (set(COLOURS), set(SIZES), set(PATTERNS), set(COUNTS.values()))
# what a picture's plan says of a backdrop and the things before it
_PLACES = ("in", "on", "at")


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
    said = _folded(graph)
    looks = tuple((node, look) for node, look in said.attributes if look != PLURAL)
    ties = (
        (thing if said.objects[thing] in BACKDROPS else subject, tie, thing)
        for subject, tie, thing in said.relations
    )
    return SceneGraph(said.objects, looks, tuple(ties))


def _folded(graph: SceneGraph) -> SceneGraph:
    """A graph in the words of this world, each statement about the same nodes as before."""
    names, words = map(_plain, graph.objects), ((node, _plain(look)) for node, look in graph.attributes)
    objects = tuple(_OBJECTS.get(name, name) for name in names)
    looks = ((node, _LOOKS.get(look, look)) for node, look in words)
    ties = ((subject, _tie(_plain(tie), objects[thing]), thing) for subject, tie, thing in graph.relations)
    return SceneGraph(objects, tuple(looks), tuple(ties))


def _plain(word: str) -> str:
    """A word in small letters with single spaces, as in the vocabulary."""
    return " ".join(word.lower().split())


def _tie(relation: str, thing: str) -> str:
    verb, _, rest = relation.partition(" ")
    place = rest if verb in _STAYING else relation
    tie = _TIES.get(place, place)
    # a backdrop has one preposition, and people say others: "at the beach"
    return BACKDROPS[thing][0] if thing in BACKDROPS and tie in ("in", "on", "at") else tie


def grade(graph: SceneGraph, scenes: Sequence[SceneGraph]) -> Truth:
    """Of which scenes a statement is true, by the rules that make the exact truth of captions.

    A statement with a word that this world has not is false where the rest of it is, and else not known. What
    is denied ("no cat", "without a hat") cannot be checked, since a graph says only what is there; nor can
    two colours of one thing, nor what is said of a backdrop beyond what is in it: how it looks, how many it
    is, or that something is above it, since no plan says so.

    Args:
        graph: parsed from a sentence (with its plurals) or edited: nouns, kinds, adjectives, relations and
            backdrops by any of their words, in either case.
        scenes: ``I`` whole graphs of scenes, e.g. ``Split.image_graphs``.

    Returns:
        ``(I,)`` truth and graded share, NaN where they are not known; the words that this world has not, and
        those of its words that cannot be checked here, both as they were said.

    Raises:
        ValueError: more than seven objects that this world knows.
    """
    known, unknown, unclear = _checked(graph)
    nothing = np.full(len(scenes), np.nan, dtype=np.float32)
    share = next(_shares([known], scenes)) if known.objects else nothing
    if unknown or unclear:
        return Truth(np.where(share < 1, np.float32(0), nothing), nothing, unknown, unclear)
    return Truth((share == 1).astype(np.float32), share)


def _checked(graph: SceneGraph) -> tuple[SceneGraph, tuple[str, ...], tuple[str, ...]]:
    """What of a graph can be checked, its words that this world has not, and those that are not checked."""
    said = _folded(graph)
    backdrop = [name in BACKDROPS for name in said.objects]
    # all backdrops are written with or without a plural: "the mountains"
    looks = [
        (n, look, word)
        for (n, look), (_, word) in zip(said.attributes, graph.attributes, strict=True)
        if look != PLURAL or not backdrop[n]
    ]
    ties = [(*new, old[1]) for new, old in zip(said.relations, graph.relations, strict=True)]
    denied = {n for n, look, _ in looks if look in _DENIED} | {o for _, r, o, _ in ties if _denies(r)}
    number = {
        n: i
        for i, n in enumerate(n for n, one in enumerate(said.objects) if one in _WORDS and n not in denied)
    }
    twice = _exclusive(said)

    def sound(s: int, tie: str, o: int) -> bool:
        # a backdrop is a place of things, and of no other backdrop
        return tie in RELATIONS and (not (backdrop[s] or backdrop[o]) or (tie in _PLACES and not backdrop[s]))

    good = {(n, a) for n, a, _ in looks if a in ATTRIBUTES and (n, a) not in twice and not backdrop[n]}
    known = SceneGraph(
        tuple(said.objects[n] for n in number),
        tuple((number[n], a) for n, a, _ in looks if n in number and (n, a) in good),
        tuple((number[s], r, number[o]) for s, r, o, _ in ties if {s, o} <= number.keys() and sound(s, r, o)),
    )
    nameless = [old for old, new in zip(graph.objects, said.objects, strict=True) if new not in _WORDS]
    open_ = [(word, a in ATTRIBUTES or a in _DENIED) for n, a, word in looks if (n, a) not in good]
    open_ += [(word, r in RELATIONS or _denies(r)) for s, r, o, word in ties if not sound(s, r, o)]
    unknown = dict.fromkeys([*nameless, *(word for word, meant in open_ if not meant)])
    return known, tuple(unknown), tuple(dict.fromkeys(word for word, meant in open_ if meant))


def _denies(relation: str) -> bool:
    return relation.split(" ")[0] in _DENIED


def _exclusive(graph: SceneGraph) -> set[tuple[int, str]]:
    """Attributes of which a thing has two, though no thing has more than one such."""
    looks = [{look for n, look in graph.attributes if n == node} for node in range(len(graph.objects))]
    pairs = ((n, of & one) for n, of in enumerate(looks) for one in _EXCLUSIVE)
    return {(n, look) for n, of in pairs if len(of) > 1 for look in of}
