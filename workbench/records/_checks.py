"""What the records share: their types of arrays and how they refuse bad input."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Rows = NDArray[np.int64]


def require(condition: object, message: str, error: type[Exception] = ValueError) -> None:
    """Raise ``error(message)`` unless the condition holds."""
    if not condition:
        raise error(message)
