"""Vectors that are known before a model is asked: what a frozen encoder says of a whole split, computed once
and read from disk, and what was made elsewhere.

An encoder that holds a frozen one (``Encoder.frozen_encoder``: the CLIP that guides AAHR's pooling) would ask
it the same at every step of every epoch, and again in the next run. Its vectors of images and captions are
constants, so that they come with the batch: ``inputs["vectors"]`` and ``signals["vectors"]``. The name of the
file says what they were made from: the frozen weights, the images or captions, and what the encoder reads of
a few of them.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import normalize

from workbench import devices
from workbench.data.images import no_picture
from workbench.encoders.base import Encoder, Pair
from workbench.formatting import format_count
from workbench.io import cache_folder, cached_file, new_memmap, read_array, reading_errors, require_itself
from workbench.io.tensors import loaded
from workbench.progress import bar
from workbench.records import Array, Batch, Embedding, Rows, Split, require
from workbench.training import batches
from workbench.training.batches import Source

Side = Literal["image", "text"]
PROBES, SIZE = 8, 128
FILES = (".npy", ".npz", ".pt", ".safetensors", ".parquet")
# what holds the ids of vectors beside them
KEYS: dict[str, tuple[str, ...]] = {
    "image": (
        "image_ids",
        "image_id",
        "ids",
        "id",
        "image",
        "file_name",
        "filename",
        "image_names",
        "file_names",
        "filenames",
        "names",
        "paths",
    ),
    "text": ("text_ids", "caption_ids", "caption_id", "ids", "id"),
}
# name of the data that vectors have which came without any
BARE = "vectors"


@dataclass(frozen=True)
class Vectors:
    """``(N, D)`` vectors as a signal and as a reader of image rows.

    Args:
        values: usually memory-mapped.
    """

    values: Array

    def take(self, rows: Rows) -> Tensor:
        """``(n, D)`` of these rows."""
        return torch.from_numpy(np.asarray(self.values[rows], dtype=np.float32))


def brought(source: Source, pair: Pair, reads: Sequence[str], *, progress: bool = True) -> Source:
    """The source with the vectors of the frozen encoders; itself where there are none.

    Args:
        source: of the split, with what the encoders read.
        pair: both encoders, with the weights that they train from.
        reads: names of the signals that the text encoder reads.
        progress: show a bar where somebody can see it.

    Returns:
        A source whose batches bring ``vectors``; pixels that only the frozen encoder reads are left out.

    Raises:
        OSError: the disk is full.
    """
    split, inputs, signals = source.split, dict(source.inputs), dict(source.signals)
    if (frozen := pair.image.frozen_encoder) is not None:
        inputs["vectors"] = known(frozen, "image", split, source.of_images, progress=progress).take
        inputs = {name: read for name, read in inputs.items() if name not in pair.image.frozen_inputs}
    if (frozen := pair.text.frozen_encoder) is not None:
        read = replace(source, signals={name: signals[name] for name in reads}).of_captions
        signals["vectors"] = known(frozen, "text", split, read, progress=progress)
    return replace(source, inputs=inputs, signals=signals)


def known(
    encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch], *, progress: bool = True
) -> Vectors:
    """What an encoder that does not learn says of a whole split: computed once, and then read."""
    file = cache_folder() / f"vectors-{side}-{_key(encoder, side, split, read)}.npy"
    cached_file(file, partial(_write, encoder, side, split, read, progress))
    return Vectors(np.load(file, mmap_mode="r"))


@torch.inference_mode()
def _write(
    encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch], progress: bool, file: Path
) -> dict[str, Any]:
    count = len(split.image_ids if side == "image" else split.captions)
    encode: Callable[[Batch], Embedding] = encoder.images if side == "image" else encoder.texts
    home, was_training = next(encoder.parameters()).device, encoder.training
    device = devices.find()
    encoder.eval().to(device)
    shown = bar(count, f"frozen vectors of {split.name}", f" {side}s", progress=progress)
    with shown:
        out = new_memmap(file, (count, encoder.embed_dim), np.float32)
        for rows in np.split(np.arange(count), range(SIZE, count, SIZE)):
            out[rows] = encode(batches.to(read(rows), device)).mean.float().cpu().numpy()
            shown.update(len(rows))
        out.flush()
    encoder.train(was_training).to(home)
    return {"split": split.name, "side": side}


def _key(encoder: Encoder, side: Side, split: Split, read: Callable[[Rows], Batch]) -> str:
    """What tells these vectors from others: 24 hexadecimal digits."""
    digest = hashlib.sha256(type(encoder).__name__.encode())
    _feed(digest, encoder.state_dict())
    ids = split.image_ids if side == "image" else split.captions
    for row, one in enumerate(ids):
        digest.update(f"{len(one)}:{one}".encode())
        if side == "image" and split.stamp:
            digest.update(f":{split.stamp(row)}".encode())
    batch = read(np.unique(np.linspace(0, len(ids) - 1, PROBES).astype(int)))
    _feed(digest, batch.inputs if side == "image" else batch.signals)
    return digest.hexdigest()[:24]


def _feed(digest: Any, values: Mapping[str, Any]) -> None:
    for name, value in sorted(values.items()):
        digest.update(name.encode())
        if isinstance(value, Mapping):
            _feed(digest, value)
        else:
            digest.update(f"{tuple(value.shape)} {value.dtype}".encode())
            digest.update(value.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())


def read_vectors(given: Any, side: Side) -> tuple[Tensor, tuple[str, ...]]:
    """Vectors that were made elsewhere, at length 1.

    Args:
        given: ``(N, D)`` array or tensor, or a file: ``.npy``, ``.npz``, ``.pt``, ``.safetensors`` or
            ``.parquet``. Of several arrays in a file that one is taken whose name begins with the side.
        side: of the vectors, ``"image"`` or ``"text"``.

    Returns:
        ``(N, D)`` float32, and the ids of its rows where the file holds them: ``ids`` or ``image_ids``, of
        Parquet the column ``id``.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it holds no such vectors, or some without a direction; the message names it.
    """
    name, ids = f"{side}s", tuple[str, ...]()
    if isinstance(given, str | Path):
        name, held = str(given), _file(Path(given).expanduser())
        named = [key for key in KEYS[side] if getattr(held.get(key), "ndim", 0) == 1]
        known = held.pop(named[0]) if named else ()
        ids = tuple(map(str, np.asarray(known).tolist()))
        arrays = {key: value for key, value in held.items() if getattr(value, "ndim", 0) == 2}
        arrays = arrays if len(arrays) == 1 else {k: v for k, v in arrays.items() if k.startswith(side)}
        require(
            len(arrays) == 1,
            f"{name} holds {', '.join(held) or 'nothing'}; one array (N, D) is needed, called {side}s",
        )
        given = next(iter(arrays.values()))
    with reading_errors(name, "holds no vectors", TypeError, RuntimeError):
        vectors = (
            torch.as_tensor(np.asarray(given) if isinstance(given, list) else given).detach().float().cpu()
        )
    require(
        vectors.ndim == 2 and len(vectors), f"{name} has the shape {tuple(vectors.shape)}; (N, D) is needed"
    )
    require(
        not ids or len(ids) == len(vectors),
        f"{name} has {len(ids)} ids for {len(vectors)} vectors, see {side}_ids",
    )
    require(len(set(ids)) == len(ids), f"{name}: an id stands twice among {', '.join(ids[:3])} ...")
    lengths = vectors.norm(dim=1)
    bad = torch.nonzero(~(lengths.isfinite() & (lengths > 0)))
    require(not len(bad), f"{name}: row {int(bad[0]) if len(bad) else 0} is not finite, or has no direction")
    return normalize(vectors, dim=1), ids


def _file(file: Path) -> dict[str, Any]:
    """The arrays of a file by name."""
    require(file.suffix in FILES, f"{file} holds no vectors; give one of {', '.join(FILES)}")
    require(file.is_file(), f"there is no file {file}", FileNotFoundError)
    require_itself(file, "vectors")
    with reading_errors(file, "holds no vectors", RuntimeError, LookupError):
        if file.suffix == ".npy":
            return {"vectors": np.array(read_array(file))}
        if file.suffix == ".npz":
            with np.load(file) as held:
                return dict(held)
        if file.suffix in (".pt", ".safetensors"):
            found = loaded(file, "vectors")
            return dict(found) if isinstance(found, Mapping) else {"vectors": found}
        table = pd.read_parquet(file)
        whole = {str(name): np.asarray(table[name].tolist()) for name in table}
        if not any(one.ndim == 2 for one in whole.values()):  # a column a dimension
            columns = [
                one for name, one in whole.items() if one.dtype.kind in "fiu" and name not in KEYS["image"]
            ]
            whole["vectors"] = np.stack(columns, axis=1) if columns else np.empty(0)
        return whole


def in_order(vectors: Tensor, ids: Sequence[str], wanted: Sequence[str], side: Side, split: str) -> Tensor:
    """The vectors in the order of a split.

    Args:
        vectors: ``(N, D)``.
        ids: of its rows; none = they are in the order of the split.
        wanted: ids of the split.
        side: of the vectors.
        split: its name, for messages.

    Raises:
        ValueError: an image or caption of the split has no vector, or vectors without ids are more or fewer.
    """
    what = "image" if side == "image" else "caption"
    if not ids:
        require(
            len(vectors) == len(wanted),
            f"{split}: {format_count(len(vectors), 'vector')} of {what}s and "
            f"{format_count(len(wanted), what)}; give one each, in the order of the data",
        )
        return vectors
    rows = pd.Index(ids).get_indexer(pd.Index(wanted))
    lone = [one for one, row in zip(wanted, rows, strict=True) if row < 0]
    require(
        not lone,
        f"{split}: {what} {lone[:1]} has no vector, one of {format_count(len(lone))} without",
    )
    return vectors[rows]


def split_of_rows(own: Any, images: int, captions: int, ids: tuple[Sequence[str], Sequence[str]]) -> Split:
    """A split that knows whose caption is whose, and neither words nor pictures.

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
    outside = np.flatnonzero((rows < 0) | (rows >= images))
    require(
        not len(outside),
        f"own: caption {outside[:1].tolist()} belongs to image {rows[outside[:1]].tolist()}, and there are "
        f"{format_count(images, 'image')}, 0 to {images - 1}",
    )
    image_ids, caption_ids = (
        tuple(one) or tuple(map(str, range(n))) for one, n in zip(ids, (images, captions))
    )
    return Split(
        BARE, image_ids, tuple(f"caption {one}" for one in caption_ids), caption_ids, rows.astype(np.int64),
        no_picture, notes=("vectors came without words and pictures",),
    )  # fmt: skip
