"""Approximate nearest neighbours with faiss, for galleries that the exact search reads too slowly.

An approximate answer without its recall is a guess, so that an index measures it when it is made, and every
answer states it.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.retrieval.exact import Found, Index, Vectors, blocks

ADDED_ROWS = 65_536


class Approximate:
    """A faiss index by inner product, with its recall@10 against the exact search.

    Args:
        gallery: ``(N, D)`` vectors in float16, float32 or float64, memory-mapped or not.
        kind: a faiss factory string. ``"HNSW32"`` needs no training; ``"IVF1024,Flat"`` and
            ``"IVF1024,PQ32"`` learn cells, from at most 100,000 rows, and take less memory.
        search: faiss search parameters, such as ``"efSearch=64"`` or ``"nprobe=16"``; more finds more and
            takes longer.
        queries: ``(Q, D)`` questions of the kind that will be asked, such as captions for a gallery of
            images; recall is measured on the first ``measured`` of them. ``None`` = gallery vectors, which
            flatter an index that is asked across modalities.
        measured: on how many queries recall is measured.

    Raises:
        ImportError: faiss is not installed.
        ValueError: faiss does not know the kind or a search parameter, or the gallery is no table of finite
            numbers.
    """

    def __init__(
        self,
        gallery: Vectors,
        *,
        kind: str = "HNSW32",
        search: str = "",
        queries: Vectors | None = None,
        measured: int = 200,
    ) -> None:
        try:
            faiss: Any = import_module("faiss")
        except ImportError as error:
            remedy = "`pip install itm-workbench[faiss]`, or use the exact Index"
            raise ImportError(f"faiss is not installed; {remedy}") from error
        exact = Index(gallery)
        try:
            self._index = faiss.index_factory(gallery.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
            if search:
                faiss.ParameterSpace().set_index_parameters(self._index, search)
        except RuntimeError as error:
            raise ValueError(f"faiss does not take kind {kind!r} with search {search!r}: {error}") from error
        self.method, self._size = f"faiss {kind}{' ' if search else ''}{search}", len(gallery)
        if not self._index.is_trained:
            step = max(1, len(gallery) // 100_000)
            self._index.train(np.ascontiguousarray(gallery[::step], dtype=np.float32))
        for part in blocks(len(gallery), ADDED_ROWS):
            self._index.add(np.ascontiguousarray(gallery[part], dtype=np.float32))
        chosen = gallery[:: max(1, len(gallery) // measured)] if queries is None else queries
        chosen = np.asarray(chosen[:measured], dtype=np.float32)
        if not len(chosen):
            raise ValueError("recall is measured on at least one query")
        self.measured, self.recall = len(chosen), self._recall(exact, chosen)

    def __len__(self) -> int:
        """Rows of the gallery."""
        return self._size

    def _recall(self, exact: Index, queries: Vectors) -> float:
        k = min(10, len(self))
        true, found = exact.top_k(queries, k).rows, self._search(queries, k)[1]
        return float(np.mean([len(np.intersect1d(*pair)) / k for pair in zip(true, found, strict=True)]))

    def _search(self, query: Vectors, k: int) -> tuple[Vectors, NDArray[np.int64]]:
        scores, rows = self._index.search(np.ascontiguousarray(query, dtype=np.float32), k)
        return scores, rows

    def top_k(self, query: Vectors, k: int) -> Found:
        """Up to ``k`` near gallery rows for each query; row -1 with score ``-inf`` where the index gave
        fewer.

        Args:
            query: ``(Q, D)``.
            k: how many, at most ``N``.

        Raises:
            ValueError: ``k`` is not in 1..N.
        """
        if not 1 <= k <= len(self):
            raise ValueError(f"k = {k} must lie in 1..{len(self)}, the size of the gallery")
        scores, rows = self._search(query, k)
        return Found(np.where(rows < 0, -np.inf, scores), rows, self.method, self.recall, self.measured)
