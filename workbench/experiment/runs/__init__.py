"""The run folder: ``runs/<notebook>/<run id>/``, written atomically, read, listed and compared.

A run id is ``yyyymmdd-hhmmss-<8 hex>``; equal hex digits mean equal parameters and equal code. ``STATUS`` is
written last, by the process that watched the run, and is one of ``ok``, ``failed:<cell>`` and ``killed``.
"""

from workbench.experiment.runs.environment import code_hash, environment
from workbench.experiment.runs.folders import folder, key_of, new_run, publish, run_key
from workbench.experiment.runs.listing import Run, diff, find, flat, list_runs, read
from workbench.experiment.runs.writing import (
    ENV,
    PARAMS,
    RESULTS,
    SCRAP,
    STATUS,
    write_json,
    write_results,
    write_status,
    write_table,
    write_text,
)

__all__ = [
    "ENV", "PARAMS", "RESULTS", "SCRAP", "STATUS", "Run", "code_hash", "diff", "environment", "find", "flat", "folder",
    "key_of", "list_runs", "new_run", "publish", "read", "run_key", "write_json", "write_results", "write_status", "write_table",
    "write_text",
]  # fmt: skip
