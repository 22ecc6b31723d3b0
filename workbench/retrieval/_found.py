"""What a search found, and how sure it is that nothing nearer was missed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from workbench.records import Rows


@dataclass(frozen=True)
class Found:
    """The best gallery rows of each query.

    Args:
        scores: ``(Q, k)``, largest first.
        rows: ``(Q, k)`` gallery rows.
        method: how they were sought.
        recall: share of the true ten nearest that the method finds, as it measured against the exact search;
            1 = exact.
        measured: on how many queries; 0 = nothing had to be measured.
    """

    scores: NDArray[Any]
    rows: Rows
    method: str = "exact"
    recall: float = 1.0
    measured: int = 0

    def __str__(self) -> str:
        """The method and its recall, as it should stand below every list.

        >>> print(Found(scores=None, rows=None, method="faiss HNSW32", recall=0.9725, measured=200))
        faiss HNSW32, recall@10 0.973 against the exact search on 200 queries
        """
        if not self.measured:
            return self.method
        return (
            f"{self.method}, recall@10 {self.recall:.3f} against the exact search on {self.measured} queries"
        )
