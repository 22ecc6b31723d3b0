"""Tables in CSV, JSON Lines or Parquet, read row by row with the row's number."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.data._files import Problems

Record = dict[str, Any]


def read_table(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    """The rows of a table.

    Args:
        file: ``.csv`` (UTF-8, comma, the first line names the columns), ``.jsonl`` (one object a line) or
            ``.parquet``.
        problems: takes rows that cannot be read.

    Yields:
        ``(where, record)``, e.g. ``("captions.csv row 1", {...})``. Row 1 is the first row of data: a CSV's
        line of names is not counted. A record has only the columns that hold a value in its row.

    Raises:
        ValueError: another kind of file, or one that breaks off or is not UTF-8; nothing after that can be
            read.
    """
    readers = {".csv": _csv, ".jsonl": _json_lines, ".parquet": _parquet}
    reader = readers.get(file.suffix.lower())
    if reader is None:
        raise ValueError(f"{file.name}: a table is one of {', '.join(readers)}")
    where = f"{file.name} row 0"
    try:
        for where, record in reader(file, problems):
            yield where, {name: value for name, value in record.items() if value is not None and value != ""}
    except (csv.Error, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name} cannot be read after {where}: {error}") from error


def _csv(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    # utf-8-sig reads files with and without the mark that spreadsheet programs put at the beginning.
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.reader(lines, strict=True)
        header = next(rows, [])
        if len(set(header)) != len(header):
            raise ValueError(f"{file.name}: a column name occurs twice in {header}")
        for number, row in enumerate((row for row in rows if row), start=1):
            where = f"{file.name} row {number}"
            if len(row) == len(header):
                yield where, dict(zip(header, row, strict=True))
            else:
                problems.add(
                    "malformed row", ValueError(f"{where}: {len(row)} fields, but the columns are {header}")
                )


def _json_lines(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate((line for line in lines if line.strip()), start=1):
            where = f"{file.name} row {number}"
            try:
                record = json.loads(line)
            except json.JSONDecodeError as error:
                problems.add("malformed row", ValueError(f"{where}: not JSON ({error})"))
                continue
            if isinstance(record, dict):
                yield where, record
            else:
                problems.add(
                    "malformed row", ValueError(f"{where}: expected an object, found {line.strip()[:60]}")
                )


def _parquet(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.read_table(file)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{file.name} is not a Parquet file: {error}") from error
    for number, record in enumerate(table.to_pylist(), start=1):
        yield f"{file.name} row {number}", record
