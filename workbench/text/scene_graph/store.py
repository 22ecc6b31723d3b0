"""Parsed captions kept on disk, caption by caption: parsing forty thousand captions takes minutes, reading
them a second.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

from workbench import assets
from workbench.records import SceneGraph
from workbench.text.scene_graph import SceneGraphs, tree

ASKED = 500
WAIT = 120.0


@cache
def parser_identity() -> str:
    """What tells this parser from others, 16 hexadecimal digits: its rules, its word lists and its spaCy
    model.
    """
    here = Path(__file__).parent
    files = [
        *sorted(here.glob("*.py")),
        assets.path("scene_graphs/words.toml"),
    ]
    pipeline, name = tree.model()
    digest = hashlib.sha256(f"{name} {pipeline.meta['version']}".encode())
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class GraphStore:
    """Parses captions that it has not met, and keeps the graphs in a database that several processes may
    share.

    Args:
        parser: makes the graphs.
        folder: of the database.
    """

    def __init__(self, parser: SceneGraphs, folder: Path) -> None:
        self.parser, self.folder = parser, folder

    def of(self, captions: Sequence[str]) -> tuple[SceneGraph, ...]:
        """The graphs of the captions."""
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"scene_graphs-{parser_identity()}.sqlite"
        with closing(sqlite3.connect(file, timeout=WAIT)) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS graphs (caption TEXT PRIMARY KEY, graph TEXT NOT NULL)"
            )
            known = _read(database, list(dict.fromkeys(captions)))
        new = list(dict.fromkeys(caption for caption in captions if caption not in known))
        made = dict(zip(new, self.parser.of(new).graphs, strict=True)) if new else {}
        rows = [(caption, json.dumps([g.objects, g.attributes, g.relations])) for caption, g in made.items()]
        with closing(sqlite3.connect(file, timeout=WAIT)) as database, database:
            database.executemany("INSERT OR IGNORE INTO graphs VALUES (?, ?)", rows)
        known |= made
        return tuple(known[caption] for caption in captions)


def _read(database: sqlite3.Connection, captions: list[str]) -> dict[str, SceneGraph]:
    found: dict[str, SceneGraph] = {}
    for start in range(0, len(captions), ASKED):
        some = captions[start : start + ASKED]
        marks = ", ".join("?" * len(some))
        for caption, text in database.execute(
            f"SELECT caption, graph FROM graphs WHERE caption IN ({marks})", some
        ):
            objects, attributes, relations = json.loads(text)
            graph = SceneGraph(tuple(objects), tuple(map(tuple, attributes)), tuple(map(tuple, relations)))
            found[caption] = graph
    return found
