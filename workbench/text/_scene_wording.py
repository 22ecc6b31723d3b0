"""A caption as the words that the tagger and parser get to read.

Set phrases are folded before the parser sees them, since it attaches "near a tree" more surely than "to the
left of a tree": each is replaced by one plain word of the same kind, which remembers what it stands for.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from workbench.text import _scene_words as known
from workbench.text._scene_phrases import Word, phrase

LONGEST = 120
_TOKEN = re.compile(r"[^\W_]+(?:['\-][^\W_]+)*|'(?:s|re|ve|ll|d)\b|[.;:!?,\"()&/]")
_STOPS = frozenset(".!?;")
_APOSTROPHE = re.compile(r"^(.+?)('s|n't|'re|'ve|'ll|'d)$")


def tokens(text: str) -> list[str]:
    """Lower-cased words and the punctuation that shapes a sentence; everything else (symbols, control
    characters) is left out.
    """
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


def _gathering(words: list[str], at: int) -> tuple[int, list[Word]]:
    """A noun that gathers: "a large group of" becomes an adjective, "pair of shoes" one name."""
    start = at
    while (
        start < len(words)
        and start - at < 3
        and words[start] not in known.GATHERS
        and words[start] not in known.STOPPERS
    ):
        start += 1
    if start + 1 >= len(words) or words[start] not in known.GATHERS or words[start + 1] != "of":
        return 0, []
    if at > 0 and start > at and words[at] not in known.OPENING:
        return 0, []
    return _gathered(words, at, start)


def _gathered(words: list[str], at: int, start: int) -> tuple[int, list[Word]]:
    gather, after = words[start], start + 2
    while after < len(words) and words[after] in (
        "the",
        "his",
        "her",
        "their",
        "a",
        "an",
        "these",
        "those",
        "its",
    ):
        after += 1
    ahead = words[after : after + 3]
    if gather in ("pair", "pairs") and any(word in known.PAIRED for word in ahead):
        noun = next(i for i, word in enumerate(ahead) if word in known.PAIRED)
        adjectives = [Word(word) for word in (*words[at:start], *ahead[:noun]) if word not in known.ARTICLES]
        return after + noun + 1 - at, [*adjectives, Word(ahead[noun], f"pair of {ahead[noun]}", "name")]
    if not ahead or ahead[0] in known.STOPPERS:
        return 0, []
    return after - at, [Word("several", gather, "attribute")]


def _shade(words: list[str], at: int) -> tuple[int, list[Word]]:
    """One adjective of two words: "dark blue"; a colour that may be a noun is given as one that may not."""
    pair = words[at : at + 2]
    if len(pair) == 2 and (
        (pair[0] in known.SHADES and pair[1] in known.COLOURS)
        or (
            pair[1] in known.MADE
            and pair[0] not in known.ARTICLES | known.STOPPERS
            and words[at + 2 : at + 3]
        )
        or (pair[0] in known.DEPTHS and pair[1] in ("deep", "high", "length"))
        or (pair[1] == "looking" and words[at + 2 : at + 3] and pair[0] in known.LOOKS)
    ):
        return 2, [Word("red", " ".join(pair), "attribute")]
    noun = words[at] in known.COLOUR_NOUNS and (
        len(pair) < 2 or pair[1] in known.STOPPERS or not pair[1][0].isalnum()
    )
    return (
        (1, [Word("red", words[at])])
        if words[at] in known.COLOURS and not noun and words[at] != "red"
        else (0, [])
    )


def _frame(words: list[str], at: int) -> tuple[int, list[Word]]:
    """The beginning that says nothing: "an aerial view of"."""
    if at:
        return 0, []
    for i, word in enumerate(words[:7]):
        if (
            i
            and (word in known.ARTICLES or word.endswith("ing"))
            and words[0] not in ("this", "here", "there", "it")
        ):
            break
        framed = word in known.FRAMES or (word == "up" and i > 0 and words[i - 1] == "close")
        if framed and words[i + 1 : i + 2] == ["of"] and len(words) > i + 2:
            return i + 2, []
        if (
            framed
            and words[i + 1 : i + 2]
            and words[i + 1] in ("shows", "showing", "depicts", "depicting", "features")
        ):
            return i + 2, []
        if word in ("with", "on", "in", "at", "near", "holding"):
            break
    return 0, []


def _partitive(words: list[str], at: int) -> tuple[int, list[Word]]:
    """A part of a whole: of "some of the men" goes "of the"."""
    if words[at] in known.PARTITIVES and words[at + 1 : at + 2] == ["of"] and words[at + 2 : at + 3]:
        if words[at + 2] in ("them", "which", "whom", "it"):
            return 3, [Word("they")]
        article = words[at + 2] in ("the", "these", "those", "his", "her", "their")
        return 2 + article, [Word(words[at])]
    return 0, []


def _worn(words: list[str], at: int) -> tuple[int, list[Word]]:
    """A tie that is no verb: "in shirt and tie"."""
    if words[at] not in ("tie", "ties") or at == 0 or words[at - 1] in ("is", "are", "to", "they"):
        return 0, []
    return 1, [Word("hat" if words[at] == "tie" else "hats", words[at], "name")]


_Folding = Callable[[list[str], int], tuple[int, list[Word]]]
_FOLDINGS: tuple[_Folding, ...] = (_frame, phrase, _gathering, _partitive, _shade, _worn)


def _hyphenated(word: str) -> Word:
    """A hyphenated word is one adjective or noun, whatever its parts."""
    if "-" not in word:
        return Word(word)
    last = word.rpartition("-")[2]
    adjective = (
        last.endswith(("ed", "ing"))
        or last in known.COLOURS
        or last in ("old", "style", "year", "size", "like", "up", "free")
    )
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
