"""The cells of one notebook in a kernel of their own, which papermill watches in a thread.

So whoever asked for them can count the seconds and hear signals, and asks the kernel to stop as Ctrl-C
would: a training then keeps its checkpoint, and the notebook what it printed. A kernel that does not answer
is killed with all that it started. A kernel whose watcher dies ends by itself.
"""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import nbformat
from jupyter_core.utils import ensure_event_loop
from papermill import execute_notebook
from papermill.clientwrap import PapermillNotebookClient
from papermill.engines import Engine, papermill_engines
from papermill.log import logger

from workbench.io import write_text
from workbench.io.signals import GRACE

# Figures as data, not as 5 MB of script in the notebook; bars off, since a batch run has nobody to watch
# them. Threads that wait awake take the core from whatever else runs: they wait asleep.
BATCH = {
    "PLOTLY_RENDERER": "plotly_mimetype",
    "TQDM_DISABLE": "1",
    "WORKBENCH_BATCH": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}
# The kernel's own log goes to the terminal of whoever started the run; nothing in it is for them.
QUIET = ["--log-level=CRITICAL"]
ENGINE = "workbench"
# seconds after which a kernel that was idle when it was asked to stop is asked again
AGAIN = 5.0


class TimeLimitError(Exception):
    """The notebook took longer than it was allowed to."""


class Execution:
    """One execution of a notebook.

    Args:
        path: the notebook; it is not changed.
        target: where the executed notebook is written, as a whole, after every cell.
        say: is told each code cell before it runs: its number, how many there are, and its heading.
    """

    def __init__(self, path: Path, target: Path, say: Callable[[str], None]) -> None:
        self.path, self.target, self.say = path, target, say
        # code cells counted from 1: the number that a reader sees in "In [n]"
        self.cell = 0
        self._manager: Any = None
        self._client: Any = None
        self._error: BaseException | None = None
        self._stopping = False

    def run(self, values: Mapping[str, Any], time_limit: float | None = None) -> None:
        """Execute all cells.

        Args:
            values: of the notebook's parameters.
            time_limit: seconds; ``None`` = none.

        Raises:
            PapermillExecutionError: a cell raised; DeadKernelError: the kernel died.
            TimeLimitError: the time is up; KeyboardInterrupt: a signal came. The kernel has ended.
            OSError: the executed notebook could not be written.
        """
        thread = threading.Thread(target=self._work, args=(dict(values),), daemon=True)
        thread.start()
        try:
            thread.join(time_limit)
            if thread.is_alive():
                raise TimeLimitError
        except (KeyboardInterrupt, TimeLimitError):
            self._stop(thread)
            raise
        if self._error is not None:
            raise self._error

    def _work(self, values: dict[str, Any]) -> None:
        loop = ensure_event_loop()
        try:
            try:
                execute_notebook(
                    self.path, None, values, engine_name=ENGINE, kernel_name="python3", language="python",
                    progress_bar=False, execution=self,
                )  # fmt: skip
            finally:  # papermill marks the cell that raised
                self._save()
        except BaseException as error:  # noqa: BLE001 - raised in the thread that waits for this one
            self._error = error
        finally:
            loop.close()

    def within(self, manager: Any, kernel: str) -> None:
        """Execute the cells of papermill's manager."""
        self._manager, manager.save = manager, self._save
        self._save()
        self._client = _Client(
            manager, kernel_name=kernel, startup_timeout=60, extra_arguments=[*QUIET], log=logger
        )
        self._client.before = self._before
        self._client.execute(env=os.environ | BATCH)

    def _before(self, cells: list[Any], index: int) -> None:
        if self._stopping:
            raise KeyboardInterrupt
        if cells[index].cell_type == "code":
            code = [number for number, cell in enumerate(cells) if cell.cell_type == "code"]
            self.cell = code.index(index) + 1
            self.say(f"cell {self.cell} of {len(code)}: {_heading(cells[: index + 1])}")

    def _save(self, **_: Any) -> None:
        if self._manager is not None:
            write_text(self.target, nbformat.writes(self._manager.nb))
            self._manager.last_save_time = self._manager.now()

    def _stop(self, thread: threading.Thread) -> None:
        """Interrupt the kernel, and kill it where that is not enough."""
        self._stopping = True
        try:
            for _ in range(int(GRACE / AGAIN)):
                self._signal(os.kill, signal.SIGINT)
                thread.join(AGAIN)
                if not thread.is_alive():
                    return
        finally:
            self._signal(os.killpg, signal.SIGKILL)
            thread.join(GRACE)

    def _signal(self, send: Callable[[int, int], None], number: int) -> None:
        """Send a signal to the kernel, which leads a process group of its own."""
        pid = getattr(getattr(getattr(self._client, "km", None), "provisioner", None), "pid", None)
        with suppress(ProcessLookupError):
            if pid is not None:
                send(pid, number)


class _Client(PapermillNotebookClient):  # type: ignore[misc]  # it has no types
    before: Callable[[list[Any], int], None]

    def execute_cell(self, cell: Any, cell_index: int) -> Any:
        self.before(self.nb.cells, cell_index)
        return super().execute_cell(cell, cell_index)


class _Engine(Engine):  # type: ignore[misc]
    @classmethod
    def execute_managed_notebook(
        cls, nb_man: Any, kernel_name: str, *, execution: Execution, **options: Any
    ) -> None:
        execution.within(nb_man, kernel_name)


papermill_engines.register(ENGINE, _Engine)


def _heading(cells: list[Any]) -> str:
    """The heading above the last of these cells, else the beginning of its code."""
    headings = [
        line.lstrip("# ")
        for cell in cells
        if cell.cell_type == "markdown"
        for line in cell.source.splitlines()
        if line.startswith("#")
    ]
    return headings[-1] if headings else next(iter(cells[-1].source.splitlines()), "")
