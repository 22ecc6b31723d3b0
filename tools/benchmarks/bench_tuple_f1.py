"""How fast tuple F1 is, parsing apart: ``WORKBENCH_DATA=... python -m tools.benchmarks.bench_tuple_f1``.

Parses all captions of the Karpathy test split of MS-COCO, then scores all of them against all of its images
in blocks, in one thread, and compares a sample with the pairwise function. The bar: peak memory under 3 GiB.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from tools.benchmarks._coco_pairs import read_pairs
from tools.benchmarks.recorded import record
from workbench import text
from workbench.text.tuple_f1 import TupleF1Relevance, tuple_f1


def main(size: int) -> None:
    """Print seconds, memory and the greatest difference.

    Args:
        size: captions a block.
    """
    read = read_pairs()
    references, captions, own, sample = read.references, read.captions, read.own, read.sample

    start = time.perf_counter()
    graphs = text.load("scene_graph").transform(captions).graphs
    parsed = time.perf_counter()
    relevance = TupleF1Relevance(graphs, graphs, own)
    made = time.perf_counter()
    found, shared = np.empty(len(references)), 0
    for block, scores in relevance.blocks(size):
        read.taken(block, scores, found)
        shared += np.count_nonzero(scores)
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    slow = [
        tuple_f1(graphs[t], [graphs[r] for r in np.flatnonzero(own == image)])
        for image, t in enumerate(sample)
    ]
    slow_pair = (time.perf_counter() - end) / len(references)
    pairs = len(references) * len(captions)
    lines = [
        f"{len(references):,} x {len(captions):,} = {pairs:,} pairs, blocks of {size:,} captions; "
        f"{shared / pairs:.1%} above 0",
        f"{parsed - start:8.2f} s  parsing, "
        f"{len(captions) / (parsed - start):,.0f} captions a second with loading the model",
        f"{made - parsed:8.2f} s  tuples",
        f"{end - made:8.2f} s  the matrix in blocks",
        f"{end - parsed:8.2f} s  together without parsing, {(end - parsed) / pairs * 1e6:.4f} us a pair",
        f"{peak:8.2f} GiB peak resident memory with the parser",
        f"{slow_pair * 1e6:8.1f} us a pair in the pairwise function ({len(references):,} of these pairs)",
        f"{np.abs(found - np.array(slow)).max():8.1e} greatest difference on those pairs",
    ]
    record(
        "tuple_f1",
        {"images": len(references), "captions": len(captions), "seconds": end - parsed, "peak_gib": peak},
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
