"""The types of arrays that the records share."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Mask = NDArray[np.bool_]
Rows = NDArray[np.int64]
Values = NDArray[np.float64]
