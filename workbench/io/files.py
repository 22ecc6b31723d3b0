"""Files that appear whole or not at all, and folders that one process at a time writes into."""

import json
import math
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.formatting import format_bytes

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import DTypeLike

TABLE_WRITERS = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records", indent=1, force_ascii=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
}


def expand_home(path: Path | str) -> Path:
    """Read a path in which ``~`` is the home folder; one of a user who is not there stays as it is.

    >>> expand_home("~/mine") == Path.home() / "mine", expand_home("a~b").name
    (True, 'a~b')
    """
    return Path(os.path.expanduser(path))


@contextmanager
def replacing(path: Path | str) -> Iterator[Path]:
    """Yield a temporary path beside ``path``, which takes its place when the block ends well. Its name begins
    with a dot, which no reader looks for; its suffix is that of ``path``, since writers look at it.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.{path.name}")
    try:
        yield temporary
        with temporary.open("rb+") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def only_writer(folder: Path | str, name: str = ".lock", wait: float = 0) -> Iterator[None]:
    """Let no other process write into the folder while the block runs. The lock ends with its process,
    however that ends; within a process, blocks may be nested.

    Args:
        folder: it is made if needed.
        name: of the lock's file.
        wait: seconds in which another process may end what it writes; -1 = as long as that takes.

    Raises:
        BlockingIOError: another process writes there.
    """
    from filelock import FileLock, Timeout  # slow to import

    folder = Path(folder).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(folder / name, is_singleton=True).acquire(timeout=wait)
    except Timeout:
        raise BlockingIOError(
            f"{folder} is being written by another process; wait, or choose another folder"
        ) from None
    with lock:
        yield


def write_text(path: Path, text: str) -> Path:
    """Write a text, atomically; its folder is made if needed."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a mapping as JSON with sorted keys, atomically; numpy numbers become plain ones.

    Raises:
        ValueError, TypeError: as ``json_value``.
    """
    text = json.dumps(json_value(value, path.name), indent=2, sort_keys=True, ensure_ascii=False)
    return write_text(path, text + "\n")


def json_value(value: Any, place: str) -> Any:
    """Return a value as JSON knows it.

    Args:
        value: mappings, sequences, numpy arrays and numbers, paths and plain values.
        place: where it stands, for the message.

    Raises:
        ValueError, TypeError: a number is not finite, a value has no JSON form; the message names its place.
    """
    if isinstance(value, Mapping):
        return {str(key): json_value(item, f"{place}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [json_value(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return json_value(value.tolist(), place)
    if not (value is None or isinstance(value, str | int | float)):
        raise TypeError(f"{place} is of type {type(value).__name__}, which has no JSON form")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{place} is {value}; leave out what could not be measured, or say why as text")
    return value


def write_table(path: Path | str, table: "pd.DataFrame") -> Path:
    """Write a table without its index, atomically.

    Args:
        path: ends with ``.csv``, ``.json`` (one mapping a row) or ``.parquet``.
        table: any.

    Raises:
        ValueError: another ending.
    """
    path = Path(path)
    require_table_name(path)
    with replacing(path) as temporary:
        TABLE_WRITERS[path.suffix](table, temporary)
    return path


def require_table_name(path: Path | str) -> None:
    """Raise if ``write_table`` cannot write a file of this name.

    Raises:
        ValueError: it has another ending.
    """
    path = Path(path)
    if path.suffix not in TABLE_WRITERS:
        raise ValueError(f"cannot write {path.name}: the name must end with {', '.join(TABLE_WRITERS)}")


def write_recorded(path: Path, table: "pd.DataFrame", command: str) -> Path:
    """Write a table with tabs, atomically; its first line says which command made it, which
    ``assets.read_recorded`` skips.
    """
    lines = table.to_csv(sep="\t", index=False)
    return write_text(path, f"# {command}\n{lines}")


def new_memmap(path: Path, shape: tuple[int, ...], dtype: "DTypeLike") -> Any:
    """Return a new array mapped from an ``.npy`` file, whose room on the disk is taken first: a write through
    a memory map into a full disk would end the process with a bus error.

    Raises:
        OSError: there is no room; the message says how much is needed.
    """
    import numpy as np  # slow to import

    try:
        array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("rb+") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        size = format_bytes(math.prod(shape) * np.dtype(dtype).itemsize)
        raise OSError(
            f"{path.parent} has no room for the {size} of {path.name} ({error.strerror}); free some, or "
            "name another folder in WORKBENCH_CACHE"
        ) from None
    return array


def flatten(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return a nested mapping as one level, keys joined by ``.``.

    >>> flatten({"metrics": {"rsum": 2.5}, "seed": 1})
    {'metrics.rsum': 2.5, 'seed': 1}
    """
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flatten(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
    return out
