"""What is computed once and kept on the disk: files with checksums, and texts with what was made of each."""

import hashlib
import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.io.checksums import ChecksumError, verify, write_checksums
from workbench.io.files import replacing, with_home

# seconds in which other processes end what they write
WAIT = 120.0


def cache_folder() -> Path:
    """Where caches go: ``WORKBENCH_CACHE``, or a folder in the user's cache."""
    return with_home(Path(os.environ.get("WORKBENCH_CACHE") or "~/.cache/itm-workbench"))


def cached_file(file: Path, write: Callable[[Path], Mapping[str, Any]]) -> dict[str, Any]:
    """See that a file of a cache is there and whole. Where it is not, it is made, by one process at a time;
    damage is named in a warning.

    Args:
        file: its checksums lie beside it, with the suffix ``.json``.
        write: writes the file to a path, and returns JSON values about it.

    Returns:
        What ``write`` returned.
    """
    from filelock import FileLock  # slow to import

    sums = file.with_suffix(".json")
    try:
        return verify(sums, file, remedy="it is made again")
    except ChecksumError:
        file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_name(f".{file.name}.lock")):
        # another process may have made it in the meantime; damage is told only by who is alone with the file
        try:
            return verify(sums, file, remedy="it is made again")
        except ChecksumError as error:
            if file.exists():
                warnings.warn(str(error), stacklevel=3)
        with replacing(file) as temporary:
            facts = write(temporary)
        write_checksums(sums, [file], facts)
    return dict(facts)


@dataclass(frozen=True)
class TextCache:
    """Texts and what was made of each, in a database that several processes may share.

    Args:
        file: of the database.
    """

    file: Path

    def read(self, texts: Sequence[str]) -> dict[str, bytes]:
        """What the database holds of these texts; each row has a checksum.

        Raises:
            ChecksumError: the database cannot be read, or a row is not what was written.
        """
        question = "SELECT text, made, checksum FROM kept WHERE text IN (SELECT value FROM json_each(?))"
        with self._opened() as database:
            rows = database.execute(question, [json.dumps(list(texts))]).fetchall()
        for text, content, checksum in rows:
            if not isinstance(content, bytes) or checksum != _checksum(text, content):
                raise ChecksumError(f"{self.file} is damaged at {text!r}; delete it, it is made again")
        return {text: content for text, content, _ in rows}

    def add(self, made: Mapping[str, bytes]) -> None:
        """Add what was made of some texts; what is there stays.

        Raises:
            ChecksumError: the database cannot be written.
        """
        rows = [(text, content, _checksum(text, content)) for text, content in made.items()]
        with self._opened() as database:
            database.executemany("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", rows)

    def complete(
        self, texts: Sequence[str], compute: Callable[[list[str]], Sequence[bytes]]
    ) -> dict[str, bytes]:
        """What was made of texts; what the database lacks is computed, while it is closed, and added.

        Args:
            texts: any; each distinct one is computed once.
            compute: makes one value a text.

        Raises:
            ChecksumError: the database is damaged or cannot be written.
        """
        distinct = list(dict.fromkeys(texts))
        rows = self.read(distinct)
        if new := [text for text in distinct if text not in rows]:
            made = dict(zip(new, compute(new), strict=True))
            self.add(made)
            rows |= made
        return rows

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.file, timeout=WAIT)) as database, database:
                database.execute(
                    "CREATE TABLE IF NOT EXISTS kept "
                    "(text TEXT PRIMARY KEY, made BLOB NOT NULL, checksum TEXT NOT NULL)"
                )
                yield database
        except sqlite3.DatabaseError as error:
            raise ChecksumError(
                f"{self.file} cannot be used ({error}); if it is damaged, delete it, it is made again"
            ) from error


def _checksum(text: str, content: bytes) -> str:
    return hashlib.sha256(text.encode() + b"\0" + content).hexdigest()[:32]
