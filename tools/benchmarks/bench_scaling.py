"""How time grows with size, at three sizes each: ``python -m tools.benchmarks.bench_scaling``.

Seconds are medians on one thread, the exponent is the slope of their logarithms. ``python -m tools.scaling``
draws them, and ``python -m tools.numbers`` writes them into the guide.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import torch
from machine_bench import loss_seconds, median_seconds, random_unit_vectors
from threadpoolctl import threadpool_limits

from tools.benchmarks.recorded import record
from workbench import data, text
from workbench.metrics.blocks import products, top_k
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.records import Judgements

SIZES = (1, 2, 4)


def search(vectors: int) -> float:
    """One question to a gallery."""
    gallery = random_unit_vectors(vectors)
    return median_seconds(lambda: top_k(gallery[:1], gallery, 10))


def evaluation(images: int) -> float:
    """Recalls with intervals, from vectors."""
    scores = products(random_unit_vectors(images), random_unit_vectors(5 * images))
    judged = Judgements.from_own(np.repeat(np.arange(images), 5), images)
    return median_seconds(lambda: evaluate(Evidence(scores, judged), ["R", "rsum"]))


def cider(images: int) -> float:
    """Every caption against every image."""
    split = data.load("scenes", split="train", size=images)

    def every() -> None:
        for _ in (
            text.load("cider").fit(split.captions, split.own).transform(split.captions, split.own).blocks()
        ):
            pass

    return median_seconds(every)


def graphs(captions: int) -> float:
    """The graphs of captions."""
    some = data.load("scenes", split="train", size=captions).captions[:captions]
    return median_seconds(lambda: text.load("scene_graph").transform(some))


# what -> what its size counts, the smallest size, what measures it
PARTS: Mapping[str, tuple[str, int, Callable[[int], float]]] = {
    "search, one question": ("vectors of a gallery", 250_000, search),
    "recalls with intervals, from vectors": ("images, with five captions each", 2_500, evaluation),
    "CIDEr-D of all pairs": ("images, with five captions each", 1_000, cider),
    "scene graphs": ("captions", 250, graphs),
    "loss of InfoNCE": ("pairs of a batch", 256, partial(loss_seconds, "infonce", rounds=3)),
    "loss of DITM": ("pairs of a batch", 256, partial(loss_seconds, "ditm", rounds=3)),
    "loss of DIAS": ("pairs of a batch", 256, partial(loss_seconds, "dias", rounds=3)),
}


def main() -> None:
    """Measure and record."""
    torch.set_num_threads(1)
    found = {}
    for name, (of, smallest, call) in PARTS.items():
        sizes = [smallest * times for times in SIZES]
        with threadpool_limits(1):
            taken = [call(size) for size in sizes]
        power = float(np.polyfit(np.log(sizes), np.log(taken), 1)[0])
        found[name] = {"of": of, "sizes": sizes, "seconds": taken, "power": power}
        print(name, found[name], flush=True)
    record("scaling", {"parts": found})


if __name__ == "__main__":
    main()
