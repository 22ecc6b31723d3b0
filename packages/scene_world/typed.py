"""What people type or edit, in the words of this world, and its truth.

``canonical_graph`` folds the many words of captions into those of the world. A graph is then graded as
captions are. A sentence is graded by the graph that is read from it only if the graph, said again in the
world's own language, gives the sentence back, apart from articles, synonyms, the order of adjectives, where
the backdrop is named, and openings such as "there is". A sentence that says something else than its graph
("a dog not next to a tree", "a cat or a dog") has words that no saying of the graph has.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby, permutations, product
from typing import Any

import numpy as np

from scene_world.dice import Dice
from scene_world.language import FRAMES, verbalise
from scene_world.truth import MOST, WORDS, satisfied_shares
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
from workbench import text
from workbench.english import plural
from workbench.records import SceneGraph, Truth


def _by_word(table: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """Return the name that each word of a table stands for."""
    names: dict[str, str] = {}
    for name, words in table.items():
        names |= dict.fromkeys(words, name)
    return names


# nouns and kinds by any of their words
_NAMES = _by_word({name: noun.says for name, noun in NOUNS.items()}) | _by_word(KINDS)
_PLACED = _by_word({name: says for name, (_, says) in BACKDROPS.items()})
_OBJECTS = _NAMES | {word.removeprefix("a ").removeprefix("the "): name for word, name in _PLACED.items()}
_NUMBERS = {"2": "two", "pair": "two", "couple": "two", "3": "three"}
_LOOKS = _by_word(SIZES) | _by_word(PATTERNS) | _NUMBERS
# Beside what captions of this world say, what people type for the same.
_TYPED = {"underneath": "below", "atop": "on", "inside of": "in", "by": "next to"}
_TIES = _by_word(RELATIONS) | _TYPED
# What a thing does while it is somewhere says no more than "is" in this world.
_STAYING = ("sit", "stand", "fly", "park", "lie", "locate", "place")
_DENIED = ("no", "not", "without", "never", "zero")
# one thing has one of each; "red and blue balls" are said of several, which a graph cannot tell apart
_EXCLUSIVE = (set(COLOURS), set(SIZES), set(PATTERNS), set(COUNTS.values()))
# what a picture's plan says of a backdrop and the things before it
_PLACES = ("in", "on", "at")


def canonical_graph(graph: SceneGraph) -> SceneGraph:
    """Return a graph in canonical words: *bunny* is a rabbit, *little* is small, *sits beside* is next to.

    A backdrop is behind all that a picture shows, and a caption ties it to one thing at random (*at night, a
    cat is on a table*: the cat or the table). Its relation is therefore written as one of the backdrop to
    itself, whatever thing the graph names.

    Args:
        graph: parsed from a caption, or true of one. Words outside the vocabulary stay as they are.

    Returns:
        A graph with the same nodes; the attribute that marks a plural is left out, since no word of a caption
        says it.
    """
    words = fold_graph(graph)
    looks = tuple((node, look) for node, look in words.attributes if look != PLURAL)
    # a thing is in one place, so that its last one counts
    ties = []
    for subject, tie, thing in words.relations:
        ties.append((thing if words.objects[thing] in BACKDROPS else subject, tie, thing))
    return SceneGraph(words.objects, looks, tuple(ties))


def fold_graph(graph: SceneGraph) -> SceneGraph:
    """Return a graph in the words of this world, each statement about the same nodes as before."""
    names, words = (
        map(_plain_text, graph.objects),
        ((node, _plain_text(look)) for node, look in graph.attributes),
    )
    objects = tuple(_OBJECTS.get(name, name) for name in names)
    looks = ((node, _LOOKS.get(look, look)) for node, look in words)
    ties = (
        (subject, _relation_text(_plain_text(tie), objects[thing]), thing)
        for subject, tie, thing in graph.relations
    )
    return SceneGraph(objects, tuple(looks), tuple(ties))


def _plain_text(word: str) -> str:
    """Return a word in small letters with single spaces, as in the vocabulary."""
    return " ".join(word.lower().split())


def _relation_text(relation: str, thing: str) -> str:
    verb, _, rest = relation.partition(" ")
    place = rest if verb in _STAYING else relation
    tie = _TIES.get(place, place)
    # a backdrop has one preposition, and people say others: "at the beach"
    return BACKDROPS[thing][0] if thing in BACKDROPS and tie in ("in", "on", "at") else tie


def grade(statement: SceneGraph | str, scenes: Sequence[SceneGraph]) -> Truth:
    """Return of which scenes a statement is true, by the rules that make the exact truth of captions.

    A statement with a word that this world has not is false where the rest of it is, and else not known. What
    is denied ("no cat", "without a hat") cannot be checked, since a graph says only what is there; nor can
    two colours of one thing, more than seven things, nor what is said of a backdrop beyond what is in it: how
    it looks, how many it is, or that something is above it, since no plan says so.

    Args:
        statement: a sentence; or a graph, parsed (with its plurals) or edited: nouns, kinds, adjectives,
            relations and backdrops by any of their words, in either case.
        scenes: ``I`` whole graphs of scenes, e.g. ``Split.image_graphs``.

    Returns:
        ``(I,)`` truth and graded share, NaN where they are not known; the words that this world has not, and
        those of its words that cannot be checked here, both as they were said.

    """
    nothing = np.full(len(scenes), np.nan, dtype=np.float32)
    graph = _parser().transform([statement]).graphs[0] if isinstance(statement, str) else statement
    known, unknown, unclear = _checkable_part(graph)
    refused = isinstance(statement, str) and (bool(unknown) or not says(statement, fold_graph(graph)))
    if refused or len(known.objects) > MOST:
        return Truth(nothing, nothing, unknown)
    share = next(satisfied_shares([known], scenes)) if known.objects else nothing
    if unknown or unclear:
        return Truth(np.where(share < 1, np.float32(0), nothing), nothing, unknown, unclear)
    return Truth((share == 1).astype(np.float32), share)


def _checkable_part(graph: SceneGraph) -> tuple[SceneGraph, tuple[str, ...], tuple[str, ...]]:
    """Return what of a graph can be checked, its words that this world has not, and those that are not
    checked.
    """
    words = fold_graph(graph)
    backdrop = [name in BACKDROPS for name in words.objects]
    # all backdrops are written with or without a plural: "the mountains"
    looks = [
        (n, look, word)
        for (n, look), (_, word) in zip(words.attributes, graph.attributes, strict=True)
        if look != PLURAL or not backdrop[n]
    ]
    ties = [(*new, old[1]) for new, old in zip(words.relations, graph.relations, strict=True)]
    denied = {n for n, look, _ in looks if look in _DENIED} | {o for _, r, o, _ in ties if _is_denial(r)}
    checked = [n for n, name in enumerate(words.objects) if name in WORDS and n not in denied]
    number = {n: i for i, n in enumerate(checked)}
    twice = _exclusive_attributes(words)

    def is_sound(s: int, tie: str, o: int) -> bool:
        # a backdrop is a place of things, and of no other backdrop
        return tie in RELATIONS and (not (backdrop[s] or backdrop[o]) or (tie in _PLACES and not backdrop[s]))

    good = {(n, a) for n, a, _ in looks if a in ATTRIBUTES and (n, a) not in twice and not backdrop[n]}
    joined = [(s, r, o) for s, r, o, _ in ties if {s, o} <= number.keys() and is_sound(s, r, o)]
    known_looks = tuple((number[n], a) for n, a, _ in looks if n in number and (n, a) in good)
    known_ties = tuple((number[s], r, number[o]) for s, r, o in joined)
    known = SceneGraph(tuple(words.objects[n] for n in checked), known_looks, known_ties)
    nameless = [old for old, new in zip(graph.objects, words.objects, strict=True) if new not in WORDS]
    open_ = [(word, a in ATTRIBUTES or a in _DENIED) for n, a, word in looks if (n, a) not in good]
    open_ += [(word, r in RELATIONS or _is_denial(r)) for s, r, o, word in ties if not is_sound(s, r, o)]
    unknown = dict.fromkeys([*nameless, *(word for word, meant in open_ if not meant)])
    return known, tuple(unknown), tuple(dict.fromkeys(word for word, meant in open_ if meant))


def _is_denial(relation: str) -> bool:
    return relation.split(" ")[0] in _DENIED


def _exclusive_attributes(graph: SceneGraph) -> set[tuple[int, str]]:
    """Return attributes of which a thing has two, though no thing has more than one such."""
    looks: dict[int, set[str]] = defaultdict(set)
    for node, look in graph.attributes:
        looks[node].add(look)
    exclusive = set()
    for (node, its), group in product(looks.items(), _EXCLUSIVE):
        if len(its & group) > 1:
            exclusive |= {(node, look) for look in its & group}
    return exclusive


# a saying varies in what is told first and whether a colour has a sentence of its own
SAYINGS = 48
_LEFT_OUT = ("a", "an", "the", "some")
_SIGNS = frozenset(",.;&")
_OPENINGS = (
    *FRAMES,
    *("there is", "is there", "this is", "it is", "here is", "look", "one can see", "i see", "show me"),
    *("find", "this is picture of"),
)


@cache
def _parser() -> Any:
    return text.load("scene_graph", plurals=True, corrects=False)


def says(sentence: str, graph: SceneGraph) -> bool:
    """Return whether a sentence is one of the ways in which this world says a graph.

    Args:
        sentence: as it was typed.
        graph: read from it, in canonical words.
    """
    if not graph.objects or _may_be_named_twice(graph):
        return False
    # all things are before the backdrop, and it is said of one
    ties: dict[Any, tuple[int, str, int]] = {}
    for tie in graph.relations:
        place = tie[2] if graph.objects[tie[2]] in BACKDROPS else tie
        ties[place] = tie
    graph, plain = replace(graph, relations=tuple(ties.values())), _plain_words(sentence)
    return any(_plain_words(verbalise(graph, Dice(number))) == plain for number in range(SAYINGS))


def _may_be_named_twice(graph: SceneGraph) -> bool:
    """Return whether a thing may be named by its noun and by its kind: "two animals, a dog and a cat" are two
    or four.
    """
    tied = {frozenset((s, o)) for s, _, o in graph.relations}
    for (n, noun), (k, kind) in permutations(enumerate(graph.objects), 2):
        if noun != kind and is_a(noun, kind) and frozenset((n, k)) not in tied:
            return True
    return False


@cache
def _synonyms() -> dict[str, str]:
    """Return phrases without their articles, and the canonical words for them."""
    several = {plural(word): plural(name) for word, name in _NAMES.items()}
    table = {**_OBJECTS, **several, **_LOOKS, "pair of": "two", "couple of": "two", **_TIES}
    return {" ".join(_words(phrase)): name for phrase, name in table.items()}


def _words(sentence: str) -> list[str]:
    tokens = re.findall(r"[\w']+|[^\w\s]", sentence.lower())
    words = []
    for token in tokens:
        if token in _SIGNS:
            words.append("and")
        elif token not in _LEFT_OUT:
            words.append(token)
    return words


def _any_of_pattern(phrases: Iterable[str]) -> str:
    """Return a pattern of any of these phrases, the longest first."""
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True) if phrase)


_STAYS = "is|sits?|sitting|stands?|standing|fly|flies|flying|parked|lies?|lying|located|placed"


@cache
def _rewriting_rules() -> list[tuple[re.Pattern[str], Any]]:
    """Return what is put in the place of what, one after the other, in a text that begins with "and"."""
    openings = _any_of_pattern(" ".join(_words(phrase)) for phrase in _OPENINGS)
    stays = rf"\b(?:(?:{_STAYS}) )+(?=(?:{_any_of_pattern(RELATIONS)})\b)"
    starts = rf"(?:\band )+(?:(?:{openings}) (?:and )*)*"
    look_after = rf"(\w+) is ((?:(?:{_any_of_pattern(ATTRIBUTES)})\b ?)+)(?=and\b|$)"
    rules: dict[str, Any] = {
        rf"\b({_any_of_pattern(_synonyms())})\b": lambda match: _synonyms()[match[1]],
        r"\bare\b": "is",
        stays: "",
        starts: "and ",
        look_after: r"\2 \1 ",
    }
    return [(re.compile(pattern), new) for pattern, new in rules.items()]


def _plain_words(sentence: str) -> list[str]:
    """Return the words and signs of a sentence, without what may be said in several ways.

    >>> sentence = "At night, there is a big bunny. The bunny sits to the left of a small red box!"
    >>> " ".join(_plain_words(sentence))
    'night and large rabbit and rabbit left of red small box'
    """
    text = " ".join(["and", *_words(sentence.rstrip(".!? "))])
    for pattern, new in _rewriting_rules():
        text = pattern.sub(new, text)
    place = re.compile(rf"(?:\b(?:in|on|at) )?\b({_any_of_pattern(BACKDROPS)})\b")
    things = re.sub(r"\band (?: *and )+", "and ", place.sub(" ", f"{text} ")).removesuffix("and ")
    plain = sorted(place.findall(text))
    for looks, run in groupby(things.split(), lambda word: word in ATTRIBUTES):
        words = list(run)
        plain += sorted(words) if looks else words
    return plain
