"""How much memory region features in files take: ``python -m tests.performance.bench_regions [IMAGES]``.

A made-up set in the form of bottom-up attention, 2,000 images without photographs, 36 regions of width 2,048
and their boxes, one ``.npz`` an image: DIAS and AAHR train on half of it in ``03_train``; ``04``, ``07`` and
``08`` look at both runs. Anonymous memory, which maps of files are no part of, is that of the largest process
of each notebook, read five times a second. The bar: 1.5 GiB.
"""

from __future__ import annotations

import re
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import psutil

from tests.data import fixtures
from tests.performance.recorded import record
from workbench.execution.library import find
from workbench.execution.notebook import run_notebook
from workbench.experiment import fitting

OBJECTIVES, LOOKED = ("dias", "aahr"), ("04_embedding_map", "07_compare", "08_relevance")
ANONYMOUS = re.compile(r"RssAnon:\s+(\d+) kB")


class Peak(threading.Thread):
    """The most anonymous memory, in GiB, that a process started from here has had."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.gib, self.over = 0.0, threading.Event()

    def run(self) -> None:
        """Look until it is over."""
        while not self.over.wait(0.2):
            for one in psutil.Process().children(recursive=True):
                try:
                    found = ANONYMOUS.search(Path(f"/proc/{one.pid}/status").read_text())
                except (FileNotFoundError, ProcessLookupError):
                    continue
                self.gib = max(self.gib, int(found[1]) / 2**20 if found else 0.0)


def measured(name: str, values: dict[str, Any], folder: Path) -> tuple[float, float]:
    """Peak in GiB and seconds of a notebook."""
    peak, start = Peak(), time.perf_counter()
    peak.start()
    done = run_notebook(find(name), values, folder=folder)
    peak.over.set()
    peak.join()
    if done.status != "ok":
        raise SystemExit(f"{name}: {done.status}, {done.error}")
    sys.stdout.write(f"{folder.name:20} {peak.gib:6.2f} GiB {time.perf_counter() - start:8.1f} s\n")
    sys.stdout.flush()
    return peak.gib, time.perf_counter() - start


def main(images: int = 2000) -> None:
    """Make the set, run the notebooks and record the peaks."""
    with tempfile.TemporaryDirectory() as where:
        place, found = Path(where), dict[str, tuple[float, float]]()
        root = fixtures.bottom_up(place / "set", images=images, regions=36, width=2048)
        data = {"data": "folder", "data_options": {"root": str(root), "regions": "butd"}}
        for objective in OBJECTIVES:
            given = {"objective": objective, **data, "train_images": 0, "device": "cpu"}
            settings = {**fitting(given), "epochs": 1}
            found[objective] = measured("03_train", {**given, "settings": settings}, place / objective)
        runs = [str(place / objective) for objective in OBJECTIVES]
        for name in LOOKED:
            found[name] = measured(name, {"runs": runs, "images": 0}, place / name)
    figures = {f"{name}_gib": gib for name, (gib, _) in found.items()}
    record("regions", {"images": images, **figures, "seconds": sum(took for _, took in found.values())})


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
