"""Gallery rows that a search must not find."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from workbench.records import Rows


class Banned:
    """Rows that no answer may hold: the same for all queries, or each its own."""

    def __init__(self, exclude: Rows | None, size: int, queries: int) -> None:
        rows = np.zeros(0, dtype=np.int64) if exclude is None else np.asarray(exclude)
        if rows.ndim not in (1, 2) or (rows.ndim == 2 and len(rows) != queries):
            raise ValueError(f"exclude is (E,) or ({queries}, E), got {rows.shape}")
        if rows.size and (rows.min() < 0 or rows.max() >= size):
            raise ValueError(f"exclude names a row outside the {size} rows of the gallery")
        self.most = max((len(np.unique(line)) for line in np.atleast_2d(rows)), default=0)
        self.rows = torch.from_numpy(rows.astype(np.int64))

    def hide(self, scores: Tensor, queries: slice, block: slice) -> None:
        """Put the banned rows of a block of scores below all others."""
        rows = self.rows if self.rows.ndim == 1 else self.rows[queries]
        inside = ((rows >= block.start) & (rows < block.stop)).to(scores.device)
        places = rows.to(scores.device)[inside] - block.start
        if rows.ndim == 1:
            scores[:, places] = -torch.inf
        else:
            scores[inside.nonzero()[:, 0], places] = -torch.inf
