"""A caption as the words that the tagger and parser get to read.

Set phrases are folded before the parser sees them, since it attaches "near a tree" more surely than "to the left of a tree":
each is replaced by one plain word of the same kind, which remembers what it stands for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from workbench.text._scene_words import COLOURS, FRAMES, GATHERS, NAMES, PAIRED, PARTITIVES

LONGEST = 120
_TOKEN = re.compile(r"[^\W_]+(?:[’'\-][^\W_]+)*|[.;:!?,\"()&/]")
_STOPS = frozenset(".!?;")
_APOSTROPHE = re.compile(r"^(.+?)('s|n't|'re|'ve|'ll|'d)$")


@dataclass(frozen=True)
class Word:
    """One word for the parser.

    Args:
        given: what the parser reads.
        says: what it stands for, where that is something else: a preposition, an attribute, the first part of a name.
        kind: ``"preposition"``, ``"attribute"``, ``"name"``, ``"prefix"`` or ``""``.
    """

    given: str
    says: str = ""
    kind: str = ""


def _prepositions() -> dict[tuple[str, ...], Word]:
    """Prepositions of several words, and the plain one that the parser reads for each."""
    phrases = {
        "near": "in front of|next to|close to|alongside of|along side of|along side|close by|left of|right of|adjacent to",
        "on": "on top of|atop of|on the top of|on the side of|on the back of|on the edge of|at the edge of|by the side of",
        "in": "in the middle of|in the center of|in the back of|in the midst of|inside of",
        "from": "out of|off of",
        "outside": "outside of",
        "between": "in between",
    }
    table = {tuple(text.split()): Word(given, text, "preposition") for given, texts in phrases.items() for text in texts.split("|")}
    for side in ("left", "right"):
        for start in ("to the", "on the", "at the", "to", "on"):
            for end in ("of", "side of", "hand side of"):
                table[(*start.split(), side, *end.split())] = Word("near", f"{side} of", "preposition")
    table["in", "middle", "of"] = Word("in", "in the middle of", "preposition")
    return table


_PREPOSITIONS = _prepositions()
_LONGEST_PREPOSITION = max(map(len, _PREPOSITIONS))


def tokens(text: str) -> list[str]:
    """Lower-cased words and the punctuation that shapes a sentence; everything else (symbols, control characters) is left out."""
    found: list[str] = []
    for token in _TOKEN.findall(unicodedata.normalize("NFKC", text).lower().replace("’", "'")):
        clitic = _APOSTROPHE.match(token)
        found += clitic.groups() if clitic else (token,)
    return found


def sentences(words: list[str]) -> list[list[str]]:
    """The words cut at full stops, and at ``LONGEST`` words; the stops are left out."""
    found: list[list[str]] = [[]]
    for word in words:
        if word in _STOPS or len(found[-1]) == LONGEST:
            found.append([])
        if word not in _STOPS:
            found[-1].append(word)
    return [sentence for sentence in found if any(word[0].isalnum() for word in sentence)]


def _preposition(words: list[str], at: int) -> tuple[int, list[Word]]:
    for length in range(min(_LONGEST_PREPOSITION, len(words) - at), 1, -1):
        found = _PREPOSITIONS.get(tuple(words[at : at + length]))
        if found:
            return length, [found]
    return 0, []


def _name(words: list[str], at: int) -> tuple[int, list[Word]]:
    """A set name is given as its last word, or "thing" where that word may be read as a verb."""
    for length in (3, 2):
        name = tuple(words[at : at + length])
        if name in NAMES:
            return length, [Word(name[-1], " ".join(name), "name")]
    return 0, []


def _gathering(words: list[str], at: int) -> tuple[int, list[Word]]:
    """"a large group of": the adjectives stay, "group" becomes one itself; "pair of shoes" becomes one name."""
    start = at
    while start < len(words) and start - at < 3 and words[start] not in GATHERS and words[start] not in _STOPPERS:
        start += 1
    if start + 1 >= len(words) or words[start] not in GATHERS or words[start + 1] != "of":
        return 0, []
    if at > 0 and words[at] not in ARTICLES and not words[start].endswith("s"):
        return 0, []
    before = [word for word in words[at:start] if word not in ARTICLES]
    return _gathered(words, at, start, before)


ARTICLES = frozenset({"a", "an", "the", "this", "one", "some"})
_STOPPERS = frozenset(
    "of in on at with and or , near by is are to from for through over under that who which while as into".split()
) | {"'s"}


def _gathered(words: list[str], at: int, start: int, before: list[str]) -> tuple[int, list[Word]]:
    gather, after = words[start], start + 2
    while after < len(words) and words[after] in ("the", "his", "her", "their", "a", "an", "these", "those", "its"):
        after += 1
    ahead = words[after : after + 3]
    if gather in ("pair", "pairs") and any(word in PAIRED for word in ahead):
        noun = next(i for i, word in enumerate(ahead) if word in PAIRED)
        adjectives = [Word(word) for word in (*before, *ahead[:noun])]
        return after + noun + 1 - at, [*adjectives, Word(ahead[noun], f"pair of {ahead[noun]}", "name")]
    if not ahead or ahead[0] in _STOPPERS:
        return 0, []
    return after - at, [*(Word(word) for word in before), Word("several", gather, "attribute")]


def _frame(words: list[str], at: int) -> tuple[int, list[Word]]:
    """"an aerial view of" at the beginning of a sentence says nothing."""
    if at:
        return 0, []
    for i, word in enumerate(words[:7]):
        framed = word in FRAMES or (word == "up" and i > 0 and words[i - 1] == "close")
        if framed and words[i + 1 : i + 2] == ["of"] and len(words) > i + 2:
            return i + 2, []
        if framed and words[i + 1 : i + 2] and words[i + 1] in ("shows", "showing", "depicts", "depicting", "features"):
            return i + 2, []
        if word in ("with", "on", "in", "at", "near", "holding"):
            break
    return 0, []


def _partitive(words: list[str], at: int) -> tuple[int, list[Word]]:
    """"some of the men": "of the" goes."""
    if words[at] in PARTITIVES and words[at + 1 : at + 2] == ["of"] and words[at + 2 : at + 3]:
        article = words[at + 2] in ("the", "these", "those", "his", "her", "their")
        return 2 + article, [Word(words[at])]
    return 0, []


_Folding = Callable[[list[str], int], tuple[int, list[Word]]]
_FOLDINGS: tuple[_Folding, ...] = (_frame, _preposition, _name, _gathering, _partitive)


def _hyphenated(word: str) -> Word:
    """A hyphenated word is one adjective or noun, whatever its parts."""
    if "-" not in word:
        return Word(word)
    last = word.rpartition("-")[2]
    adjective = last.endswith(("ed", "ing")) or last in COLOURS or last in ("old", "style", "year", "size", "like", "up", "free")
    return Word("large", word, "attribute") if adjective else Word(last, word, "name")


def fold(words: list[str]) -> list[Word]:
    """A sentence's words for the parser.

    Args:
        words: of one sentence, lower case.

    Returns:
        The words with set phrases folded, and a full stop.
    """
    found: list[Word] = []
    at = 0
    while at < len(words):
        for folding in _FOLDINGS:
            length, made = folding(words, at)
            if length:
                break
        else:
            length, made = 1, [_hyphenated(words[at])]
        found += made
        at += length
    return [*found, Word(".")]
