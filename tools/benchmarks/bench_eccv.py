"""How fast retrieval metrics are, beside the package ``eccv-caption``: ``python -m
tools.benchmarks.bench_eccv [cases]``.

The positives of MS-COCO's test split, 5,000 images x 25,000 captions, and scores without ties, of one or more
cases, by default ``random worst`` (see ``tests.oracles.eccv.case``). The package gets the argsort of the
scores as its dictionaries of lists, then ``compute_all_metrics`` with 24 numbers: R@1, 5, 10 of COCO 1K, COCO
5K and CxC, and mAP@R, R-Precision, R@1 of ECCV Caption, in both directions. Ours makes the same numbers from
the same matrix, without intervals, which the package lacks.
One process, one thread. The bar: at least 8 times faster, the same numbers to 1e-9.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tests.oracles import eccv
from tools.benchmarks.recorded import record
from workbench.records import Split


def _compare(case: str, split: Split) -> tuple[str, dict[str, float]]:
    scores = eccv.case(case, np.random.default_rng(0), split)
    start = time.perf_counter()
    found = eccv.ours(scores, split)
    ours = time.perf_counter() - start
    metrics = eccv.package(split)
    start = time.perf_counter()
    lists = eccv.retrieved(scores, split)
    sorted_at = time.perf_counter()
    expected = eccv.theirs(metrics, lists)
    theirs = time.perf_counter() - start
    difference = max(abs(found[key] - value) for key, value in expected.items())
    said = "\n".join(
        [
            f"{case}: {scores.shape[0]:,} x {scores.shape[1]:,} scores, {len(expected)} numbers",
            f"{theirs:8.2f} s  eccv-caption, {sorted_at - start:.2f} s of it argsort and dictionaries",
            f"{ours:8.2f} s  ours",
            f"{theirs / ours:8.1f} times faster "
            f"({(theirs - sorted_at + start) / ours:.1f} without the package's argsort)",
            f"{difference:8.1e} largest difference",
        ]
    )
    return said, {f"{case}_times_faster": theirs / ours, f"{case}_largest_difference": float(difference)}


def main(cases: list[str]) -> None:
    """Print both times, their ratio and the largest difference, by case."""
    with tempfile.TemporaryDirectory() as folder:
        split = eccv.whole_split(Path(folder))
    figures: dict[str, float] = {}
    for case in cases:
        said, found = _compare(case, split)
        figures |= found
        sys.stdout.write(said + "\n")
        sys.stdout.flush()
    record("eccv", figures)


if __name__ == "__main__":
    main(sys.argv[1:] or ["random", "worst"])
