"""The short table of a machine, recorded: ``python -m tools.benchmarks.bench_machine``.

The same as ``workbench doctor --bench``; ``python -m tools.numbers`` writes it into the guide.
"""

from __future__ import annotations

from dataclasses import asdict

import torch
from machine_bench import figures

from tools.benchmarks.recorded import record


def main() -> None:
    """Measure and record."""
    rows = [asdict(row) for row in figures()]
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    about = {"gpu": gpu, "torch": torch.__version__, "threads": torch.get_num_threads()}
    record("machine", {**about, "rows": rows})


if __name__ == "__main__":
    main()
