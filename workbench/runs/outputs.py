"""What the methods of a model of one's own give: read as vectors, or refused by the method's name."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench.records import require

NEEDED = "(N, D) numbers are needed"


def unit_vectors(output: Any, method: str, items: Sequence[str]) -> Tensor:
    """Read vectors and bring them to length 1.

    Args:
        output: what the method gave: a tensor or an array ``(N, D)``, or a list or tuple of ``N`` vectors.
        method: its name, for messages.
        items: ``N`` names of what was encoded, for messages.

    Returns:
        ``(N, D)`` float32.

    Raises:
        TypeError: it gave something else than numbers; the message says what.
        ValueError: there are not ``N`` vectors, or one of them is zero or not finite; the message names it.
    """
    listed = isinstance(output, list | tuple)
    vectors = _stacked(output, method) if listed else _numbers(output, method)
    shape, count = tuple(vectors.shape), len(items)
    require(
        len(shape) == 2 and shape[0] == count and shape[1] > 0,
        f"{method}() of {count} gave shape {shape}; ({count}, D) is needed",
    )
    for wrong, rows in (
        ("numbers that are not finite", ~vectors.isfinite().all(1)),
        ("zeros alone, which have no direction,", (vectors == 0).all(1)),
    ):
        first = next((item for item, bad in zip(items, rows.tolist(), strict=True) if bad), "")
        require(not first, f"{method}() gave {wrong} for {first}")
    # in double precision neither large nor small numbers lose their length
    exact = vectors.double()
    unit: Tensor = exact / exact.norm(dim=1, keepdim=True)
    return unit.float()


def _stacked(output: Sequence[Any], method: str) -> Tensor:
    rows = [_numbers(row, method, f"a {type(output).__name__} of ") for row in output]
    shapes = list(dict.fromkeys(tuple(row.shape) for row in rows))
    require(
        len(shapes) == 1 and len(shapes[0]) == 1,
        f"{method}() gave a {type(output).__name__} of {len(rows)} with shapes "
        f"{', '.join(map(str, shapes[:3])) or 'none'}; vectors of one length are needed",
    )
    return torch.stack(rows)


def _numbers(output: Any, method: str, within: str = "") -> Tensor:
    """Any numbers as float32 on the CPU."""
    if isinstance(output, Tensor):
        plain = not (output.is_complex() or output.dtype == torch.bool)
        require(plain, f"{method}() gave {within}{output.dtype}; {NEEDED}", TypeError)
        dense = output.detach().cpu()
        return (dense if dense.layout == torch.strided else dense.to_dense()).float()
    readable = isinstance(output, list | tuple) or hasattr(output, "__array__")
    require(readable, f"{method}() gave {within}{_named(output)}; {NEEDED}", TypeError)
    try:
        array = np.asarray(output)
    except ValueError as error:  # lists of different lengths
        raise TypeError(f"{method}() gave {within}{_named(output)}; {NEEDED}") from error
    require(array.dtype.kind in "fiu", f"{method}() gave {within}{array.dtype}; {NEEDED}", TypeError)
    with np.errstate(over="ignore"):  # what becomes infinite is refused by its row
        return torch.from_numpy(array.astype(np.float32))


def _named(output: Any) -> str:
    """The class of an output, and what it holds by name."""
    name = type(output).__name__
    keys = list(map(str, output)) if isinstance(output, Mapping) else []
    return f"{name}, which holds {', '.join(keys[:4])}" if keys else name
