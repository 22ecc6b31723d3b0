"""Captions that differ in gender, number, voice or word order alone say the same, and should be read so."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import pairwise

import caption_graphs as scene_graph
import pytest
from caption_graphs.tree import lemma

from tools.caption_graphs.annotations import DATA, TEXTS, texts
from workbench.records import SceneGraph

EACH = 150
# third person, plural and -ing, participle
VERBS = [
    ("rides", "ride", "riding", "ridden"),
    ("holds", "hold", "holding", "held"),
    ("chases", "chase", "chasing", "chased"),
    ("pulls", "pull", "pulling", "pulled"),
    ("carries", "carry", "carrying", "carried"),
    ("catches", "catch", "catching", "caught"),
    ("pushes", "push", "pushing", "pushed"),
    ("watches", "watch", "watching", "watched"),
    ("washes", "wash", "washing", "washed"),
    ("kicks", "kick", "kicking", "kicked"),
    ("follows", "follow", "following", "followed"),
    ("paints", "paint", "painting", "painted"),
]
MALE = [("man", "men"), ("boy", "boys"), ("father", "fathers"), ("guy", "guys"), ("brother", "brothers")]
FEMALE = [
    ("woman", "women"),
    ("girl", "girls"),
    ("mother", "mothers"),
    ("lady", "ladies"),
    ("sister", "sisters"),
]
LIVING = [
    *MALE,
    *FEMALE,
    ("dog", "dogs"),
    ("child", "children"),
    ("surfer", "surfers"),
    ("kitten", "kittens"),
]
THINGS = [
    "horse",
    "ball",
    "red bike",
    "small boat",
    "wooden cart",
    "elephant",
    "black umbrella",
    "kite",
    "toy",
]
PLACES = [
    "on the beach",
    "in a park",
    "near a fence",
    "in front of a house",
    "under a tree",
    "beside the road",
]
LOOKS = ["young", "tall", "wet", "happy", "small", "old"]
WORN = ["hat", "blue shirt", "jacket", "helmet", "red dress"]
PRONOUNS = {"he": "she", "him": "her", "his": "her", "himself": "herself"}
# A caption, its swapped twin, and what a word of the first is called in the second.
Pair = tuple[str, str, dict[str, str]]


def gender(draw: random.Random) -> Pair:
    """One person or several, and the pronouns that mean them."""
    k, verb, thing, place = draw.randrange(5), draw.choice(VERBS), draw.choice(THINGS), draw.choice(PLACES)
    look, worn = draw.choice(LOOKS), draw.choice(WORN)
    text = draw.choice([
        f"A {look} X {verb[0]} a {thing} {place}.",
        f"Two XS in a {worn} {verb[2]} a {thing}.",
        f"A X sits {place} with a {thing} in front of him.",
        f"A dog runs {place} and a {look} X looks at him.",
        f"A X with a {thing} next to him is wearing a {worn}.",
        f"A X {verb[0]} his {thing} while he walks {place}.",
        f"A {look} X and a horse {verb[1]} a {thing} behind him {place}.",
        f"A child gives a {thing} to a X and kisses him {place}.",
        f"A X in a {worn} looking at a {thing} beside him.",
        f"A X looks at himself in a mirror {place}.",
    ])  # fmt: skip

    def said(nouns: tuple[str, str], pronouns: dict[str, str]) -> str:
        words = {"X": nouns[0], "XS": nouns[1]} | pronouns
        return " ".join(words.get(w.rstrip("."), w.rstrip(".")) for w in text.split()) + "."

    return said(MALE[k], {}), said(FEMALE[k], PRONOUNS), {MALE[k][0]: FEMALE[k][0]}


def number(draw: random.Random) -> Pair:
    """One or two who do something."""
    (one, many), verb, thing = draw.choice(LIVING), draw.choice(VERBS), draw.choice(THINGS)
    look, place, worn = draw.choice(LOOKS), draw.choice(PLACES), draw.choice(WORN)
    first, second = draw.choice([
        (f"{verb[0]} a {thing} {place}", f"{verb[1]} a {thing} {place}"),
        (f"is {verb[2]} a {thing} {place}", f"are {verb[2]} a {thing} {place}"),
        (f"{verb[2]} a {thing} {place}", f"{verb[2]} a {thing} {place}"),
        (f"in a {worn} looks at a {thing}", f"in a {worn} look at a {thing}"),
        (f"with a {thing} stands {place}", f"with a {thing} stand {place}"),
        (f"runs {place}", f"run {place}"),
        (f"is {verb[3]} by a {look} woman", f"are {verb[3]} by a {look} woman"),
        (f"that has a {thing} sits {place}", f"that have a {thing} sit {place}"),
    ])  # fmt: skip
    return f"A {look} {one} {first}.", f"Two {look} {many} {second}.", {}


def voice(draw: random.Random) -> Pair:
    """Who does it, and what it is done to."""
    (one, _), verb, thing = draw.choice(LIVING), draw.choice(VERBS), draw.choice(THINGS)
    look, worn = draw.choice(LOOKS), draw.choice(WORN)
    doer = draw.choice(
        [f"a {look} {one}", f"a {one} in a {worn}", f"a {one} and a {look} {draw.choice(MALE)[0]}"]
    )
    several = " and " in doer
    finite, be = (verb[1] if several else verb[0]), ("are" if several else "is")
    active, suffers = draw.choice([
        (f"{doer} {finite} a {thing}.", f"a {thing} is {verb[3]} by {doer}."),
        (f"{doer} {be} {verb[2]} a {thing}.", f"a {thing} is being {verb[3]} by {doer}."),
        (f"{doer} {verb[2]} a {thing}.", f"a {thing} being {verb[3]} by {doer}."),
        (f"{doer} {finite} a {thing}.", f"a {thing} {verb[3]} by {doer}."),
        (f"{doer} {finite} a {thing}.", f"a {thing} that is {verb[3]} by {doer}."),
    ])  # fmt: skip
    return active.capitalize(), suffers.capitalize(), {}


def order(draw: random.Random) -> Pair:
    """What is said first, and how the clause is tied on."""
    ((one, _), (other, _)), verb, thing = draw.sample(LIVING, 2), draw.choice(VERBS), draw.choice(THINGS)
    look, place, worn = draw.choice(LOOKS), draw.choice(PLACES), draw.choice(WORN)
    # After a verb of seeing a place belongs to what is seen, and before it to who sees.
    verb = verb if verb[0] != "watches" else VERBS[0]
    first, second = draw.choice([
        (f"a {look} {one} {verb[0]} a {thing} {place}.", f"{place} a {look} {one} {verb[0]} a {thing}."),
        (f"a {one} is {verb[2]} a {thing} {place}.", f"{place}, a {one} is {verb[2]} a {thing}."),
        (f"a {look} {one} and a {other} run {place}.", f"a {other} and a {look} {one} run {place}."),
        (f"a {one} who is {verb[2]} a {thing}.", f"a {one} {verb[2]} a {thing}."),
        (f"a {look} {one} {verb[0]} a {thing}.", f"a {one} who is {look} {verb[0]} a {thing}."),
        (f"a {thing} is {place}.", f"there is a {thing} {place}."),
        (f"a {thing} is {place}.", f"{place} is a {thing}."),
        (f"a {one} wearing a {worn} runs {place}.", f"a {one} who is wearing a {worn} runs {place}."),
        (f"a {one} stands {place} {verb[2]} a {thing}.", f"{verb[2]} a {thing}, a {one} stands {place}."),
    ])  # fmt: skip
    return first.capitalize(), second.capitalize(), {}


def pairs(swap: Callable[[random.Random], Pair]) -> Iterator[Pair]:
    """Distinct pairs of one kind, the same in every run."""
    draw, known = random.Random(swap.__name__), set[str]()
    while len(known) < EACH:
        pair = swap(draw)
        if pair[0] not in known:
            known.add(pair[0])
            yield pair


def told(graph: SceneGraph, names: dict[str, str]) -> set[tuple[str, ...]]:
    """The tuples under their new names, the number apart."""
    found = {tuple(names.get(word, word) for word in one) for one in graph.tuples()}
    return {one for one in found if one[1:] != ("two",)}


@pytest.mark.parametrize("swap", [gender, number, voice, order])
def test_swapped_captions_give_the_same_graph(swap):
    found = list(pairs(swap))
    assert len(found) == EACH
    firsts = scene_graph.parse([first for first, _, _ in found])
    seconds = scene_graph.parse([second for _, second, _ in found])
    differ = [
        (first, second, sorted(told(a, names) ^ told(b, {})))
        for (first, second, names), a, b in zip(found, firsts, seconds, strict=True)
        if told(a, names) != told(b, {})
    ]
    assert len(differ) <= 0.02 * EACH, differ


def lost(caption: str, graph: SceneGraph) -> bool | None:
    """Whether the relation of "topped with", "headed" or an object "her" is absent; None = no such word."""
    says = [relation.split() for _, relation, _ in graph.relations]
    words = [word for sentence in scene_graph.split(caption) for word in sentence]
    hers = [
        a for a, b in pairwise(words) if (b.says, b.given) == ("her", "him") and a.given not in ("or", "and")
    ]
    ends = [(a.says or a.given).split()[-1] for a in hers]
    kept = [any(end == one[-1] or lemma(end, "VERB") == one[0] for one in says) for end in ends]
    for said, root in ((TOPPED, "top"), (HEADED, "head")):
        kept += [any(one[0] == root for one in says)] if said.search(caption.lower()) else []
    return not all(kept) if kept else None


TOPPED = re.compile(r"\btopped (with|by|off)\b")
HEADED = re.compile(
    r"(?<!-)\bheaded (to|for|down|up|in|out|towards?|back|into|across|off|away|over|through)\b"
)


@pytest.mark.real_data
def test_what_is_topped_or_headed_and_her_keep_their_relation(real_data):
    told = [
        one for source in ("flickr8k", "coco") for one in texts(real_data / TEXTS[source], source).values()
    ]
    captions = [one for one in told if re.search(r"\b(topped|headed|her)\b", one.lower())]
    graphs = scene_graph.parse(captions)
    found = [lost(*pair) for pair in zip(captions, graphs, strict=True)]
    counted = [one for one in found if one is not None]
    assert len(counted) > 340
    assert sum(counted) < 0.02 * len(counted)
    guide = " ".join((DATA / "README.md").read_text("utf-8").split())
    assert f"{sum(counted)} of {len(counted)} captions" in guide
