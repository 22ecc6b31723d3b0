"""Vectors that were made elsewhere, in files or in memory, and whose ids say in which order they stand.

=======  =================================================================================================
what     where it stands
=======  =================================================================================================
vectors  numbers ``(N, D)``: the field ``images`` or ``texts``, else the one whose name has such a word, else
         one called ``vectors``, ``embeddings`` or ``features``, else the only one; in a table a column of
         lists, or a column for each dimension, numbered without a gap from 0 or 1
ids      ``N`` texts or whole numbers: ``image_ids`` or ``caption_ids``, else ``ids``; of images also the
         names of their files
several  ``(N, P, D)`` floating-point numbers in place of ``(N, D)``, with ``mask`` or ``lengths`` where some
         items have fewer than ``P``, see ``vector_parts``
=======  =================================================================================================

Whatever else is there is named in a note. Where two fields may be meant, the source is refused. So it is
where data are given, no field is called as ids are, and another may hold them.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench.data.columns import NAMES
from workbench.data.fields import is_plain
from workbench.data.images import raise_no_image
from workbench.formatting import format_count
from workbench.io import checksum, reading_errors, resolve_input
from workbench.records import Array, Embedding, Rows, Split, require
from workbench.records import Field as ItemField
from workbench.runs.store import BARE
from workbench.runs.vector_fields import IDS, VECTORS, Field, fields_of, is_sequence, side_of
from workbench.runs.vector_parts import mask_of, pack_vectors, pad_ragged, says_what_is_real

Side = Literal["image", "text"]
OTHER: dict[Side, Side] = {"image": "text", "text": "image"}
# names that ids have, and vectors never
IDS_ALONE = {*IDS["text"][0], *IDS["image"][0], *IDS["text"][1]}
# what is remarked of numbers of a kind
BYTES = "bytes are taken as numbers; packed bits are not unpacked"
REMARKS = {"bool": "booleans are taken as 0 and 1", "int8": BYTES, "uint8": BYTES}
# names that a message lists
LISTED = 6


def name_of_sources(sources: Mapping[Any, Any]) -> str:
    """Call vectors after their files, each by its folder and name; empty where none are in a file.

    Args:
        sources: of images and of texts, as ``read_vectors`` takes them.

    >>> name_of_sources({"images": "clip/images.npy", "texts": "clip/texts.npy"})
    'clip/images + texts'
    >>> name_of_sources({"images": "a/all.npz", "texts": "a/all.npz"})
    'a/all'
    >>> name_of_sources({"images": [[1]], "texts": [[1]]})
    ''
    """
    paths = (Path(source) for source in sources.values() if isinstance(source, str | Path))
    files = list(dict.fromkeys(path.with_suffix("") for path in paths))
    names = ["/".join(file.parts[-2:]) for file in files]
    if len(files) == 2 and files[0].parent == files[1].parent:
        names[1] = files[1].name
    return " + ".join(names)


def origin(source: Any, values: Embedding) -> dict[str, str]:
    """Return where vectors are from: the path of their file and its checksum; of those in memory that of the
    vectors.

    Args:
        source: as ``read_vectors`` takes it.
        values: vectors that were read there.
    """
    if isinstance(source, str | Path):
        return file_origin(source)
    digest = hashlib.sha256(values.mean.numpy().tobytes())
    if values.parts is not None:
        digest.update(b"".join(array.tobytes() for array in pack_vectors(values)))
    return {"checksum": digest.hexdigest()}


def file_origin(source: str | Path) -> dict[str, str]:
    """Return the path of a file and its checksum.

    Args:
        source: the file, as it was named.
    """
    file = resolve_input(source).resolve()
    return {"file": str(file), "checksum": checksum(file)}


class SideVectors(NamedTuple):
    """The vectors of one side.

    Args:
        values: ``(N, D)`` float32, each of length 1, or ``(N, P, D)``, likewise.
        ids: ``(N,)``; none = the source holds none.
        notes: how the source was read, where that is not plain.
        unread: names of its fields that were not read.
        like_ids: those of them that hold another text or number for each vector, where there are no ids.
        mask: ``(N, P)`` which of several vectors an item are real; ``None`` = there is one an item.
        beside: fields that hold a plain value for each vector, such as a language.
    """

    values: Tensor
    ids: tuple[str, ...]
    notes: tuple[str, ...]
    unread: tuple[str, ...]
    like_ids: tuple[str, ...] = ()
    mask: Tensor | None = None
    beside: Mapping[str, ItemField] = {}

    def embedding(self) -> Embedding:
        """Return the vectors as an embedding."""
        return Embedding(self.values) if self.mask is None else Embedding.from_parts(self.values, self.mask)


def read_both(images: Any, texts: Any) -> tuple[SideVectors, SideVectors]:
    """Read the vectors of both sides; one source may hold both.

    Args:
        images: ``(I, D)``, see ``read_vectors``.
        texts: ``(T, D)``, likewise.

    Raises:
        FileNotFoundError, ValueError: see ``read_vectors``.
    """
    image, text = read_vectors(images, "image"), read_vectors(texts, "text")
    if images is texts or (isinstance(images, str | Path) and str(images) == str(texts)):
        image = image._replace(unread=tuple(name for name in image.unread if name in text.unread))
        text = text._replace(unread=())
    return _with_unread(image, images, "image"), _with_unread(text, texts, "text")


def _with_unread(vectors: SideVectors, source: Any, side: Side) -> SideVectors:
    if not vectors.unread:
        return vectors
    note = f"{_short_name(source, side)}: not read: {_list_names(vectors.unread)}"
    return vectors._replace(notes=(*vectors.notes, note))


def read_vectors(source: Any, side: Side) -> SideVectors:
    """Read vectors that were made elsewhere, and bring them to length 1.

    Args:
        source: ``(N, D)`` or ``(N, P, D)`` array, tensor or list, ``N`` times ``(P_i, D)``, a mapping or a
            table that holds one, or a file: ``.npy``, ``.npz``, ``.pt``, ``.safetensors``, ``.json``,
            ``.parquet``, ``.feather`` or ``.csv``.
        side: of the vectors, ``"image"`` or ``"text"``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no such vectors, some without a direction, ids that are none, or two fields that
            may be meant; the message names them.
    """
    name = str(source) if isinstance(source, str | Path) else f"{side}s"
    fields = fields_of(source, name)
    if len(fields) == 1 and not fields[0].name:
        values, mask, remarks = _unit_vectors(*_as_padded_array(fields[0].value, name), name)
        return SideVectors(values, (), _note_lines(source, side, remarks), (), mask=mask)
    field = _field_of_vectors(fields, side, name)
    array, mask = _as_padded_array(field.value, f"{name}, {field.name}")
    real_field, real = mask_of(fields, side, tuple(array.shape), name)
    masks = [each for each in (mask, real) if each is not None]
    mask = torch.stack(masks).all(dim=0) if masks else None
    values, mask, remarks = _unit_vectors(array, mask, f"{name}, {field.name}")
    ids_field, ids = _find_ids(fields, side, name, len(values))
    if field.numbered or not (side_of(field.name) or field.word in VECTORS):
        remarks = [f"{field.name} are {values.shape[-1]} dimensions", *remarks]
    unread = [other for other in fields if other.name not in (field.name, ids_field, real_field)]
    like_ids = [other.name for other in unread if not ids and _is_like_ids(other, side, len(values))]
    own = [other for other in unread if other.name not in like_ids and side_of(other.name) != OTHER[side]]
    plain = [other for other in own if _is_beside(other, len(values))]
    beside = {other.name: _item_field(other, side, source) for other in plain}
    names = tuple(other.name for other in unread if other.name not in beside)
    return SideVectors(values, ids, _note_lines(source, side, remarks), names, tuple(like_ids), mask, beside)


def _is_beside(field: Field, count: int) -> bool:
    """Return whether a field holds a plain value for each vector."""
    if not is_sequence(field.value) or len(field.value) != count or field.is_matrix:
        return False
    return all(map(is_plain, _cells(field)))


def _cells(field: Field) -> Sequence[Any]:
    """Return the values of a field one by one."""
    return list(field.value.tolist() if isinstance(field.value, Tensor) else field.value)


def _item_field(field: Field, side: Side, source: Any) -> ItemField:
    """Return a field beside vectors as one of the images or captions."""
    owner: Literal["image", "caption"] = "image" if side == "image" else "caption"
    return ItemField.from_cells(field.name, _cells(field), owner=owner, source=_short_name(source, side))


def fields_beside(image: SideVectors, text: SideVectors, split: Split) -> dict[str, ItemField]:
    """Return the fields of a split, and those that stand beside vectors, in the order of its rows.

    Args:
        image: vectors of its images.
        text: vectors of its captions.
        split: whose own fields go before others of their names.
    """
    fields: dict[str, ItemField] = {}
    for vectors, ids, what in ((image, split.image_ids, "image"), (text, split.caption_ids, "caption")):
        rows = match_rows(vectors.ids, ids, what, split.name, "vectors") if vectors.ids else slice(None)
        fields |= {name: field.take(rows) for name, field in vectors.beside.items()}
    return {**fields, **split.fields}


def _is_like_ids(field: Field, side: Side, count: int) -> bool:
    """Return whether a field may hold the ids of a side under another name: a different text without blanks
    for each vector, or a number where the name ends as that of ids does. Captions, and what names the images
    of texts, are none.
    """
    texts = () if field.is_matrix else texts_of(field.value)
    elsewhere = side_of(field.name) == OTHER[side] or field.word in NAMES["caption"]
    if side == "text":
        elsewhere |= any(field.word in names for names in IDS["image"])
    if elsewhere or len(texts) != count or len(set(texts)) != count:
        return False
    if field.word.endswith(("id", "ids")):
        return True
    words = all(isinstance(item, str | bytes) for item in field.value)
    return words and not any(" " in text for text in texts)


def _note_lines(source: Any, side: Side, remarks: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{_short_name(source, side)}: {remark}" for remark in remarks)


def _short_name(source: Any, side: Side) -> str:
    """Return what a note calls a source."""
    return Path(source).name if isinstance(source, str | Path) else f"{side}s"


def _list_names(names: Iterable[Any]) -> str:
    names = [str(name) for name in names]
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + f" and {more} more" * (more > 0)


def _field_of_vectors(fields: Sequence[Field], side: Side, name: str) -> Field:
    """Return the one field that holds the vectors of a side."""
    able = [
        field
        for field in fields
        if field.is_matrix and side_of(field.name) != OTHER[side] and field.word not in IDS_ALONE
        if not says_what_is_real(field)
    ]
    named = [field for field in able if side_of(field.name) == side]
    usual = [field for field in able if field.word in VECTORS]
    exact = [field for field in able if field.word == f"{side}s"]
    candidates = exact or named or usual or able
    require(
        candidates,
        f"{name} holds {_list_names(fields) or 'nothing'}; numbers (N, D) are needed, called {side}s, or "
        f"columns {side}_0, {side}_1, ... of a table",
    )
    names = " and ".join(field.name for field in candidates)
    require(
        len(candidates) == 1,
        f"{name} holds {names}, and each may be the vectors of {side}s; call one {side}s, or leave one out",
    )
    return candidates[0]


def _as_padded_array(value: Any, name: str) -> tuple[Array | Tensor, Tensor | None]:
    """Return a value as one array or tensor, and which vectors are real where items have different
    numbers.
    """
    with reading_errors(name, "holds no vectors", TypeError, RuntimeError):
        return pad_ragged(value, name) or (_as_array(value), None)


def _unit_vectors(
    array: Array | Tensor, mask: Tensor | None, name: str
) -> tuple[Tensor, Tensor | None, list[str]]:
    """Return vectors as float32 at length 1, which of several an item are real, and what is to be
    remarked.
    """
    kind, shape = str(array.dtype).removeprefix("torch."), tuple(array.shape)
    real = not array.is_complex() if isinstance(array, Tensor) else array.dtype.kind in "biuf"
    require(real, f"{name} holds {kind} {shape}; real numbers (N, D) are needed")
    fits = len(shape) in (2, 3) and all(shape)
    require(
        fits, f"{name} has the shape {shape}; (N, D), or (N, P, D) for several vectors an item, is needed"
    )
    vectors = array.float() if isinstance(array, Tensor) else torch.from_numpy(_single_precision(array))
    remarks = [REMARKS[kind]] if kind in REMARKS else []
    if len(shape) == 2:
        _require_directions(vectors, name)
        return normalize(vectors, dim=1), None, remarks
    mask = torch.ones(shape[:2], dtype=torch.bool) if mask is None else mask
    _require_directions(vectors.masked_fill(~mask[..., None], 1), name)
    counts = mask.sum(dim=1)
    span = dict.fromkeys([str(int(counts.min())), str(int(counts.max()))])
    unit = normalize(vectors, dim=2).masked_fill(~mask[..., None], 0)
    return unit, mask, [f"{' to '.join(span)} vectors an item", *remarks]


def _require_directions(vectors: Tensor, name: str) -> None:
    """Raise if a vector of ``(N, D)`` or ``(N, P, D)`` has no direction; the message names the row."""
    lengths = vectors.norm(dim=-1)
    bad = torch.nonzero(~(lengths.isfinite() & (lengths > 0)))
    if len(bad):
        raise ValueError(f"{name}: row {int(bad[0, 0])} is not finite, or has no direction")


def _as_array(value: Any) -> Array | Tensor:
    """Return a value as one array or tensor, on the CPU."""
    if isinstance(value, list | tuple) and len(value) and isinstance(value[0], Tensor):
        value = torch.stack(list(value))
    if isinstance(value, Tensor):
        return value.detach().cpu().to_dense()
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim == 1:
        value = value.tolist()
    if np.ma.isMaskedArray(value):  # what is masked is no number
        value = np.ma.filled(value.astype(float), np.nan)
    return np.asarray(value)


def _single_precision(array: Array) -> Array:
    """Return an array in single precision, in the order of this machine's bytes and memory."""
    with np.errstate(over="ignore"):  # what is too large is refused as not finite
        return np.ascontiguousarray(array, dtype=np.float32)


def _find_ids(fields: Sequence[Field], side: Side, name: str, count: int) -> tuple[str, tuple[str, ...]]:
    """Return the name of the field that holds the ids of a side, and the ids; both empty where there are
    none.
    """
    for words in IDS[side]:
        named = [field for field in fields if field.word in words]
        ids = {field.name: texts_of(field.value) for field in named}
        for field in named:
            # what has a name of images may be their vectors or their pixels
            require(
                ids[field.name] or "image" in words,
                f"{name} holds {field}, and ids are {count} texts or whole numbers; save a list of these",
            )
        readable = {field: texts for field, texts in ids.items() if texts}
        require(
            len(set(readable.values())) < 2,
            f"{name} holds {' and '.join(readable)}, and each may be the ids of {side}s; call one {side}_ids",
        )
        if readable:
            field_name, texts = next(iter(readable.items()))
            _check_ids(texts, f"{name}, {field_name}", side, count)
            return field_name, texts
    return "", ()


def texts_of(value: Any) -> tuple[str, ...]:
    """Return ids as texts; none where these are no texts or whole numbers."""
    values = value.tolist() if hasattr(value, "tolist") else value
    if not isinstance(values, list | tuple):
        return ()
    texts = [_plain_value(item) for item in values]
    whole = all(isinstance(item, str | int) and not isinstance(item, bool) for item in texts)
    return tuple(map(str, texts)) if whole else ()


def _plain_value(item: Any) -> Any:
    """Return a scalar as Python's own, and bytes as text."""
    if isinstance(item, np.generic | Tensor):
        item = item.item()
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    return item


def _check_ids(ids: Sequence[str], name: str, side: Side, count: int) -> None:
    require(len(ids) == count, f"{name}: {len(ids)} ids for {count} vectors; give one each as {side}_ids")
    twice = [text for text, times in Counter(ids).items() if times > 1]
    require(not twice, f"{name}: the id {twice[:1]} stands twice; keep one vector of each {side}")


def notes_without_ids(image: SideVectors, text: SideVectors, split: Split) -> list[str]:
    """Note which vectors stand in the order of a split because nothing says another.

    Raises:
        ValueError: a field that was not read may say another.
    """
    for side, vectors in (("image", image), ("caption", text)):
        require(
            not vectors.like_ids,
            f"the vectors of {side}s have no ids, and {_list_names(vectors.like_ids)} may hold them; call it "
            f"{side}_ids, or leave it out where they stand in the order of the data",
        )
    ends = []
    if not image.ids:
        ends.append(f"images {split.image_ids[0]} to {split.image_ids[-1]}")
    if not text.ids:
        ends.append(f"captions {split.caption_ids[0]} to {split.caption_ids[-1]}")
    return [f"vectors without ids stand in the order of the data: {', '.join(ends)}"] if ends else []


def order_as_split(image: SideVectors, text: SideVectors, split: Split) -> tuple[Embedding, Embedding]:
    """Bring vectors into the order of a split; those without ids are in it.

    Args:
        image: of ``N`` images.
        text: of ``N`` captions.
        split: its images and captions are wanted, each once.

    Returns:
        ``I`` images and ``T`` captions.

    Raises:
        ValueError: an image or caption of the split has no vector, or vectors without ids are more or fewer.
    """
    images = _take_rows(image, split.image_ids, "image", split.name)
    return images, _take_rows(text, split.caption_ids, "caption", split.name)


def _take_rows(vectors: SideVectors, wanted: Sequence[str], what: str, split: str) -> Embedding:
    count = len(vectors.values)
    if not vectors.ids:
        require(
            count == len(wanted),
            f"{split}: {format_count(count, 'vector')} of {what}s and {format_count(len(wanted), what)}; "
            "give one each, in the order of the data",
        )
        return vectors.embedding()
    return vectors.embedding().take(match_rows(vectors.ids, wanted, what, split, "vectors"))


def match_rows(ids: Sequence[str], wanted: Sequence[str], what: str, split: str, of_ids: str) -> Rows:
    """Find the rows of some ids, whose paths may be written otherwise.

    Args:
        ids: unique ids, in the order of the rows.
        wanted: those that are sought.
        what: they name, for messages.
        split: that wants them.
        of_ids: what has the ids, ``"vectors"``.

    Returns:
        ``(len(wanted),)`` rows.

    Raises:
        ValueError: one is not there.
    """
    rows = pd.Index(ids).get_indexer(pd.Index(wanted))
    forms = pd.Index(map(_normalise_path, ids))
    if (rows < 0).any() and forms.is_unique:
        rows = forms.get_indexer(pd.Index(map(_normalise_path, wanted)))
    lone = [name for name, row in zip(wanted, rows, strict=True) if row < 0]
    require(
        not lone,
        f"{split}: {what} {lone[:1]} has no {of_ids}, one of {format_count(len(lone))} without; the ids of "
        f"the {of_ids} are {_list_names(ids[:2])} ...",
    )
    return np.asarray(rows, np.int64)


def _normalise_path(name: str) -> str:
    """Return a path in one form, ``a.jpg`` of ``./a.jpg``."""
    return str(PurePosixPath(name.replace("\\", "/")))


def split_of_rows(own: Any, images: int, captions: int, ids: tuple[Sequence[str], Sequence[str]]) -> Split:
    """Return a split that knows whose caption is whose, and neither words nor images.

    Args:
        own: ``(T,)`` image row of each caption.
        images: how many there are.
        captions: likewise.
        ids: of images and of captions; none = their rows.

    Raises:
        ValueError: a caption without image, or an image without caption.
    """
    rows = np.asarray(own)
    require(
        rows.shape == (captions,) and rows.dtype.kind in "iu",
        f"own has the shape {rows.shape}; give the image row of each of {captions} captions",
    )
    outside = np.flatnonzero((rows < 0) | (rows >= images))[:1]
    require(
        not len(outside),
        f"own: caption {outside.tolist()} belongs to image {rows[outside].tolist()}, and there are "
        f"{format_count(images, 'image')}, 0 to {images - 1}",
    )
    image_ids = tuple(ids[0]) or tuple(map(str, range(images)))
    caption_ids = tuple(ids[1]) or tuple(map(str, range(captions)))
    texts = tuple(f"caption {name}" for name in caption_ids)
    own_rows = rows.astype(np.int64)
    notes = ("vectors came without words and images",)
    return Split(BARE, image_ids, texts, caption_ids, own_rows, raise_no_image, notes=notes)
