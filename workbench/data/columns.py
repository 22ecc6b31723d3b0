"""Which column, field or array holds what: the one table of accepted names, for tables, shards and vectors.

A name counts without its case, with a blank or a hyphen for an underscore. A column whose name is not in
``NAMES`` becomes a field, see ``fields``, or where its cells are no plain values, a note lists it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import pandas as pd

from workbench.records import require
from workbench.registry import require_known

# what a column holds -> the names that it has in the field; the first is ours
NAMES: dict[str, tuple[str, ...]] = {
    "image": (
        "image", "image_path", "image_file", "image_filename", "image_name", "filepath", "file_path",
        "file_name", "filename", "file", "path", "img", "img_path", "photo", "images",
    ),
    "caption": (
        "caption", "captions", "text", "texts", "title", "sentence", "sentences", "sentences_raw", "comment",
        "raw", "description", "alt_text", "conversations", "messages",
    ),
    "split": ("split",),
    "id": ("id", "ids", "caption_id", "caption_ids", "text_id", "text_ids"),
    "image_id": ("image_id", "image_ids", "img_id", "imgid", "cocoid"),
    "level": ("level",),
    "chain": ("chain",),
    "negatives": ("negatives", "negative_captions", "hard_negatives"),
}  # fmt: skip
# what every table has; what has no other name, nor another case
NEEDED, EXACT = ("image", "caption"), ("level", "chain")
# names of columns by ours, as a person gives them; None = it is not read, and no field
Columns = Mapping[str, str | None]


def normalise_name(name: Any) -> str:
    """Return a name without its case, and with underscores for blanks and hyphens."""
    return re.sub(r"[\s-]+", "_", str(name).strip(' "\r\n').lower())


def _name_without_number(name: Any) -> str:
    """Return a name without the number at its end, as that of ``caption_1``."""
    return re.sub(r"[_.]?\d+$", "", normalise_name(name))


def matching_columns(names: Iterable[Any], ours: str) -> list[Any]:
    """Return the columns that may hold something.

    Args:
        names: of all columns.
        ours: a key of ``NAMES``. Captions may stand in numbered columns, and an image's id names the image
            where nothing else does.

    Returns:
        Their names, in their order; several are candidates between which a person has to choose.
    """
    names = list(names)
    if ours in EXACT:
        return [name for name in names if name == ours]
    form = _name_without_number if ours == "caption" else normalise_name
    columns = [name for name in names if form(name) in NAMES[ours]]
    return columns or (matching_columns(names, "image_id") if ours == "image" else [])


def has_image_and_caption(names: Iterable[Any], chosen: Columns) -> bool:
    """Return whether columns have names that an image and a caption have."""
    names = list(names)
    known = [normalise_name(name) for name in names]
    return all(
        column_of(normalise_name(chosen.get(ours) or ours), known) or matching_columns(names, ours)
        for ours in NEEDED
    )


def column_of(path: Any, names: Sequence[Any]) -> Any:
    """Return the column in which a path begins, ``caption`` of ``caption.en``; ``""`` = there is none."""
    if path in names:
        return path
    parts = str(path).split(".")
    heads = [".".join(parts[:stop]) for stop in range(len(parts), 0, -1)]
    return next((head for head in heads if head in names), "")


def find_columns(names: Iterable[Any], table: str, chosen: Columns) -> dict[str, tuple[Any, ...]]:
    """Return which column holds what.

    Args:
        names: of the columns.
        table: its name, for messages.
        chosen: ``{"caption": "title"}``, where the caller says it; ``"caption.en"`` is the field ``en`` of
            the objects in a column, and ``None`` leaves a column unread.

    Returns:
        What columns are, by our name -> their names in the table: one, or numbered ones of captions.
        ``image`` and ``caption`` are always there.

    Raises:
        ValueError: no column, or more than one, can hold the image or the caption, or a chosen column is not
            there.
    """
    names = list(dict.fromkeys(names))
    listed = ", ".join(map(str, names))
    for ours, name in chosen.items():
        require_known(f"{table}: columns has no name", ours, list(NAMES), ValueError)
        require(
            name is None or name in names or column_of(name, names) != "",
            f"{table} has the columns {listed}; columns={{{ours!r}: {name!r}}} names none of them",
        )
    columns = {ours: choose_columns(names, table, ours, chosen) for ours in NAMES}
    for ours in NEEDED:
        require(
            columns[ours],
            f"{table} has the columns {listed}; image, caption are needed, in the first line of a text; name "
            "others with columns={'image': ..., 'caption': ...}",
        )
    if columns["image"] == columns["image_id"]:
        columns["image_id"] = ()
    return {ours: several for ours, several in columns.items() if several}


def choose_columns(names: Sequence[Any], table: str, ours: str, chosen: Columns) -> tuple[Any, ...]:
    """Return the column of something, or numbered ones; none where there is no such column.

    Args:
        names: of all columns.
        table: its name, for messages.
        ours: a key of ``NAMES``.
        chosen: see ``find_columns``.

    Raises:
        ValueError: several columns can hold it.
    """
    if ours in chosen:
        return () if chosen[ours] is None else (chosen[ours],)
    fit = matching_columns(names, ours)
    # our own names go before others, that of the caption only beside that of the image
    if ours == "caption" and {"caption", "image"} <= {*names}:
        fit = [name for name in fit if _name_without_number(name) == ours]
    elif ours in fit and ours != "caption":
        fit = [ours]
    if len(fit) < 2 or (ours == "caption" and len(set(map(_name_without_number, fit))) == 1):
        return tuple(fit)
    raise ValueError(
        f"{table} has the columns {' and '.join(map(str, fit))}, and each may hold the {ours}; choose one "
        f"with columns={{{ours!r}: {fit[0]!r}}}"
    )


def field(record: Mapping[Any, Any], columns: Sequence[Any]) -> Any:
    """Return what a column of a record holds, or a list of what several hold where they hold anything."""
    if len(columns) == 1:
        return record[columns[0]] if columns[0] in record else _value_at_path(record, columns[0])
    values = [_value_at_path(record, name) for name in columns]
    return [value for value in values if not is_missing(value)]


def is_missing(value: Any) -> bool:
    """Return whether a cell holds nothing: ``None``, NaN, ``pandas.NA``, or a text without letters."""
    if isinstance(value, str):
        return value == ""
    return bool(pd.api.types.is_scalar(value) and pd.isna(value))


def _value_at_path(record: Mapping[Any, Any], path: Any) -> Any:
    """Return what a column holds, or a field inside it: of each object, where it holds a list of them."""
    if path in record or not isinstance(path, str) or "." not in path:
        return record.get(path)
    column = column_of(path, list(record))
    value = record.get(column)
    for name in path.removeprefix(f"{column}.").split("."):
        value = _field_inside(value, name)
    return value


def _field_inside(value: Any, name: str) -> Any:
    """Return a field of an object, or of those objects of a list that have it; of a gap nothing.

    Raises:
        ValueError: the object lacks it, or there is a text in its place.
    """
    if isinstance(value, Mapping):
        require(name in value, f"there is an object with {', '.join(map(str, value))}, and without {name}")
        return value[name]
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list | tuple):
        objects = [item for item in value if isinstance(item, Mapping) and name in item]
        return [_field_inside(item, name) for item in objects or value]
    require(is_missing(value), f"there is {value!r:.60}, and no object with {name}")
    return None


def unread_columns(names: Iterable[Any], columns: Mapping[str, Sequence[Any]]) -> list[Any]:
    """Return the columns that no reader needs, in their order.

    Args:
        names: of all columns.
        columns: those that are read, see ``find_columns``.
    """
    names = list(names)
    read = {column_of(name, names) for name in chain.from_iterable(columns.values())}
    return [name for name in names if name not in read]


def column_notes(columns: Mapping[str, Sequence[Any]], left: Iterable[Any]) -> tuple[str, ...]:
    """Return notes on columns with other names than ours, and on those that are neither read nor fields.

    Args:
        columns: those that are read, see ``find_columns``.
        left: names of those that are not, since their cells are no plain values.
    """
    read = {ours: " and ".join(map(str, several)) for ours, several in columns.items()}
    others = [f"{ours} = {listed}" for ours, listed in read.items() if listed != ours]
    notes = {"columns": others, "columns that were not read": sorted(map(str, left))}
    return tuple(f"{what}: {', '.join(listed)}" for what, listed in notes.items() if listed)
