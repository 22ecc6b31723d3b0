"""How long one question to a large gallery takes: exact search, and faiss.

Run: ``python -m tools.benchmarks.bench_retrieval [rows] [dimensions]``
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from statistics import median

import faiss
import numpy as np

from workbench.metrics.blocks import top_k


def timed(ask: Callable[[np.ndarray], object], queries: np.ndarray) -> str:
    """Median and 95th percentile of one question at a time."""
    ask(queries[:1])
    seconds = []
    for number in range(len(queries)):
        start = time.perf_counter()
        ask(queries[number : number + 1])
        seconds.append(time.perf_counter() - start)
    middle, late = 1e3 * median(seconds), 1e3 * float(np.quantile(seconds, 0.95))
    return f"median {middle:.0f} ms, p95 {late:.0f} ms, load {os.getloadavg()[0]:.1f}\n"


def main(rows: int = 1_000_000, width: int = 256) -> None:
    """Write the figures as they come."""
    say = sys.stdout.write
    queries = np.random.default_rng(1).standard_normal((20, width)).astype(np.float32)
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    gallery = np.random.default_rng(0).standard_normal((rows, width), dtype=np.float32)
    gallery /= np.linalg.norm(gallery, axis=1, keepdims=True)
    say(f"{rows:,} x {width}, one question, ten answers\n")
    say("  exact: " + timed(lambda query: top_k(query, gallery, 10), queries))
    index = faiss.index_factory(width, "IVF1024,Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(gallery[:: max(1, rows // 100_000)])
    index.add(gallery)
    index.nprobe = 64
    say("  faiss IVF1024,Flat, nprobe=64: " + timed(lambda query: top_k(query, index, 10), queries))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
