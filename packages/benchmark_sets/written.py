"""What the commands of this package share: how many resamples they draw, and where they write."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from workbench.io import write_json
from workbench.metrics.intervals import ROUNDS


def rounds_or_usual(rounds: int | None) -> int:
    """Return the bootstrap rounds that were asked for, else the usual number."""
    return ROUNDS if rounds is None else rounds


def write_records(folder: Path, name: str, records: Mapping[str, Any]) -> Path:
    """Write what a command measured as ``FOLDER/NAME.json``."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_json(folder / f"{name}.json", records)
