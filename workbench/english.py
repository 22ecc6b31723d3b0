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
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return IRREGULAR.get(noun, noun + ("es" if noun.endswith(("s", "x", "z", "ch", "sh")) else "s"))


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
