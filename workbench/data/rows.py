"""Rows of captions, from the records of tables.

A record names an image and holds one caption, a list of them, several in numbered columns (``caption_1`` to
``caption_5``), or a conversation of one question and its answer, which is the caption.
"""

import ast
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

from workbench.data.columns import (
    column_notes,
    field,
    find_columns,
    is_missing,
    matching_columns,
)
from workbench.data.fields import cells_of_caption, columns_of_fields
from workbench.data.reading import Problems, Row
from workbench.formatting import format_count
from workbench.records import require

Record = dict[str, Any]
# who answers in a conversation
ANSWERING = ("gpt", "assistant", "model")
# what a person can do where two captions have one id
NO_IDS = "; give each caption its own, or say columns={'id': None} to number them within their image"
# below it a float tells every whole number from the next
LARGEST = 2**53


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
