"""Files of benchmarks as examples: rows with columns, whatever form they have, and templates of columns."""

import csv
import gzip
import string
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any

from benchmark_sets import orders
from benchmark_sets.declaration import Declaration, Only, Rows
from benchmark_sets.image_files import ARRAY, ImageFiles, MadeImage
from workbench.data.images import require_file
from workbench.data.reading import Problems
from workbench.data.rows import path_inside
from workbench.data.tables import read_table, read_token_rows
from workbench.formatting import format_count, format_some
from workbench.io import parse_json, read_text, reading_errors, require_real_file
from workbench.records import require

Record = dict[str, Any]
Place = tuple[str, Record]


@dataclass(frozen=True)
class Example:
    """One example of a benchmark.

    Args:
        where: file and row, for messages.
        ids: of its images.
        sources: of its images: files, bytes, or what gives an image.
        captions: texts.
        kind: of the example.
        photograph: file of the first image, by which examples of one photograph are drawn together.
    """

    where: str
    ids: tuple[str, ...]
    sources: tuple[Any, ...]
    captions: tuple[str, ...]
    kind: str
    photograph: str


class _Columns(string.Formatter):
    """Fills a template from a record: ``{a}``, ``{a[b]}``, ``{cells[0]}``; ``!n`` is the name of a path,
    ``!j`` a name with ``.jpg`` where it has no ending.
    """

    def get_value(self, key: int | str, args: Any, kwargs: Mapping[str, Any]) -> Any:
        return kwargs[str(key)]

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion == "n":
            return PurePosixPath(str(value)).name
        if conversion == "j":
            return value if PurePosixPath(str(value)).suffix else f"{value}.jpg"
        return super().convert_field(value, conversion)


COLUMNS = _Columns()


def value_of(template: str, record: Record, where: str) -> Any:
    """Return the value of a template that is a single column, else the filled text.

    Raises:
        ValueError: the row lacks the column; the message names file, row and column.
    """
    parts = list(COLUMNS.parse(template))
    single = len(parts) == 1 and not parts[0][0] and parts[0][1] is not None and not parts[0][3]
    with_columns = [name for _, name, _, _ in parts if name is not None]
    for name in with_columns:
        value = _field(name, record, where)
        require(value is not None, f"{where} is malformed: {name} is empty")
        if single:
            return value
    return COLUMNS.vformat(template, (), record)


def _field(name: str, record: Record, where: str) -> Any:
    try:
        return COLUMNS.get_field(name, (), record)[0]
    except (LookupError, TypeError, AttributeError):
        raise ValueError(f"{where} is malformed: it has no {name}") from None


def fill(template: str, record: Record, where: str) -> str:
    """Return a template filled from a row.

    Raises:
        ValueError: the row lacks a column, or a value is neither a text nor a number.
    """
    value = value_of(template, record, where)
    named = template.strip("{}")
    require(isinstance(value, str | int), f"{where} is malformed: {named} is {value!r:.40}, and no text")
    return str(value)


def read_examples(
    declared: Declaration, root: Path, images: Path, language: str = ""
) -> tuple[list[Example], tuple[str, ...]]:
    """Read all examples of a benchmark.

    Args:
        declared: the benchmark.
        root: folder of its files.
        images: folder of its images.
        language: that ``<language>`` stands for in the declaration.

    Returns:
        The examples, and notes of what was left out.

    Raises:
        FileNotFoundError: none of the files is there.
        ValueError: a row is malformed; the message names file, row and column.
    """
    rows = _in_language(declared.rows, language)
    files = _find_files(declared, rows, root)
    examples = []
    left_out, empty = 0, 0
    records = RECORDS[rows.form](files)
    place = ImageFiles(images)
    for where, record in islice(records, rows.first or None):
        if rows.only and not _counts(rows.only, record, where):
            left_out += 1
            continue
        example = _example(rows, record, where, place)
        if example.captions:
            examples.append(example)
        else:
            empty += 1
    require(examples, f"{declared.name}: {', '.join(file.name for file in files)} hold no row")
    notes = [f"read {format_some([file.name for file in files])}"]
    absent = [name for name in rows.files if not file_places(root, name)]
    if absent:
        notes.append(f"not there, and not counted: {', '.join(absent)}; get them from {declared.url}")
    if left_out:
        notes.append(f"{format_count(left_out, 'row')} left out, since they do not count in {declared.title}")
    if empty:
        notes.append(f"{format_count(empty, 'row')} left out, since they have no caption")
    return examples, tuple(notes)


def _in_language(rows: Rows, language: str) -> Rows:
    def chosen(text: str) -> str:
        return text.replace("<language>", language)

    texts = {name: tuple(map(chosen, getattr(rows, name))) for name in ("files", "captions")}
    return rows.model_copy(update=texts)


def file_places(root: Path, name: str) -> list[Path]:
    """Return the files of a name below a folder or in the folders of it, which may be packed.

    Args:
        root: the folder.
        name: with ``*`` for any letters.
    """
    for pattern in (name, f"*/{name}", f"{name}.gz", f"*/{name}.gz"):
        files = sorted(root.glob(pattern))
        if files:
            return files
    return []


def _find_files(declared: Declaration, rows: Rows, root: Path) -> list[Path]:
    """Return the files that are there; of lines that belong together all have to be."""
    files = []
    for name in rows.files:
        matches = file_places(root, name)
        require(
            matches or rows.form != "lines",
            f"{declared.name}: {root} lacks {name}. {declared.remedy}",
            FileNotFoundError,
        )
        files += matches
    names = ", ".join(rows.files)
    require(files, f"{declared.name}: {root} lacks {names}. {declared.remedy}", FileNotFoundError)
    return files


def _counts(only: Only, record: Record, where: str) -> bool:
    value = value_of(only.value, record, where)
    if only.at_least is not None:
        require(isinstance(value, int | float), f"{where} is malformed: {only.value} is {value!r:.40}")
        return float(value) >= only.at_least
    return str(value) == only.equal


def _example(rows: Rows, record: Record, where: str, images: ImageFiles) -> Example:
    ids, sources = [], []
    photograph = ""
    for template in rows.images:
        value = value_of(template, record, where)
        if isinstance(value, Mapping) and isinstance(value.get("bytes"), bytes):
            name = f"{where}, {template.strip('{}')}"
            source: Any = value["bytes"]
        else:
            name = path_inside(images.folder, fill(template, record, where))
            source = images.find(name)
            box = tuple(_pixels(edge, record, where) for edge in rows.crop)
            if box or source.suffix == ARRAY:
                require_file(source, where)
                source = MadeImage(source, where, box)
        photograph = photograph or name
        if rows.crop:
            name = where
        ids.append(fill(rows.id, record, where) if rows.id else name)
        sources.append(source)
    captions = tuple(_texts(rows, record, where))
    kind = fill(rows.kind, record, where) if rows.kind else ""
    return Example(where, tuple(ids), tuple(sources), captions, kind, photograph)


def _texts(rows: Rows, record: Record, where: str) -> Iterator[str]:
    for template in rows.captions:
        value = value_of(template, record, where)
        values = [value]
        if isinstance(value, list):
            values = [text for text in value if text != ""]
        for text in values:
            named = template.strip("{}")
            is_text = isinstance(text, str) and text.strip()
            require(is_text, f"{where} is malformed: {named} is {text!r:.40}, and no text")
            yield " ".join(text.split())


def _pixels(template: str, record: Record, where: str) -> int:
    value = value_of(template, record, where)
    named = template.strip("{}")
    require(type(value) is int, f"{where} is malformed: {named} is {value!r:.40}, and no number of pixels")
    return int(value)


def _rows(files: list[Path]) -> Iterator[Place]:
    for file in files:
        for number, record in enumerate(_contents(file), start=1):
            yield f"{file.name} row {number}", {**record, "stem": file.stem}


def _contents(file: Path) -> Iterator[Record]:
    """Yield the rows of a file; a row without names has its values in ``cells``."""
    if file.suffix == ".json":
        require_real_file(file, "rows")
        content = parse_json(read_text(file), file.name)
        if isinstance(content, dict):
            content = list(content.values())
        require(isinstance(content, list), f"{file.name}: expected a list of rows, or an object of rows")
        yield from (_with_names(row, f"{file.name} row {n}") for n, row in enumerate(content, start=1))
    elif file.suffix in (".jsonl", ".jsonlines"):
        require_real_file(file, "rows")
        lines = filter(str.strip, read_text(file).splitlines())
        for number, line in enumerate(lines, start=1):
            where = f"{file.name} row {number}"
            yield _with_names(parse_json(line, f"{where}:", "is not JSON"), where)
    elif file.suffix == ".csv":
        require_real_file(file, "rows")
        table = list(csv.reader(read_text(file).splitlines(), strict=True))
        header = table[0] if table else []
        for number, row in enumerate(table[1:], start=1):
            require(
                len(row) == len(header), f"{file.name} row {number}: {len(row)} fields, not {len(header)}"
            )
            yield {**dict(zip(header, row, strict=True)), "cells": row}
    else:
        for _, record in read_table(file, Problems("raise")):
            yield record


def _with_names(row: Any, where: str) -> Record:
    require(isinstance(row, dict | list), f"{where}: expected an object or a list, found {row!r:.40}")
    return row if isinstance(row, dict) else {"cells": row}


def _pairs(files: list[Path]) -> Iterator[Place]:
    """Yield every two rows as one."""
    rows = list(_rows(files))
    require(len(rows) % 2 == 0, f"{files[0].name} holds {len(rows)} rows, and two are an example each")
    for (where, first), (_, second) in zip(rows[::2], rows[1::2], strict=True):
        yield where, {"first": first, "second": second}


def _objects(files: list[Path]) -> Iterator[Place]:
    for file in files:
        content = parse_json(read_text(file), file.name)
        require(isinstance(content, dict), f"{file.name}: expected an object, found {content!r:.40}")
        yield file.name, {**content, "stem": file.stem}


def _stems(files: list[Path]) -> Iterator[Place]:
    for file in files:
        text = read_text(file)
        yield file.name, {"stem": file.stem, "text": text, "line": text.lstrip().partition("\n")[0]}


def _lines(files: list[Path]) -> Iterator[Place]:
    """Yield the lines of files that belong together, each file a cell."""
    columns = [_unpacked(file).rstrip("\n").split("\n") for file in files]
    first = len(columns[0])
    for file, column in zip(files, columns, strict=True):
        wrong = f"{file.name} has {len(column)} lines, and {files[0].name} has {first}"
        require(len(column) == first, f"{wrong}; get both from one place")
    for number, cells in enumerate(zip(*columns, strict=True), start=1):
        yield f"{files[-1].name} row {number}", {"cells": [cell.strip() for cell in cells]}


def _unpacked(file: Path) -> str:
    """Return the text of a file, which may be packed by gzip."""
    if file.suffix != ".gz":
        return read_text(file)
    with reading_errors(file.name, "is not a packed text in UTF-8", EOFError, zlib.error):
        return gzip.decompress(file.read_bytes()).decode("utf-8")


def _tokens(files: list[Path]) -> Iterator[Place]:
    for file in files:
        yield from read_token_rows(file, read_text(file).splitlines(), Problems("raise"))


def _orders(files: list[Path]) -> Iterator[Place]:
    yield from orders.shuffled(list(_rows(files)))


RECORDS: dict[str, Callable[[list[Path]], Iterator[Place]]] = {
    "rows": _rows,
    "pairs": _pairs,
    "objects": _objects,
    "texts": _stems,
    "lines": _lines,
    "tokens": _tokens,
    "orders": _orders,
}
