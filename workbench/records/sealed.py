"""Sealed files: what is read back is what was written, and says what it was made from.

A seal is a small JSON file that speaks for other files below its folder: the size and the checksum of each,
and facts such as what they were made from. It closes with a checksum of its own. A flipped bit, a missing
end, two exchanged rows and a file from elsewhere all have another checksum.

A checksum is the SHA-256 of the SHA-256 of blocks of 16 MiB. It reads every byte once a process, also of a
file that is memory-mapped afterwards, on four threads; a core reads about 1 GiB a second where it has the
instructions for SHA. The grid features of 5,000 photographs (49 x 1280 in half precision, 0.6 GiB) cost 0.6
seconds of one core.
"""

import hashlib
import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

from workbench.io import one_at_a_time, replacing
from workbench.records._checks import require

BLOCK, THREADS = 2**24, 4
SUM, FILES = "sha256", "files"


class SealError(ValueError):
    """A file is not what its seal says; the message names the file and the remedy."""


def seal(path: Path, files: Mapping[str, Path], facts: Mapping[str, Any]) -> None:
    """Write the seal of some files.

    Args:
        path: of the seal.
        files: place below the folder of the seal, as the seal shall have it -> where the file lies now.
        facts: JSON values by name, what the files were made from among them.
    """
    _write(path, {**facts, FILES: {name: _entry(file) for name, file in sorted(files.items())}})


def renew(path: Path, file: Path) -> None:
    """Write into a seal that one of its files, which lies below its folder, was written anew.

    Raises:
        SealError: the seal is damaged.
    """
    content = _content(path, "delete it, and make the run again")
    _write(
        path, {**content, FILES: {**content[FILES], file.relative_to(path.parent).as_posix(): _entry(file)}}
    )


def _write(path: Path, content: Mapping[str, Any]) -> None:
    with replacing(path) as temporary:
        temporary.write_text(json.dumps({**content, SUM: _own(content)}, indent=1), encoding="utf-8")


def _entry(file: Path) -> dict[str, Any]:
    return {"bytes": file.stat().st_size, SUM: checksum(file)}


def check(path: Path, *files: Path, remedy: str) -> dict[str, Any]:
    """Refuse files that are not what their seal says.

    Args:
        path: of the seal.
        files: below its folder.
        remedy: the end of the message.

    Returns:
        The facts that the seal holds.

    Raises:
        SealError: the seal or a file is missing, is damaged or is another.
    """
    content = _content(path, remedy)
    for file in files:
        name = file.relative_to(path.parent).as_posix()
        held = content[FILES].get(name)
        require(held, f"{file} is not among the files of {path.name}; {remedy}", SealError)
        require(file.is_file(), f"{file} is missing; {remedy}", SealError)
        size = file.stat().st_size
        cut = f"{file} has {size} bytes and was written with {held['bytes']}; {remedy}"
        require(size == held["bytes"], cut, SealError)
        other = f"{file} is not what was written: it has another checksum than {path.name} says; {remedy}"
        require(checksum(file) == held[SUM], other, SealError)
    return content


def made_once(make: Callable[[], None], seal: Path, *files: Path) -> None:
    """See that the files of a cache are there and whole. Where they are not, they are made, by one process at
    a time, and what was damaged is named in a warning.

    Args:
        make: writes the files and their seal.
        seal: of the files.
        files: the first appears last.
    """
    # damage is only told by whoever is alone with the files: another process may be between two of them
    if not _whole(seal, files, tell=False):
        with one_at_a_time(files[0]):
            if not _whole(seal, files, tell=True):
                make()


def _whole(seal: Path, files: Sequence[Path], tell: bool) -> bool:
    if not files[0].exists():
        return False
    try:
        check(seal, *files, remedy="it is made again")
    except SealError as error:
        if tell:
            warnings.warn(str(error), stacklevel=4)
        return False
    return True


def checksum(file: Path) -> str:
    """Of a file, read once a process for as long as its size, its date and its place on the disk stay."""
    found = file.stat()
    return _checksum(file, found.st_size, (found.st_mtime_ns, found.st_ino))


@cache
def _checksum(file: Path, size: int, _: tuple[int, int]) -> str:
    def of_block(start: int) -> bytes:
        with file.open("rb") as opened:
            opened.seek(start)
            return hashlib.sha256(opened.read(BLOCK)).digest()

    if size <= BLOCK:
        return hashlib.sha256(of_block(0)).hexdigest()
    with ThreadPoolExecutor(THREADS) as threads:
        blocks = b"".join(threads.map(of_block, range(0, size, BLOCK)))
    return hashlib.sha256(blocks).hexdigest()


def _content(path: Path, remedy: str) -> dict[str, Any]:
    require(
        path.is_file(), f"{path} is missing, which says what its files were made from; {remedy}", SealError
    )
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        whole = content.pop(SUM) == _own(content)
    except (ValueError, LookupError, AttributeError):
        whole = False
    require(whole, f"{path} is damaged; {remedy}", SealError)
    return content


def _own(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as one level, keys joined by ``.``.

    >>> flat({"metrics": {"rsum": 2.5}, "seed": 1})
    {'metrics.rsum': 2.5, 'seed': 1}
    """
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flat(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
    return out


def differences(was: Mapping[str, Any], now: Mapping[str, Any]) -> dict[str, str]:
    """What differs between two nested mappings of JSON values, in words, by name.

    >>> differences({"objective": "vsepp", "lr": 1}, {"objective": "dias", "lr": 1})
    {'objective': 'objective was vsepp, is dias'}
    """
    # a tuple and its list are one value in JSON
    a, b = (flat(json.loads(json.dumps(one))) for one in (was, now))
    return {
        name: f"{name} was {_said(a, name)}, is {_said(b, name)}"
        for name in sorted(a | b)
        if name not in a or name not in b or a[name] != b[name]
    }


def _said(values: Mapping[str, Any], name: str) -> str:
    return (str(values[name]) or "empty") if name in values else "not there"
