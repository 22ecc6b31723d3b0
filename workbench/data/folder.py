"""The user's own images and captions: a folder with a table, CSV, JSON Lines or Parquet.

One row of the table is one caption; an image may have any number of rows. Columns: ``image`` (path relative
to the folder) and ``caption``; optional ``id`` (of the caption), ``split``, and ``level`` and ``chain`` where
captions form chains from generic to specific. Where there is no column ``split``, a checksum of an image's
path decides: 80 % train, 10 % val, 10 % test.
"""

import csv
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, Literal

from workbench.data.reading import SPLITS, Problems, Row, find_root, good, split_of, to_split
from workbench.data.region_files import locate
from workbench.io import parse_json, reading_errors
from workbench.records import Split, require

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
    if (reader := readers.get(file.suffix.lower())) is None:
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
        require(len(set(header)) == len(header), f"{file.name}: a column name occurs twice in {header}")
        for number, row in enumerate((row for row in rows if row), start=1):
            where = f"{file.name} row {number}"
            if len(row) == len(header):
                yield where, dict(zip(header, row, strict=True))
            else:
                problems.add("malformed row", f"{where}: {len(row)} fields, but the columns are {header}")


def _json_lines(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    with file.open(encoding="utf-8-sig") as lines:
        for number, line in enumerate((line for line in lines if line.strip()), start=1):
            where = f"{file.name} row {number}"
            try:
                record = parse_json(line, f"{where}:", "not JSON")
                require(isinstance(record, dict), f"{where}: expected an object, found {line.strip()[:60]}")
            except ValueError as error:
                problems.add("malformed row", error)
            else:
                yield where, record


def _parquet(file: Path, problems: Problems) -> Iterator[tuple[str, Record]]:
    import pyarrow.parquet

    with reading_errors(file.name, "is not a Parquet file", pyarrow.ArrowException):
        records = pyarrow.parquet.read_table(file).to_pylist()
    yield from ((f"{file.name} row {n}", record) for n, record in enumerate(records, start=1))


# judgements of the training split, for ``Config.positives``
POSITIVES = ("own",)
# a file that is there, where regions stand for images
PRESENT = Path(__file__)
# below it a float tells every whole number from the next
LARGEST = 2**53
COLUMNS = ["image", "caption", "id", "split", "level", "chain"]
TABLES = ["captions.csv", "captions.jsonl", "captions.parquet"]
REMEDY = (
    "Put the images into a folder with a table captions.csv (or .jsonl, .parquet) that has the columns "
    "image and caption."
)


def folder(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    table: str = "",
    regions: str = "",
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
) -> Split:
    """Load one split of a folder of images.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"`` for every row.
        root: the folder; default ``WORKBENCH_DATA/folder``.
        table: file name of the table in the folder; default ``captions.csv``, ``captions.jsonl`` or
            ``captions.parquet``.
        regions: name of a folder below the folder that holds region features, one ``.npy`` or ``.npz`` an
            image, named as the image; see ``region_files``. The images themselves are then looked for when
            they are opened, and need not be there.
        on_error: ``"raise"``, or ``"skip"`` to leave out bad rows; ``Split.notes`` counts them.
        check_images: read every image now (some milliseconds each); otherwise a broken one is found when it
            is opened.

    Returns:
        The split; image ids are the paths as the table gives them.

    Raises:
        FileNotFoundError: there is no such folder or table, or an image is missing.
        ValueError: a path leads out of the folder, an image is broken, a caption is empty, an id is repeated,
            a level is not a whole number; the message names file and row. Or there is no row for the split.
    """
    base = find_root("folder", root, [table] if table else [], REMEDY)
    file = base / table if table else _find_table(base)
    problems = Problems(on_error)
    records = list(read_table(file, problems))
    return split_of_records(file.name, records, base, split, problems, regions, check_images=check_images)


def split_of_records(
    table: str,
    records: list[tuple[str, Record]],
    base: Path,
    split: str,
    problems: Problems,
    regions: str = "",
    *,
    check_images: bool,
) -> Split:
    """One split of the rows of a table, see ``folder``.

    Args:
        table: its name, for messages.
        records: where each row stands, and its columns that hold a value.
        base: the folder that paths are relative to.
        split: of ``folder``, as ``regions`` and ``check_images``.
        problems: takes what is wrong.
        regions: name of a folder of region features.
        check_images: read every image now.
    """
    records = [(where, {k: v for k, v in one.items() if v not in (None, "")}) for where, one in records]
    rows = _rows(_of_split(records, split, problems), base, problems)
    found = (lambda image: PRESENT) if regions else base.joinpath
    if not (kept := good(rows, found, problems, check_images=check_images and not regions)):
        there = [name for name in SPLITS if any(_home(record) == name for _, record in records)]
        remedy = f"; choose {', '.join([*there, 'all'])}" if there and split not in (*there, "all") else ""
        raise ValueError(
            f"folder: {table} has no usable row for split {split!r}{remedy}. "
            f"{' '.join(problems.notes())}".rstrip()
        )
    for name in ("level", "chain"):
        without = [row.where for row in kept if getattr(row, name) is None]
        if 0 < len(without) < len(kept):
            raise ValueError(
                f"{without[0]}: {name} is empty, but other rows have one; give it to all rows or to none"
            )
    extra = sorted({name for _, record in records for name in record} - set(COLUMNS))
    unread = (f"columns that were not read: {', '.join(extra)}",) if extra else ()
    made = to_split(f"{base.name}/{split}", kept, base.joinpath, notes=unread + problems.notes())
    if not regions:
        return made
    features: Any = locate(base / _inside(base, regions), made.image_ids)
    return replace(made, regions=features, open_boxes=features.boxes)


def _find_table(base: Path) -> Path:
    require(base.is_dir(), f"folder: there is no folder {base}. {REMEDY}", FileNotFoundError)
    if not (found := [base / name for name in TABLES if (base / name).is_file()]):
        raise FileNotFoundError(
            f"folder: {base} holds none of {', '.join(TABLES)}; name the table with table=... {REMEDY}"
        )
    require(
        len(found) <= 1,
        f"folder: {base} holds {' and '.join(file.name for file in found)}; choose one with table=...",
    )
    return found[0]


def _of_split(
    records: list[tuple[str, Record]], split: str, problems: Problems
) -> Iterator[tuple[str, Record]]:
    """The records of one split; an image that stands in two splits is a problem."""
    home: dict[str, str] = {}
    for where, record in records:
        image = str(record.get("image", ""))
        name = _home(record)
        if name not in SPLITS:
            problems.add("unknown split", f"{where}: split {name!r} is not one of {', '.join(SPLITS)}")
        elif (before := home.setdefault(image, name)) != name:
            problems.add("image in two splits", f"{where}: {image} is in {name!r} here, in {before!r} before")
        elif split in (name, "all"):
            yield where, record


def _home(record: Record) -> str:
    """The split of a row."""
    return record["split"] if "split" in record else split_of(str(record.get("image", "")))


def _rows(records: Iterator[tuple[str, Record]], base: Path, problems: Problems) -> Iterator[Row]:
    """Rows with safe paths; captions without an id are numbered within their image."""
    captions: Counter[str] = Counter()
    for where, record in records:
        try:
            image = _inside(base, record.get("image"))
            row_id = str(record.get("id", f"{image}#{captions[image]}"))
            level, chain = _whole(record, "level"), _whole(record, "chain")
            caption = record.get("caption", "")
            require(isinstance(caption, str), f"the caption is {caption!r}; expected text")
        except ValueError as error:
            problems.add("malformed row", f"{where}: {error}")
            continue
        captions[image] += 1
        yield Row(where, image, caption.strip(), row_id, level, chain)


def _inside(base: Path, image: Any) -> str:
    """A path below the folder, written in one way, so that one image has one id."""
    require(
        isinstance(image, str) and "\0" not in image,
        f"the image path is {image!r}; expected a path relative to the folder",
    )
    path = PurePosixPath(image)
    require(
        not (path.is_absolute() or PureWindowsPath(image).drive or ".." in path.parts),
        f"the image path {image!r} leads out of the folder; paths are relative to it, without '..'",
    )
    require(
        (base / path).resolve().is_relative_to(base.resolve()),
        f"the image path {image!r} is a link that leads out of the folder",
    )
    return str(path)


def _whole(record: Record, name: str) -> int | None:
    """A whole number; 2.0 counts as one, since tables with gaps are written so."""
    value = record.get(name)
    if value is None:
        return None
    try:
        number = float(value)
    except (OverflowError, TypeError, ValueError):
        number = 0.5
    require(
        number.is_integer() and abs(number) < LARGEST, f"{name} is {value!r:.60}; expected a whole number"
    )
    return int(number)


MEMBER = folder
