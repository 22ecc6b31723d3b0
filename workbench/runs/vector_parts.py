"""Several vectors an item that were made elsewhere: an array ``(N, P, D)``, or ``N`` arrays ``(P_i, D)``.

Which of the former are real stands beside them: a field ``mask`` ``(N, P)``, or ``lengths`` ``(N,)`` where
the first so many are; where both sides lie in one source, ``image_mask``, ``text_lengths`` and so on.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from workbench.io import replacing
from workbench.records import Array, Embedding, require
from workbench.runs.vector_fields import Field, is_sequence, side_of

MASK = re.compile(r"(^|_)(mask|masks|lengths)$")


def says_what_is_real(field: Field) -> bool:
    """Return whether a field is called as masks and lengths are.

    Args:
        field: of a source.
    """
    return bool(MASK.search(field.name.lower()))


def pad_ragged(value: Any, name: str) -> tuple[Tensor, Tensor] | None:
    """Bring ``N`` arrays ``(P_i, D)`` to one length; ``None`` = the value is something else.

    Args:
        value: of a field.
        name: of the field, for messages.

    Returns:
        ``(N, P, D)`` in their own type, with zeros as padding, and ``(N, P)`` True where a vector is real.

    Raises:
        ValueError: their widths differ, or one has no vector; the message names its row.
    """
    whole = isinstance(value, Tensor) or (isinstance(value, np.ndarray) and value.dtype != object)
    if whole or not _count_axes(value) >= 3:
        return None
    tensors = list(map(_as_tensor, value))
    width = tensors[0].shape[-1]
    for row, tensor in enumerate(tensors):
        shape = tuple(tensor.shape)
        fits = len(shape) == 2 and all(shape) and shape[1] == width
        require(fits, f"{name}: row {row} has the shape {shape}; (P, {width}) is needed")
    return pad_vectors(tensors)


def pad_vectors(tensors: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Bring ``N`` tensors ``(P_i, D)`` to one length, with zeros: ``(N, P, D)``, and ``(N, P)`` True where a
    vector is real.
    """
    counts = torch.tensor([len(tensor) for tensor in tensors])
    parts = pad_sequence(list(tensors), batch_first=True)
    return parts, torch.arange(parts.shape[1]) < counts[:, None]


def _as_tensor(value: Any) -> Tensor:
    """Return a list, an array or a tensor as a tensor."""
    return value if isinstance(value, Tensor) else torch.from_numpy(np.array(value))


def _count_axes(value: Any) -> int:
    """Return how many axes a value has by its first elements."""
    listed = is_sequence(value)
    return 1 + _count_axes(value[0]) if listed and len(value) else int(listed)


def mask_of(
    fields: Sequence[Field], side: Literal["image", "text"], shape: tuple[int, ...], name: str
) -> Any:
    """Find the field that says which vectors of a side are real.

    Args:
        fields: of the source.
        side: whose vectors they are.
        shape: of these; ``(N, P, D)``, since one vector an item is always real.
        name: of the source, for messages.

    Returns:
        Its name and ``(N, P)``; ``""`` and ``None`` where all are real.

    Raises:
        ValueError: two fields say it, or one that does not fit the vectors.
    """
    if len(shape) != 3:
        return "", None
    able = [field for field in fields if says_what_is_real(field) and side_of(field.name) in (side, "")]
    named = [field for field in able if side_of(field.name)] or able
    names = " and ".join(field.name for field in named)
    require(len(named) < 2, f"{name} holds {names}; give the mask of {side}s or their lengths, and not both")
    if not named:
        return "", None
    count, longest = shape[:2]
    array = np.asarray(named[0].value)
    whole = array.dtype.kind in "biu"
    if whole and array.shape == (count,) and not named[0].word.endswith(("mask", "masks")):
        fits = bool(((array > 0) & (array <= longest)).all())
        require(fits, f"{name}, {names}: each length is 1 to {longest}")
        return names, torch.from_numpy(np.arange(longest) < array[:, None])
    fits = whole and array.shape == (count, longest) and bool(array.any(axis=1).all())
    require(
        fits,
        f"{name}, {names} has the shape {array.shape}; a mask {(count, longest)} of booleans is needed, True "
        f"at one vector of each item at least, or {count} lengths",
    )
    return names, torch.from_numpy(array.astype(bool))


def pack_vectors(embedding: Embedding) -> tuple[Array, Array]:
    """Return the real vectors ``(W, D)`` of all items, one item after the other, and ``(N,)`` how many each
    has.

    Args:
        embedding: with parts.
    """
    assert embedding.parts is not None
    assert embedding.mask is not None
    return embedding.parts[embedding.mask].numpy(), embedding.mask.sum(dim=1).numpy()


def unpack_vectors(vectors: Array, counts: Array) -> tuple[Tensor, Tensor]:
    """Return ``(N, P, D)`` and their mask ``(N, P)`` of what ``pack_vectors`` gave.

    Args:
        vectors: ``(W, D)``.
        counts: ``(N,)``.
    """
    return pad_vectors(torch.split(torch.from_numpy(vectors), counts.tolist()))


def write_vectors(folder: Path, name: str, embedding: Embedding, *, parts: bool) -> None:
    """Write vectors into a run folder; items that have none are left out.

    Args:
        folder: of the run.
        name: of the side.
        embedding: of its items.
        parts: also write several vectors an item and log variances, where there are any.
    """
    arrays = {name: embedding.mean.numpy()} if embedding.mean.shape[1] else {}
    if parts and embedding.log_var is not None:
        arrays[f"{name}_log_var"] = embedding.log_var.numpy()
    if parts and embedding.parts is not None:
        arrays |= dict(zip((f"{name}_parts", f"{name}_counts"), pack_vectors(embedding), strict=True))
    for stem, array in arrays.items():
        with replacing(folder / "embeddings" / f"{stem}.npy") as temporary:
            np.save(temporary, array)
