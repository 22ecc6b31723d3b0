"""Files that appear whole or not at all, and folders that one process at a time writes into."""

import glob
import hashlib
import json
import os
import platform
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import cache
from pathlib import Path

LOCK, WRITER = ".lock", ".writer.json"


def cache_folder() -> Path:
    """Where caches go: ``WORKBENCH_CACHE``, or a folder in the user's cache."""
    return Path(os.environ.get("WORKBENCH_CACHE") or Path.home() / ".cache" / "itm-workbench")


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """A temporary path beside ``path`` that takes its place when the block ends well, and is removed when it
    does not; those that a killed process has left there are removed as well.

    Args:
        path: the file to be written; its folder is made if needed. The suffix is kept, since writers look at
            it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _sweep(path)
    temporary = path.with_name(f".{_here()}-{os.getpid()}-{secrets.token_hex(4)}.{path.name}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path | str) -> Iterator[None]:
    """No other process writes into the folder while the block runs. The lock is the operating system's and
    ends with its process, however that ends; within a process, blocks may be nested.

    Args:
        folder: is made if needed; the files ``.lock`` and ``.writer.json`` in it are ours.

    Raises:
        BlockingIOError: another process writes there; the message says which.
    """
    from filelock import FileLock, Timeout  # slow to import

    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    lock, note = FileLock(folder / LOCK, timeout=0, is_singleton=True), folder / WRITER
    try:
        lock.acquire()
    except Timeout:
        raise BlockingIOError(
            f"{folder} is being written by {_holder(note)}; wait, or choose another"
        ) from None
    try:
        if lock.lock_counter == 1:
            since = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
            note.write_text(json.dumps({"pid": os.getpid(), "host": platform.node(), "since": since}))
        yield
    finally:
        if lock.lock_counter == 1:
            note.unlink(missing_ok=True)
        lock.release()


@contextmanager
def one_at_a_time(file: Path) -> Iterator[None]:
    """Wait until no other process makes this file. Whoever waited looks again whether it is there."""
    from filelock import FileLock

    file.parent.mkdir(parents=True, exist_ok=True)
    lock = file.with_name(f".{file.name}.lock")
    with FileLock(lock):
        try:
            yield
        finally:
            # a third process may lock a new file while a second gets the old one: then both make the same
            lock.unlink(missing_ok=True)


def _holder(note: Path) -> str:
    try:
        held = json.loads(note.read_text())
        return f"process {held['pid']} on {held['host']} since {held['since']}"
    except (OSError, ValueError, LookupError):
        return "another process"


@cache
def _here() -> str:
    """What process numbers count in: this machine, or a container of its own on it."""
    with suppress(OSError):
        return hashlib.sha256((platform.node() + os.readlink("/proc/self/ns/pid")).encode()).hexdigest()[:8]
    return hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _sweep(path: Path) -> None:
    for left in path.parent.glob(f".{_here()}-*.{glob.escape(path.name)}"):
        number = left.name.split("-")[1]
        if os.name == "posix" and number.isdecimal() and not _lives(int(number)):
            left.unlink(missing_ok=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to somebody else
        return True
    return True
