"""The files of a run folder, each written whole or not at all."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.records.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

RESULTS, PARAMS, ENV, STATUS = "results.json", "params.json", "env.json", "STATUS"
SCRAP = "application/scrapbook.scrap.json+json"


def write_text(path: Path, text: str) -> Path:
    """Write a file so that a reader sees the old content or the new, never half of it; its folder is made if
    needed.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


WRITERS = {
    ".csv": lambda table, path: table.to_csv(path, index=False),
    ".json": lambda table, path: table.to_json(path, orient="records", indent=1, force_ascii=False),
    ".parquet": lambda table, path: table.to_parquet(path, index=False),
}


def write_table(path: Path | str, table: pd.DataFrame) -> Path:
    """Write a table, atomically.

    Args:
        path: ends with ``.csv``, ``.json`` (one mapping a row) or ``.parquet``.
        table: its index is not written.

    Raises:
        ValueError: another ending.
    """
    path = Path(path)
    if path.suffix not in WRITERS:
        raise ValueError(f"cannot write {path.name}: the name must end with {', '.join(WRITERS)}")
    with replacing(path) as temporary:
        WRITERS[path.suffix](table, temporary)
    return path


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a mapping as JSON with sorted keys, atomically; numpy numbers become plain ones.

    Raises:
        ValueError, TypeError: a number is not finite, a value has no JSON form; the message names its place.
    """
    return write_text(
        path, json.dumps(plain(value, path.name), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    )


def plain(value: Any, place: str) -> Any:
    """A value as JSON knows it.

    Args:
        value: mappings, sequences, numpy arrays and numbers, paths and plain values.
        place: where it stands, for the message.

    Raises:
        ValueError, TypeError: a number is not finite, a value has no JSON form.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item, f"{place}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist(), place)
    if not isinstance(value, float):
        raise TypeError(f"{place} is of type {type(value).__name__}, which has no JSON form")
    if not math.isfinite(value):
        raise ValueError(f"{place} is {value}; leave out what could not be measured, or say why as text")
    return value


def write_results(folder: Path | str, results: Mapping[str, Any]) -> Path:
    """Write ``results.json`` of a run.

    Args:
        folder: the run folder.
        results: JSON values; by habit ``objective``, ``data``, ``seed`` and ``metrics`` (key -> value).

    Raises:
        ValueError: a number is NaN or infinite.
    """
    return write_json(Path(folder) / RESULTS, results)


def write_status(folder: Path | str, status: str) -> Path:
    """Write ``STATUS``, the last file of a run.

    Raises:
        ValueError: it is none of ``ok``, ``failed:<cell>``, ``killed``.
    """
    if status not in ("ok", "killed") and not status.startswith("failed:"):
        raise ValueError(f"status {status!r} is none of ok, failed:<cell>, killed")
    return write_text(Path(folder) / STATUS, status + "\n")
