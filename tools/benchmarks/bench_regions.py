"""Regions without photographs through the notebooks: ``python -m tools.benchmarks.bench_regions [images]``.

A made-up set in the form of bottom-up attention (36 regions of width 2,048 and their boxes, one file an
image) is trained on by DIAS and AAHR in ``03_train``, with the encoders that a grid takes for such data, and
looked at in 04, 07 and 08. While a notebook runs, the
memory of its kernel that no file backs is read every tenth of a second; the memory maps of the features are
beside it, not in it. The bar at 2,000 images: 1.5 GiB.
"""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.data import fixtures
from tools.benchmarks.recorded import record
from workbench.execution.library import find_file
from workbench.execution.notebook import run_notebook

OBJECTIVES, NOTEBOOKS = ("dias", "aahr"), ("04_embedding_map", "07_compare", "08_relevance")
REGIONS, WIDTH, EPOCHS, BATCH = 36, 2048, 2, 128


def children(pid: int) -> Iterator[int]:
    """Processes that this one started, and those that they started."""
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            yield int(child)
            yield from children(int(child))


def private(pid: int) -> int:
    """Bytes of a process that no file backs, shared memory among them; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    sizes = dict(line.split(":", 1) for line in lines)
    return sum(int(sizes[name].split()[0]) * 1024 for name in ("RssAnon", "RssShmem") if name in sizes)


class Peak(threading.Thread):
    """The most that the kernel of a notebook, with all its workers, held while the block ran."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.over = 0, threading.Event()

    def run(self) -> None:
        """Read until told to end."""
        while not self.over.wait(0.1):
            try:
                self.most = max(self.most, sum(private(pid) for pid in set(children(os.getpid()))))
            except OSError:  # a process ended between being listed and being read
                continue

    def __enter__(self) -> Peak:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.join()


def notebook(name: str, given: dict[str, Any], folder: Path) -> tuple[float, float]:
    """GiB at most and seconds of one notebook."""
    began = time.perf_counter()
    with Peak() as peak:
        result = run_notebook(find_file(name, "notebook"), given, folder=folder)
    if result.status != "ok":
        raise RuntimeError(f"{name}: {result.error}")
    return peak.most / 2**30, time.perf_counter() - began


def main(images: int = 2000) -> None:
    """Write the memory and the seconds of each notebook."""
    place = Path(tempfile.mkdtemp())
    data = {"root": str(fixtures.bottom_up(place / "mine", images, REGIONS, WIDTH)), "regions": "butd"}
    figures: dict[str, float] = {}
    for objective in OBJECTIVES:
        asked = {"objective": objective, "data": {"name": "folder", **data}}
        sizes = {"batch_size": BATCH, "epochs": EPOCHS, "train_images": 0}
        given = asked | {"device": "cpu", **sizes}
        trained = place / objective
        for name in ("03_train", *NOTEBOOKS):
            values = given if name == "03_train" else {"runs": [str(trained)], "images": 0}
            gib, seconds = notebook(
                name, values, trained if name == "03_train" else place / f"{objective}_{name}"
            )
            figures |= {f"{objective}_{name}_gib": gib, f"{objective}_{name}_s": seconds}
            sys.stdout.write(f"{objective} {name}: {gib:.2f} GiB, {seconds:.0f} s\n")
            sys.stdout.flush()
    most = max(value for key, value in figures.items() if key.endswith("gib"))
    record(f"regions_{images}", {"images": images, "most_gib": most, **figures})


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:]))
