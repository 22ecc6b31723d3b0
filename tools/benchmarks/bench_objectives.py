"""What each objective's loss costs, beside InfoNCE's and beside one training step of ViT-B/32:
``python -m tools.benchmarks.bench_objectives [threads]``.

Forward and backward of the loss alone, from embeddings of width 1,024 to their gradients, for batches of 128
and 512 images. A batch holds one caption an image, two where the objective needs two. Images have 50 parts
and captions 32, each caption two entities, where an objective reads them. The step is forward, InfoNCE,
backward and AdamW of open_clip's ViT-B/32 with random weights at 224 pixels and 77 tokens, in slices of 16
pairs so that it fits a small machine; one slice is timed and counted as often as the batch has slices. The
bar: no loss adds more than 10 % to that step at batch 128. What the encoders of AAHR and CORA cost is not in
these numbers.
"""

from __future__ import annotations

import sys
from functools import partial

import machine_bench as bench
import torch

from tools.benchmarks.recorded import record
from workbench import objectives

WIDTH, SLICE, ROUNDS = 1024, 16, 5
seconds_of = partial(bench.loss_seconds, width=WIDTH, rounds=ROUNDS)


def main(threads: int) -> None:
    """Say the table, row by row.

    Args:
        threads: of PyTorch.
    """
    torch.set_num_threads(threads)
    slice_seconds = bench.vit_seconds(SLICE)
    say(f"{threads} thread(s), {SLICE} pairs of ViT-B/32 in {slice_seconds:.2f} s")
    shares: dict[str, float] = {}
    for size in (128, 512):
        step = slice_seconds * size / SLICE
        base = seconds_of("infonce", size)
        say(f"batch {size}: one step of ViT-B/32 {step:.1f} s, InfoNCE {1000 * base:.1f} ms")
        say(f"    {'objective':<10}{'ms':>10}{'x InfoNCE':>12}{'% of the step':>16}")
        for name in objectives.names():
            seconds = seconds_of(name, size)
            shares[f"{name}_share_of_step_at_{size}"] = seconds / step
            say(f"    {name:<10}{1000 * seconds:>10.1f}{seconds / base:>12.1f}{100 * seconds / step:>16.2f}")
    record("objectives", {"threads": threads, "width": WIDTH, **shares})


def say(line: str) -> None:
    """One line, at once."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
