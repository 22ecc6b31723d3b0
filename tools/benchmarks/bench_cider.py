"""How fast CIDEr-D is, beside ``pycocoevalcap``: ``WORKBENCH_DATA=... python -m
tools.benchmarks.bench_cider``.

Scores all captions of the Karpathy test split of MS-COCO against all of its images, from the texts to the
last block, in one thread. Then ``pycocoevalcap`` scores one pair an image with the same document frequencies;
the two must agree. Its time counts from the moment at which it has cut the texts into n-grams. The bar: 3,000
times faster a pair, peak memory under 3 GiB.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np
from pycocoevalcap.cider.cider_scorer import CiderScorer

from tools.benchmarks._coco_pairs import read_pairs
from tools.benchmarks.recorded import record
from workbench import text


def main(size: int) -> None:
    """Print seconds, memory and the ratio.

    Args:
        size: captions a block.
    """
    read = read_pairs()
    references, captions, own, hypotheses = read.references, read.captions, read.own, read.sample

    start = time.perf_counter()
    maker = text.load("cider").fit(captions, own)
    fitted = time.perf_counter()
    relevance = maker.transform(captions, own)
    made = time.perf_counter()
    ours, largest = np.empty(len(references)), 0.0
    for block, scores in relevance.blocks(size):
        read.taken(block, scores, ours)
        largest = max(largest, float(scores.max()))
    end = time.perf_counter()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20

    scorer = CiderScorer()
    for row, image in zip(hypotheses, references, strict=True):
        scorer += (captions[row].lower(), [caption.lower() for caption in image])
    theirs_start = time.perf_counter()
    theirs = scorer.compute_score()[1]
    theirs_pair = (time.perf_counter() - theirs_start) / len(references)

    pairs = len(references) * len(captions)
    rng, batches = np.random.default_rng(0), []
    for _ in range(20):
        images = rng.choice(len(references), 128, replace=False)
        rows = np.flatnonzero(np.isin(own, images))
        batch_start = time.perf_counter()
        relevance.take(images, rows)
        batches.append(time.perf_counter() - batch_start)
    lines = [
        f"{len(references):,} x {len(captions):,} = {pairs:,} pairs, blocks of {size:,} captions; "
        f"greatest score {largest:.3f}",
        f"{fitted - start:8.2f} s  document frequencies",
        f"{made - fitted:8.2f} s  vectors",
        f"{end - made:8.2f} s  the matrix in blocks",
        f"{end - start:8.2f} s  together, {(end - start) / pairs * 1e6:.4f} us a pair",
        f"{peak:8.2f} GiB peak resident memory, torch not loaded",
        f"{np.median(batches) * 1e3:8.2f} ms a batch of 128 images and their captions",
        f"{theirs_pair * 1e6:8.1f} us a pair in pycocoevalcap ({len(references):,} of these pairs)",
        f"{theirs_pair * pairs / (end - start):8,.0f} times faster a pair",
        f"{np.abs(ours - theirs).max():8.1e} greatest difference on those pairs",
    ]
    record(
        "cider",
        {
            "images": len(references),
            "captions": len(captions),
            "seconds": end - start,
            "times_faster_a_pair": theirs_pair * pairs / (end - start),
            "peak_gib": peak,
            "greatest_difference": float(np.abs(ours - theirs).max()),
        },
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4096)
