"""Fields from columns that no reader needs, such as a language or a category: every layout keeps them."""

import datetime
import decimal
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from workbench.data.columns import Columns, is_missing, matching_columns, unread_columns
from workbench.records import Field, Rows

SCALARS = (str, bool, int, float, np.number, np.bool_, np.str_, datetime.date, decimal.Decimal)
# what stands after the name of a file in a message
PLACE = re.compile(r"(?:(?:^| )(?:row|annotation|image) \d+|,).*")


class HasFields(Protocol):
    """A row of a reader, see ``reading.Row``."""

    @property
    def where(self) -> str:
        """File and row, for messages."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """Cells of the columns that no reader needs, by name."""


def is_plain(cell: Any) -> bool:
    """Return whether a cell is a value that a field can hold: a number, a text, a date, or a list of texts.

    >>> is_plain(3), is_plain(["cat", "dog"]), is_plain({"a": 1}), is_plain(b"bytes")
    (True, True, False, False)
    """
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if isinstance(cell, list | tuple):
        return all(isinstance(item, str) for item in cell)
    return isinstance(cell, SCALARS) or is_missing(cell)


def columns_of_fields(
    records: Sequence[tuple[str, Mapping[str, Any]]],
    names: Iterable[str],
    columns: Mapping[str, Sequence[str]],
    chosen: Columns,
) -> tuple[list[str], list[str]]:
    """Return the columns that are fields, all of whose cells are plain, and those that are not.

    Args:
        records: of a table, each with where it stands; a list may hold a plain cell for each caption.
        names: of all columns.
        columns: those that are read, see ``columns.find_columns``.
        chosen: as a person gives them; what is ``None`` there stays unread.
    """
    plain = list[str]()
    left = list[str]()
    off = [ours for ours, name in chosen.items() if name is None]
    for name in unread_columns(names, columns):
        cells = [(record[name], record) for _, record in records if name in record]
        unread = any(matching_columns([name], ours) for ours in off)
        fits = all(
            is_plain(cell) or _is_cell_each(cell, record, columns["caption"]) for cell, record in cells
        )
        (plain if cells and fits and not unread else left).append(name)
    return plain, left


def _is_cell_each(cell: Any, record: Mapping[str, Any], captions: Sequence[str]) -> bool:
    """Return whether a cell is a list of plain cells, one for each caption of a row."""
    if not isinstance(cell, list | tuple | np.ndarray):
        return False
    texts = record.get(captions[0])
    count = len(texts) if isinstance(texts, list | tuple | np.ndarray) else len(captions)
    return len(cell) == count and all(map(is_plain, cell))


def cells_of_caption(cells: Mapping[str, Any], number: int, captions: int) -> Mapping[str, Any]:
    """Return the cells of one caption of a row; a list with an item a caption has one for each.

    Args:
        cells: of the row, by name.
        number: of the caption in the row, from 0.
        captions: that the row has.

    >>> cells_of_caption({"place": "sea", "lang": ["de", "en"]}, 1, 2)
    {'place': 'sea', 'lang': 'en'}
    """
    arrays = {name: cell.tolist() for name, cell in cells.items() if isinstance(cell, np.ndarray)}
    cells = {**cells, **arrays} if arrays else cells
    lists = {name: cell for name, cell in cells.items() if isinstance(cell, list | tuple)}
    aligned = {name: cell[number] for name, cell in lists.items() if len(cell) == captions > 1}
    return {**cells, **aligned} if aligned else cells


def fields_of_rows(rows: Sequence[HasFields], own: Rows, images: int) -> dict[str, Field]:
    """Return the fields of a split; what is the same at all captions of each image is a field of images.

    Args:
        rows: a caption each.
        own: ``(T,)`` image row of each.
        images: how many there are.
    """
    sources = dict[str, str]()
    for row in rows:
        for name in row.fields:
            if name not in sources:
                sources[name] = PLACE.sub("", row.where) or "the table"
    fields = {}
    for name, source in sources.items():
        field = field_of_captions(name, [row.fields.get(name) for row in rows], own, images, source)
        if not field.missing.all():
            fields[name] = field
    return fields


def field_of_captions(name: str, cells: Sequence[Any], own: Rows, images: int, source: str) -> Field:
    """Return a field of captions, or of images where all captions of an image have the same cell.

    Args:
        name: of the field.
        cells: one a caption.
        own: ``(T,)`` image row of each caption.
        images: how many there are.
        source: where the cells are from.
    """
    first = np.full(images, -1, dtype=np.int64)
    first[own[::-1]] = np.arange(len(own))[::-1]
    shared = all(cell == cells[first[image]] for cell, image in zip(cells, own.tolist(), strict=True))
    if shared:
        return Field.from_cells(name, [cells[row] for row in first.tolist()], owner="image", source=source)
    return Field.from_cells(name, cells, source=source)


def whole_column(values: Sequence[int | None]) -> Rows | None:
    """Return ``(T,)`` whole numbers; ``None`` where one is missing."""
    return None if any(value is None for value in values) else np.array(values, dtype=np.int64)
