"""The words that the rules of the parser know by name, from ``assets/words.toml``."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

from workbench.english import plural

ASSETS = Path(__file__).parent / "assets"
_TABLES = tomllib.loads((ASSETS / "words.toml").read_text(encoding="utf-8"))
SINGULARS: dict[str, str] = _TABLES.pop("singulars")
ROOTS: dict[str, str] = _TABLES.pop("roots")
PREPOSITIONS: dict[str, str] = _TABLES.pop("prepositions")
STAND_INS: dict[str, str] = _TABLES.pop("stand_ins")


def _phrase_list(key: str) -> list[str]:
    """Return the phrases of a list of the file, between commas."""
    return [" ".join(phrase.split()) for phrase in _TABLES.pop(key).split(",")]


NAMES = _phrase_list("names")
ADJECTIVES, ADVERBS = _phrase_list("adjectives"), _phrase_list("adverb_phrases")
# Every class of the file as a set of words: ``"dog" in known.animals``.
known = SimpleNamespace(**{key: frozenset(text.split()) for key, text in _TABLES.items()})
known.animate = known.persons | known.animals
known.personal = known.body | known.clothes
known.opening |= known.articles
known.followers |= known.openers

# Joined once: these are asked of every word.
ENDS = known.stoppers | known.followers | known.relatives
BEFORE = known.stoppers | known.articles
NO_NOUN = ENDS | known.articles
FINITE = known.be | known.have


@dataclass(frozen=True)
class Word:
    """One word for the parser.

    Args:
        token: what the parser reads.
        says: what it stands for, where that is something else: a preposition, an adjective, a name.
        kind: ``"preposition"``, ``"attribute"``, ``"name"``, ``"count"`` of a pronoun for some of those that
            were named before, or ``""``.
    """

    token: str
    says: str = ""
    kind: str = ""


SINGULARS |= {plural(name): name for name in NAMES}


def word_at(words: Sequence[str], at: int, default: str = "") -> str:
    """Return the word at a position, or the default before the first and after the last.

    >>> word_at(["a", "dog"], 1), word_at(["a", "dog"], 2, "."), word_at(["a", "dog"], -1)
    ('dog', '.', '')
    """
    return words[at] if 0 <= at < len(words) else default


def ends_noun_phrase(word: str) -> bool:
    """Return whether a noun phrase ends before a word.

    >>> ends_noun_phrase("on"), ends_noun_phrase(","), ends_noun_phrase("the"), ends_noun_phrase("toy")
    (True, True, True, False)
    """
    return word in NO_NOUN or not word[0].isalnum()


def is_also_verb(word: str) -> bool:
    """Return whether the plural of a noun is also what somebody does: "boards", "fries"."""
    return word.endswith("s") and not known.verbs.isdisjoint((word[:-1], word[:-2], f"{word[:-3]}y"))
