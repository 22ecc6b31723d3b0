"""What the methods of a model of one's own give: read as vectors, or refused by the method's name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench.records import Array, Embedding, require
from workbench.runs.vector_parts import pad_vectors

NEEDED = "(N, D) numbers are needed"
SEVERAL = "(N, P, D) numbers are needed"
NOT_FINITE = "numbers that are not finite"
PADDED = (
    "vectors of zeros, which are padding; give a list of (P, D), or workbench.records.Embedding.from_parts"
    "(parts, mask),"
)
PAIR_SCORES = "(N,) numbers are needed, one a pair"
SCORES = "(I, T) numbers are needed, a row an image and a column a text"


def as_unit_vectors(output: Any, method: str, items: Sequence[str]) -> Tensor:
    """Read vectors and bring them to length 1.

    Args:
        output: see ``vectors``.
        method: see there.
        items: see there.

    Returns:
        ``(N, D)`` float32.

    Raises:
        TypeError, ValueError: as ``vectors``, or a vector is zero; the message names it.
    """
    numbers = as_vectors(output, method, items)
    _require_rows((numbers != 0).any(1).tolist(), "zeros alone, which have no direction,", method, items)
    # in double precision neither large nor small numbers lose their length
    exact = numbers.double()
    unit: Tensor = exact / exact.norm(dim=1, keepdim=True)
    return unit.float()


def as_vectors(output: Any, method: str, items: Sequence[str]) -> Tensor:
    """Read vectors, of any length.

    Args:
        output: what the method gave: a tensor or an array ``(N, D)``, or a list or tuple of ``N`` vectors.
        method: its name, for messages.
        items: ``N`` names of what was encoded, for messages.

    Returns:
        ``(N, D)`` float32.

    Raises:
        TypeError: it gave something else than numbers; the message says what.
        ValueError: there are not ``N`` vectors, or one of them is not finite; the message names it.
    """
    listed = isinstance(output, list | tuple)
    numbers = _stack_vectors(output, method) if listed else _as_numbers(output, method)
    shape, count = tuple(numbers.shape), len(items)
    fits = len(shape) == 2 and shape[0] == count and shape[1] > 0
    more = f", or ({count}, P, D) for several vectors an item" if len(shape) > 2 else ""
    require(fits, f"{method}() of {count} gave shape {shape}; ({count}, D) is needed{more}")
    _require_rows(numbers.isfinite().all(1).tolist(), NOT_FINITE, method, items)
    return numbers


def is_several(output: Any) -> bool:
    """Return whether a method gave several vectors an item: ``(N, P, D)``, or ``N`` times ``(P_i, D)``."""
    return _count_axes(output) == 3


def _count_axes(output: Any) -> int:
    """Return how many axes an output has, of lists by their first elements."""
    if isinstance(output, list | tuple):
        return 1 + _count_axes(output[0]) if output else 1
    return int(getattr(output, "ndim", 0))


def as_several_vectors(output: Any, method: str, items: Sequence[str]) -> Embedding:
    """Read several vectors an item, of any length.

    Args:
        output: what the method gave: ``(N, P, D)``, or a list of ``N`` times ``(P_i, D)``.
        method: its name, for messages.
        items: ``N`` names of what was encoded, for messages.

    Returns:
        Parts with their mask in float32, and their mean direction.

    Raises:
        TypeError: it gave something else than numbers; the message says what.
        ValueError: there are not ``N`` items, an item has no vector, one is not finite, or their widths
            differ; the message names the item.
    """
    listed = isinstance(output, list | tuple)
    rows = output if listed else _as_numbers(output, method, needed=SEVERAL)
    count = len(items)
    require(len(rows) == count, f"{method}() of {count} gave {len(rows)} times several vectors")
    tensors = [_as_numbers(row, method, "several vectors an item, of them ", SEVERAL) for row in rows]
    for item, tensor in zip(items, tensors, strict=True):
        shape = tuple(tensor.shape)
        fits = len(shape) == 2 and all(shape) and shape[1] == tensors[0].shape[-1]
        require(fits, f"{method}() gave shape {shape} for {item}; (P, {tensors[0].shape[-1]}) is needed")
    _require_rows([bool(tensor.isfinite().all()) for tensor in tensors], NOT_FINITE, method, items)
    return Embedding.from_parts(*pad_vectors(tensors))


def checked_parts(embedding: Embedding, method: str, items: Sequence[str], *, directions: bool) -> Embedding:
    """Return an embedding whose real parts are finite and whose padding is zero.

    Args:
        embedding: of ``N`` items, with parts.
        method: that gave it, for messages.
        items: ``N`` names of what was encoded, for messages.
        directions: whether cosines are taken of real parts, which are then not zero.

    Raises:
        ValueError: the message names the item.
    """
    if embedding.parts is None or embedding.mask is None:
        return embedding
    parts = embedding.parts.masked_fill(~embedding.mask[..., None], 0)
    _require_rows(parts.isfinite().flatten(1).all(1).tolist(), NOT_FINITE, method, items)
    if directions:
        padded = embedding.mask & (parts == 0).all(2)
        _require_rows((~padded.any(1)).tolist(), PADDED, method, items)
    return replace(embedding, parts=parts)


def _require_rows(fine: Iterable[Any], wrong: str, method: str, items: Sequence[str]) -> None:
    """Raise if a row is not fine; the message names the first one."""
    first = next((item for item, good in zip(items, fine, strict=True) if not good), "")
    require(not first, f"{method}() gave {wrong} for {first}")


def as_score_matrix(output: Any, method: str, images: int, texts: int) -> Array:
    """Read scores.

    Args:
        output: what the method gave: a tensor, an array or lists ``(I, T)``.
        method: its name, for messages.
        images: ``I``.
        texts: ``T``.

    Returns:
        ``(I, T)`` float32.

    Raises:
        TypeError: it gave something else than numbers; the message says what.
        ValueError: they have another shape.
    """
    listed = isinstance(output, list | tuple)
    numbers = _stack_vectors(output, method) if listed else _as_numbers(output, method, needed=SCORES)
    shape = tuple(numbers.shape)
    require(
        shape == (images, texts),
        f"{method}() of {images} images and {texts} texts gave shape {shape}; {images, texts} is needed, "
        "(I, T): a row an image, a column a text",
    )
    matrix: Array = numbers.numpy()
    return matrix


def as_score_list(output: Any, method: str, pairs: int) -> Array:
    """Read scores of pairs.

    Args:
        output: what the method gave: a tensor, an array or a list ``(N,)``; ``(N, 1)`` is read too.
        method: its name, for messages.
        pairs: ``N``.

    Returns:
        ``(N,)`` float32.

    Raises:
        TypeError: it gave something else than numbers; the message says what.
        ValueError: they have another shape.
    """
    numbers = _as_numbers(output, method, needed=PAIR_SCORES)
    shape = tuple(numbers.shape)
    require(
        shape in ((pairs,), (pairs, 1)),
        f"{method}() of {pairs} pairs gave shape {shape}; ({pairs},) is needed, a number a pair",
    )
    values: Array = numbers.reshape(-1).numpy()
    return values


def _stack_vectors(output: Sequence[Any], method: str) -> Tensor:
    rows = [_as_numbers(row, method, f"a {type(output).__name__} of ") for row in output]
    shapes = list(dict.fromkeys(tuple(row.shape) for row in rows))
    alike = len(shapes) == 1 and len(shapes[0]) == 1
    listed = ", ".join(map(str, shapes[:3])) or "none"
    require(
        alike,
        f"{method}() gave a {type(output).__name__} of {len(rows)} with shapes {listed}; "
        "vectors of one length are needed",
    )
    return torch.stack(rows)


def _as_numbers(output: Any, method: str, within: str = "", needed: str = NEEDED) -> Tensor:
    """Return any numbers as float32 on the CPU."""
    if isinstance(output, Tensor):
        plain = not (output.is_complex() or output.dtype == torch.bool)
        require(plain, f"{method}() gave {within}{output.dtype}; {needed}", TypeError)
        dense = output.detach().cpu()
        return (dense if dense.layout == torch.strided else dense.to_dense()).float()
    readable = isinstance(output, list | tuple) or hasattr(output, "__array__")
    require(readable, f"{method}() gave {within}{_describe_output(output)}; {needed}", TypeError)
    try:
        array = np.asarray(output)
    except ValueError as error:  # lists of different lengths
        raise TypeError(f"{method}() gave {within}{_describe_output(output)}; {needed}") from error
    require(array.dtype.kind in "fiu", f"{method}() gave {within}{array.dtype}; {needed}", TypeError)
    with np.errstate(over="ignore"):  # what becomes infinite is refused by its row
        return torch.from_numpy(array.astype(np.float32))


def _describe_output(output: Any) -> str:
    """Return the class of an output, and what it holds by name."""
    name = type(output).__name__
    keys = list(map(str, output)) if isinstance(output, Mapping) else []
    return f"{name}, which holds {', '.join(keys[:4])}" if keys else name
