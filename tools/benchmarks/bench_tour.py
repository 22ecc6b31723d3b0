"""The tour as a newcomer runs it: ``python -m tools.benchmarks.bench_tour [FOLDER]``.

Takes the whole tour in a folder, which is kept where one is named, and records how long it took and what its
comparison found.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tools.benchmarks.recorded import record
from workbench.runs import store as runs
from workbench.tour import tour


def main(kept: str = "") -> None:
    """Run it, record it."""
    with tempfile.TemporaryDirectory() as made:
        folder = kept or made
        result = tour(folder, say=lambda line: sys.stdout.write(line + "\n"))
        compared = runs.read(Path(folder) / "tour" / "07_compare").results
    found = {name: compared[name] for name in ("models", "metrics", "same_list")}
    found["differences"] = {
        name: {field: row[field] for field in ("key", "run", "verdict")}
        for name, row in compared["differences"].items()
    }
    found["contracts"] = {
        name: {field: of[field] for field in ("low", "high")} for name, of in compared["contracts"].items()
    }
    record("tour", {"seconds": result.seconds, "stops": len(result.stops), **found})


if __name__ == "__main__":
    main(*sys.argv[1:])
