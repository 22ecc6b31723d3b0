"""Texts and what was made of each, kept in a database that several processes may share."""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from workbench.records.sealed import SealError

# seconds in which other processes end what they write
WAIT = 120.0


def known(file: Path, texts: Sequence[str]) -> dict[str, bytes]:
    """What the database holds of these texts; each row has a checksum.

    Raises:
        SealError: the database cannot be read, or a row is not what was written.
    """
    question = "SELECT text, made, checksum FROM kept WHERE text IN (SELECT value FROM json_each(?))"
    with _opened(file) as database:
        found = database.execute(question, [json.dumps(list(texts))]).fetchall()
    for text, made, checksum in found:
        if not isinstance(made, bytes) or checksum != _checksum(text, made):
            raise SealError(f"{file} is damaged at {text!r}; delete it, it is made again")
    return {text: made for text, made, _ in found}


def keep(file: Path, made: Mapping[str, bytes]) -> None:
    """Add what was made of some texts; what is there stays.

    Raises:
        SealError: the database cannot be written.
    """
    rows = [(text, content, _checksum(text, content)) for text, content in made.items()]
    with _opened(file) as database:
        database.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", rows)


@contextmanager
def _opened(file: Path) -> Iterator[sqlite3.Connection]:
    """The database, open for as long as is needed to read or write."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(file, timeout=WAIT)) as database, database:
            database.execute(
                "CREATE TABLE IF NOT EXISTS kept "
                "(text TEXT PRIMARY KEY, made BLOB NOT NULL, checksum TEXT NOT NULL)"
            )
            yield database
    except sqlite3.DatabaseError as error:
        raise SealError(
            f"{file} cannot be used ({error}); if it is damaged, delete it, it is made again"
        ) from error


def _checksum(text: str, made: bytes) -> str:
    return hashlib.sha256(text.encode() + b"\0" + made).hexdigest()[:32]
