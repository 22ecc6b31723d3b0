"""The short table of a machine, recorded: ``python -m tests.performance.bench_machine``.

The same as ``workbench doctor --bench``; ``python -m tests.numbers`` writes it into the guide.
"""

from __future__ import annotations

from dataclasses import asdict

import torch

from tests.performance.recorded import record
from workbench.execution.bench import figures


def main() -> None:
    """Measure and record."""
    rows = [asdict(row) for row in figures()]
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    record("machine", {"gpu": gpu, "torch": torch.__version__, "rows": rows})


if __name__ == "__main__":
    main()
