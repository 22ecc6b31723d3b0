"""What the methods of a model of one's own give: read as vectors, or refused by the method's name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench.records import Array, require

NEEDED = "(N, D) numbers are needed"
SCORES = "(I, T) numbers are needed, a row an image and a column a text"


def unit_vectors(output: Any, method: str, items: Sequence[str]) -> Tensor:
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
    numbers = vectors(output, method, items)
    _require_all((numbers != 0).any(1), "zeros alone, which have no direction,", method, items)
    # in double precision neither large nor small numbers lose their length
    exact = numbers.double()
    unit: Tensor = exact / exact.norm(dim=1, keepdim=True)
    return unit.float()


def vectors(output: Any, method: str, items: Sequence[str]) -> Tensor:
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
    numbers = _stacked(output, method) if listed else _numbers(output, method)
    shape, count = tuple(numbers.shape), len(items)
    fits = len(shape) == 2 and shape[0] == count and shape[1] > 0
    require(fits, f"{method}() of {count} gave shape {shape}; ({count}, D) is needed")
    _require_all(numbers.isfinite().all(1), "numbers that are not finite", method, items)
    return numbers


def _require_all(fine: Tensor, wrong: str, method: str, items: Sequence[str]) -> None:
    """Raise if a row is not fine; the message names the first one."""
    first = next((item for item, good in zip(items, fine.tolist(), strict=True) if not good), "")
    require(not first, f"{method}() gave {wrong} for {first}")


def score_matrix(output: Any, method: str, images: int, texts: int) -> Array:
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
    numbers = _stacked(output, method) if listed else _numbers(output, method, needed=SCORES)
    shape = tuple(numbers.shape)
    require(
        shape == (images, texts),
        f"{method}() of {images} images and {texts} texts gave shape {shape}; {images, texts} is needed, "
        "(I, T): a row an image, a column a text",
    )
    matrix: Array = numbers.numpy()
    return matrix


def _stacked(output: Sequence[Any], method: str) -> Tensor:
    rows = [_numbers(row, method, f"a {type(output).__name__} of ") for row in output]
    shapes = list(dict.fromkeys(tuple(row.shape) for row in rows))
    alike = len(shapes) == 1 and len(shapes[0]) == 1
    listed = ", ".join(map(str, shapes[:3])) or "none"
    require(
        alike,
        f"{method}() gave a {type(output).__name__} of {len(rows)} with shapes {listed}; "
        "vectors of one length are needed",
    )
    return torch.stack(rows)


def _numbers(output: Any, method: str, within: str = "", needed: str = NEEDED) -> Tensor:
    """Any numbers as float32 on the CPU."""
    if isinstance(output, Tensor):
        plain = not (output.is_complex() or output.dtype == torch.bool)
        require(plain, f"{method}() gave {within}{output.dtype}; {needed}", TypeError)
        dense = output.detach().cpu()
        return (dense if dense.layout == torch.strided else dense.to_dense()).float()
    readable = isinstance(output, list | tuple) or hasattr(output, "__array__")
    require(readable, f"{method}() gave {within}{_named(output)}; {needed}", TypeError)
    try:
        array = np.asarray(output)
    except ValueError as error:  # lists of different lengths
        raise TypeError(f"{method}() gave {within}{_named(output)}; {needed}") from error
    require(array.dtype.kind in "fiu", f"{method}() gave {within}{array.dtype}; {needed}", TypeError)
    with np.errstate(over="ignore"):  # what becomes infinite is refused by its row
        return torch.from_numpy(array.astype(np.float32))


def _named(output: Any) -> str:
    """The class of an output, and what it holds by name."""
    name = type(output).__name__
    keys = list(map(str, output)) if isinstance(output, Mapping) else []
    return f"{name}, which holds {', '.join(keys[:4])}" if keys else name
