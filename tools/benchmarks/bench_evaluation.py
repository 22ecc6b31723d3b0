"""How much memory an evaluation takes whose score matrix is too large: ``python -m
tools.benchmarks.bench_evaluation [T I D]``.

100,000 captions, 20,000 images, width 512: random unit vectors, so that the matrix would take 7.5 GiB. Two
judgements share one
pass a direction: five captions an image, and 300,000 further pairs at random, as a false-negative annotation
adds them. R@K, recall@K and the median rank by the first, mAP@R, R-Precision and R@1 by both, in both
directions, with 100
bootstrap rounds. The bar: a peak less than 2 GiB above the embeddings.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

from tests.metrics.families import ranking, recall
from tools.benchmarks.recorded import record
from workbench.metrics.blocks import products
from workbench.metrics.ranks import Ranked
from workbench.records import Judgements


def _vectors(rng, rows, width):
    out = rng.standard_normal((rows, width), dtype=np.float32)
    for first in range(0, rows, 4096):
        part = out[first : first + 4096]
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return out


def _peak() -> float:
    """Peak resident memory so far, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def _dense(rng: np.random.Generator, own: Judgements, extra: int) -> Judgements:
    """The own pairs and some others."""
    images, captions = own.shape
    names = np.unique(
        np.concatenate([own.images * captions + own.captions, rng.integers(images * captions, size=extra)])
    )
    ones = np.ones(len(names), dtype=np.float32)
    return Judgements("dense", "binary", own.shape, names // captions, names % captions, ones)


def main(captions: int = 100_000, images: int = 20_000, width: int = 512) -> None:
    """Print the numbers, seconds and memory.

    Args:
        captions: size of one gallery.
        images: size of the other.
        width: of the embeddings.
    """
    rng = np.random.default_rng(0)
    image, text = _vectors(rng, images, width), _vectors(rng, captions, width)
    before = _peak()
    start = time.perf_counter()
    own = Judgements.from_own(np.arange(captions) * images // captions, images)
    dense = _dense(rng, own, 3 * captions)
    ranked = Ranked(products(image, text), [own, dense])
    passed = time.perf_counter()
    found = recall(ranked, own, rounds=100)
    for judged in (own, dense):
        found += ranking(products(image, text), judged, ranked=ranked, graded=False, rounds=100)
    end = time.perf_counter()
    lines = [f"{m.value:12.6f}  {m.label}, {m.queries:,} queries, gallery {m.gallery:,}" for m in found]
    lines += [
        f"{captions:,} captions x {images:,} images, width {width}; "
        f"the matrix would take {captions * images / 2**28:.1f} GiB",
        f"{passed - start:8.1f} s  ranks of both directions by two judgements, {len(dense.grades):,} pairs",
        f"{end - passed:8.1f} s  {len(found)} numbers with intervals",
        f"{before:8.2f} GiB peak with the embeddings ({(image.nbytes + text.nbytes) / 2**30:.2f} GiB)",
        f"{_peak() - before:8.2f} GiB above them (bar: 2)",
    ]
    record(
        "evaluation",
        {
            "captions": captions,
            "images": images,
            "width": width,
            "seconds": end - start,
            "gib_above_embeddings": _peak() - before,
        },
    )
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
