"""The graph of a sentence in words again, plainly on purpose: things in their order, attributes before the
noun, relations behind it, "a" at the first mention, and a new sentence with "the" at the next.
"""

import tomllib

from caption_graphs.vocabulary import ASSETS
from workbench.english import article, plural
from workbench.records import SceneGraph

_TABLES = tomllib.loads((ASSETS / "sentences.toml").read_text(encoding="utf-8"))
DONE: dict[str, str] = _TABLES.pop("done")
COUNTS, BARE, MASS, PLACES = (frozenset(_TABLES[key].split()) for key in ("counts", "bare", "mass", "places"))
# what the parser says of things in the plural that nobody has counted
SPOKEN = {"plural": "some"}


def sentence(graph: SceneGraph) -> str:
    """Write the graph in words.

    >>> sentence(SceneGraph(("man", "horse"), ((1, "brown"),), ((0, "ride", 1),)))
    'a man riding a brown horse'
    """
    mentioned: set[int] = set()
    text = ""
    for node in sorted({subject for subject, _, _ in graph.relations}):
        text += ". " if node in mentioned else ", "
        text += _write_clause(graph, node, mentioned)
    alone = [
        _write_noun(graph, node, mentioned) for node in range(len(graph.objects)) if node not in mentioned
    ]
    if alone:
        text += f", {' and '.join(alone)}"
    stop = "." if ". " in text else ""
    return text.removeprefix(", ") + stop


def _write_clause(graph: SceneGraph, subject: int, mentioned: set[int]) -> str:
    """Write a thing and its relations; a sentence of its own where the thing was mentioned before."""
    start = _write_noun(graph, subject, mentioned)
    if start.startswith("the "):
        several = any(word in COUNTS for node, word in graph.attributes if node == subject)
        verb = "are" if several else "is"
        start = f"{start.capitalize()} {verb}"
    relations = [(word, thing) for node, word, thing in graph.relations if node == subject]
    phrases = [
        f"{write_participle(word)} {_write_noun(graph, thing, mentioned)}" for word, thing in relations
    ]
    return f"{start} {' and '.join(phrases)}"


def _write_noun(graph: SceneGraph, node: int, mentioned: set[int]) -> str:
    """Write a thing with its attributes, or "the" thing where it was mentioned before."""
    attributes = [word for owner, word in graph.attributes if owner == node]
    counts = [SPOKEN.get(word, word) for word in attributes if word in COUNTS]
    name = plural(graph.objects[node]) if counts else graph.objects[node]
    if node in mentioned:
        return f"the {name}"
    mentioned.add(node)
    first = counts or [word for word in attributes if word in BARE]
    others = [word for word in attributes if word not in {*COUNTS, *first}]
    phrase = " ".join([*first, *others, name])
    return phrase if first or name in MASS else article(phrase)


def write_participle(relation: str) -> str:
    """Write a relation as it stands behind a noun: places as they are, a verb's lemma with -ing.

    >>> relations = ("left of", "ride", "sit on", "lie in", "park beside", "surround by")
    >>> [write_participle(word) for word in relations]
    ['left of', 'riding', 'sitting on', 'lying in', 'parked beside', 'surrounded by']
    """
    verb, _, rest = relation.partition(" ")
    if verb in DONE or rest == "by":
        ending = "d" if verb.endswith("e") else "ed"
        return f"{DONE.get(verb, verb + ending)} {rest}".strip()
    if verb.lower() in PLACES or verb.endswith(("ing", "ed")):
        return relation
    if verb.endswith("ie"):
        verb = f"{verb[:-2]}y"
    elif verb.endswith("e") and len(verb) > 2 and not verb.endswith(("ee", "ye", "oe")):
        verb = verb[:-1]
    elif _doubles_consonant(verb):
        verb += verb[-1]
    return " ".join(filter(None, [f"{verb}ing", rest]))


def _doubles_consonant(verb: str) -> bool:
    """Return whether a verb of one syllable has one vowel between consonants: sit, run, swim, but not wear,
    play, look.
    """
    vowels = [letter in "aeiou" for letter in verb]
    return (
        len(verb) >= 3 and vowels[-3:] == [False, True, False] and sum(vowels) == 1 and verb[-1] not in "wxy"
    )
