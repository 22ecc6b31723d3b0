"""What benchmarks found, as files: README and changelog cite these, and a test holds them together.

Each benchmark writes its figures here when it has run to its end, so that a cited figure is made again by
running the benchmark again.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "recorded"


def record(name: str, figures: Mapping[str, Any]) -> None:
    """Write the figures of one benchmark, with the machine they were measured on.

    Args:
        name: of the benchmark.
        figures: plain numbers by name; floats are kept to four digits.
    """
    rounded = {
        key: float(f"{value:.4g}") if isinstance(value, float) else value for key, value in figures.items()
    }
    machine = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "python": platform.python_version(),
        "load": round(os.getloadavg()[0], 1),
    }
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text(json.dumps({**rounded, "machine": machine}, indent=1) + "\n")


def read(name: str) -> dict[str, Any]:
    """The recorded figures of one benchmark."""
    found: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return found
