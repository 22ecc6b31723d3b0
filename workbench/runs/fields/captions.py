"""What the text of a caption tells: its length, how descriptive it is, its script, its level."""

import unicodedata
from collections import Counter
from collections.abc import Iterable

import numpy as np

from workbench.runs.fields.base import FieldExtractor, Material
from workbench.text.descriptiveness import score_pool
from workbench.text.words import words

# scripts whose letters Unicode calls by several words
SCRIPTS = {"CJK": "han", "HIRAGANA": "kana", "KATAKANA": "kana"}
NEGATIONS = {"no", "not", "without", "never", "none", "nobody", "nothing", "neither", "nor", "cannot"}


def count_words(material: Material) -> list[int]:
    """Return ``(T,)`` words of each caption."""
    return [len(words(caption)) for caption in material.split.captions]


def descriptiveness(material: Material) -> Iterable[float]:
    """Return ``(T,)`` scores of the captions with themselves as the pool, see ``text.descriptiveness``."""
    return score_pool(material.split.captions)[1]


def script(text: str) -> str | None:
    """Return the script that most letters of a text belong to, as Unicode calls them; ``None`` = no letter.

    >>> script("Ein Hund"), script("собака"), script("犬が走る"), script("42")
    ('latin', 'cyrillic', 'kana', None)
    """
    letters = [letter for letter in text if letter.isalpha()]
    names = [unicodedata.name(letter, "").split(" ")[0].split("-")[0] for letter in letters]
    scripts = Counter(SCRIPTS.get(name, name.lower()) for name in names if name)
    if {"kana", "han"} <= scripts.keys():
        scripts["kana"] += scripts.pop("han")  # Japanese mixes both
    return scripts.most_common(1)[0][0] if scripts else None


def scripts(material: Material) -> list[str | None]:
    """Return ``(T,)`` script of each caption."""
    return [script(caption) for caption in material.split.captions]


def has_negation(material: Material) -> list[bool]:
    """Return ``(T,)`` whether a caption denies something, by its words."""
    return [is_negated(caption) for caption in material.split.captions]


def is_negated(text: str) -> bool:
    """Return whether a text has a word of negation.

    >>> is_negated("a man without a hat"), is_negated("it isn't red"), is_negated("a knot")
    (True, True, False)
    """
    return any(word in NEGATIONS or word.endswith("n't") for word in words(text))


def levels(material: Material) -> Iterable[float]:
    """Return ``(T,)`` level of each caption, as the data say it."""
    return np.asarray(material.split.level, dtype=np.float64)


MEMBER = (
    FieldExtractor("words", "number of words", "caption", "number", count_words),
    FieldExtractor("descriptiveness", "how specific its words are", "caption", "number", descriptiveness),
    FieldExtractor("script", "the script of most letters", "caption", "category", scripts),
    FieldExtractor("negation", "whether a word denies something", "caption", "flag", has_negation),
    FieldExtractor("level", "1 = generic, larger = more specific", "caption", "number", levels, "level"),
)
