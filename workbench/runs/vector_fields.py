"""What a source of vectors holds, as fields by name: the arrays of ``.npz``, the entries of ``.pt``,
``.safetensors`` (with lists in its metadata) and ``.json``, the columns of a table, or the one array of
``.npy``.

Of a table, columns that are numbered without a gap from 0 or 1 are one field, a column for each dimension.
"""

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from safetensors import safe_open
from torch import Tensor

from workbench.data.columns import NAMES, normalise_name
from workbench.io import NUMPY_ERRORS, parse_json, reading_errors, require_real_file, resolve_input
from workbench.io.tensors import load_tensors
from workbench.records import Array, require

# words in the name of a field that say whose it is
WORDS = {
    "image": {"image", "images", "img", "imgs", "photo", "photos", "picture", "pictures", "visual"},
    "text": {"text", "texts", "txt", "caption", "captions", "sentence", "sentences", "textual"},
}
# what vectors are called otherwise; numbered columns may be numbers alone
VECTORS = {
    *("vectors", "vector", "vec"),
    *("embeddings", "embedding", "embeds", "embed", "emb"),
    *("features", "feature", "feat"),
    *("dimension", "dim", ""),
}
# what ids are called, of either side, and what the files of images are called beside the names of a column
EITHER = {"ids", "id"}
FILE_NAMES = {
    *("image_names", "image_paths", "image_files"),
    *("file_names", "filenames", "files", "names", "paths"),
}
# a name of an earlier group goes before one of a later
IDS: dict[str, tuple[set[str], ...]] = {
    "image": (set(NAMES["image_id"]), EITHER, {*NAMES["image"], *FILE_NAMES}),
    "text": (set(NAMES["id"]) - EITHER, EITHER),
}
NUMBERED = re.compile(r"(.*?)(\d+)")
# kinds of numbers in numpy, complex ones among them
NUMBERS = "biufc"


class Field(NamedTuple):
    """One field of a source.

    Args:
        name: as the source has it; of numbered columns the first and the last.
        word: the name without capitals and signs, of numbered columns without the number.
        value: an array, a tensor, a list, or whatever else stands there.
        numbered: whether it is made of numbered columns.
    """

    name: str
    word: str
    value: Any
    numbered: bool = False

    @property
    def is_matrix(self) -> bool:
        """Whether it has rows of numbers, as an array ``(N, D)`` or a list of lists has, or several rows an
        item, as ``(N, P, D)`` has.
        """
        value = self.value
        if isinstance(value, Tensor):
            return value.ndim == 2 or (value.ndim == 3 and value.is_floating_point())
        if isinstance(value, np.ndarray) and value.dtype != object:
            # whole numbers (N, H, W) are pixels
            several = value.ndim == 3 and value.dtype.kind == "f"
            return several or (value.ndim == 2 and value.dtype.kind in NUMBERS)
        first = _first_value(value)
        if is_sequence(first) and len(first) and is_sequence(first[0]):
            return np.asarray(first[0][:1]).dtype.kind in NUMBERS
        return is_sequence(first) and np.asarray(first[:1]).dtype.kind in NUMBERS

    def __str__(self) -> str:
        if isinstance(self.value, np.ndarray | Tensor):
            return f"{self.name} {self.value.dtype} {tuple(self.value.shape)}"
        first = _first_value(self.value)
        example = self.value if first is None else first
        return f"{self.name} ({type(example).__name__})"


def _first_value(value: Any) -> Any:
    """Return the first of some values; of anything else ``None``."""
    listed = is_sequence(value) and not isinstance(value, Tensor)
    return value[0] if listed and len(value) else None


def is_sequence(value: Any) -> bool:
    """Return whether a value has a first and a last, as lists, arrays and tensors with an axis have.

    Args:
        value: any.
    """
    return isinstance(value, list | tuple) or (isinstance(value, np.ndarray | Tensor) and value.ndim > 0)


def fields_of(source: Any, name: str, wanted: str = "vectors") -> list[Field]:
    """List what a source holds; of an array or a tensor one field without a name.

    Args:
        source: a file, a mapping, a table, an array, a tensor or a list.
        name: of the source, for messages.
        wanted: what it should hold, likewise.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it cannot be read, or a column stands twice or is missing among numbered ones.
    """
    content = _open_source(resolve_input(source), wanted) if isinstance(source, str | Path) else source
    if isinstance(content, pd.Series):
        content = content.to_frame("vectors")
    if hasattr(content, "to_pandas"):  # a table of another library
        content = content.to_pandas()
    if isinstance(content, pd.DataFrame):
        return list(_fields_of_table(content, name))
    if isinstance(content, Mapping):
        return [Field(str(key), normalise_name(str(key)), value) for key, value in content.items()]
    return [Field("", "", content)]


def _open_source(file: Path, wanted: str) -> Any:
    """Return the content of a file: an array, a mapping of names or a table."""
    require(file.suffix in READERS, f"{file} holds no {wanted}; give one of {', '.join(READERS)}")
    require(file.is_file(), f"there is no file {file}", FileNotFoundError)
    require_real_file(file, wanted)
    with reading_errors(file, f"holds no {wanted}", *NUMPY_ERRORS, pd.errors.ParserWarning):
        return READERS[file.suffix](file)


def _read_npz(file: Path) -> dict[str, Any]:
    """Return arrays by name; of one that holds objects, and is therefore not opened, the reason."""
    arrays = dict[str, Any]()
    with np.load(file) as archive:
        for name in archive.files:
            try:
                arrays[name] = archive[name]
            except ValueError as error:
                if "allow_pickle" not in str(error):
                    raise
                arrays[name] = Pickled()
    return arrays


class Pickled:
    """Stands for an array of Python objects, which could run code of its own and is not opened."""


def _read_tensors(file: Path) -> Any:
    return load_tensors(file, "vectors")


def _read_safetensors(file: Path) -> dict[str, Any]:
    """Return the tensors, and what stands beside them in the metadata: lists are written there as JSON."""
    tensors = load_tensors(file, "vectors")
    with safe_open(file, framework="pt") as opened:
        metadata: dict[str, str] = opened.metadata() or {}
    beside = dict[str, Any](metadata)
    beside.pop("format", None)  # the library that wrote the file
    for name, text in beside.items():
        if text.startswith("["):
            beside[name] = parse_json(text, f"{file}, {name}")
    return {**beside, **tensors}


def _read_json(file: Path) -> Any:
    """Return fields by name, or a list of rows with their fields, or of vectors."""
    content = parse_json(file.read_bytes(), file.name)
    rows = isinstance(content, list) and all(isinstance(row, dict) for row in content)
    return pd.DataFrame(content) if rows else content


def _read_csv(file: Path) -> pd.DataFrame:
    """Return a table whose columns are numbers where all of them are, and texts as they stand otherwise: an
    id may begin with zeros, which its name tells.
    """
    names = pd.read_csv(file, nrows=0, index_col=False, encoding="utf-8-sig").columns
    called = set().union(*IDS["image"], *IDS["text"])
    texts = {name: str for name in names if normalise_name(name) in called}
    gaps = {name: ["", "NA", "nan", "NaN"] for name in names if name not in texts}
    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)  # a row with more fields than names is cut
        return pd.read_csv(
            file, dtype=texts, keep_default_na=False, na_values=gaps, index_col=False, encoding="utf-8-sig"
        )


READERS: dict[str, Callable[[Path], Any]] = {
    ".npy": np.load,
    ".npz": _read_npz,
    ".pt": _read_tensors,
    ".safetensors": _read_safetensors,
    ".json": _read_json,
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
    ".csv": _read_csv,
}


def _fields_of_table(table: pd.DataFrame, name: str) -> Iterator[Field]:
    """Yield the columns of a table, numbered ones as one field, and its index where that is no count of
    rows.
    """
    if not isinstance(table.index, pd.RangeIndex):
        with reading_errors(name, "holds no vectors"):
            table = _with_index(table)
    names = [str(column) for column in table.columns]
    twice = [column for column, count in Counter(names).items() if count > 1]
    require(not twice, f"{name}: the column {twice[:1]} stands twice; keep one")
    table = table.set_axis(names, axis=1)
    runs = dict(_numbered_columns(table, name))
    numbered: set[str] = set()
    for stem, columns in runs.items():
        numbered.update(columns)
        yield Field(
            f"{columns[0]} to {columns[-1]}",
            _stem_without_sign(stem),
            _as_matrix(table[columns]),
            numbered=True,
        )
    for column in names:
        if column not in numbered:
            yield Field(column, normalise_name(column), _as_values(table[column]))


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with its index as a column: ids, or whole numbers that tell how the rows stood once."""
    if table.index.nlevels > 1 or table.index.name is not None:
        return table.reset_index()
    return table.reset_index(names="row numbers" if table.index.dtype.kind in "iu" else "ids")


def _numbered_columns(table: pd.DataFrame, name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield numbered columns of numbers by the name before their number, in the order of the numbers.

    Columns whose name says that they are vectors must be whole; others that are not are left alone.
    """
    groups: dict[str, dict[int, str]] = {}
    for column in table:
        if match := NUMBERED.fullmatch(str(column)):
            groups.setdefault(match[1], {})[int(match[2])] = str(column)
    for stem, columns in groups.items():
        named = [columns[number] for number in sorted(columns)]
        if len(named) < 2 or table[named[0]].dtype.kind not in NUMBERS:
            continue
        fault = _explain_fault(table, columns)
        if not fault:
            yield stem, named
        elif _stem_without_sign(stem) in VECTORS or side_of(stem):
            raise ValueError(f"{name}: of the columns {named[0]} to {named[-1]} {fault}")


def _explain_fault(table: pd.DataFrame, columns: Mapping[int, str]) -> str:
    """Return why columns by their number are no dimensions; ``""`` = they are."""
    start = 0 if 0 in columns else 1
    lost = [number for number in range(start, start + len(columns)) if number not in columns]
    if lost:
        return f"number {lost[0]} is missing; dimensions are numbered without a gap from 0 or 1"
    texts = [column for column in columns.values() if table[column].dtype.kind not in NUMBERS]
    return f"{texts[0]} holds no numbers, but {table[texts[0]].dtype}" if texts else ""


def _stem_without_sign(stem: str) -> str:
    """Return the name of numbered columns without the sign before the number."""
    return normalise_name(stem).strip("._")


def _as_matrix(columns: pd.DataFrame) -> Array:
    """Return columns of numbers as an array; a gap is no number."""
    array = columns.to_numpy()
    return columns.to_numpy(dtype=np.float64, na_value=np.nan) if array.dtype == object else array


def _as_values(column: Any) -> Any:
    """Return an array of numbers, else a list of whatever stands there."""
    return column.to_numpy() if column.dtype.kind in NUMBERS else column.tolist()


def side_of(name: str) -> str:
    """Return whose field it is by a word of its name; ``""`` = it does not say.

    >>> [side_of(name) for name in ("clip_image_embeds", "captions", "features")]
    ['image', 'text', '']
    """
    words = set(re.split(r"[^a-z]+", re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower()))
    sides = [side for side, known in WORDS.items() if words & known]
    return sides[0] if len(sides) == 1 else ""
