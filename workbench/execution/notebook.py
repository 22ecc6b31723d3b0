"""Run one notebook strictly.

papermill's word alone is not enough: ``sys.exit(0)`` in a cell counts as success there, and a killed kernel
leaves a notebook whose cells all say ``completed``. Here a run is good only if nothing was raised, no cell is
pending and results were written.

A run that was interrupted (its kernel or its watcher killed, a signal, the time limit) resumes when the same
notebook is run again with the same parameters and the same code: in its own folder, and from the checkpoint
that a training has left there.
"""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import nbformat

from workbench.execution import parameters, report
from workbench.formatting import format_number
from workbench.io import write_json
from workbench.io.signals import GRACE, sigterm_raises
from workbench.records import require
from workbench.runs import store as runs
from workbench.runs.environment import environment

OK, FAILED, INCOMPLETE, TIMEOUT, KILLED = 0, 1, 3, 124, 138
LIMIT = 8_000_000
NOTEBOOK = "notebook.ipynb"
# held by the process that watches a run; the kernel has a lock of its own
LOCK = ".watched.lock"
CUT_OFF = ("unfinished", "killed", "interrupted", "timeout")
# colours of a traceback
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# Figures as data, not as 5 MB of script in the notebook; bars off, since a batch run has nobody to watch
# them. Threads that wait awake take the core from whatever else runs: they wait asleep.
BATCH = {
    "PLOTLY_RENDERER": "plotly_mimetype",
    "TQDM_DISABLE": "1",
    "WORKBENCH_BATCH": "1",
    "OMP_WAIT_POLICY": "PASSIVE",
}


@dataclass(frozen=True)
class RunResult:
    """How a run ended.

    Args:
        folder: the run folder.
        status: as in ``STATUS``.
        exit_code: 0 ok, 1 a cell raised, 3 incomplete (a cell was left out or no results were written), 124
            the time was up, 138 the kernel died.
        seconds: wall time, of a run that was gone on with since then.
        error: what happened, in words; empty when ok.
        warnings: what is worth knowing though the run is good.
        traceback: of the cell that raised.
    """

    folder: Path
    status: str
    exit_code: int
    seconds: float
    error: str = ""
    warnings: tuple[str, ...] = ()
    traceback: str = ""


def check(
    path: Path | str, given: Mapping[str, Any], words: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """All parameters of a notebook but its run folder, with the given ones in place, and the experiment that
    they describe checked.

    Args:
        path: the notebook.
        given: parameters by name, as for ``parameters.override``.
        words: parameters as typed on the command line, which go over the given ones.

    Raises:
        FileNotFoundError: no such notebook.
        ParameterError: an unknown or ill-typed parameter, or a notebook without the parameter ``out``.
        KeyError, TypeError, ValueError: a configuration that is refused.
    """
    known = parameters.inspect(path)
    given = parameters.override(known, given, parameters.parse_values(known, words or {}))
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
    values = parameters.with_defaults(known, given)
    del values["out"]
    # A notebook with ``settings`` has fields of ``Config`` as its parameters; others may name a data set.
    named = values.keys() - {"settings"} if "settings" in values else {"data", "data_options"}
    if fields := {name: values[name] for name in values.keys() & named}:
        from workbench.runs import Config
        from workbench.runs.resolve import resolve

        resolve(Config(**{**fields, **values.get("settings", {})}))
    if values.get("evaluate_on"):
        from workbench.runs import Target

        Target.of(values["evaluate_on"])
    return values


def code(path: Path | str) -> str:
    """The code of a notebook, by which a run is known beside its parameters."""
    return "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")


def silent(line: str) -> None:
    """Tell nobody."""


def run_notebook(
    path: Path | str,
    given: Mapping[str, Any] | None = None,
    *,
    root: Path | str = "runs",
    folder: Path | str | None = None,
    arms: Mapping[str, str] | None = None,
    time_limit: float | None = None,
    say: Callable[[str], None] = silent,
) -> RunResult:
    """Execute a notebook with parameters and leave a run folder with a status that can be trusted.

    Args:
        path: the notebook; it is not changed.
        given: parameters by name, values or command-line text; the others keep their defaults.
        root: where run folders lie: ``<root>/<notebook>/<run id>`` is that of a run of the same parameters
            and code that was cut off, or a new one.
        folder: an exact run folder instead; an earlier run there is removed.
        arms: name of a grid -> label of its arm that this run is.
        time_limit: seconds after which the run is ended; ``None`` = none.
        say: is told every cell before it runs.

    Raises:
        FileNotFoundError: no such notebook, or one of the ``runs`` it is given is not there.
        FileExistsError: ``folder`` holds something that is not a run, or is being written.
        ParameterError, KeyError, TypeError, ValueError: as ``check``; no kernel was started, no folder made.
        OSError: the folder cannot be written.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the run is ``interrupted`` then.
    """
    path, values, began = Path(path), check(path, given or {}), time.perf_counter()
    for name in asked if isinstance(asked := values.get("runs"), list) else ():
        runs.find(str(name))
    with sigterm_raises(), _folder(path, values, root, folder) as target:
        runs.name_arm(target, arms or {})
        done = RunResult(target, "interrupted", FAILED, 0.0, "stopped by a signal")
        try:
            done = _with_page(_execute(path, target, values, say, time_limit), path.stem)
        finally:
            done = replace(done, seconds=round(time.perf_counter() - began, 2))
            with suppress(OSError):  # a full disk
                env = runs.load(target / runs.ENV) or environment()
                write_json(target / runs.ENV, {**env, "seconds": done.seconds, "error": done.error})
                runs.write_status(target, done.status)
    return done


@contextmanager
def _folder(
    path: Path, values: Mapping[str, Any], root: Path | str, folder: Path | str | None
) -> Iterator[Path]:
    """The folder of a run, in which no other process runs a notebook meanwhile."""
    for target in _places(path, values, root, folder):
        if lock := _claimed(target):
            try:
                if folder is not None or _cut_off(target):
                    for file in target.iterdir():
                        if file.name in (runs.RESULTS, runs.STATUS, runs.ENV) or folder is not None:
                            _remove(file)
                    write_json(target / runs.PARAMS, values)
                    yield target
                    return
            finally:
                lock.release()
    raise FileExistsError(f"{folder or root} is being written by another process; choose another folder")


def _places(
    path: Path, values: Mapping[str, Any], root: Path | str, folder: Path | str | None
) -> Iterator[Path]:
    """Where the run may lie: what was cut off, the latest first, then a new folder."""
    if folder is not None:
        target = Path(folder).resolve()
        target.mkdir(parents=True, exist_ok=True)
        ours = (target / runs.PARAMS).is_file() or all(file.name == LOCK for file in target.iterdir())
        require(ours, f"{target} is not empty and not a run folder; choose another", FileExistsError)
        yield target
        return
    source = code(path)
    there = (Path(root).resolve() / path.stem).glob(f"*-{runs.run_key(values, source)}*")
    yield from filter(_cut_off, sorted(there, reverse=True))
    yield runs.new_run(path.stem, values, root, source)


def _cut_off(folder: Path) -> bool:
    try:
        return runs.read(folder).status in CUT_OFF
    except ValueError:
        return False


def _claimed(folder: Path) -> Any:
    """The lock of a folder; ``None`` = another process holds it."""
    from filelock import FileLock, Timeout  # slow to import

    lock = FileLock(folder / LOCK)
    # the watcher of a run that was just cut off may still be writing how it ended
    with suppress(Timeout):
        lock.acquire(timeout=GRACE)
        return lock
    return None


def _remove(file: Path) -> None:
    if file.is_dir():
        shutil.rmtree(file)
    elif file.name != LOCK:
        file.unlink()


def _execute(
    path: Path, target: Path, values: Mapping[str, Any], say: Callable[[str], None], time_limit: float | None
) -> RunResult:
    """Run the cells with papermill's own engine, and say how that ended."""
    import papermill
    from nbclient.exceptions import CellTimeoutError

    number, until = 0, time.monotonic() + (time_limit or 0)
    code_cells = _headings(path)

    def begin(cell: Any, cell_index: int) -> None:
        nonlocal number
        number += 1
        say(f"cell {number} of {len(code_cells)}: {code_cells[number - 1]}")

    def ended(status: str, exit_code: int, error: str, traceback: str = "") -> RunResult:
        return RunResult(target, status, exit_code, 0.0, error, (), traceback)

    # what is left of the time is that of the next cell
    limit = {"timeout_func": lambda cell: max(0.1, until - time.monotonic())} if time_limit else {}
    try:
        with patch.dict(os.environ, BATCH):
            papermill.execute_notebook(
                path, target / NOTEBOOK, {**values, "out": str(target)}, kernel_name="python3",
                language="python", progress_bar=False, on_cell_execute=begin,
                extra_arguments=["--log-level=CRITICAL"], **limit,
            )  # fmt: skip
    except papermill.PapermillExecutionError as error:
        message = f"cell {error.exec_count}: {error.ename}: {error.evalue}"
        traceback = COLOURS.sub("", "\n".join(error.traceback))
        return ended(f"failed:{error.exec_count}", FAILED, message, traceback)
    except CellTimeoutError:
        return ended(
            "timeout", TIMEOUT, f"cell {number} was ended after the time limit of {time_limit} seconds"
        )
    except RuntimeError as error:
        when = "died, most often for lack of memory" if number else "did not start"
        return ended("killed", KILLED, f"the kernel {when}: {error}")
    except OSError as error:  # a full disk
        return ended(f"failed:{number}", FAILED, f"cell {number}: {error}")
    return _checked(target)


def _checked(target: Path) -> RunResult:
    """How a run ended in which no cell raised."""
    # Code cells counted from 1: the number that a reader sees in "In [n]".
    cells = [cell for cell in nbformat.read(target / NOTEBOOK, 4).cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        if cell.metadata.get("papermill", {}).get("status") != "completed":
            error = f"cell {number} was never run; did a cell call sys.exit?"
            return RunResult(target, f"failed:{number}", INCOMPLETE, 0.0, error)
    if not (target / runs.RESULTS).is_file():
        error = f"no {runs.RESULTS} was written; the last cell must do it"
        return RunResult(target, f"failed:{len(cells)}", INCOMPLETE, 0.0, error)
    return RunResult(target, "ok", OK, 0.0)


def _with_page(done: RunResult, name: str) -> RunResult:
    """The notebook as a page, and a warning where it is heavy."""
    if not (done.folder / NOTEBOOK).is_file():
        return done
    try:
        size = report.tidy(done.folder / NOTEBOOK, name)
    except (OSError, nbformat.reader.NotJSONError) as error:  # a full disk; what went wrong first stays
        (done.folder / NOTEBOOK).unlink()
        status = done.status if done.exit_code else "failed:page"
        message = "; ".join(filter(None, (done.error, f"the page could not be written: {error}")))
        return replace(done, status=status, exit_code=done.exit_code or FAILED, error=message)
    heavy, limit = format_number(size / 1e6, 1), format_number(LIMIT / 1e6, 0)
    warning = f"{NOTEBOOK} has {heavy} MB; keep it below {limit} MB"
    return replace(done, warnings=(warning,)) if size > LIMIT else done


def _headings(path: Path) -> list[str]:
    """Of every code cell that runs, the injected parameters among them, the heading above it, else its first
    line.
    """
    headings, last = list[str](), ""
    for cell in nbformat.read(path, 4).cells:
        lines = cell.source.splitlines()
        if cell.cell_type == "markdown":
            last = next((line.lstrip("# ") for line in reversed(lines) if line.startswith("#")), last)
        elif cell.cell_type == "code" and cell.source.strip():
            injected = "parameters" in cell.metadata.get("tags", [])
            headings += [last or lines[0]] * (1 + injected)
    return headings
