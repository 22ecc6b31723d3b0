"""What data know of images and captions beside them, such as a language or a category: columns of a table."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np

from workbench.formatting import format_count, format_some, format_value
from workbench.records._arrays import Array, Mask, Rows
from workbench.registry import require

Owner = Literal["image", "caption", "pair"]
Kind = Literal["category", "number", "text", "flag"]
# texts with at most so many distinct values, on average shared by two rows, are names of categories
MOST_CATEGORIES = 100
FLAGS = {"true": 1.0, "false": 0.0}
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Field:
    """One value for each image, caption or annotated pair.

    Args:
        name: as it is typed, e.g. ``"language"``.
        values: ``(I,)`` for images, ``(T,)`` for captions and for pairs, whose rows are those of captions.
            Numbers and flags (1 = true, 0 = false) are float64 with NaN where one is missing; categories and
            texts are objects, ``str`` or ``None`` where one is missing.
        owner: what has the values.
        kind: what they are.
        source: where they are from, e.g. ``"captions.csv"`` or ``"computed"``.

    Raises:
        ValueError: the values have another form than their kind.
    """

    name: str
    values: Array
    owner: Owner = "caption"
    kind: Kind = "category"
    source: str = ""

    def __post_init__(self) -> None:
        form = np.dtype(np.float64 if self.is_numeric else object)
        what = f"field {self.name!r}: a {self.kind} has values of {form}"
        require(self.values.ndim == 1, f"field {self.name!r} has shape {self.values.shape}; give a row each")
        require(self.values.dtype == form, f"{what}, not {self.values.dtype}")

    @classmethod
    def from_cells(
        cls, name: str, cells: Iterable[Any], *, owner: Owner = "caption", source: str = ""
    ) -> Self:
        """Take values as a table or JSON holds them, and infer their kind.

        Args:
            name: of the field.
            cells: a value each; ``None``, NaN and an empty text are missing.
            owner: what has them.
            source: where they are from.

        >>> Field.from_cells("size", ["3", "", 4.5]).values.tolist()
        [3.0, nan, 4.5]
        """
        plain = [_to_plain(cell) for cell in cells]
        known = [cell for cell in plain if cell is not None]
        numbers = _to_numbers(plain, known)
        if numbers is not None:
            flags = bool(known) and all(str(cell).lower() in FLAGS for cell in known)
            return cls(name, numbers, owner, "flag" if flags else "number", source)
        texts = np.array([None if cell is None else str(cell) for cell in plain], dtype=object)
        distinct = len({str(cell) for cell in known})
        few = distinct <= min(MOST_CATEGORIES, max(2, len(known) / 2))
        return cls(name, texts, owner, "category" if few else "text", source)

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers or flags."""
        return self.kind in ("number", "flag")

    @cached_property
    def missing(self) -> Mask:
        """``(N,)`` where there is no value."""
        if self.is_numeric:
            return np.isnan(self.values)
        return np.array([value is None for value in self.values], dtype=bool)

    def take(self, rows: Rows | slice) -> Self:
        """Return the field of some rows, in their order."""
        return replace(self, values=self.values[rows])

    def cells(self) -> list[Any]:
        """Return the values as a table or JSON holds them, ``None`` where one is missing."""
        if not self.is_numeric:
            return list(self.values)
        convert = bool if self.kind == "flag" else _drop_fraction
        cells: list[Any] = [convert(value) for value in self.values]
        for row in np.flatnonzero(self.missing):
            cells[row] = None
        return cells

    def counts(self) -> dict[str, int]:
        """Count the rows of each value by its text, the most frequent first."""
        return {self.text(value): number for value, number in self._value_counts}

    @cached_property
    def distinct(self) -> int:
        """How many values differ."""
        return len(np.unique(self.values[~self.missing])) if self.is_numeric else len(self._value_counts)

    @cached_property
    def _value_counts(self) -> list[tuple[Any, int]]:
        return Counter(self.values[~self.missing].tolist()).most_common()

    def text(self, value: Any) -> str:
        """Return the text of one value: ``yes`` and ``no`` for a flag, the fewest digits for a number."""
        if self.kind == "flag":
            return YES if value else NO
        return str(_drop_fraction(value)) if self.is_numeric else str(value)

    def row(self) -> dict[str, Any]:
        """Return the field as a row of a list: name, owner, kind, missing ones, values and source."""
        row = {"name": self.name, "owner": self.owner, "kind": self.kind, "missing": int(self.missing.sum())}
        return row | {"values": self.range_text(), "source": self.source}

    def range_text(self) -> str:
        """Describe the values in a few words, for a list of fields."""
        known = self.values[~self.missing]
        if self.kind == "number" and len(known):
            ends = (known.min(), np.median(known), known.max())
            low, middle, high = (_format_rounded(float(value)) for value in ends)
            return f"{low} to {high}, median {middle}"
        counts = self.counts()
        if self.kind == "text":
            return f"{format_count(len(counts), 'text')}: {format_some([repr(text) for text in counts], 1)}"
        several = [f"{text} ({format_count(number)})" for text, number in counts.items()]
        return f"{format_count(len(counts), 'value')}: {format_some(several, 5)}"


def _to_plain(cell: Any) -> Any:
    """Return a cell as a value of Python; ``None`` where it holds nothing; of lists and objects their
    text.
    """
    cell = cell.item() if isinstance(cell, np.generic) else cell
    if isinstance(cell, np.ndarray):
        cell = cell.tolist()
    if cell is None or isinstance(cell, bool | int):
        return cell
    if isinstance(cell, float):
        return cell if math.isfinite(cell) else None
    if isinstance(cell, Sequence) and not isinstance(cell, str | bytes):
        return ", ".join(map(str, cell)) or None
    if isinstance(cell, Mapping):
        return json.dumps(cell, default=str) if cell else None
    text = str(cell).strip()
    return None if text in ("", "nan", "<NA>", "NaT") else text


def _to_numbers(cells: Sequence[Any], known: Sequence[Any]) -> Array | None:
    """Return ``(N,)`` numbers or flags, if all cells hold one kind of these."""
    texts = [str(cell).lower() for cell in known]
    flags = [text in FLAGS for text in texts]
    if any(flags) and not all(flags):
        return None
    out = np.full(len(cells), np.nan)
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        text = str(cell).lower()
        number = FLAGS[text] if text in FLAGS else _parse_number(text)
        if number is None:
            return None
        out[row] = number
    return out


def _parse_number(text: str) -> float | None:
    """Return the number that a text is; a code such as ``007`` is none."""
    digits = text.lstrip("+-")
    if "_" in text or (digits.startswith("0") and digits[1:2].isdigit()):
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _drop_fraction(value: float) -> float | int:
    """Return a number without a fraction as a whole one."""
    return int(value) if float(value).is_integer() else float(value)


def _format_rounded(value: float) -> str:
    """Return a number with three digits after the point, without them where it is whole."""
    return str(int(value)) if value.is_integer() else format_value(value, "number")
