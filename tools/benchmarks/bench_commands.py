"""The README's two commands on a fresh clone, timed.

Run: ``python -m tools.benchmarks.bench_commands PYTHON [PYTHON ...]``. For each interpreter the last commit
is cloned into a folder of its own, a virtual environment is made, the package with its test extra is
installed, and the tour and the tests of the README run. Real data are those of ``WORKBENCH_DATA``.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.benchmarks.recorded import record

ROOT = Path(__file__).parents[2]


def main(pythons: list[str]) -> None:
    """Record the seconds of each step, by Python version.

    Args:
        pythons: interpreters.
    """
    runs = [_timed(python) for python in pythons]
    record("commands", {"runs": runs})


def _timed(python: str) -> dict[str, str | float]:
    with tempfile.TemporaryDirectory() as folder:
        clone = Path(folder) / "clone"
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
        version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
        found: dict[str, str | float] = {"python": version}
        steps = {
            "install": f'{python} -m venv .venv && .venv/bin/pip install --quiet -e ".[test]"',
            "tour": ".venv/bin/workbench tour",
            "tests": ".venv/bin/pytest -q",
        }
        for name, command in steps.items():
            start = time.perf_counter()
            subprocess.run(command, cwd=clone, shell=True, check=True)
            found[name] = round(time.perf_counter() - start)
        return found


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
