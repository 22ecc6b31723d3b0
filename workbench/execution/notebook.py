"""Run one notebook strictly.

papermill's word alone is not enough: ``sys.exit(0)`` in a cell counts as success there, and a killed kernel
leaves a notebook whose cells all say ``completed``. Here a run is good only if nothing was raised, no cell is
pending and results were written.

A run that was cut off (its kernel or its watcher killed, a signal, the time limit) is gone on with when the
same notebook is run again with the same parameters and the same code: in its own folder, and from the
checkpoint that a training has left there.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import nbformat

from workbench.execution import parameters, report
from workbench.formatting import format_number
from workbench.io import write_json
from workbench.io.signals import GRACE, sigterm_raises
from workbench.records import require
from workbench.runs import store as runs
from workbench.runs.store import environment

OK, FAILED, INCOMPLETE, TIMEOUT, KILLED = 0, 1, 3, 124, 138
LIMIT = 8_000_000
NOTEBOOK = "notebook.ipynb"
# held by the process that watches a run; the kernel has a lock of its own
LOCK = ".watched.lock"
CUT_OFF = ("unfinished", "killed", "interrupted", "timeout")
# colours of a traceback
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


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
            done = _execute(path, target, values, say, time_limit)
        finally:
            done = _closed(done, round(time.perf_counter() - began, 2))
    return done


def _closed(done: RunResult, seconds: float) -> RunResult:
    """Write how the run ended, where it can be written."""
    try:
        env = runs.load(done.folder / runs.ENV) or environment()
        write_json(done.folder / runs.ENV, {**env, "seconds": seconds, "error": done.error})
        runs.write_status(done.folder, done.status)
    except (OSError, ValueError) as error:
        done = _spoilt(done, "end", f"how it ended could not be written: {error}")
    return replace(done, seconds=seconds)


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
    """Run the cells and write the page."""
    from nbclient.exceptions import DeadKernelError
    from papermill import PapermillExecutionError

    from workbench.execution.kernel import Execution, TimeLimitError

    def ended(status: str, exit_code: int, error: str, traceback: str = "") -> RunResult:
        return RunResult(target, status, exit_code, 0.0, error, (), traceback)

    execution = Execution(path, target / NOTEBOOK, say)
    try:
        execution.run({**values, "out": str(target)}, time_limit)
        found = _checked(target)
    except PapermillExecutionError as error:
        said = f"cell {error.exec_count}: {error.ename}: {error.evalue}"
        traceback = COLOURS.sub("", "\n".join(error.traceback))
        found = ended(f"failed:{error.exec_count}", FAILED, said, traceback)
    except TimeLimitError:
        said = f"cell {execution.cell} was ended after the time limit of {time_limit} seconds"
        found = ended("timeout", TIMEOUT, said)
    except DeadKernelError:
        found = ended("killed", KILLED, "the kernel died, most often for lack of memory")
    except RuntimeError as error:
        # before the first cell: a machine on which many start at once may have given one's port to another
        found = ended("killed", KILLED, f"the kernel did not start: {error}")
        if execution.cell:
            found = ended(f"failed:{execution.cell}", FAILED, f"cell {execution.cell}: {error}")
    except OSError as error:  # a full disk
        found = ended(f"failed:{execution.cell}", FAILED, f"cell {execution.cell}: {error}")
    return _tidied(found, path.stem)


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


def _tidied(done: RunResult, name: str) -> RunResult:
    """The notebook as a page, and a warning where it is heavy."""
    if not (done.folder / NOTEBOOK).is_file():
        return done
    try:
        size = report.tidy(done.folder / NOTEBOOK, name)
    except OSError as error:
        return _spoilt(done, "page", f"the page could not be written: {error}")
    heavy, limit = format_number(size / 1e6, 1), format_number(LIMIT / 1e6, 0)
    warning = f"{NOTEBOOK} has {heavy} MB; keep it below {limit} MB"
    return replace(done, warnings=(warning,)) if size > LIMIT else done


def _spoilt(done: RunResult, where: str, error: str) -> RunResult:
    """The run with a further error; what went wrong first stays its status."""
    status = done.status if done.exit_code else f"failed:{where}"
    said = "; ".join(filter(None, (done.error, error)))
    return replace(done, status=status, exit_code=done.exit_code or FAILED, error=said)
