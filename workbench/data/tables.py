"""Tables of images and captions, whoever wrote them: CSV and its like, JSON, JSON Lines, Parquet, or in
memory. A row names an image and holds one caption, a list of them, several in numbered columns (``caption_1``
to ``caption_5``), or a conversation of one question and its answer, which is the caption.
"""

import ast
import csv
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from workbench.data.columns import (
    column_notes,
    column_of,
    field,
    find_columns,
    has_image_and_caption,
    is_missing,
    matching_columns,
)
from workbench.data.fields import cells_of_caption, columns_of_fields
from workbench.data.images import image_endings
from workbench.data.reading import Problems, Row, split_of_name
from workbench.formatting import format_count
from workbench.io import parse_json, reading_errors, require_real_file
from workbench.records import require

Record = dict[str, Any]
# who answers in a conversation
ANSWERING = ("gpt", "assistant", "model")
# what separates the fields of a line, the likeliest first
SEPARATORS = {"\t": "tabs", "|": "bars", ",": "commas", ";": "semicolons"}
# a row of Flickr30k's results.csv lacks the bar between the number of the caption and the caption
NUMBERED = re.compile(r"\s*(\d+)\s+(\S.*)")
TOKEN = re.compile(r"([^\t#]+)#(\w+)\t(.*)")
# what stands for a byte that is not UTF-8
HALF = re.compile("[\udc80-\udcff]")
# what a person can do where two captions have one id
NO_IDS = "; give each caption its own, or say columns={'id': None} to number them within their image"
# letters of a first line
LONGEST = 10_000
# below it a float tells every whole number from the next
LARGEST = 2**53


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


def table_rows(
    records: list[tuple[str, Record]],
    table: str,
    place: Callable[[Any], str],
    problems: Problems,
    columns: Mapping[str, str | None] = {},
    names: Iterable[Any] = (),
) -> tuple[list[Row], tuple[str, ...]]:
    """Return a row a caption; captions without an id are numbered within their image.

    Args:
        records: where each row stands, and its columns that hold a value.
        table: its name, for messages.
        place: what the column of the image holds -> the id of the image; it raises ``ValueError``.
        problems: takes what is wrong.
        columns: see ``find_columns``.
        names: of all columns; ``()`` = those of the records.

    Returns:
        The rows, with the cells of columns that nobody needs as fields, and notes on columns that have other
        names than ours, on those whose cells are no plain values, and on ids that are not those of captions.
    """
    require(records, f"{table} holds no row. {' '.join(problems.notes())}".rstrip(". "))
    names = list(names) or list(dict.fromkeys(chain.from_iterable(record for _, record in records)))
    at = find_columns(names, table, columns)
    plain, left = columns_of_fields(records, names, at, columns)
    notes = list(column_notes(at, left))
    cells = []
    # a name stands at each caption of its image, and to follow its links takes time
    places = {}
    for where, record in records:
        with problems.adding("malformed row", where):
            values = {ours: field(record, several) for ours, several in at.items()}
            written = str(values["image"])
            if written not in places:
                places[written] = place(values["image"])
            captions = caption_texts(values["caption"], column=at["caption"][0])
            level, chain_number = _whole_number(values, "level"), _whole_number(values, "chain")
            split = str(values.get("split") or "")
            ids = (values.get("id"), values.get("image_id"))
            false = _false_texts_by_caption(values.get("negatives"), len(captions))
            more = {str(name): record[name] for name in plain if name in record}
            cells.append(
                _Cells(where, places[written], captions, level, chain_number, split, *ids, false, more)
            )
    whose = _owners_of_ids(cells) if "id" in at and "id" not in columns else ""
    if whose:
        notes.append(f"the column {at['id'][0]} holds {whose}; captions are numbered within their image")
    notes += filter(None, [_shared_id_note(cells)])
    return _caption_rows(cells, numbered=bool(whose)), tuple(notes)


class _Cells(NamedTuple):
    """What a row of a table holds: one image, and any number of captions."""

    where: str
    image: str
    captions: list[str]
    level: int | None
    chain: int | None
    split: str
    id: Any
    image_id: Any
    negatives: list[tuple[str, ...]]
    fields: Mapping[str, Any]


def _false_texts_by_caption(value: Any, captions: int) -> list[tuple[str, ...]]:
    """Return the texts of each caption of a row that are false of its image: a list for each, or one for all.

    Raises:
        ValueError: there is something else than texts.
    """
    listed = value.tolist() if hasattr(value, "tolist") else value
    nested = isinstance(listed, list | tuple) and any(isinstance(item, list | tuple) for item in listed)
    if not nested:
        return [_false_texts(listed)] * captions
    require(
        len(listed) == captions,
        f"negatives holds {len(listed)} lists for {format_count(captions, 'caption')}; give one for each",
    )
    return list(map(_false_texts, listed))


def _false_texts(value: Any) -> tuple[str, ...]:
    """Return the texts of a field, none where it is empty."""
    empty = value is None or (not isinstance(value, list | tuple) and is_missing(value))
    return () if empty else tuple(filter(str.strip, caption_texts(value, column="negatives")))


def _caption_rows(cells: Sequence[_Cells], *, numbered: bool) -> list[Row]:
    """Return a row a caption; ``numbered`` = by its number within its image, whatever the ids say."""
    counted = Counter[str]()
    rows = []
    for row in cells:
        for n, caption in enumerate(row.captions):
            if numbered or row.id is None:
                row_id = f"{row.image}#{counted[row.image]}"
            elif len(row.captions) > 1:
                row_id = f"{row.id}#{n}"
            else:
                row_id = str(row.id)
            counted[row.image] += 1
            fields = cells_of_caption(row.fields, n, len(row.captions))
            place = (row.level, row.chain, row.split, row.negatives[n], fields)
            rows.append(Row(row.where, row.image, caption.strip(), row_id, *place))
    return rows


def _owners_of_ids(cells: Sequence[_Cells]) -> str:
    """Return what ids name that are not those of captions: images, or the place of a caption in its image.

    An image's id is the same for all of its rows and another for another image. The place of a caption is
    counted from 0 or from 1 at each image. Both take two images, and an image with two rows.
    """
    known = [(row.image, str(row.id)) for row in cells if row.id is not None]
    ids = {number for _, number in known}
    if len(ids) == len(known):
        return ""
    by_image: dict[str, list[str]] = {}
    for image, number in known:
        by_image.setdefault(image, []).append(number)
    if len(by_image) < 2 or len(by_image) == len(known):
        return ""
    if len(set(known)) == len(by_image) == len(ids):
        return "the ids of images"
    if all(_is_counting_up(ids) for ids in by_image.values()):
        return "the numbers of captions within their image"
    return ""


def _is_counting_up(ids: Sequence[str]) -> bool:
    """Return whether ids are 0, 1, 2 ... or 1, 2, 3 ... in any order."""
    return any(sorted(ids) == sorted(map(str, range(start, start + len(ids)))) for start in (0, 1))


def _shared_id_note(cells: Sequence[_Cells]) -> str:
    """Return a note on ids of images that stand at several, ``""`` = there is none."""
    images: dict[tuple[str, str], dict[str, None]] = {}
    for row in cells:
        if row.image_id is not None:
            images.setdefault((row.split, str(row.image_id)), {})[row.image] = None
    several = [key for key, own in images.items() if len(own) > 1]
    if not several:
        return ""
    image, other, *_ = images[several[0]]
    many = format_count(len(several), "image id")
    return f"{many} at several images, which stay apart: {several[0][1]} is that of {image} and {other}"


def caption_texts(value: Any, *, column: Any = "caption") -> list[str]:
    """Return the captions of a field: a text, a list, also one that is written out, or objects with ``raw``;
    or the one answer of a conversation. Gaps in a list count as not given.

    Args:
        value: what the field holds.
        column: its name, for messages.

    Raises:
        ValueError: it holds no text.
    """
    if isinstance(value, str) and not value.endswith("]"):
        return [value]
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, str) and value.startswith(("['", '["')):
        with suppress(SyntaxError, ValueError):
            value = ast.literal_eval(value)
    listed = list(value) if isinstance(value, list | tuple) else [value]
    turns = [item for item in listed if isinstance(item, Mapping) and {"from", "role"} & item.keys()]
    if turns:
        answers = [turn for turn in turns if turn.get("from", turn.get("role")) in ANSWERING]
        require(
            len(answers) == 1,
            f"the conversation has {len(answers)} answers, and the first or each may be a caption; keep one",
        )
        listed = [answers[0].get("value", answers[0].get("content"))]
    items = [_text_of_object(item, column) for item in listed]
    captions = [text for text in items if not is_missing(text)]
    for text in captions:
        require(isinstance(text, str), f"the caption is {text!r:.60}; expected text")
    return captions or [""]


def _text_of_object(value: Any, column: Any) -> Any:
    """Return the text of an object, under one of the names that captions have."""
    if not isinstance(value, Mapping):
        return value
    names = [name for name in ("raw", "caption") if name in value][:1]
    names = names or [name for name in matching_columns(value, "caption") if isinstance(value[name], str)]
    if len(names) == 1:
        return value[names[0]]
    example = [*names, *value, "..."][0]
    raise ValueError(
        f"the caption is an object with {', '.join(map(str, value))}; choose one with columns={{'caption': "
        f"'{column}.{example}'}}"
    )


def with_slashes(path: str, base: Path) -> str:
    """Write a path from Windows with slashes, unless a file has just that name."""
    if "\\" in path and not os.path.isfile(base / path):
        return path.replace("\\", "/")
    return path


def path_inside(base: Path, image: Any) -> str:
    """Return a path below the folder, written in one way, so that one image has one id."""
    image = image[0] if isinstance(image, list) and len(image) == 1 else image
    image = str(image) if isinstance(image, int) else image
    require(
        isinstance(image, str) and "\0" not in image,
        f"the image path is {image!r:.60}; expected a path relative to the folder",
    )
    require("://" not in image, f"{image} is an address; download the images, and give their paths")
    image = with_slashes(image, base)
    path, start = PurePosixPath(image), base.absolute()
    on_windows = PureWindowsPath(image)
    if on_windows.root and not (path.is_relative_to(start) or os.path.exists(image)):
        path = PurePosixPath(
            *on_windows.parts[1:]
        )  # a place on another machine, whose end is looked for here
    leads_up = PureWindowsPath(path).drive or ".." in path.parts
    require(
        not leads_up and (base / path).resolve().is_relative_to(base.resolve()),
        f"the image path {image!r} leads out of the folder {base}, or is a link that leads out; paths are "
        "relative to it, without '..', or images=... names the folder that they begin in",
    )
    return str(path.relative_to(start) if path.is_absolute() else path)


def _whole_number(record: Mapping[str, Any], name: str) -> int | None:
    """Return a whole number; 2.0 counts as one, since tables with gaps are written so."""
    value = record.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        number = math.nan
    whole = number.is_integer() and abs(number) < LARGEST
    require(whole, f"{name} is {value!r:.60}; expected a whole number")
    return int(number)
