"""Synonyms and broader words of English, from WordNet 3.0.

A *synset* is one meaning with all words for it; a word has its synsets in the order of how often it is meant.
A synset's *broader* ones are its hypernyms ("dog" is a canine is an animal); those of an adjective that is a
shade of another, such as "scarlet", are that other one.

What is shipped is an extract: the words that occur in the captions of Flickr8k, MS-COCO and the embedded
world, with their two most frequent meanings in each part of speech and everything broader. It is made by
``tools/relevance_audit/wordnet.py``.

Source: Miller, "WordNet: A Lexical Database for English", Communications of the ACM 38, 1995; WordNet 3.0,
copyright 2006 by Princeton University, free to use, copy and distribute with its notice, which stands beside
the extract.
"""

import gzip
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from workbench import assets

Kind = Literal["noun", "verb", "adj"]
ENDINGS: dict[Kind, tuple[tuple[str, str], ...]] = {
    "noun": (("ies", "y"), ("es", ""), ("s", "")),
    "verb": (("ies", "y"), ("es", ""), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
}


@dataclass(frozen=True)
class Lexicon:
    """Words with their meanings.

    Args:
        senses: part of speech -> word, its parts joined by ``_`` -> synsets, the most frequent first.
        broader: synset -> those directly above it.
    """

    senses: dict[str, dict[str, list[str]]]
    broader: dict[str, list[str]]

    def synsets(self, name: str, kind: Kind) -> list[str]:
        """Return meanings of a word or a compound; a compound that is not known means what its last word
        means.

        >>> shipped_lexicon().synsets("couch", "noun")[0] == shipped_lexicon().synsets("sofa", "noun")[0]
        True
        """
        parts = name.lower().split()
        for first in range(len(parts)):
            if synsets := self._known_senses("_".join(parts[first:]), kind):
                return synsets
        return []

    def meanings(self, name: str, kind: Kind) -> list[str]:
        """Return the ``synsets`` of a word; an adjective without any, as "parked", has those of the verb."""
        synsets = self.synsets(name, kind)
        if kind == "adj" and not synsets:
            synsets = self.synsets(name, "verb")
        return synsets

    def _known_senses(self, word: str, kind: Kind) -> list[str]:
        forms = [word, *(word[: -len(end)] + new for end, new in ENDINGS[kind] if word.endswith(end))]
        return next((self.senses[kind][form] for form in forms if form in self.senses[kind]), [])

    def broader_synsets(self, synsets: Iterable[str]) -> set[str]:
        """Return these synsets and all that are broader."""
        broader: set[str] = set()
        waiting = list(synsets)
        while waiting:
            synset = waiting.pop()
            if synset not in broader:
                broader.add(synset)
                waiting += self.broader.get(synset, [])
        return broader


# no word has a meaning
NOTHING = Lexicon({kind: {} for kind in ENDINGS}, {})


@cache
def shipped_lexicon() -> Lexicon:
    """Return the extract that comes with the package."""
    with gzip.open(assets.path("wordnet.json.gz"), "rt", encoding="utf-8") as file:
        return Lexicon(**json.load(file))
