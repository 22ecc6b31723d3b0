"""Set phrases that the parser is given as one plain word: prepositions of several words, names, "about to"."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.text import _scene_words as known


@dataclass(frozen=True)
class Word:
    """One word for the parser.

    Args:
        given: what the parser reads.
        says: what it stands for, where that is something else: a preposition, an adjective, a name.
        kind: ``"preposition"``, ``"attribute"``, ``"name"`` or ``""``.
    """

    given: str
    says: str = ""
    kind: str = ""


_PREPOSITIONS = {
    "near": "ahead of|in front of|next to|close to|low to|alongside of|along side of|along side|close by|left of|right of",
    "on": "on top of|atop of|on the side of|on the back of|at the edge of",
    "in": "in the middle of|in the back of|inside of",
    "from": "out of|off of|from under|from behind|from underneath|from beneath|from above|from inside|from between|from within",
    "outside": "outside of",
    "between": "in between",
    "to": "to near",
}
_Table = dict[tuple[str, ...], Word]


def _prepositions() -> _Table:
    table = {
        tuple(text.split()): Word(given, text, "preposition")
        for given, all_ in _PREPOSITIONS.items()
        for text in all_.split("|")
    }
    for side in ("left", "right"):
        for start in ("to the", "on the", "at the", "to", "on"):
            for end in ("of", "side of", "hand side of"):
                table[(*start.split(), side, *end.split())] = Word("near", f"{side} of", "preposition")
    return table | {("in", "middle", "of"): Word("in", "in the middle of", "preposition")}


def _moods() -> _Table:
    """What is about to happen will happen."""
    beginnings = ("is getting", "are getting", "is", "are", "being", "gets", "get", "getting")
    full = {
        (*be.split(), ready, "to")
        for be in beginnings
        for ready in ("ready", "about", "set", "poised", "preparing", "going")
    }
    return dict.fromkeys(full | {("ready", "to"), ("about", "to")}, Word("will"))


def _plain(noun: str) -> str:
    """A noun that no tagger takes for a verb: "street sign" is given as a box."""
    if noun in known.VERBS:
        return "box"
    return "boxes" if noun.endswith("s") and noun[:-1] in known.VERBS else noun


def _phrases() -> dict[str, list[tuple[tuple[str, ...], Word]]]:
    """All phrases by their first word, the longest first."""
    mutual = dict.fromkeys((("each", "other"), ("one", "another")), Word("themselves"))
    names = {name: Word(_plain(name[-1]), " ".join(name), "name") for name in known.NAMES}
    table: dict[str, list[tuple[tuple[str, ...], Word]]] = {}
    for words, word in sorted(
        (_prepositions() | _moods() | mutual | names).items(), key=lambda item: -len(item[0])
    ):
        table.setdefault(words[0], []).append((words, word))
    return table


_PHRASES = _phrases()


def phrase(words: list[str], at: int) -> tuple[int, list[Word]]:
    """The longest set phrase that begins at a word.

    Args:
        words: a sentence.
        at: where to look.

    Returns:
        How many words it has, and what the parser is given for them; 0 and nothing where there is none.
    """
    for found, word in _PHRASES.get(words[at], ()):
        if tuple(words[at : at + len(found)]) == found:
            return len(found), [word]
    return 0, []
