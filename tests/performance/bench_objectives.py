"""What each objective's loss costs, beside InfoNCE's and beside one training step of ViT-B/32:
``python -m tests.performance.bench_objectives [threads]``.

Forward and backward of the loss alone, from embeddings of width 1,024 to their gradients, for batches of 128
and 512 images. A batch holds one caption an image, two where the objective needs two. Images have 50 parts
and captions 32, each caption three entities, where an objective reads them. The step is forward, InfoNCE,
backward and AdamW of open_clip's ViT-B/32 with random weights at 224 pixels and 77 tokens, in slices of 16
pairs so that it fits a small machine; one slice is timed and counted as often as the batch has slices. The
bar: no loss adds more than 10 % to that step at batch 128. What the encoders of AAHR and CORA cost is not in
these numbers.
"""

from __future__ import annotations

import sys
import time
from statistics import median

import open_clip
import torch
from torch.nn import functional

from tests.performance.recorded import record
from workbench import objectives
from workbench.objectives.base import Objective
from workbench.records import Batch, Embedding

WIDTH, PARTS, WORDS, ENTITIES, SLICE, ROUNDS = 1024, 50, 32, 3, 16, 5


def main(threads: int) -> None:
    """Say the table, row by row.

    Args:
        threads: of PyTorch.
    """
    torch.set_num_threads(threads)
    slice_seconds = step_of_slice()
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


def step_of_slice() -> float:
    """Seconds of a training step on one slice, median of three after one to warm up."""
    model = open_clip.create_model("ViT-B-32")
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)
    pixels, tokens = torch.randn(SLICE, 3, 224, 224), torch.randint(1, 49000, (SLICE, 77))
    labels = torch.arange(SLICE)
    found = []
    for _ in range(4):
        start = time.perf_counter()
        image, text, scale = model(pixels, tokens)
        logits = scale * image @ text.T
        (functional.cross_entropy(logits, labels) + functional.cross_entropy(logits.T, labels)).backward()
        optimiser.step()
        optimiser.zero_grad()
        found.append(time.perf_counter() - start)
    return median(found[1:])


def seconds_of(name: str, size: int) -> float:
    """Seconds of the objective's forward and backward, median of some rounds."""
    torch.manual_seed(0)
    objective = objectives.load(name)
    objective.fit_width(WIDTH)
    objective.train()
    given = batch(objective, size)
    found = []
    for _ in range(1 + ROUNDS):
        image = embedding(size, PARTS, objective.reads, owners=False)
        text = embedding(len(given.own), WORDS, objective.reads, owners=True)
        start = time.perf_counter()
        torch.stack(list(objective(image, text, given).values())).sum().backward()
        found.append(time.perf_counter() - start)
        objective.after_step(image, text, given)
    return median(found[1:])


def batch(objective: Objective, size: int) -> Batch:
    """A batch with random signals and relevance of what the objective asks for."""
    captions = size * max(objective.captions_per_image, 1)
    own = torch.arange(captions) % size
    graphs = {
        "objects": torch.randint(1, 400, (captions, 4)),
        "attributes": torch.randint(0, 200, (captions, 4, 2)),
    }
    known = {"descriptiveness": torch.rand(captions), "graph_tokens": graphs}
    momentum = (
        tuple(embedding(count, 1, (), owners=False) for count in (size, captions))
        if objective.momentum
        else None
    )
    ids = [f"i{n}" for n in range(size)], [f"t{n}" for n in range(captions)]
    grades = {name: torch.rand(size, captions) for name in objective.relevances()}
    return Batch(
        *ids,
        own,
        signals={name: known[name] for name in objective.needs},
        relevance=grades,
        momentum=momentum,
    )


def embedding(count: int, parts: int, reads: tuple[str, ...], *, owners: bool) -> Embedding:
    """Random unit vectors, with the fields that are read."""

    def vectors(*shape: int) -> torch.Tensor:
        return functional.normalize(torch.randn(*shape, WIDTH), dim=-1).requires_grad_()

    fields: dict[str, torch.Tensor] = {}
    if "log_var" in reads:
        fields["log_var"] = (torch.randn(count, WIDTH) - 5).requires_grad_()
    if "parts" in reads:
        fields |= {"parts": vectors(count, parts), "mask": torch.ones(count, parts, dtype=torch.bool)}
    if "entities" in reads and owners:
        labels = torch.cat(
            [torch.randint(1, 400, (ENTITIES * count, 1)), torch.randint(0, 200, (ENTITIES * count, 2))],
            dim=1,
        )
        fields |= {
            "entities": vectors(ENTITIES * count),
            "owner": torch.arange(count).repeat_interleave(ENTITIES),
        }
        fields["labels"] = labels
    return Embedding(vectors(count), **fields)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
