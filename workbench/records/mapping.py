"""Arrays in files larger than memory."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap
from numpy.typing import DTypeLike

from workbench.formatting import fixed


def mapped(path: Path, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
    """A new array that is mapped from a file, whose room on the disk is taken first: a write through a memory
    map into a full disk would end the process with a bus error.

    Args:
        path: ends with ``.npy``.
        shape: of the array.
        dtype: of its values.

    Raises:
        OSError: there is no room; the message says how much is needed.
    """
    try:
        out = open_memmap(path, mode="w+", dtype=dtype, shape=shape)
        if hasattr(os, "posix_fallocate"):
            with path.open("rb+") as file:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
    except OSError as error:
        size = fixed(math.prod(shape) * np.dtype(dtype).itemsize / 1e6, 1)
        raise OSError(
            f"{path.parent} has no room for the {size} MB of {path.name} ({error.strerror}); free some, or "
            "name another folder in WORKBENCH_CACHE"
        ) from None
    return out
