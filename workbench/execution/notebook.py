"""Run one notebook strictly.

papermill's word alone is not enough: ``sys.exit(0)`` in a cell counts as success there, and a killed kernel
leaves a notebook whose cells all say ``completed``. Here a run is good only if nothing was raised, no cell is
pending and results were written.
"""

import os
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat

from workbench.execution import parameters, report
from workbench.experiment import runs
from workbench.records import require
from workbench.records.shown import fixed

OK, FAILED, INCOMPLETE, KILLED = 0, 1, 3, 138
LIMIT = 8_000_000
NOTEBOOK = "notebook.ipynb"

# Figures as data, not as 5 MB of script in the notebook; bars off, since a batch run has nobody to watch
# them. Threads that wait awake take the core from whatever else runs: they wait asleep.
BATCH = {
    "PLOTLY_RENDERER": "plotly_mimetype",
    "TQDM_DISABLE": "1",
    "WORKBENCH_BATCH": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}

# The kernel's own log goes to the terminal of whoever started the run; nothing in it is for them.
PYTHON = {"kernel_name": "python3", "language": "python", "extra_arguments": ["--log-level=CRITICAL"]}


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Args:
        folder: the run folder.
        status: as in ``STATUS``.
        exit_code: 0 ok, 1 a cell raised, 3 incomplete (a cell was left out or no results were written), 138
            the kernel died.
        seconds: wall time.
        error: what happened, in words; empty when ok.
        warnings: what is worth knowing though the run is good.
    """

    folder: Path
    status: str
    exit_code: int
    seconds: float
    error: str = ""
    warnings: tuple[str, ...] = ()


def check(path: Path | str, given: Mapping[str, Any]) -> dict[str, Any]:
    """All parameters of a notebook but its run folder, with the given ones in place, and the experiment that
    they describe checked.

    Args:
        path: the notebook.
        given: parameters by name, values or command-line text, as for ``parameters.lay``.

    Raises:
        FileNotFoundError: no such notebook.
        ParameterError: an unknown or ill-typed parameter, or a notebook without the parameter ``out``.
        KeyError, TypeError, ValueError: a configuration that is refused.
    """
    known = parameters.inspect(path)
    require(
        "out" in known,
        f"{path}: no parameter `out`, through which a notebook is told its run folder",
        parameters.ParameterError,
    )
    require(
        "out" not in given,
        "`out` is not given as a parameter; choose the root or the folder of the run instead",
        parameters.ParameterError,
    )
    values = parameters.fill(known, parameters.lay(known, given))
    del values["out"]
    # A notebook with ``settings`` has fields of ``Config`` as its parameters; others may name a data set.
    named = values.keys() - {"settings"} if "settings" in values else {"data", "data_options"}
    if fields := {name: values[name] for name in values.keys() & named}:
        from workbench.experiment import Config

        Config(**{**fields, **values.get("settings", {})})
    if values.get("evaluate_on"):
        from workbench.experiment import Target

        Target.of(values["evaluate_on"])
    return values


def code(path: Path | str) -> str:
    """The code of a notebook, by which a run is known beside its parameters."""
    return "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")


def run_notebook(
    path: Path | str,
    given: Mapping[str, Any] | None = None,
    *,
    root: Path | str = "runs",
    folder: Path | str | None = None,
    arms: Mapping[str, str] | None = None,
    progress: bool = False,
) -> RunResult:
    """Execute a notebook with parameters and leave a run folder with a status that can be trusted.

    Args:
        path: the notebook; it is not changed.
        given: parameters by name, values or command-line text; the others keep their defaults.
        root: where run folders lie; the new one is ``<root>/<notebook>/<run id>``.
        folder: an exact run folder instead; an earlier run there is removed.
        arms: name of a grid -> label of its arm that this run is.
        progress: show papermill's bar over the cells.

    Raises:
        FileNotFoundError: no such notebook.
        FileExistsError: ``folder`` holds something that is not a run.
        ParameterError, KeyError, TypeError, ValueError: as ``check``; no kernel was started, no folder made.
    """
    path, values = Path(path), check(path, given or {})
    target, began = _folder(path, values, root, folder), time.perf_counter()
    runs.name_arm(target, arms or {})
    found, warnings = ("killed", KILLED, "stopped from outside"), tuple[str, ...]()
    try:
        # The kernel inherits the environment; papermill offers no other way to give it one.
        with mock.patch.dict(os.environ, BATCH):
            ended = _execute(path, target, {**values, "out": str(target)}, progress)
        if (target / NOTEBOOK).is_file() and (size := report.tidy(target / NOTEBOOK)) > LIMIT:
            heavy, limit = fixed(size / 1e6, 1), fixed(LIMIT / 1e6, 0)
            warnings = (f"{NOTEBOOK} has {heavy} MB; keep it below {limit} MB",)
        found = ended
    finally:
        (status, exit_code, error), seconds = found, round(time.perf_counter() - began, 2)
        env = runs.read(target).env or runs.environment()
        runs.write_json(target / runs.ENV, {**env, "seconds": seconds, "error": error})
        runs.write_status(target, status)
    return RunResult(target, status, exit_code, seconds, error, warnings)


def _folder(path: Path, values: Mapping[str, Any], root: Path | str, folder: Path | str | None) -> Path:
    if folder is None:
        return runs.new_run(path.stem, values, root, code(path))
    target = Path(folder).resolve()
    if target.is_dir() and any(target.iterdir()):
        require(
            (target / runs.PARAMS).is_file(),
            f"{target} is not empty and not a run folder; choose another",
            FileExistsError,
        )
        shutil.rmtree(target)
    return runs.write_json(target / runs.PARAMS, values).parent


def _execute(path: Path, target: Path, values: Mapping[str, Any], progress: bool) -> tuple[str, int, str]:
    """Run the cells; status, exit code and error as in ``RunResult``."""
    import papermill
    from nbclient.exceptions import DeadKernelError

    try:
        papermill.execute_notebook(path, target / NOTEBOOK, values, progress_bar=progress, **PYTHON)
    except papermill.PapermillExecutionError as error:
        cell = error.exec_count
        return f"failed:{cell}", FAILED, f"cell {cell}: {error.ename}: {error.evalue}"
    except DeadKernelError:
        return "killed", KILLED, "the kernel died, most often for lack of memory"
    # Code cells counted from 1: the number that a reader sees in "In [n]".
    cells = [cell for cell in nbformat.read(target / NOTEBOOK, 4).cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        if cell.metadata.get("papermill", {}).get("status") != "completed":
            return f"failed:{number}", INCOMPLETE, f"cell {number} was never run; did a cell call sys.exit?"
    if not (target / runs.RESULTS).is_file():
        return f"failed:{len(cells)}", INCOMPLETE, f"no {runs.RESULTS} was written; the last cell must do it"
    return "ok", OK, ""
