"""Slices with names: queries that somebody selected, kept in a file, which cut again as ``slice:NAME``.

``slices/NAME.slice.json`` in the folder of the user lists the ids of the queries: of captions, or of images.
As a field it says of each caption or image whether it is among them.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from workbench.io import reading_errors, user_folder, write_json
from workbench.records import Field, Rows, Split, require

FOLDER = "slices"
ENDING = ".slice.json"
# begins the name of the field that a saved slice is
PREFIX = "slice:"
SAVED = "saved"
NAME = re.compile(r"\w[\w.-]*")
ERRORS = (json.JSONDecodeError, UnicodeDecodeError, TypeError, KeyError)


@dataclass(frozen=True)
class SavedSlice:
    """Queries with a name.

    Args:
        name: letters, digits, ``_``, ``-`` and ``.``.
        direction: ``"t2i"`` = the queries are captions, ``"i2t"`` = images.
        queries: their ids.
        about: how they were selected, in words; kept for a reader.
    """

    name: str
    direction: str
    queries: Sequence[str]
    about: str = ""

    def rows(self, split: Split) -> Rows:
        """Return ``(N,)`` rows of the queries that a split has."""
        places = {name: row for row, name in enumerate(query_ids(split, self.direction))}
        rows = [places[name] for name in self.queries if name in places]
        return np.array(rows, dtype=np.int64)

    def field(self, split: Split) -> Field:
        """Return the slice as a field of a split, true for its queries."""
        values = np.zeros(len(query_ids(split, self.direction)))
        values[self.rows(split)] = 1.0
        owner: Any = "image" if self.direction == "i2t" else "caption"
        return Field(PREFIX + self.name, values, owner, "flag", SAVED)


def query_ids(split: Split, direction: str) -> Sequence[str]:
    """Return the ids of the queries of a direction: of images, or of captions."""
    return split.image_ids if direction.startswith("i") else split.caption_ids


def save_slice(
    split: Split,
    name: str,
    rows: Iterable[int],
    *,
    direction: str = "t2i",
    about: str = "",
    overwrite: bool = False,
) -> Path:
    """Write queries as a slice with a name, by which ``by="slice:NAME"`` cuts from then on.

    Args:
        split: whose queries.
        name: letters, digits, ``_``, ``-`` and ``.``.
        rows: of the queries.
        direction: ``"t2i"`` = they are captions, ``"i2t"`` = images.
        about: how they were selected, in words.
        overwrite: replace a slice of that name.

    Raises:
        ValueError: no query, or another name. FileExistsError: there is such a slice.
    """
    wanted = f"{name!r} is no name of a slice; take letters, digits, _, - and ., such as long-captions"
    require(NAME.fullmatch(name), wanted)
    ids = query_ids(split, direction)
    queries = [ids[row] for row in rows]
    require(queries, f"slice {name!r} would be empty; select a query")
    file = user_folder() / FOLDER / f"{name}{ENDING}"
    there = f"there is a slice {name!r} already; choose another name, or overwrite it"
    require(overwrite or not file.exists(), there, FileExistsError)
    return write_json(file, asdict(SavedSlice(name, direction, queries, about)))


def saved_slices() -> dict[str, SavedSlice]:
    """Return all saved slices by the name of their field, such as ``"slice:hard"``.

    Raises:
        ValueError: a file is no saved slice; the message names it.
    """
    slices = {}
    for file in sorted((user_folder() / FOLDER).glob(f"*{ENDING}")):
        with reading_errors(file, "is no saved slice", *ERRORS):
            slices[PREFIX + file.name.removesuffix(ENDING)] = SavedSlice(
                **json.loads(file.read_text(encoding="utf-8"))
            )
    return slices


def slices_with_queries(split: Split) -> dict[str, SavedSlice]:
    """Return the saved slices that hold queries of a split, by the name of their field."""
    return {name: part for name, part in saved_slices().items() if len(part.rows(split))}
