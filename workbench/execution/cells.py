"""The cells of a notebook while they run: which part runs now, and what its kernel says of it."""

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import nbformat
from traitlets.config import Config

from workbench.progress import BATCH, REPORT, Task
from workbench.progress.media import read_states

HEADING = re.compile(r"^#+\s+(.+?)\s*$", re.MULTILINE)
# Figures as data, not as 5 MB of script in the notebook; bars off, since a batch run has nobody to watch
# them. Threads that wait awake take the core from whatever else runs: they wait asleep.
ENVIRONMENT = {
    "PLOTLY_RENDERER": "plotly_mimetype",
    "TQDM_DISABLE": "1",
    BATCH: "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}


def headings(path: Path | str) -> list[str]:
    """Return the last heading before each cell of code that is not empty; before the first one, the file's
    name.

    Args:
        path: of the notebook.
    """
    out, heading = list[str](), Path(path).stem
    for cell in nbformat.read(path, 4).cells:
        if cell.cell_type == "markdown":
            heading = (HEADING.findall(cell.source) or [heading])[-1]
        elif cell.cell_type == "code" and cell.source.strip():
            out.append(heading)
    return out


class Cells:
    """Shows the cells of a notebook while they run: a context.

    Args:
        path: of the notebook.
        name: how the run is called.
        say: takes a line: the heading of each part that begins, and what cells write to stderr.
    """

    def __init__(self, path: Path, name: str, say: Callable[[str], None]) -> None:
        parts = headings(path)
        self.say = say
        self.number = 0
        self._rest = iter(parts)
        # papermill adds the cell that sets the parameters
        self.task = Task(name, len(parts) + 1, "cells", even=False)
        self.task.detail = "the kernel starts"
        self._folder = TemporaryDirectory()
        self._report = str(Path(self._folder.name) / "progress.json")
        self.task.within = partial(read_states, self._report)

    def __enter__(self) -> Self:
        self.task.__enter__()
        return self

    def __exit__(self, *stopped: object) -> None:
        self.task.__exit__(*stopped)
        self._folder.cleanup()

    @property
    def kernel(self) -> list[str]:
        """Arguments of the kernel. They set its environment alone, since runs of one process share theirs."""
        environment = {**ENVIRONMENT, REPORT: self._report}
        return [
            "--log-level=CRITICAL",
            f"--IPKernelApp.exec_lines=__import__('os').environ.update({environment})",
        ]

    @property
    def connection(self) -> Config:
        """How papermill and the kernel are connected: by sockets in a folder of their own.

        A port that was free when it was chosen may be taken before the kernel starts. Windows has no such
        sockets.
        """
        if sys.platform == "win32":
            return Config()
        file = str(Path(self._folder.name) / "kernel.json")
        return Config(KernelManager={"transport": "ipc", "connection_file": file})

    def begin(self, cell: Any, cell_index: int) -> None:
        """Take notice of a cell that begins."""
        added = "injected-parameters" in cell.metadata.get("tags", ())
        heading = self.task.detail if added else next(self._rest, self.task.detail)
        self.number += 1
        if heading != self.task.detail:
            self.say(f"cell {self.number} of {self.task.total}: {heading}")
        self.task.update(self.number - 1 - self.task.count, heading)

    def write(self, text: str) -> None:
        """Pass on what cells write to stderr."""
        if text.strip():
            self.say(text.strip())

    def flush(self) -> None:
        """Do nothing: nothing waits to be written."""
