"""The tour as a newcomer runs it: ``python -m tests.performance.bench_tour``.

Takes the whole tour in a folder of its own and records how long it took and what its training stops found.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.performance.recorded import record
from workbench.experiment import runs
from workbench.tour import TRAINED, tour

KEYS = ("rsum", "exact:t2i/own@1[most specific]", "exact:t2i/true@1", "exact:t2i/false_negatives")


def main() -> None:
    """Run it, record it."""
    with tempfile.TemporaryDirectory() as folder:
        result = tour(folder, say=lambda line: sys.stdout.write(line + "\n"))
        trained = [runs.read(Path(folder) / "tour" / name).results for name in TRAINED]
        found = {one["objective"]: {key: one["metrics"][key] for key in KEYS} for one in trained}
    record("tour", {"seconds": result.seconds, "stops": len(result.stops), "trained": found})


if __name__ == "__main__":
    main()
