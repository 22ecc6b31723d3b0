"""How long one question to a large gallery takes: exact search in memory and from a file, and faiss.

Run: ``python -m tools.benchmarks.bench_retrieval [rows] [dimensions]``
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from workbench.retrieval import Approximate, Index, blocks


def gallery(rows: int, width: int, path: Path) -> np.ndarray:
    """Random unit vectors in float16, written to a file and mapped from it."""
    rng = np.random.default_rng(0)
    made = np.lib.format.open_memmap(path, mode="w+", dtype=np.float16, shape=(rows, width))
    for block in blocks(rows, 65_536):
        drawn = rng.standard_normal((block.stop - block.start, width), dtype=np.float32)
        made[block] = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    made.flush()
    return np.load(path, mmap_mode="r")


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
    with tempfile.TemporaryDirectory() as folder:
        stored = gallery(rows, width, Path(folder) / "gallery.npy")
        mapped, in_memory = Index(stored), Index(stored.astype(np.float32))
        say(f"{rows:,} x {width}, one question, ten answers\n")
        say("  exact, float16 mapped from a file: " + timed(lambda query: mapped.top_k(query, 10), queries))
        say("  exact, float32 in memory: " + timed(lambda query: in_memory.top_k(query, 10), queries))
        start = time.perf_counter()
        in_memory.top_k(np.concatenate([queries] * 10), 10)
        say(f"  exact, float32, 200 questions at once: {time.perf_counter() - start:.1f} s\n")
        near = Approximate(stored, kind="IVF1024,Flat", search="nprobe=64")
        say(f"  {near.top_k(queries[:1], 10)}: " + timed(lambda query: near.top_k(query, 10), queries))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
