"""A sentence made again from a scene graph, and the graph changed part by part.

The sentence is plain on purpose: things in their order, attributes before the noun, relations behind it, "a"
at the first mention and a new sentence with "the" at the next. Edited sentences are compared with the
unedited one of the same maker, so that what differs is the edit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from workbench.records import SceneGraph
from workbench.views.explorer.questions import Change

COUNTS = (
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "many",
    "several",
    "some",
    "few",
    "multiple",
)
MASS = frozenset({
    "air", "beer", "bread", "coffee", "dawn", "day", "dirt", "dusk", "food", "furniture", "grass", "hair", "ice", "milk", "mud",
    "night", "rain", "rice", "sand", "smoke", "snow", "sunset", "tea", "traffic", "water",
})  # fmt: skip
IRREGULAR = {"man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "mouse": "mice",
             "sheep": "sheep", "fish": "fish", "people": "people", "bus": "buses"}  # fmt: skip
PLACES = frozenset({
    "about", "above", "across", "after", "against", "along", "alongside", "among", "amid", "around", "as", "at",
    "atop", "before", "behind", "below", "beneath", "beside", "between", "by", "down", "for", "from", "in", "inside",
    "into", "left", "like", "near", "next", "of", "off", "on", "onto", "opposite", "out", "outside", "over", "past",
    "right", "round", "than", "through", "to", "toward", "towards", "under", "underneath", "up", "upon", "with",
    "within", "without",
})  # fmt: skip
# Verbs that captions use for what was done to a thing.
DONE = {"park": "parked", "cover": "covered", "fill": "filled", "make": "made", "decorate": "decorated", "dress": "dressed",
        "attach": "attached", "tie": "tied", "locate": "located"}  # fmt: skip
PARTS = ("objects", "attributes", "relations")


def sentence(graph: SceneGraph) -> str:
    """The graph in words.

    >>> sentence(SceneGraph(("man", "horse"), ((1, "brown"),), ((0, "ride", 1),)))
    'a man riding a brown horse'
    """
    mentioned: set[int] = set()
    said = ""
    for node in _subjects(graph):
        known = node in mentioned
        said += (". " if known else ", ") + _clause(graph, node, mentioned)
    alone = [_noun(graph, node, mentioned) for node in range(len(graph.objects)) if node not in mentioned]
    said = f"{said}, {' and '.join(alone)}" if alone else said
    return said.removeprefix(", ") + ("." if ". " in said else "")


def _subjects(graph: SceneGraph) -> list[int]:
    return sorted({subject for subject, _, _ in graph.relations})


def _clause(graph: SceneGraph, subject: int, mentioned: set[int]) -> str:
    """A thing and its relations; a sentence of its own where the thing was mentioned before."""
    told = [_noun(graph, subject, mentioned)]
    if told[0].startswith("the "):
        several = any(word in COUNTS for node, word in graph.attributes if node == subject)
        told = [told[0].capitalize(), "are" if several else "is"]
    relations = [(word, thing) for node, word, thing in graph.relations if node == subject]
    for number, (word, thing) in enumerate(relations):
        told += [*(["and"] if number else []), participle(word), _noun(graph, thing, mentioned)]
    return " ".join(told)


def _noun(graph: SceneGraph, node: int, mentioned: set[int]) -> str:
    """A thing with its attributes, or "the" thing where it was mentioned before."""
    name, attributes = graph.objects[node], [word for one, word in graph.attributes if one == node]
    counts = [word for word in attributes if word in COUNTS]
    name = plural(name) if counts else name
    if node in mentioned:
        return f"the {name}"
    mentioned.add(node)
    words = " ".join([*counts, *(word for word in attributes if word not in COUNTS), name])
    return words if counts or name in MASS else f"{'an' if words[0].lower() in 'aeiou' else 'a'} {words}"


def plural(noun: str) -> str:
    """The plural of a noun's lemma.

    >>> [plural(noun) for noun in ("dog", "baby", "bench", "man")]
    ['dogs', 'babies', 'benches', 'men']
    """
    if noun in IRREGULAR:
        return IRREGULAR[noun]
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s")


def participle(relation: str) -> str:
    """A relation as it stands behind a noun: places as they are, a verb's lemma with -ing.

    >>> [participle(word) for word in ("left of", "ride", "sit on", "wear", "lie in", "park beside", "surround by")]
    ['left of', 'riding', 'sitting on', 'wearing', 'lying in', 'parked beside', 'surrounded by']
    """
    verb, _, rest = relation.partition(" ")
    if verb in DONE or rest == "by":
        return f"{DONE.get(verb, verb + ('d' if verb.endswith('e') else 'ed'))} {rest}".strip()
    if verb.lower() in PLACES or verb.endswith(("ing", "ed")):
        return relation
    if verb.endswith("ie"):
        verb = f"{verb[:-2]}y"
    elif verb.endswith("e") and len(verb) > 2 and not verb.endswith(("ee", "ye", "oe")):
        verb = verb[:-1]
    elif _doubles(verb):
        verb += verb[-1]
    return " ".join(filter(None, [f"{verb}ing", rest]))


def _doubles(verb: str) -> bool:
    """One vowel between consonants, in a verb of one syllable: sit, run, swim, but not wear, play, look."""
    vowels = [letter in "aeiou" for letter in verb]
    return (
        len(verb) >= 3 and vowels[-3:] == [False, True, False] and sum(vowels) == 1 and verb[-1] not in "wxy"
    )


def changed(graph: SceneGraph, change: Change) -> SceneGraph:
    """The graph with one part dropped or renamed.

    Raises:
        ValueError: there is no such part.
    """
    if change.part not in PARTS or not 0 <= change.index < len(getattr(graph, change.part)):
        raise ValueError(f"the graph has no {change.part} number {change.index}; it reads: {sentence(graph)}")
    if not change.word and change.part == "objects":
        return _without(graph, change.index)
    values = list(getattr(graph, change.part))
    old = values.pop(change.index)
    if change.word:
        new = {
            "objects": change.word,
            "attributes": (old[0], change.word),
            "relations": (old[0], change.word, old[-1]),
        }
        values.insert(change.index, new[change.part])
    return replace(graph, **{change.part: tuple(values)})


def _without(graph: SceneGraph, node: int) -> SceneGraph:
    def moved(other: int) -> int:
        return other - (other > node)

    return SceneGraph(
        tuple(name for other, name in enumerate(graph.objects) if other != node),
        tuple((moved(other), word) for other, word in graph.attributes if other != node),
        tuple((moved(s), word, moved(o)) for s, word, o in graph.relations if node not in (s, o)),
    )


def drops(graph: SceneGraph) -> list[Change]:
    """Every part that can be dropped alone; of a graph of one object only the rest, since nothing would be
    left to say.
    """
    parts: Sequence[str] = PARTS if len(graph.objects) > 1 else PARTS[1:]
    return [Change(part, index) for part in parts for index in range(len(getattr(graph, part)))]  # type: ignore[arg-type]


def described(graph: SceneGraph, change: Change) -> str:
    """A change in words.

    >>> described(SceneGraph(("cup",), ((0, "red"),)), Change("attributes", 0, "blue"))
    'red cup → blue cup'
    """
    value, names = getattr(graph, change.part)[change.index], graph.objects
    if change.part == "objects":
        before, after = value, change.word
    elif change.part == "attributes":
        before, after = f"{value[1]} {names[value[0]]}", f"{change.word} {names[value[0]]}"
    else:
        before, after = (f"{names[value[0]]} {word} {names[value[2]]}" for word in (value[1], change.word))
    return f"{before} → {after}" if change.word else f"without {before}"
