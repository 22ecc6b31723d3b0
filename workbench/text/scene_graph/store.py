"""Parsed captions kept on disk, caption by caption: parsing forty thousand captions takes minutes, reading
them a second.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path

from workbench import assets
from workbench.records import SceneGraph
from workbench.text.scene_graph import SceneGraphs, tree

WAIT = 120.0


@cache
def parser_identity() -> str:
    """What tells this parser from others, 16 hexadecimal digits: its rules, its word lists and its spaCy
    model.
    """
    files = [*sorted(Path(__file__).parent.glob("*.py")), assets.path("scene_graphs/words.toml")]
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
    """
    distinct = list(dict.fromkeys(captions))
    with _opened(folder) as database:
        question = "SELECT caption, graph FROM graphs WHERE caption IN (SELECT value FROM json_each(?))"
        known = dict(database.execute(question, [json.dumps(distinct)]))
    new = [caption for caption in distinct if caption not in known]
    graphs = parser.of(new).graphs if new else ()
    texts = (json.dumps([graph.objects, graph.attributes, graph.relations]) for graph in graphs)
    made = dict(zip(new, texts, strict=True))
    with _opened(folder) as database:
        database.executemany("INSERT OR IGNORE INTO graphs VALUES (?, ?)", made.items())
    known.update(made)
    return tuple(SceneGraph.of(*json.loads(known[caption])) for caption in captions)


@contextmanager
def _opened(folder: Path) -> Iterator[sqlite3.Connection]:
    """The database, closed before the parser starts: no process waits for another's parser."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"scene_graphs-{parser_identity()}.sqlite"
    with closing(sqlite3.connect(file, timeout=WAIT)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS graphs (caption TEXT PRIMARY KEY, graph TEXT NOT NULL)")
        yield database
