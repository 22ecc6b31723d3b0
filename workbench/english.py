"""Words in another form: plurals, articles and participles of captions, by rules and a few by heart."""

from collections.abc import Sequence

IRREGULAR = {
    "man": "men", "woman": "women", "child": "children", "person": "people", "foot": "feet", "mouse": "mice",
    "sheep": "sheep", "fish": "fish", "people": "people", "bus": "buses",
    "cactus": "cacti", "epoch": "epochs",
}  # fmt: skip
PLACES = {
    "about", "above", "across", "after", "against", "along", "alongside", "among", "amid", "around",
    "as", "at", "atop", "before", "behind", "below", "beneath", "beside", "between", "by", "down",
    "for", "from", "in", "inside", "into", "left", "like", "near", "next", "of", "off", "on", "onto",
    "opposite", "out", "outside", "over", "past", "right", "round", "than", "through", "to", "toward",
    "towards", "under", "underneath", "up", "upon", "with", "within", "without",
}  # fmt: skip
# Verbs that captions use for what was done to a thing.
DONE = {
    "park": "parked", "cover": "covered", "fill": "filled", "make": "made", "decorate": "decorated",
    "dress": "dressed", "attach": "attached", "tie": "tied", "locate": "located",
}  # fmt: skip


def plural(noun: str) -> str:
    """The plural of a noun's lemma.

    >>> [plural(noun) for noun in ("dog", "baby", "bench", "man")]
    ['dogs', 'babies', 'benches', 'men']
    """
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return IRREGULAR.get(noun, noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s"))


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["one"]), listed(["a", "b", "c"])
    ('one', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def participle(relation: str) -> str:
    """A relation as it stands behind a noun: places as they are, a verb's lemma with -ing.

    >>> [participle(word) for word in ("left of", "ride", "sit on", "lie in", "park beside", "surround by")]
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
    elif _doubles(verb):
        verb += verb[-1]
    return " ".join(filter(None, [f"{verb}ing", rest]))


def _doubles(verb: str) -> bool:
    """One vowel between consonants, in a verb of one syllable: sit, run, swim, but not wear, play, look."""
    vowels = [letter in "aeiou" for letter in verb]
    return (
        len(verb) >= 3 and vowels[-3:] == [False, True, False] and sum(vowels) == 1 and verb[-1] not in "wxy"
    )


def article(phrase: str) -> str:
    """The phrase with *a* or *an* before it.

    >>> article("orange cat"), article("big elephant")
    ('an orange cat', 'a big elephant')
    """
    return ("an " if phrase[0].lower() in "aeiou" else "a ") + phrase
