"""Tables in memory: a DataFrame of pandas, a Dataset of the library ``datasets``, or a mapping of such parts.

Rows with the same image are one image, in any order: the same path, or the same content under the same image
id. Without a column of image ids, the file name that stands beside the content is its id. Content is compared
as it is stored, without decoding it. Notes count the rows that repeat an image, and the images that have the
content of another under another id.
"""

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from workbench.data.columns import column_of, field, find_columns, is_missing, unread_columns
from workbench.data.images import PILLOW
from workbench.data.reading import Name, Problems, Reading, Request, select_split, without_missing_images
from workbench.data.rows import NO_IDS, Record, table_rows, with_slashes
from workbench.formatting import format_count
from workbench.io import content_stamp, reading_errors, resolve_input
from workbench.records import Split, require

TABLE = "the table"
# a drive has one letter, and of two slashes a path keeps one
ADDRESS = re.compile(r"[a-z]{2,}:/")
# forms of arrays that Pillow reads as images: (height, width) of these, or (height, width, 1 to 4) of uint8
GREY = ("bool", "uint8", "uint16", "int32", "float32")
CHANNELS = (1, 2, 3, 4)


def load_table(
    data: Any,
    *,
    split: Name = "",
    images: str | Path = "",
    root: str | Path = "",
    columns: Mapping[str, str | None] = {},
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
    require_images: bool = True,
) -> Split:
    """Load one split of data in memory.

    Args:
        data: a pandas ``DataFrame``, a table of Arrow or polars, a ``datasets.Dataset`` or a
            ``DatasetDict``, with the columns of a table; an image is a path, its bytes, a struct of both, an
            array or an image of Pillow. Rows with the same image are one image, see the module.
        split: as for a path; the name in a ``DatasetDict``, or a column, says it.
        images: folder that paths are relative to; default the working directory.
        root: another name of ``images``, as data sets of the registry call their folder.
        columns: names of columns by ours, ``{"caption": "title"}``; ``None`` = such a column is not read.
        on_error: as for a path.
        check_images: read every image now.
        require_images: as for a path.

    Raises:
        TypeError: data of another kind.
        FileNotFoundError, ValueError: as for a path.
    """
    require(not (images and root), f"images={str(images)!r} and root={str(root)!r} are one; give one of them")
    base = resolve_input(images or root) if images or root else Path()
    request = Request(base, split, "", "", columns, Problems(on_error), "", require_images)
    read = read_in_memory(data, request)
    read = read if require_images else without_missing_images(read)
    return select_split(read, split, request.problems, check_images=check_images)


def read_in_memory(data: Any, request: Request) -> Reading:
    """Read a table in memory, or one a split."""
    tables = data if isinstance(data, Mapping) else {"": data}
    names: dict[Any, None] = {}
    rows: list[_Row] = []
    for part, table in tables.items():
        if hasattr(table, "features"):  # of the library datasets, in whatever form it gives its rows
            table = table.with_format(None) if hasattr(table, "with_format") else table
        elif hasattr(table, "to_pandas"):  # of Arrow or polars
            table = table.to_pandas()
        own = _column_names(table)
        names |= dict.fromkeys(own)
        rows += _usable_rows(table, own, str(part), request)
    ids, notes = _image_ids(rows)
    records = [(row.where, {**row.record, row.column: name}) for row, name in zip(rows, ids, strict=True)]
    sources = {name: _image_source(row) for row, name in zip(reversed(rows), reversed(ids), strict=True)}
    columns, splits_by = dict(request.columns), "the column split"
    if any(map(str, tables)):
        # the name of a part is the split of its rows, whatever a column says
        names["split"] = None
        columns["split"] = "split"
        splits_by = "the names of the parts"
    captions, more = table_rows(records, TABLE, str, request.problems, columns, names)
    return Reading("table", captions, sources.__getitem__, splits_by, (*more, *notes), hint=NO_IDS)


def _column_names(table: Any) -> list[Any]:
    """Return the names of the columns of a table, each once."""
    listed = hasattr(table, "column_names") and hasattr(table, "__len__")
    remedy = "; load it without streaming" if hasattr(table, "column_names") else ""
    if isinstance(table, list | tuple):
        remedy = "; pandas.DataFrame(data) makes a table of it"
    require(
        listed or _is_frame(table),
        "expected a name, a path, a DataFrame, a datasets.Dataset or a Split as data, found "
        f"{type(table).__name__}{remedy}",
        TypeError,
    )
    names = list(table.columns if _is_frame(table) else table.column_names)
    twice = [str(name) for n, name in enumerate(names) if name in names[:n]]
    require(
        not twice,
        f"{TABLE} has the columns {', '.join(map(str, names))}; rename one, where a name stands twice: "
        f"{', '.join(twice)}",
    )
    return names


def _is_frame(table: Any) -> bool:
    return hasattr(table, "to_dict") and hasattr(table, "columns")


class _Row(NamedTuple):
    """A row with its image.

    Args:
        where: for messages.
        place: what names the image where it has no path: split and number of the row.
        record: the other columns that are read and hold a value.
        column: of the image.
        path: of the image, in one form; ``""`` = it is given itself.
        source: what the image is read from, see ``read_image``.
        split: as the data call it.
        mark: the id of the image, or the name of its file; ``""`` = there is none.
        digest: of its content, or the place where its path leads.
    """

    where: str
    place: str
    record: Record
    column: Any
    path: str
    source: Any
    split: str
    mark: str
    digest: bytes


class _Content(NamedTuple):
    """An image that is given itself; called, it gives what ``read_image`` takes.

    Args:
        read: gives it.
        stamp: a checksum of it as it is stored.
    """

    read: Callable[[], Any]
    stamp: int

    def __call__(self) -> Any:
        """Return what the image is read from."""
        return self.read()


def _image_source(row: _Row) -> Any:
    return row.source if row.path else _Content(row.source, content_stamp(row.digest))


def _usable_rows(table: Any, names: Sequence[Any], part: str, request: Request) -> Iterator[_Row]:
    """Yield the rows of a table whose image is there and has a form that can be read."""
    columns = find_columns(names, TABLE, request.columns)
    (image,) = columns.pop("image")
    marks, column = columns.get("image_id", ()), column_of(image, names)
    others = {column_of(name, names) for name in chain.from_iterable(columns.values())}
    unread = unread_columns(names, {**columns, "image": (image,)})
    more = [name for name in unread if _may_be_field(table, name)]
    values = {name: _column_values(table, name) for name in [*others, *more]}
    stored = table if _is_frame(table) else _without_decoding(table, column)
    images = stored[column] if _is_frame(table) else (row[column] for row in stored)
    for n, value in enumerate(images):
        where = f"{part} row {n + 1}".strip()
        record = {name: several[n] for name, several in values.items() if not is_missing(several[n])}
        if part:
            record["split"] = part
        with request.problems.adding("unreadable image", f"{where}, column {image}"):
            content = _unwrap_single(field({column: value}, (image,)))
            path = _image_path(content)
            require(
                not (request.require_images and ADDRESS.match(path)),
                f"{path} is an address; download the images, and give their paths",
            )
            source: Any = (
                request.base / Path(path).expanduser() if path else partial(_readable_source, content)
            )
            if not path and not _is_frame(table):
                source = partial(_reread_image, stored, n, column, image)
            name = field(record, marks) if marks else _file_name(content)
            split = str(record.get("split", ""))
            place = f"{part}/{n}".lstrip("/")
            digest = os.path.realpath(source).encode() if path else _content_digest(content)
            yield _Row(where, place, record, image, path, source, split, str(name or ""), digest)


def _may_be_field(table: Any, column: Any) -> bool:
    """Return whether a column holds plain values, which of the library ``datasets`` its type tells."""
    if _is_frame(table):
        return True
    kind = getattr(table, "features", {}).get(column)
    inner = getattr(kind, "feature", kind)  # of a list
    return getattr(inner, "dtype", "binary") not in ("binary", "large_binary", "dict")


def _column_values(table: Any, column: Any) -> list[Any]:
    """Return the values of a column; of classes of the library ``datasets`` their names."""
    cells = list(table[column])
    names = getattr(getattr(table, "features", {}).get(column), "names", None)
    if not names:
        return cells
    # datasets writes -1 where a class is not known
    name_of = dict(enumerate(names))
    return [name_of.get(cell) for cell in cells]


def _without_decoding(table: Any, column: Any) -> Any:
    """Return a data set that gives the images of a column as they are stored, without decoding them."""
    kind: Any = getattr(table, "features", {}).get(column)
    if getattr(kind, "decode", False):
        table = table.cast_column(column, type(kind)(decode=False))
    return table.select_columns([column]) if hasattr(table, "select_columns") else table


def _reread_image(stored: Any, row: int, column: Any, image: Any) -> Any:
    return _readable_source(_unwrap_single(field({column: stored[row][column]}, (image,))))


def _unwrap_single(value: Any) -> Any:
    """Return an image, also from a list of one.

    Raises:
        ValueError: there is none, there are several, or it has a form that is no image's.
    """
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    content = (value.get("bytes") or value.get("path")) if isinstance(value, Mapping) else value
    empty = is_missing(content) or (isinstance(content, bytes) and not content)
    require(not empty, "it holds no image; leave the row out, or fill it")
    if isinstance(content, np.ndarray):
        _require_form(content)
    known = str | Path | bytes | Image.Image | np.ndarray
    require(
        isinstance(content, known),
        "expected a path, the bytes of an image, an array or an image of Pillow, found "
        f"{type(value).__name__} {' '.join(repr(value).split()):.60}",
    )
    return value


def _require_form(array: Any) -> None:
    """Raise if an array is not one of ``GREY`` or ``CHANNELS``."""
    shape, kind = array.shape, str(array.dtype)
    grey = len(shape) == 2 and kind in GREY
    colour = len(shape) == 3 and kind == "uint8" and shape[2] in CHANNELS
    remedies = []
    if len(shape) == 3 and shape[0] in CHANNELS and shape[2] not in CHANNELS:
        remedies.append("np.moveaxis(image, 0, -1) puts the channels last")
    if kind.startswith("float"):
        remedies.append("(255 * image).round().astype('uint8') makes 0 to 1 whole numbers")
    wrong = f"the image is an array {shape} of {kind}; expected (height, width, 3) of uint8"
    require(grey or colour, ". ".join(filter(None, [wrong, "; ".join(remedies)])))


def _image_path(image: Any) -> str:
    """Return the path of an image in one form; ``""`` = its content is given."""
    if isinstance(image, Mapping) and not image.get("bytes"):
        image = image.get("path")
    if not isinstance(image, str | Path):
        return ""
    return str(PurePosixPath(with_slashes(str(image), Path())))


def _file_name(image: Any) -> str:
    return str(image.get("path") or "") if isinstance(image, Mapping) else ""


def _readable_source(image: Any) -> Any:
    """Return what ``read_image`` takes."""
    if isinstance(image, Mapping):
        return image["bytes"]
    if not isinstance(image, np.ndarray):
        return image
    return Image.fromarray(image[..., 0] if image.ndim == 3 and image.shape[2] == 1 else image)


def _content_digest(image: Any) -> bytes:
    """Return what is equal for images of one content. A file that Pillow has not read yet counts by its
    name.
    """
    unread = getattr(image, "filename", "") if getattr(image, "tile", []) else ""
    about, content = str(unread), b""
    if isinstance(image, Mapping):
        content = image["bytes"]
    elif isinstance(image, np.ndarray):
        about, content = f"{image.dtype} {image.shape}", np.ascontiguousarray(image).tobytes()
    elif isinstance(image, bytes):
        content = image
    elif not unread:
        with reading_errors("it", "is not a readable image", *PILLOW):
            about, content = f"{image.mode} {image.size}", image.tobytes()
    digest = hashlib.blake2b(about.encode(), digest_size=16)
    digest.update(content)
    return digest.digest()


class _Key(NamedTuple):
    """What is equal for rows of one image."""

    split: str
    digest: bytes
    mark: str


def _image_ids(rows: Sequence[_Row]) -> tuple[list[str], tuple[str, ...]]:
    """Return the id of the image of each row, and notes on rows that repeat an image or seem to."""
    # one image throughout stands for images that are not there
    throughout = len({(row.path, row.digest) for row in rows}) == 1 < len(rows)
    blank = throughout and not rows[0].path and not rows[0].mark
    first: dict[_Key, str] = {}
    ids = []
    for row in rows:
        mark = row.place if blank else row.mark
        key = _Key("", row.digest, "") if row.path else _Key(row.split, row.digest, mark)
        ids.append(first.setdefault(key, row.path or row.place))
    if blank:
        note = f"every row has the same image; they stay {format_count(len(rows), 'image')}"
        return ids, (f"{note}; a column image_id tells which rows are one",)
    content = {key.digest: name for key, name in reversed(first.items())}
    duplicates = [(name, content[key.digest]) for key, name in first.items() if content[key.digest] != name]
    own = [name for row, name in zip(rows, ids, strict=True) if not row.path]
    repeated = len(own) - len(set(own))
    notes = [f"{format_count(repeated, 'row')} with the image of another; their captions stand with it"]
    notes = notes if repeated else []
    if duplicates:
        many, pair = format_count(len(duplicates), "image"), " and ".join(duplicates[0])
        notes.append(f"{many} with the content of another, under another id, name or split: {pair}")
    return ids, tuple(notes)
