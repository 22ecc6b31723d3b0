"""Captions that differ in gender, number, voice or word order alone say the same, and should be read so."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from itertools import chain, pairwise

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
# A caption, its swapped counterfactual, and what a word of the first is called in the second.
Pair = tuple[str, str, dict[str, str]]


GENDER = (
    "A {look} X {does} a {thing} {place}.",
    "Two XS in a {worn} {doing} a {thing}.",
    "A X sits {place} with a {thing} in front of him.",
    "A dog runs {place} and a {look} X looks at him.",
    "A X with a {thing} next to him is wearing a {worn}.",
    "A X {does} his {thing} while he walks {place}.",
    "A {look} X and a horse {do} a {thing} behind him {place}.",
    "A child gives a {thing} to a X and kisses him {place}.",
    "A X in a {worn} looking at a {thing} beside him.",
    "A X looks at himself in a mirror {place}.",
)
NUMBER = (
    ("{does} a {thing} {place}", "{do} a {thing} {place}"),
    ("is {doing} a {thing} {place}", "are {doing} a {thing} {place}"),
    ("{doing} a {thing} {place}", "{doing} a {thing} {place}"),
    ("in a {worn} looks at a {thing}", "in a {worn} look at a {thing}"),
    ("with a {thing} stands {place}", "with a {thing} stand {place}"),
    ("runs {place}", "run {place}"),
    ("is {done} by a {look} woman", "are {done} by a {look} woman"),
    ("that has a {thing} sits {place}", "that have a {thing} sit {place}"),
)
VOICE = (
    ("{doer} {finite} a {thing}.", "a {thing} is {done} by {doer}."),
    ("{doer} {be} {doing} a {thing}.", "a {thing} is being {done} by {doer}."),
    ("{doer} {doing} a {thing}.", "a {thing} being {done} by {doer}."),
    ("{doer} {finite} a {thing}.", "a {thing} {done} by {doer}."),
    ("{doer} {finite} a {thing}.", "a {thing} that is {done} by {doer}."),
)
ORDER = (
    ("a {look} {who} {does} a {thing} {place}.", "{place} a {look} {who} {does} a {thing}."),
    ("a {who} is {doing} a {thing} {place}.", "{place}, a {who} is {doing} a {thing}."),
    ("a {look} {who} and a {other} run {place}.", "a {other} and a {look} {who} run {place}."),
    ("a {who} who is {doing} a {thing}.", "a {who} {doing} a {thing}."),
    ("a {look} {who} {does} a {thing}.", "a {who} who is {look} {does} a {thing}."),
    ("a {thing} is {place}.", "there is a {thing} {place}."),
    ("a {thing} is {place}.", "{place} is a {thing}."),
    ("a {who} wearing a {worn} runs {place}.", "a {who} who is wearing a {worn} runs {place}."),
    ("a {who} stands {place} {doing} a {thing}.", "{doing} a {thing}, a {who} stands {place}."),
)


def forms(verb: tuple[str, str, str, str]) -> dict[str, str]:
    """The forms of a verb by their names in the templates."""
    return dict(zip(("does", "do", "doing", "done"), verb, strict=True))


def gender(draw: random.Random) -> Pair:
    """One person or several, and the pronouns that mean them."""
    k, verb = draw.randrange(5), draw.choice(VERBS)
    words = forms(verb) | {"thing": draw.choice(THINGS), "place": draw.choice(PLACES)}
    words |= {"look": draw.choice(LOOKS), "worn": draw.choice(WORN)}
    text = draw.choice(GENDER).format(**words)

    def with_nouns(nouns: tuple[str, str], pronouns: dict[str, str]) -> str:
        words = {"X": nouns[0], "XS": nouns[1]} | pronouns
        return " ".join(words.get(w.rstrip("."), w.rstrip(".")) for w in text.split()) + "."

    return with_nouns(MALE[k], {}), with_nouns(FEMALE[k], PRONOUNS), {MALE[k][0]: FEMALE[k][0]}


def number(draw: random.Random) -> Pair:
    """One or two who do something."""
    (single, many), verb = draw.choice(LIVING), draw.choice(VERBS)
    words = forms(verb) | {"thing": draw.choice(THINGS), "look": draw.choice(LOOKS)}
    words |= {"place": draw.choice(PLACES), "worn": draw.choice(WORN)}
    first, second = (template.format(**words) for template in draw.choice(NUMBER))
    look = words["look"]
    return f"A {look} {single} {first}.", f"Two {look} {many} {second}.", {}


def voice(draw: random.Random) -> Pair:
    """Who does it, and what it is done to."""
    (who, _), verb = draw.choice(LIVING), draw.choice(VERBS)
    words = forms(verb) | {"thing": draw.choice(THINGS)}
    look, worn = draw.choice(LOOKS), draw.choice(WORN)
    joined = f"a {who} and a {look} {draw.choice(MALE)[0]}"
    doer = draw.choice([f"a {look} {who}", f"a {who} in a {worn}", joined])
    several = doer == joined
    words |= {"doer": doer, "finite": verb[several], "be": "are" if several else "is"}
    active, suffers = (template.format(**words) for template in draw.choice(VOICE))
    return active.capitalize(), suffers.capitalize(), {}


def order(draw: random.Random) -> Pair:
    """What is said first, and how the clause is tied on."""
    ((who, _), (other, _)), verb = draw.sample(LIVING, 2), draw.choice(VERBS)
    words = {"who": who, "other": other, "thing": draw.choice(THINGS)}
    words |= {"look": draw.choice(LOOKS), "place": draw.choice(PLACES), "worn": draw.choice(WORN)}
    # After a verb of seeing a place belongs to what is seen, and before it to who sees.
    words |= forms(verb if verb[0] != "watches" else VERBS[0])
    first, second = (template.format(**words) for template in draw.choice(ORDER))
    return first.capitalize(), second.capitalize(), {}


def pairs(swap: Callable[[random.Random], Pair]) -> Iterator[Pair]:
    """Distinct pairs of one kind, the same in every run."""
    draw, known = random.Random(swap.__name__), set[str]()
    while len(known) < EACH:
        pair = swap(draw)
        if pair[0] not in known:
            known.add(pair[0])
            yield pair


def renamed(graph: SceneGraph, names: dict[str, str]) -> set[tuple[str, ...]]:
    """The tuples under their new names, the number apart."""
    statements = set()
    for statement in graph.tuples():
        statements.add(tuple(names.get(word, word) for word in statement))
    return {statement for statement in statements if statement[1:] != ("two",)}


@pytest.mark.parametrize("swap", [gender, number, voice, order])
def test_swapped_captions_give_the_same_graph(swap):
    swaps = list(pairs(swap))
    assert len(swaps) == EACH
    firsts = scene_graph.parse([first for first, _, _ in swaps])
    seconds = scene_graph.parse([second for _, second, _ in swaps])
    differ = []
    for (first, second, names), a, b in zip(swaps, firsts, seconds, strict=True):
        difference = renamed(a, names) ^ renamed(b, {})
        if difference:
            differ.append((first, second, sorted(difference)))
    assert len(differ) <= 0.02 * EACH, differ


def lost(caption: str, graph: SceneGraph) -> bool | None:
    """Whether the relation of "topped with", "headed" or an object "her" is absent; None = no such word."""
    says = [relation.split() for _, relation, _ in graph.relations]
    words = list(chain.from_iterable(scene_graph.split(caption)))
    hers = [
        a for a, b in pairwise(words) if (b.says, b.token) == ("her", "him") and a.token not in ("or", "and")
    ]
    present = []
    for end in ((a.says or a.token).split()[-1] for a in hers):
        present.append(any(end == words[-1] or lemma(end, "VERB") == words[0] for words in says))
    for pattern, root in ((TOPPED, "top"), (HEADED, "head")):
        if pattern.search(caption.lower()):
            present.append(any(words[0] == root for words in says))
    return not all(present) if present else None


TOPPED = re.compile(r"\btopped (with|by|off)\b")
HEADED = re.compile(
    r"(?<!-)\bheaded (to|for|down|up|in|out|towards?|back|into|across|off|away|over|through)\b"
)


@pytest.mark.real_data
def test_what_is_topped_or_headed_and_her_keep_their_relation(real_data):
    several = [texts(real_data / TEXTS[source], source).values() for source in ("flickr8k", "coco")]
    pattern = re.compile(r"\b(topped|headed|her)\b")
    captions = [caption for caption in chain.from_iterable(several) if pattern.search(caption.lower())]
    graphs = scene_graph.parse(captions)
    losses = [lost(*pair) for pair in zip(captions, graphs, strict=True)]
    counted = [absent for absent in losses if absent is not None]
    assert len(counted) > 340
    assert sum(counted) < 0.02 * len(counted)
    guide = " ".join((DATA / "README.md").read_text("utf-8").split())
    assert f"{sum(counted)} of {len(counted)} captions" in guide
