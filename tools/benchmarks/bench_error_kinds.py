"""How often the judge by captions is right about what a wrong answer lacks:
``python -m tools.benchmarks.bench_error_kinds``.

The pairs are the wrong first images of the shipped encoder on the test scenes, and of the same encoder with
noise. There the truth of every statement is known. The table is shown next to errors by kind of data without
a truth.
"""

from __future__ import annotations

import sys

import numpy as np
from slice_search.kinds import ACCURACY, agreement, first_answers

import workbench as wb
from workbench.io import write_recorded

DIGITS = 3


def main() -> None:
    """Hold both judges against each other, and record what comes out."""
    encoder = wb.open_runs("")[0]
    pairs = []
    for run in (encoder, encoder.with_noise(1.0)):
        images, captions, wrong = first_answers(run, "t2i")
        pairs.append(np.stack([images[wrong], captions[wrong]]))
    images, captions = np.concatenate(pairs, axis=1)
    table = agreement(encoder.split, images, captions).round(DIGITS)
    write_recorded(ACCURACY, table, "python -m tools.benchmarks.bench_error_kinds")
    sys.stdout.write(f"{table.to_string()}\n")


if __name__ == "__main__":
    main()
