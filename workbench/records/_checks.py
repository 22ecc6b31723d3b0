"""What the records share: their row type and how they refuse bad input."""

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]


def require(condition: bool, message: str) -> None:
    """Raise ``ValueError(message)`` unless the condition holds."""
    if not condition:
        raise ValueError(message)
