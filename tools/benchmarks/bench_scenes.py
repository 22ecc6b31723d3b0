"""How long the embedded world takes to make: ``python -m tools.benchmarks.bench_scenes [images]``.

Makes a training split and draws all its images, then a test split of 1,000 images with captions and truth, in
one thread. The bar: 10,000 images in all in under a minute.
"""

from __future__ import annotations

import sys
import time

from workbench import data


def main(images: int) -> None:
    """Print seconds for each step."""
    start = time.perf_counter()
    steps = []

    def done(step: str) -> None:
        steps.append((step, time.perf_counter() - start - sum(seconds for _, seconds in steps)))

    train = data.load("scenes", split="train", size=images - 1000)
    done(f"scenes and captions of {images - 1000} training images")
    for row in range(len(train.image_ids)):
        train.open_image(row)
    done("drawing them")
    test = data.load("scenes", split="test", size=1000)
    for row in range(1000):
        test.open_image(row)
    done("the test split, drawn")
    pairs = len(test.judgements["exact"].grades)
    done(f"exact truth of 5,000 captions in 1,000 images ({pairs} true pairs)")
    test.judgements["graded"].dense()
    done("graded truth")
    for step, seconds in [*steps, ("total", time.perf_counter() - start)]:
        sys.stdout.write(f"{seconds:8.2f} s  {step}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
