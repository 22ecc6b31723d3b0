"""A notebook in this process: its cells one after another, without a kernel. That real kernels run every
notebook, with the outputs that they leave, is shown by the tour."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import nbformat
from IPython.core.displayhook import CapturingDisplayHook
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config as Options

from workbench.execution import notebook
from workbench.io import write_json
from workbench.runs import store


def executed(path: Path, values: dict[str, Any], folder: Path) -> list[dict[str, Any]]:
    """What the cells of a notebook show, by type, with these parameters in place of its own.

    The parameters are those that a kernel would get; no kernel starts, and nothing is imported twice.
    """
    book, values = nbformat.read(path, 4), {**notebook.check_parameters(path, values), "out": str(folder)}
    options = Options({"HistoryManager": {"enabled": False}})
    shell = InteractiveShell.instance(user_module=ModuleType("notebook"), config=options)
    shell.display_pub = CapturingDisplayPublisher()
    outputs = shell.display_pub.outputs
    shell.display_trap.hook = CapturingDisplayHook(shell=shell, outputs=outputs)
    try:
        for cell in (cell for cell in book.cells if cell.cell_type == "code"):
            shell.run_cell(cell.source).raise_error()
            shell.push(values if "parameters" in cell.metadata.get("tags", []) else {})
    finally:
        InteractiveShell.clear_instance()
    return [one["data"] for one in outputs]


def ran(path: Path, given: dict[str, Any], *, root: Path, **_: Any) -> notebook.Outcome:
    """The run folder of a notebook, as ``run_notebook`` leaves it but for the notebook and its page."""
    folder = store.new_run(path.stem, notebook.check_parameters(path, given), root, notebook.read_code(path))
    executed(path, given, folder)
    write_json(folder / store.ENV, {**store.load(folder / store.ENV), "seconds": 0.0})
    return notebook.Outcome(store.write_status(folder, "ok").parent, "ok", 0)
