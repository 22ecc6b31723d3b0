"""Nearest neighbours: exact, by blocks, so that a score matrix of any size never lies in memory whole; and
approximate with faiss, for galleries that the exact search reads too slowly.

Among equal scores the lower row comes first. Scores are those of the blocks' matrix products, whose last
digit may depend on the block's shape, so that two equal gallery vectors in different blocks may differ by
rounding. An approximate answer without its recall is a guess, so that an approximate index measures it when
it is made, and every answer states it.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import torch
from torch import Tensor

from workbench.formatting import fixed
from workbench.records import Array, Rows, require

QUERIES = 1024
SCORES = 2**23
# torch copies so few numbers in one thread; to wake the others thousands of times costs more than they give
# on shared cores
SMALL_COPY = 2**15
CONVERTED_ROWS = 4096


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

    scores: Array
    rows: Rows
    method: str = "exact"
    recall: float = 1.0
    measured: int = 0

    def __str__(self) -> str:
        """The method and its recall, as it should stand below every list.

        >>> print(Found(scores=None, rows=None, method="faiss HNSW32", recall=0.9725, measured=200))
        faiss HNSW32, recall@10 0.973 against the exact search on 200 queries
        """
        measured = f"recall@10 {fixed(self.recall, 3)} against the exact search on {self.measured} queries"
        return f"{self.method}, {measured}" if self.measured else self.method


class Banned:
    """Rows that no answer may hold: the same for all queries, or each its own."""

    def __init__(self, exclude: Rows | None, size: int, queries: int) -> None:
        rows = np.zeros(0, dtype=np.int64) if exclude is None else np.asarray(exclude)
        require(
            rows.ndim in (1, 2) and (rows.ndim != 2 or len(rows) == queries),
            f"exclude is (E,) or ({queries}, E), got {rows.shape}",
        )
        require(
            ((rows >= 0) & (rows < size)).all(), f"exclude names a row outside the {size} rows of the gallery"
        )
        self.most = max((len(np.unique(line)) for line in np.atleast_2d(rows)), default=0)
        self.rows = torch.from_numpy(rows.astype(np.int64))

    def hide(self, scores: Tensor, queries: slice, block: slice) -> None:
        """Put the banned rows of a block of scores below all others."""
        rows = self.rows if self.rows.ndim == 1 else self.rows[queries]
        inside = ((rows >= block.start) & (rows < block.stop)).to(scores.device)
        places = rows.to(scores.device)[inside] - block.start
        scores[slice(None) if rows.ndim == 1 else inside.nonzero()[:, 0], places] = -torch.inf


def blocks(size: int, step: int) -> Iterator[slice]:
    """Consecutive slices of at most ``step`` that cover ``size`` rows.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    require(step >= 1, f"a block needs at least one row, got {step}")
    for first in range(0, size, step):
        yield slice(first, min(first + step, size))


def top_k(
    query: Array,
    gallery: Array,
    k: int,
    *,
    exclude: Rows | None = None,
    chunk: int = SCORES,
    device: str = "cpu",
) -> tuple[Array, Rows]:
    """The ``k`` gallery rows with the largest inner product, for each query; to ask a gallery often, make an
    ``Index``.

    Args:
        query: ``(Q, D)`` vectors; unit length makes the score a cosine.
        gallery: ``(N, D)`` vectors in float16, float32 or float64, memory-mapped or not.
        k: how many, at most ``N``.
        exclude: gallery rows that are never found; see ``Index.top_k``.
        chunk: scores that lie in memory at a time.
        device: where the products are made; a CPU reads the gallery where it lies, another device gets a
            copy.

    Returns:
        Scores ``(Q, k)``, largest first, and gallery rows ``(Q, k)``.

    Raises:
        ValueError: ``k`` is not in 1..N less those excluded, or a vector holds a NaN or an infinite number.

    >>> top_k(np.eye(2), np.array([[0.6, 0.8], [1.0, 0.0], [0.6, 0.8]]), 2)[1].tolist()
    [[1, 0], [0, 2]]
    """
    found = Index(gallery, device=device, chunk=chunk).top_k(query, k, exclude=exclude)
    return found.scores, found.rows


class Index:
    """A gallery that is checked once and asked often.

    Args:
        gallery: ``(N, D)`` vectors in float16, float32 or float64. A memory-mapped array stays on the disk,
            and float16 is turned into float32 a few thousand rows at a time.
        device: where the products are made.
        chunk: scores that lie in memory at a time.

    Raises:
        ValueError: the gallery is no table of floating-point numbers, or a row of it holds a NaN or an
            infinite number.
    """

    def __init__(self, gallery: Array, *, device: str = "cpu", chunk: int = SCORES) -> None:
        require(
            gallery.ndim == 2 and gallery.dtype in (np.float16, np.float32, np.float64),
            f"a gallery is (N, D) in float16, float32 or float64, got {gallery.shape} in {gallery.dtype}",
        )
        with warnings.catch_warnings():
            # a file mapped for reading; nothing writes to it here
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            self._gallery, self.chunk = torch.from_numpy(gallery).to(device), chunk
        self._precision = torch.float32 if self._gallery.dtype == torch.float16 else self._gallery.dtype
        # one product tells of every row, at the price of one query
        ones = torch.ones(1, gallery.shape[1], dtype=self._precision, device=device)
        bad = (~self._scores(ones, slice(0, len(gallery)))[0].isfinite()).nonzero()
        if len(bad):
            raise ValueError(
                f"row {int(bad[0])} of the gallery holds a NaN or an infinite number, which is near to "
                "nothing"
            )

    def __len__(self) -> int:
        """Rows of the gallery."""
        return len(self._gallery)

    def top_k(self, query: Array, k: int, *, exclude: Rows | None = None) -> Found:
        """The ``k`` gallery rows with the largest inner product, for each query.

        Args:
            query: ``(Q, D)``; it is brought to the precision of the gallery, float32 for float16.
            k: how many, at most ``N`` less those excluded.
            exclude: gallery rows that are never found: ``(E,)`` for all queries, or ``(Q, E)`` for each its
                own.

        Raises:
            ValueError: ``k`` does not fit, a width does not fit, or a query holds a NaN or an infinite
                number.
        """
        asked, banned = self._checked(query), Banned(exclude, len(self), len(query))
        require(
            1 <= k <= len(self) - banned.most,
            f"k = {k} must lie in 1..{len(self) - banned.most}, the size of the gallery less those excluded",
        )
        found = [
            self._of_part(asked, part, k, banned) for part in blocks(len(asked), min(QUERIES, self.chunk))
        ]
        empty = (asked.new_zeros(0, k), torch.zeros(0, k, dtype=torch.long, device=asked.device))
        scores, rows = (torch.cat(each).cpu().numpy() for each in zip(empty, *found, strict=True))
        return Found(scores, rows)

    def scores(self, query: Array) -> Array:
        """``(Q, N)`` scores of every gallery row; for a few queries."""
        return self._scores(self._checked(query), slice(0, len(self))).cpu().numpy()

    def places(self, query: Array, rows: Rows) -> Rows:
        """``(Q, R)`` places of gallery rows ``(R,)`` in the order of each query: 1 = first, equal scores in
        the order of rows.
        """
        scores, rows = self.scores(query), np.asarray(rows, dtype=np.int64)
        before = [
            (line > line[row]).sum() + (line[:row] == line[row]).sum() for line in scores for row in rows
        ]
        return 1 + np.array(before, dtype=np.int64).reshape(len(scores), len(rows))

    def _checked(self, query: Array) -> Tensor:
        require(
            query.ndim == 2 and query.shape[1] == self._gallery.shape[1],
            f"queries of shape {query.shape} do not fit a gallery of width {self._gallery.shape[1]}",
        )
        require(
            np.isfinite(query).all(), "a query holds a NaN or an infinite number, which is near to nothing"
        )
        return torch.tensor(query, dtype=self._precision, device=self._gallery.device)

    def _of_part(self, asked: Tensor, part: slice, k: int, banned: Banned) -> tuple[Tensor, Tensor]:
        query = asked[part]
        scores, rows = (
            query.new_zeros(len(query), 0),
            torch.zeros(len(query), 0, dtype=torch.long, device=query.device),
        )
        for block in blocks(len(self), max(1, self.chunk // len(query))):
            new = self._scores(query, block)
            banned.hide(new, part, block)
            new, columns = _best(new, min(k, new.shape[1]))
            scores, rows = torch.hstack([scores, new]), torch.hstack([rows, columns + block.start])
            scores, columns = _best(scores, min(k, scores.shape[1]))
            rows = rows.gather(1, columns)
        order = torch.argsort(scores, dim=1, descending=True, stable=True)
        return scores.gather(1, order), rows.gather(1, order)

    def _scores(self, query: Tensor, block: slice) -> Tensor:
        stored = self._gallery[block]
        if stored.dtype == self._precision:
            return (stored @ query[0])[None] if len(query) == 1 else query @ stored.T
        scores = query.new_empty(len(query), len(stored))
        room = query.new_empty(min(CONVERTED_ROWS, len(stored)), stored.shape[1])
        step = max(1, SMALL_COPY // stored.shape[1]) if stored.device.type == "cpu" else CONVERTED_ROWS
        for part in blocks(len(stored), CONVERTED_ROWS):
            converted = room[: part.stop - part.start]
            for some in blocks(len(converted), step):
                converted[some].copy_(stored[part][some])
            scores[:, part] = (converted @ query[0])[None] if len(query) == 1 else query @ converted.T
        return scores


def _best(scores: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The ``k`` largest of each line, and their columns in rising order; of those equal to the last one kept,
    the leftmost.
    """
    least = scores.topk(k, dim=1).values[:, -1:]
    kept = scores >= least
    columns = kept.nonzero()[:, 1]
    if len(columns) > k * len(scores):
        above = scores > least
        equal = kept & ~above
        columns = (above | (equal & (equal.cumsum(1) <= k - above.sum(1, keepdim=True)))).nonzero()[:, 1]
    columns = columns.reshape(len(scores), k)
    return scores.gather(1, columns), columns


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
        gallery: Array,
        *,
        kind: str = "HNSW32",
        search: str = "",
        queries: Array | None = None,
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
            some = gallery[:: max(1, len(gallery) // 100_000)]
            self._index.train(np.ascontiguousarray(some, dtype=np.float32))
        for part in blocks(len(gallery), ADDED_ROWS):
            self._index.add(np.ascontiguousarray(gallery[part], dtype=np.float32))
        chosen = gallery[:: max(1, len(gallery) // measured)] if queries is None else queries
        chosen = np.asarray(chosen[:measured], dtype=np.float32)
        require(len(chosen), "recall is measured on at least one query")
        self.measured, self.recall = len(chosen), self._recall(exact, chosen)

    def __len__(self) -> int:
        """Rows of the gallery."""
        return self._size

    def _recall(self, exact: Index, queries: Array) -> float:
        k = min(10, len(self))
        pairs = zip(exact.top_k(queries, k).rows, self._search(queries, k)[1], strict=True)
        return float(np.mean([len(np.intersect1d(*pair)) / k for pair in pairs]))

    def _search(self, query: Array, k: int) -> Any:
        return self._index.search(np.ascontiguousarray(query, dtype=np.float32), k)

    def top_k(self, query: Array, k: int) -> Found:
        """Up to ``k`` near gallery rows for each query; row -1 with score ``-inf`` where the index gave
        fewer.

        Args:
            query: ``(Q, D)``.
            k: how many, at most ``N``.

        Raises:
            ValueError: ``k`` is not in 1..N.
        """
        require(1 <= k <= len(self), f"k = {k} must lie in 1..{len(self)}, the size of the gallery")
        scores, rows = self._search(query, k)
        return Found(np.where(rows < 0, -np.inf, scores), rows, self.method, self.recall, self.measured)
