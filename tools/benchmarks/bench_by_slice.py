"""How much longer an evaluation takes that measures every number by the slices of ten fields:
``python -m tools.benchmarks.bench_by_slice``.

4,167 images with five captions each as random vectors, 25,002 queries of both directions; five categories and
three numbers of captions, and two categories of images. Seconds of the processor, the median of nine
evaluations with and without. The bar: 1.2 times.
"""

from __future__ import annotations

import resource
import sys
import time

import numpy as np

import workbench as wb
from tools.benchmarks.recorded import record
from workbench.data.images import raise_no_image
from workbench.records import Field, Split

IMAGES, EACH, WIDTH, TIMES = 4167, 5, 64, 9


def _fields(rng: np.random.Generator, captions: int) -> dict[str, Field]:
    fields = []
    for number in range(5):
        fields.append(Field.from_cells(f"category{number}", [f"v{n}" for n in rng.integers(0, 4, captions)]))
    for number in range(3):
        fields.append(Field.from_cells(f"number{number}", rng.normal(size=captions)))
    for number in range(2):
        cells = [f"v{n}" for n in rng.integers(0, 4, IMAGES)]
        fields.append(Field.from_cells(f"place{number}", cells, owner="image"))
    return {field.name: field for field in fields}


def main() -> None:
    """Measure with and without slices by turns, and record."""
    rng = np.random.default_rng(0)
    own = np.repeat(np.arange(IMAGES), EACH)
    images = rng.normal(size=(IMAGES, WIDTH)).astype(np.float32)
    texts = (images[own] + 1.5 * rng.normal(size=(len(own), WIDTH))).astype(np.float32)
    ids = tuple(map(str, range(len(own))))
    fields = _fields(rng, len(own))
    split = Split("x", ids[:IMAGES], ids, ids, own, raise_no_image, fields=fields)
    seconds: dict[str, list[float]] = {"without": [], "with": []}
    memory = {}
    for _ in range(TIMES):
        for name, by in (("without", []), ("with", list(fields))):
            began = time.process_time()
            wb.evaluate(images=images, texts=texts, data=split, by=by)
            seconds[name].append(time.process_time() - began)
            memory.setdefault(name, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
    medians = {name: float(np.median(several)) for name, several in seconds.items()}
    figures = {
        "queries": len(own) + IMAGES,
        "fields": len(fields),
        **{f"seconds {name}": round(value, 2) for name, value in medians.items()},
        "times": round(medians["with"] / medians["without"], 2),
        "times memory": round(memory["with"] / memory["without"], 2),
    }
    record("by_slice", figures)
    sys.stdout.write(f"{figures}\n")


if __name__ == "__main__":
    main()
