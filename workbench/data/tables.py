"""Files of tables as records, whoever wrote them: CSV and its like, JSON, JSON Lines and Parquet. ``rows``
makes captions of the records.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from workbench.data.columns import (
    column_of,
    has_image_and_caption,
    matching_columns,
)
from workbench.data.images import image_endings
from workbench.data.reading import Problems, split_of_name
from workbench.data.rows import Record, caption_texts
from workbench.io import parse_json, reading_errors, require_real_file
from workbench.records import require

# what separates the fields of a line, the likeliest first
SEPARATORS = {"\t": "tabs", "|": "bars", ",": "commas", ";": "semicolons"}
# a row of Flickr30k's results.csv lacks the bar between the number of the caption and the caption
NUMBERED = re.compile(r"\s*(\d+)\s+(\S.*)")
TOKEN = re.compile(r"([^\t#]+)#(\w+)\t(.*)")
# what stands for a byte that is not UTF-8
HALF = re.compile("[\udc80-\udcff]")
# letters of a first line
LONGEST = 10_000


def read_table(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    """Yield the rows of a table.

    Args:
        file: ``.csv``, ``.tsv`` or ``.txt`` (UTF-8, the first line names the columns; or
            ``image#k<TAB>caption`` without such a line), ``.jsonl`` (one object a line), ``.json`` (a list
            of objects, or captions by image) or ``.parquet``.
        problems: takes rows that cannot be read.

    Yields:
        ``(where, record)``, e.g. ``("captions.csv row 1", {...})``. Row 1 is the first row of data: a line of
        names is not counted. A record has only the columns that hold a value in its row.

    Raises:
        ValueError: another kind of file, or one that breaks off or is not UTF-8; nothing after that can be
            read.
    """
    require(file.suffix.lower() in READERS, f"{file.name}: a table is one of {', '.join(READERS)}")
    require_real_file(file, "rows")
    where = f"{file.name} row 0"
    try:
        for where, record in READERS[file.suffix.lower()](file, problems):
            if any(isinstance(value, str) and HALF.search(value) for value in record.values()):
                problems.add("unreadable text", f"{where}: it is no text in UTF-8")
                continue
            yield where, {name: value for name, value in record.items() if value is not None and value != ""}
    except (csv.Error, UnicodeDecodeError) as error:
        remedy = "close each quote, double inner ones"
        if isinstance(error, UnicodeDecodeError):
            remedy = "save it as UTF-8"
        raise ValueError(f"{file.name} cannot be read after {where}: {error}; {remedy}") from error


def find_separator(line: str) -> str:
    """Return what separates the fields of a table's first line, so that it names image and caption."""
    marks = [mark for mark in SEPARATORS if mark in line]
    naming = [mark for mark in marks if has_image_and_caption(line.split(mark), {})]
    return next(iter(naming or [mark for mark in marks if mark != "|"]), ",")


def read_header(file: Path) -> list[str]:
    """Return the names of the columns of a table, none where it cannot be read: to read it says why."""
    try:
        if file.suffix.lower() in (".csv", ".tsv", ".txt", ".token"):
            with file.open(encoding="utf-8-sig") as lines:
                first = lines.readline(LONGEST)
            return ["image", "caption"] if TOKEN.match(first) else first.split(find_separator(first))
        return list(next(iter(read_table(file, Problems("raise"))), ("", {}))[1])
    except ValueError:
        return []


def _error_handler(problems: Problems) -> str:
    """Return how bytes that are not UTF-8 are treated: kept and found later where bad rows are skipped."""
    return "surrogateescape" if problems.on_error == "skip" else "strict"


def _read_lines(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    # utf-8-sig reads files with and without the mark that spreadsheet programs put at the beginning.
    with file.open(encoding="utf-8-sig", errors=_error_handler(problems), newline="") as lines:
        first = next(lines, "")
        lines.seek(0)
        if TOKEN.match(first):
            yield from read_token_rows(file, lines, problems)
            return
        mark = find_separator(first)
        # fields between bars are never quoted
        quoting: Any = csv.QUOTE_NONE if mark == "|" else csv.QUOTE_MINIMAL
        rows = csv.reader(lines, strict=True, delimiter=mark, quoting=quoting, skipinitialspace=mark != "\t")
        header = [name.strip() for name in next(rows, [])]
        require(len(set(header)) == len(header), f"{file.name}: a column name occurs twice in {header}")
        for number, row in enumerate((row for row in rows if row), start=1):
            where = f"{file.name} row {number}"
            if mark == "|" and len(row) == len(header) - 1 and (numbered := NUMBERED.fullmatch(row[-1])):
                row = [*row[:-1], *numbered.groups()]
            if lost := _swallowed_line(row, mark):
                problems.add(
                    "malformed row",
                    f"{where}, which ends at line {rows.line_num}: a quote is not closed, and {lost!r:.60} "
                    "looks like a row of its own; close the quote, or write the caption in one line",
                )
            elif len(row) == len(header):
                yield where, dict(zip(header, row, strict=True))
            else:
                quote = f"; a text that holds {mark!r} stands in quotes" * (len(row) > len(header))
                wrong = f"{where}: {len(row)} fields, but the columns are {header}{quote}"
                problems.add("malformed row", wrong)


def _swallowed_line(row: Sequence[str], mark: str) -> str:
    """Return a line inside a field that names an image: a quote before it is not closed."""
    long = [text for text in row if "\n" in text]
    for line in chain.from_iterable(map(str.splitlines, long)):
        if mark in line and any(part.strip().lower().endswith(image_endings()) for part in line.split(mark)):
            return line
    return ""


def read_token_rows(file: Path, lines: Iterable[str], problems: Problems) -> Iterator[tuple[str, Record]]:
    """Yield rows ``image#k<TAB>caption``, as Flickr8k and Flickr30k are distributed."""
    for number, line in enumerate((line for line in lines if line.strip()), start=1):
        where = f"{file.name} row {number}"
        if token := TOKEN.fullmatch(line.rstrip("\r\n")):
            image, n, caption = token.groups()
            yield where, {"image": image, "id": f"{image}#{n}", "caption": caption}
        else:
            problems.add("malformed row", f"{where}: expected 'image#k<TAB>caption', found {line[:60]!r}")


def _read_json_lines(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    with file.open(encoding="utf-8-sig", errors=_error_handler(problems)) as lines:
        for number, line in enumerate((line for line in lines if line.strip()), start=1):
            where = f"{file.name} row {number}"
            with problems.adding("malformed row", where):
                record = parse_json(line, f"{where}:", "not JSON")
                require(isinstance(record, dict), f"expected an object, found {line.strip()[:60]}")
                yield where, record


def _read_json(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    text = file.read_bytes()
    if re.match(rb"\s*\{[^\n]*\}\r?\n\s*\{", text):  # a row a line, whatever the name says
        yield from _read_json_lines(file, problems)
        return
    content = parse_json(text, file.name, "is not whole")
    if isinstance(content, dict) and {"images", "annotations"} <= content.keys():
        caption_column(content["annotations"], file.name, {})
    rows: Any = _rows_of_object(content) if isinstance(content, dict) else content
    require(isinstance(rows, list), f"{file.name}: expected a list of rows, or captions by image")
    for number, record in enumerate(rows, start=1):
        where = f"{file.name} row {number}"
        if isinstance(record, dict):
            yield where, record
        else:
            problems.add("malformed row", f"{where}: expected an object, found {record!r:.60}")


def caption_column(annotations: Any, table: str, chosen: Mapping[str, str | None]) -> str:
    """Return where annotations of MS-COCO hold their captions: ``caption``, or as the caller says.

    Raises:
        ValueError: no annotation has that key; the message lists those that there are.
    """
    path = chosen.get("caption") or "caption"
    records = annotations if isinstance(annotations, list) else []
    keys = list(dict.fromkeys(chain.from_iterable(row for row in records if isinstance(row, Mapping))))
    other = (matching_columns(keys, "caption") or ["..."])[0]
    require(keys, f"{table}: its annotations are no list of objects; each has an image_id and a {path}")
    require(
        column_of(path, keys),
        f"{table}: its annotations have no {path!r}, but {', '.join(keys)}; columns={{'caption': {other!r}}} "
        "names another",
    )
    return path


def _rows_of_object(content: Mapping[str, Any]) -> list[Any] | None:
    """Return the rows of an object: captions by image, lists by column, or lists of rows."""
    columns = [_items_of_content(value) for value in content.values()]
    whole = all(column is not None and len(column) == len(columns[0]) for column in columns)
    if whole and has_image_and_caption(content, {}):
        return [dict(zip(content, row, strict=True)) for row in zip(*columns, strict=True)]
    lists = {name: rows for name, rows in content.items() if rows and isinstance(rows, list)}
    tables = {name: rows for name, rows in lists.items() if isinstance(rows[0], dict)}
    named = all(Path(name).suffix.lower() in image_endings() for name in content)
    if named or (not tables and all(map(_is_worded, content.values()))):
        return [{"image": image, "caption": captions} for image, captions in content.items()]
    splits = {name for name, rows in content.items() if split_of_name(name) and rows}
    if len(splits | tables.keys()) != 1 and splits != tables.keys():
        return None
    records = []
    for name, rows in tables.items():
        split = {"split": split_of_name(name)}
        for row in rows:
            records.append(split | row if isinstance(row, dict) else row)
    return records


def _items_of_content(value: Any) -> Any:
    """Return the items of a list, or of an object with a key a row; else ``None``."""
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else None


def _is_worded(value: Any) -> bool:
    """Return whether a value holds texts of several words each, as captions are."""
    items = caption_texts(value) if isinstance(value, str) else _items_of_content(value)
    return items is not None and all(" " in str(text) for text in items)


def _read_parquet(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    import pyarrow.parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        records = pyarrow.parquet.read_table(file).to_pylist()
    yield from ((f"{file.name} row {n}", record) for n, record in enumerate(records, start=1))


READERS: dict[str, Callable[[Path, Problems], Iterator[tuple[str, Record]]]] = {
    **dict.fromkeys((".csv", ".tsv", ".txt", ".token"), _read_lines),
    ".jsonl": _read_json_lines,
    ".json": _read_json,
    ".parquet": _read_parquet,
}
