"""Scores that were made elsewhere: one matrix of every image with every caption, in memory or in a file.

=========  ===============================================================================================
what       where it stands
=========  ===============================================================================================
scores     numbers ``(I, T)``, larger = more alike: the field ``scores``, ``similarities`` or ``logits``, else
           the only matrix
ids        ``image_ids`` and ``caption_ids``, or ``row_ids`` and ``column_ids``; of a table its index and its
           columns
=========  ===============================================================================================

A matrix without ids stands in the order of the data. One that stands the other way, captions in rows, is read
where ids of both sides say so.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from torch import Tensor

from workbench.formatting import format_count
from workbench.io import NUMPY_ERRORS, read_array, reading_errors, replacing, resolve_input
from workbench.metrics.blocks import AnyScores, by_rows
from workbench.records import Array, Embedding, Rows, Split, require
from workbench.runs.model import WHOLE, Say, silent
from workbench.runs.own import SavedVectors
from workbench.runs.pairs import Items
from workbench.runs.rerank import unstaged
from workbench.runs.store import SCORES, verify_files
from workbench.runs.vector_fields import IDS, Field, fields_of
from workbench.runs.vector_files import file_origin, match_rows, name_of_sources, split_of_rows, texts_of
from workbench.training.batches import Source

FILES = (".npy", ".npz", ".pt", ".safetensors")
CALLED = {
    *("scores", "score", "similarities", "similarity", "sims", "sim"),
    *("logits", "logits_per_image", "matrix"),
}
# what CLIP calls scores whose rows are captions
TURNED = "logits_per_text"
SQUARE = "scores without ids, as many images as captions: rows are read as images, columns as captions"
ROWS, COLUMNS = {"row_ids", "rows", "index"}, {"column_ids", "columns", "col_ids"}
# entries whose numbers are checked at a time
CHECKED = 2**24
Sides = tuple[tuple[str, ...], tuple[str, ...]]


class ScoreMatrix(NamedTuple):
    """Scores as they were read.

    Args:
        values: ``(I, T)`` float32 or float64.
        ids: of its images and of its captions; none = they stand in the order of the data.
    """

    values: Array
    ids: Sides

    def in_order(self, split: Split) -> AnyScores:
        """Return ``(I, T)`` the scores in the order of a split.

        Raises:
            ValueError: an image or a caption of the split has no scores.
        """
        return _select_scores(self.values, *_rows_in_split(self.ids, split))


def _rows_in_split(ids: Sides, split: Split) -> tuple[Rows, Rows]:
    """Return rows of the images and of the captions of a split among ids; without ids they stand in its
    order.

    Raises:
        ValueError: an image or a caption of the split is not among them.
    """
    rows: list[Rows] = []
    wanted = {"image": split.image_ids, "caption": split.caption_ids}
    for known, (what, names) in zip(ids, wanted.items(), strict=True):
        place = match_rows(known, names, what, split.name, "scores") if known else np.arange(len(names))
        rows.append(place)
    return rows[0], rows[1]


def _select_scores(values: AnyScores, images: Rows, captions: Rows) -> AnyScores:
    """Return the scores of some images and captions: as they are where these are all, a matrix where it is
    small.
    """
    whole = (np.arange(size) for size in values.shape)
    if all(np.array_equal(*pair) for pair in zip((images, captions), whole, strict=True)):
        return values
    part = by_rows(values).select(images, captions)
    small = len(images) * len(captions) <= WHOLE
    return part.rows() if small else part


def read_scores(source: Any, split: Split | None = None) -> ScoreMatrix:
    """Read scores that were made elsewhere.

    Args:
        source: array, tensor, list or table ``(I, T)``, a mapping that holds one, or a file: ``.npy``, which
            is not read into memory, ``.npz``, ``.pt`` or ``.safetensors``.
        split: whose images and captions are scored; ``None`` = rows are images.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no such matrix, another shape, a number that is not finite, or ids that do not
            belong to it; the message says which.
    """
    name = str(source) if isinstance(source, str | Path) else "scores"
    fields = _source_fields(source, name)
    field = _matrix_of(fields, name)
    values = _as_matrix(field.value, ", ".join(filter(None, (name, field.name))))
    ids = {key: _ids_by_name(fields, words, name) for key, words in _id_words().items()}
    if field.word == TURNED and not (ids["row"] or ids["column"]):
        values = values.T
    turned, sides = _ids_by_side(values, ids, split, name)
    values = values.T if turned else values
    _require_shape(values, sides, split, name)
    _require_finite(values, sides if all(sides) else _ids_of(split, values), name)
    return ScoreMatrix(values, sides)


def _id_words() -> dict[str, set[str]]:
    """Return what ids are called, by whose they are."""
    image = IDS["image"][0] | IDS["image"][2] - {"image", "images", "index"}
    return {"image": image, "caption": set(IDS["text"][0]), "row": ROWS, "column": COLUMNS}


def _source_fields(source: Any, name: str) -> list[Field]:
    """Return what a source holds, a table with its ids beside it."""
    if isinstance(source, pd.DataFrame):
        fields = [Field("", "scores", source.to_numpy())]
        for word, index in (("row_ids", source.index), ("column_ids", source.columns)):
            if not isinstance(index, pd.RangeIndex):
                fields.append(Field(word, word, list(map(str, index))))
        return fields
    if not isinstance(source, str | Path):
        return fields_of(source, name, "scores")
    file = resolve_input(source)
    require(
        file.suffix in FILES,
        f"{name} holds no score matrix; give one of {', '.join(FILES)}, or ranked lists and tables of query, "
        "item, score as runs",
    )
    require(file.is_file(), f"there is no file {name}", FileNotFoundError)
    if file.suffix == ".npy":
        return [Field("", "", read_array(file, "holds no scores"))]
    return fields_of(source, name, "scores")


def _matrix_of(fields: Sequence[Field], name: str) -> Field:
    """Return the one field that holds scores."""
    if len(fields) == 1 and not fields[0].name:
        return fields[0]
    able = [field for field in fields if field.is_matrix]
    candidates = [field for field in able if field.word in CALLED] or able
    held = ", ".join(map(str, fields)) or "nothing"
    require(candidates, f"{name} holds {held}; numbers (I, T) are needed, called scores")
    names = " and ".join(field.name for field in candidates)
    require(len(candidates) == 1, f"{name} holds {names}, and each may be the scores; call one scores")
    return candidates[0]


def _as_matrix(value: Any, name: str) -> Array:
    """Return a matrix of float32 or float64, larger types of neither."""
    with reading_errors(name, "holds no scores", *NUMPY_ERRORS):
        if isinstance(value, Tensor):
            value = value.detach().cpu().to_dense()
            value = value.float() if value.is_floating_point() and value.itemsize < 4 else value
            value = value.numpy()
        value = value.toarray() if hasattr(value, "toarray") else value  # of scipy
        array = np.ma.filled(value.astype(float), np.nan) if np.ma.isMaskedArray(value) else np.asarray(value)
    shape = tuple(array.shape)
    require(array.dtype.kind in "biuf", f"{name} holds {array.dtype} {shape}; real numbers (I, T) are needed")
    require(len(shape) == 2 and all(shape), f"{name} has the shape {shape}; (I, T) is needed, images in rows")
    small = array.dtype.kind in "bf" and array.dtype.itemsize <= 4
    return array.astype(np.float32 if small else np.float64, copy=False)


def _ids_by_name(fields: Sequence[Field], words: set[str], name: str) -> tuple[str, ...]:
    """Return the ids that one of these names has, as texts; none where no field is called so."""
    named = [field for field in fields if field.word in words]
    for field in named[:1]:
        texts = texts_of(field.value)
        require(texts, f"{name} holds {field}, and ids are texts or whole numbers; save a list of these")
        twice = pd.Series(texts).duplicated()
        require(not twice.any(), f"{name}, {field.name}: the id {texts[int(twice.argmax())]!r} stands twice")
        return texts
    return ()


def _ids_by_side(
    values: Array, ids: Mapping[str, tuple[str, ...]], split: Split | None, name: str
) -> tuple[bool, Sides]:
    """Return whether rows are captions, and the ids of images and of captions.

    Raises:
        ValueError: ids of another number than there are rows or columns.
    """
    size = values.shape
    images, captions, rows, columns = (ids[key] for key in ("image", "caption", "row", "column"))
    if rows or columns:
        for what, axis, own in (("rows", 0, rows), ("columns", 1, columns)):
            require(len(own) in (0, size[axis]), f"{name}: {len(own)} ids for {size[axis]} {what}")
        straight, turned = (rows, columns), (columns, rows)
        is_turned = _share_of_known_ids(turned, split) > _share_of_known_ids(straight, split)
        return is_turned, turned if is_turned else straight
    # ids of both sides say which way the matrix stands, the number of one side does not
    lengths = len(images), len(captions)
    turned_lengths = all(lengths) and lengths == (size[1], size[0]) and lengths != size
    seen = size[::-1] if turned_lengths else size
    for what, number, expected in (("image", lengths[0], seen[0]), ("caption", lengths[1], seen[1])):
        count = format_count(number, f"{what} id")
        require(
            number in (0, expected),
            f"{name} has the shape {size}, and {count}; images stand in rows and captions in columns, (I, T)",
        )
    return turned_lengths, (images, captions)


def _share_of_known_ids(sides: Sides, split: Split | None) -> float:
    """Return which share of ids of images and of captions the data have, added up."""
    known = (split.image_ids, split.caption_ids) if split else ((), ())
    return sum(len({*ids} & {*own}) / max(len(ids), 1) for ids, own in zip(sides, known, strict=True))


def _require_shape(values: Array, sides: Sides, split: Split | None, name: str) -> None:
    """Raise if scores without ids are more or fewer than the data have.

    Raises:
        ValueError: the message says which shape is expected, and what to do where it fits the other way.
    """
    if split is None:
        return
    expected = len(split.image_ids), len(split.caption_ids)
    free = [not ids for ids in sides]
    if not any(no_ids and a != b for no_ids, a, b in zip(free, values.shape, expected, strict=True)):
        return
    lead = f"{name} has the shape {values.shape}, and {split.name} needs {expected}: a row an image, a column"
    if values.shape == expected[::-1]:
        raise ValueError(
            f"{lead} a caption; give its transpose, scores.T, or image_ids and caption_ids beside it"
        )
    raise ValueError(
        f"{lead} a caption; give one each in the order of the data, or image_ids and caption_ids"
    )


def _ids_of(split: Split | None, values: Array) -> tuple[Sequence[str], Sequence[str]]:
    """Return names of rows and columns for a message: those of the data, else their numbers."""
    if split is not None and values.shape == (len(split.image_ids), len(split.caption_ids)):
        return split.image_ids, split.caption_ids
    return list(map(str, range(values.shape[0]))), list(map(str, range(values.shape[1])))


def _require_finite(values: Array, ids: tuple[Sequence[str], Sequence[str]], name: str) -> None:
    """Raise if a score is NaN or infinite; some rows are read at a time."""
    step = max(1, CHECKED // values.shape[1])
    for first in range(0, len(values), step):
        finite = np.isfinite(values[first : first + step])
        if finite.all():
            continue
        row, column = np.argwhere(~finite)[0]
        number = values[first + row, column]
        raise ValueError(
            f"{name}: the score of image {ids[0][first + row]!r} and caption {ids[1][column]!r} is {number}; "
            "give a finite one, or lists that leave items out as runs"
        )


def _origin_of_scores(source: Any, values: Array) -> dict[str, str]:
    """Return the path of a file of scores and its checksum, of scores in memory their own checksum."""
    if isinstance(source, str | Path):
        return file_origin(source)
    digest = hashlib.sha256()
    step = max(1, CHECKED // values.shape[1])
    for first in range(0, len(values), step):
        digest.update(np.ascontiguousarray(values[first : first + step]).tobytes())
    return {"checksum": digest.hexdigest()}


def open_scores(source: Any, split: Split | None, own: Any) -> "tuple[SavedScores, Split, dict[str, Any]]":
    """Open scores in the order of a split.

    Args:
        source: see ``read_scores``.
        split: whose images and captions are scored; ``None`` = there are no data.
        own: ``(T,)`` row of each caption's image, where there are no data.

    Returns:
        What scores by them; the split; and fields of an ``Evaluation``.

    Raises:
        FileNotFoundError, ValueError: see ``read_scores``.
    """
    matrix = read_scores(source, split)
    if split is None:
        images, captions = matrix.values.shape
        split = split_of_rows(own, images, captions, matrix.ids)
    if len(split.image_ids) == len(split.caption_ids) and not any(matrix.ids):
        split = replace(split, notes=(*split.notes, SQUARE))
    fields: dict[str, Any] = {"scores": _origin_of_scores(source, matrix.values)}
    name = name_of_sources({"scores": source})
    fields |= {"name": name} if name else {}
    return SavedScores(matrix.in_order(split), (split.image_ids, split.caption_ids)), split, fields


class SavedScores(SavedVectors):
    """Stands where scores were made elsewhere, and what made them is not there. It embeds nothing: an item is
    its row.

    Args:
        values: ``(I, T)`` scores.
        ids: of the images and of the captions.
    """

    name = "scores"
    of_unit_length = False
    scores_itself = True

    def __init__(self, values: AnyScores, ids: Sides) -> None:
        super().__init__()
        self.values = values
        self.ids = ids

    @classmethod
    def read(cls, folder: Path) -> "SavedScores":
        """Read the scores that a run keeps.

        Raises:
            ChecksumError: a file is damaged. ValueError: it cannot be read.
        """
        return cls(read_array(checked_file(folder, SCORES)), read_ids(folder))

    def write(self, folder: Path) -> None:
        """Write the scores into a run folder."""
        with replacing(folder / SCORES) as temporary:
            np.save(temporary, by_rows(self.values).rows())

    def embed(self, source: Source) -> tuple[Embedding, Embedding]:
        """Return the rows of the images and captions of a split in the place of embeddings.

        Raises:
            ValueError: there are no scores of one of them.
        """
        images, captions = _rows_in_split(self.ids, source.split)
        return Items.from_opener(str, images), Items.from_opener(str, captions)

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of some images and captions of the data."""
        return np.asarray(by_rows(self.values).make(self._rows_of_items(image), self._rows_of_items(text)))

    def scores_of_split(self, image: Embedding, text: Embedding, *, say: Say = silent) -> AnyScores:
        """Return ``(I, T)`` scores of the images and captions of a split."""
        return _select_scores(self.values, self._rows_of_items(image), self._rows_of_items(text))

    def _rows_of_items(self, items: Embedding) -> Rows:
        """Return rows of items in the matrix.

        Raises:
            TypeError: vectors, which these scores do not read.
        """
        if not isinstance(items, Items) or items.rows is None:
            raise TypeError(f"{self.name} are of images and captions of the data, and not of vectors")
        return items.rows


def write_model(folder: Path, result: Any) -> None:
    """Write into the folder of an evaluation what its model is, where nothing else keeps it.

    A model without a name cannot be opened again. Where it makes its scores itself, they are kept as well,
    since cosines of its vectors would be other scores.

    Args:
        folder: of the run.
        result: an open ``Result`` that evaluated.

    Raises:
        ValueError: the model has no name, and scores of its own in each direction.
    """
    split = result.split
    model, image, text = unstaged(result.model, result.image, result.text)
    model.write(folder)
    if not model.scores_itself or result.run.model or isinstance(model, SavedScores):
        return
    require(
        not model.directed,
        f"{model.name} scores pairs by direction and has no name by which it is opened again; save it as "
        "my_file.py and give it as my_file:Name",
    )
    staged = model is not result.model
    scores = model.scores_of_split(image, text) if staged else result.any_scores()
    SavedScores(scores, (split.image_ids, split.caption_ids)).write(folder)


def checked_file(folder: Path, name: str) -> Path:
    """Return a file that a run keeps, which is what the run wrote.

    Raises:
        FileNotFoundError: it is not there. ChecksumError: it is damaged.
    """
    file = folder / name
    require(file.is_file(), f"{folder} lacks {name}; evaluate again", FileNotFoundError)
    verify_files(folder, file)
    return file


def read_ids(folder: Path) -> Sides:
    """Return the ids of images and of captions that a run keeps."""
    sides = []
    for side in ("image", "text"):
        file = checked_file(folder, f"embeddings/{side}_ids.parquet")
        sides.append(tuple(pd.read_parquet(file)["id"]))
    return sides[0], sides[1]
