"""A small JSON file beside others says their sizes, their checksums and what they were made from.

A checksum is the SHA-256 of the SHA-256 of blocks of 16 MiB. A core reads about 1 GiB a second where it has
the instructions for SHA.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

from workbench.io.files import write_text

BLOCK = 2**24
# of a long content this much is read at its beginning, in its middle and at its end
PIECE = 2**12
SUM = "sha256"
FILES = "files"


class ChecksumError(ValueError):
    """A file is not what was written; the message names the file and the remedy."""


def checksum(file: Path) -> str:
    """Return the checksum of a file, which is read once a process as long as its size, date and place on the
    disk stay.
    """
    stat = file.stat()
    return _checksum(file, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@cache
def _checksum(file: Path, *_: int) -> str:
    with file.open("rb") as opened:
        blocks = iter(partial(opened.read, BLOCK), b"")
        return hashlib.sha256(b"".join(hashlib.sha256(block).digest() for block in blocks)).hexdigest()


def content_stamp(content: bytes | Path) -> int:
    """Return a checksum of 64 bits of what an image is read from, never 0: of its size, and of 4 KiB each at
    its beginning, in its middle and at its end, so that a whole collection is known in seconds. Images of one
    size that are equal in all three places have one checksum.

    Args:
        content: bytes, or a file, whose checksum is computed once a process for as long as its size, its
            date and its place on the disk stay.
    """
    if isinstance(content, bytes):
        return _stamp_of_content(lambda place, count: content[place : place + count], len(content))
    stat = content.stat()
    return _stamp_of_file(content, stat.st_size, stat.st_mtime_ns, stat.st_ino)


@cache
def _stamp_of_file(file: Path, size: int, *_: int) -> int:
    with file.open("rb", buffering=0) as opened:

        def read(place: int, count: int) -> bytes:
            opened.seek(place)
            return opened.read(count)

        return _stamp_of_content(read, size)


def _stamp_of_content(read: Callable[[int, int], bytes], size: int) -> int:
    if size <= 3 * PIECE:
        pieces = [read(0, size)]
    else:
        pieces = [read(place, PIECE) for place in (0, (size - PIECE) // 2, size - PIECE)]
    return _hash_to_number(str(size).encode(), *pieces) or 1


def text_stamp(text: str) -> int:
    """Return a checksum of 64 bits of a text, with a sign."""
    return _hash_to_number(text.encode())


def _hash_to_number(*parts: bytes) -> int:
    digest = hashlib.blake2b(digest_size=8)
    for part in parts:
        digest.update(part)
    return int.from_bytes(digest.digest(), "big", signed=True)


def write_checksums(path: Path, files: Iterable[Path], facts: Mapping[str, Any]) -> None:
    """Write the checksums of files that lie below the folder of ``path``, with JSON values about them, such
    as what they were made from. The file closes with a checksum of its own.
    """
    sums = {
        file.relative_to(path.parent).as_posix(): {"bytes": file.stat().st_size, SUM: checksum(file)}
        for file in files
    }
    content = {**facts, FILES: sums}
    write_text(path, json.dumps({**content, SUM: _checksum_of_content(content)}, indent=1))


def update_checksums(path: Path, *files: Path) -> None:
    """Write the checksums of files that were written anew beside those that are there.

    Raises:
        ChecksumError: the checksums are damaged.
    """
    facts = verify_checksums(path, remedy="delete it, and make the run again")
    others = [path.parent / name for name in facts[FILES]]
    write_checksums(path, dict.fromkeys([*others, *files]), {k: v for k, v in facts.items() if k != FILES})


def verify_checksums(path: Path, *files: Path, remedy: str) -> dict[str, Any]:
    """Raise if files are not what ``write_checksums`` saw.

    Args:
        path: of the checksums.
        files: below its folder.
        remedy: the end of the message.

    Returns:
        What the file says about them.

    Raises:
        ChecksumError: the checksums or a file are missing, are damaged or are others.
    """
    content = _read_checksums(path, remedy)
    for file in files:
        entry = content[FILES].get(file.relative_to(path.parent).as_posix())
        problem = _describe_problem(file, entry, path.name)
        if problem:
            raise ChecksumError(f"{file} {problem}; {remedy}")
    return content


def _describe_problem(file: Path, entry: Mapping[str, Any] | None, sums: str) -> str:
    """Describe how a file differs from its entry in the file of checksums that is called ``sums``, if it
    does.
    """
    if not entry:
        return f"is not among the files of {sums}"
    if not file.is_file():
        return "is missing"
    size = file.stat().st_size
    if size != entry["bytes"]:
        return f"has {size} bytes and was written with {entry['bytes']}"
    if checksum(file) != entry[SUM]:
        return f"is not what was written: it has another checksum than {sums} says"
    return ""


def _read_checksums(path: Path, remedy: str) -> dict[str, Any]:
    if not path.is_file():
        raise ChecksumError(f"{path} is missing, which says what its files were made from; {remedy}")
    try:
        content = json.loads(path.read_bytes())
    except ValueError:
        content = None
    if not isinstance(content, dict) or content.pop(SUM, None) != _checksum_of_content(content):
        raise ChecksumError(f"{path} is damaged; {remedy}")
    return content


def _checksum_of_content(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
