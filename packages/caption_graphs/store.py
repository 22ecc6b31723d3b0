"""Parsed captions kept on disk, caption by caption: parsing forty thousand captions takes minutes, reading
them a second.
"""

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from caption_graphs import SceneGraphs, spelling, tree
from caption_graphs.vocabulary import ASSETS
from workbench.io import TextCache
from workbench.records import SceneGraph


@cache
def parser_identity() -> str:
    """What tells this parser from others, 16 hexadecimal digits: its rules, its word lists and counts, its
    weights and its spaCy model.
    """
    files = sorted(Path(__file__).parent.glob("*.py"))
    files += [ASSETS / "words.toml", ASSETS / "spelling.toml", spelling.NEIGHBOURS, tree.ADAPTED]
    pipeline, name = tree.model()
    digest = hashlib.sha256(f"{name} {pipeline.meta['version']}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def stored(parser: SceneGraphs, folder: Path, captions: Sequence[str]) -> tuple[SceneGraph, ...]:
    """The graphs of captions, from a database that several processes may share; what it lacks is parsed and
    added.

    Args:
        parser: makes the graphs.
        folder: of the database.
        captions: any texts.

    Raises:
        ChecksumError: the database is damaged; the message names it and the remedy.
    """
    database = TextCache(folder / f"scene_graphs-{parser_identity()}.sqlite")
    distinct = list(dict.fromkeys(captions))
    held = database.read(distinct)
    # the database is closed while the parser works: no process waits for another's parser
    new = [caption for caption in distinct if caption not in held]
    graphs = parser.of(new).graphs if new else ()
    texts = (json.dumps([graph.objects, graph.attributes, graph.relations]) for graph in graphs)
    made = {caption: text.encode() for caption, text in zip(new, texts, strict=True)}
    database.add(made)
    held.update(made)
    return tuple(SceneGraph.of(*json.loads(held[caption])) for caption in captions)
