"""What is computed once and kept on the disk: files with checksums, and texts with what was made of each."""

import hashlib
import json
import os
import re
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.io.checksums import ChecksumError, verify_checksums, write_checksums
from workbench.io.files import expand_home, only_writer, replacing

# seconds in which other processes end what they write
WAIT = 120.0
TEXTS = "CREATE TABLE IF NOT EXISTS kept (text TEXT PRIMARY KEY, made BLOB NOT NULL, checksum TEXT NOT NULL)"
# the names of all files in the cache: what it is, a key, and for locks a dot before and an ending after it
CACHED = re.compile(r"\.?(?P<kind>.+)-[0-9a-f]{16,}\.(npy|json|jsonl|sqlite)(\.lock)?")


def cache_folder() -> Path:
    """Return where caches go: ``WORKBENCH_CACHE``, or a folder in the user's cache."""
    return expand_home(os.environ.get("WORKBENCH_CACHE") or "~/.cache/itm-workbench")


@dataclass(frozen=True)
class CachedKind:
    """The files of one kind in the cache.

    Args:
        name: what the names of the files begin with, such as ``vectors-image`` or the name of a backbone.
        files: their checksums and locks included.
    """

    name: str
    files: tuple[Path, ...]

    @property
    def size(self) -> int:
        """Bytes on the disk."""
        return sum(file.stat().st_size for file in self.files)


def cached_kinds() -> list[CachedKind]:
    """List what is in the cache folder by kind, in the order of their names; foreign files are left out."""
    kinds: dict[str, list[Path]] = {}
    for file in sorted(cache_folder().glob("*")):
        if match := CACHED.fullmatch(file.name):
            kinds.setdefault(match["kind"], []).append(file)
    return [CachedKind(name, tuple(files)) for name, files in kinds.items()]


def clean_cache(kind: CachedKind) -> None:
    """Delete the files of a kind; what was computed into them is computed again when it is needed.

    Raises:
        OSError: a file cannot be deleted.
    """
    for file in kind.files:
        file.unlink(missing_ok=True)


def cached_file(file: Path, write: Callable[[Path], Mapping[str, Any]]) -> dict[str, Any]:
    """Ensure that a file of a cache is there and intact. Where it is not, it is made, by one process at a
    time; damage is named in a warning.

    Args:
        file: its checksums lie beside it, with the suffix ``.json``.
        write: writes the file to a path, and returns JSON values about it.

    Returns:
        What ``write`` returned.
    """
    sums = file.with_suffix(".json")
    with suppress(ChecksumError):
        return verify_checksums(sums, file, remedy="it is made again")
    with only_writer(file.parent, f".{file.name}.lock", wait=-1):
        # another process may have written it in the meantime; warn about damage only while holding the lock
        try:
            return verify_checksums(sums, file, remedy="it is made again")
        except ChecksumError as error:
            if file.exists():
                warnings.warn(str(error), stacklevel=3)
        with replacing(file) as temporary:
            facts = write(temporary)
        write_checksums(sums, [file], facts)
    return dict(facts)


def cached_texts(
    file: Path, texts: Sequence[str], compute: Callable[[list[str]], Sequence[bytes]]
) -> dict[str, bytes]:
    """Return what was computed of texts, from a database that several processes may share; what it lacks is
    computed, while it is closed, and added.

    Args:
        file: of the database; each row has a checksum.
        texts: any; each distinct one is computed once.
        compute: makes one value a text.

    Raises:
        ChecksumError: the database is damaged or cannot be written.
    """
    distinct = list(dict.fromkeys(texts))
    question = "SELECT text, made, checksum FROM kept WHERE text IN (SELECT value FROM json_each(?))"
    with open_database(file, TEXTS) as opened:
        rows = opened.execute(question, [json.dumps(distinct)]).fetchall()
    for text, content, checksum in rows:
        if not isinstance(content, bytes) or checksum != _checksum(text, content):
            raise ChecksumError(f"{file} is damaged at {text!r}; delete it, it is made again")
    cached = {text: content for text, content, _ in rows}
    if new := [text for text in distinct if text not in cached]:
        computed = dict(zip(new, compute(new), strict=True))
        with open_database(file, TEXTS) as opened:
            opened.executemany(
                "INSERT OR IGNORE INTO kept VALUES (?, ?, ?)",
                [(text, content, _checksum(text, content)) for text, content in computed.items()],
            )
        cached |= computed
    return cached


@contextmanager
def open_database(file: Path, table: str) -> Iterator[sqlite3.Connection]:
    """Open a database that several processes may share, and write what is changed at the end of the block.

    Args:
        file: of the database; its folder is made.
        table: SQL that makes its table where there is none.

    Raises:
        ChecksumError: the database is damaged or cannot be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with closing(sqlite3.connect(file, timeout=WAIT)) as opened, opened:
            opened.execute(table)
            yield opened
    except sqlite3.DatabaseError as error:
        raise ChecksumError(
            f"{file} cannot be used ({error}); if it is damaged, delete it, it is made again"
        ) from error


def _checksum(text: str, content: bytes) -> str:
    return hashlib.sha256(text.encode() + b"\0" + content).hexdigest()[:32]
