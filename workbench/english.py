"""Words in another form: plurals and articles, by rules and a few by heart."""

from collections.abc import Sequence

IRREGULAR = {
    "bus": "buses",
    "cactus": "cacti",
    "child": "children",
    "epoch": "epochs",
    "fish": "fish",
    "foot": "feet",
    "man": "men",
    "mouse": "mice",
    "people": "people",
    "person": "people",
    "sheep": "sheep",
    "woman": "women",
}


def plural(noun: str) -> str:
    """Return the plural of a noun's lemma.

    >>> [plural(noun) for noun in ("dog", "baby", "bench", "man")]
    ['dogs', 'babies', 'benches', 'men']
    """
    return IRREGULAR.get(noun) or add_s(noun)


def add_s(word: str) -> str:
    """Return a noun or a verb with *s* or *es* at its end, by the common rule.

    >>> add_s("life vest"), add_s("high bench"), add_s("sippy cup"), add_s("wild berry")
    ('life vests', 'high benches', 'sippy cups', 'wild berries')
    """
    if word.endswith("y") and word[-2:-1] not in "aeiou":
        return f"{word[:-1]}ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def join_words(words: Sequence[str]) -> str:
    """Return words as a sentence lists them.

    >>> join_words(["one"]), join_words(["a", "b", "c"])
    ('one', 'a, b and c')
    """
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def article(phrase: str) -> str:
    """Return the phrase with *a* or *an* before it.

    >>> article("orange cat"), article("big elephant")
    ('an orange cat', 'a big elephant')
    """
    return ("an " if phrase[0].lower() in "aeiou" else "a ") + phrase
