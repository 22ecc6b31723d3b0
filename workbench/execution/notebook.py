"""Run one notebook strictly.

papermill's word alone is not enough: ``sys.exit(0)`` in a cell counts as success there, and a killed kernel
leaves a notebook whose cells all say ``completed``. Here a run is good only if nothing was raised, no cell is
pending and results were written.

A run that was interrupted (its kernel or its watcher killed, a signal, the time limit) resumes when the same
notebook is run again with the same parameters and the same code: in its own folder, and from the checkpoint
that a training has left there.
"""

import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import nbformat

from workbench.execution import parameters, report
from workbench.execution.cells import Cells
from workbench.formatting import format_number
from workbench.io import only_writer, write_json
from workbench.io.signals import GRACE, sigterm_raises
from workbench.records import require
from workbench.runs import spellings
from workbench.runs import store as runs
from workbench.runs.about import About, add_about
from workbench.runs.environment import environment

OK = 0
FAILED = 1
INCOMPLETE = 3
TIMEOUT = 124
KILLED = 138
LIMIT = 8_000_000
NOTEBOOK = "notebook.ipynb"
CUT_OFF = ("unfinished", "killed", "interrupted", "timeout")
# colours of a traceback
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
ENDINGS = (runs.RESULTS, runs.STATUS, runs.ENV)


@dataclass(frozen=True)
class Outcome:
    """How a run ended.

    Args:
        folder: the run folder.
        status: as in ``STATUS``.
        exit_code: 0 ok, 1 a cell raised, 3 incomplete (a cell was left out or no results were written), 124
            the time was up, 138 the kernel died.
        seconds: wall time; of a resumed run, since it was resumed.
        error: what happened, in words; empty when ok.
        warnings: what is worth knowing though the run is good.
        traceback: of the cell that raised.
        label: of the arm of a grid.
        skipped: the grid kept an earlier run of the same parameters and code.
    """

    folder: Path
    status: str
    exit_code: int
    seconds: float = 0.0
    error: str = ""
    warnings: tuple[str, ...] = ()
    traceback: str = ""
    label: str = ""
    skipped: bool = False


def check_parameters(
    path: Path | str, given: Mapping[str, Any], words: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return all parameters of a notebook but its run folder, with the given ones in place, and the
    experiment that they describe checked.

    Args:
        path: the notebook.
        given: parameters by name, as for ``parameters.override``.
        words: parameters as typed on the command line, which go over the given ones.

    Raises:
        FileNotFoundError: no such notebook.
        ParameterError: an unknown or ill-typed parameter, or a notebook without the parameter ``out``.
        KeyError, TypeError, ValueError: a configuration that is refused.
    """
    known = parameters.read_parameters(path)
    given = parameters.override(known, given, parameters.parse_values(known, words or {}))
    require(
        "out" in known,
        f'{path}: the parameter `out` is missing; add `out: str = ""`, which names the run folder',
        parameters.ParameterError,
    )
    require(
        "out" not in given,
        "`out` names the run folder and is no parameter to give; choose --root or the folder instead",
        parameters.ParameterError,
    )
    try:
        values = parameters.complete_parameters(known, given)
    except parameters.ParameterError:
        # a path that leads nowhere is said before a name that is misspelt
        spellings.require_data(given)
        raise
    del values["out"]
    # A notebook with ``config`` has fields of ``Config`` as its parameters; others may name a data set.
    fields = spellings.fields(values)
    if spellings.REST not in values:
        fields = {name: value for name, value in fields.items() if name == "data"}
    if fields:
        from workbench.runs import Config
        from workbench.runs.resolve import resolve

        resolve(Config(**fields))
    if values.get("evaluate_on"):
        from workbench.runs import Target

        Target(**values["evaluate_on"])
    return values


def read_code(path: Path | str) -> str:
    """Return the code of a notebook, by which a run is known beside its parameters."""
    return "\n".join(cell.source for cell in nbformat.read(path, 4).cells if cell.cell_type == "code")


def run_notebook(
    path: Path | str,
    given: Mapping[str, Any] | None = None,
    *,
    root: Path | str = "runs",
    folder: Path | str | None = None,
    arms: Mapping[str, str] | None = None,
    about: About | None = None,
    time_limit: float | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Outcome:
    """Execute a notebook with parameters and leave a run folder with a status that can be trusted.

    Args:
        path: the notebook; it is not changed.
        given: parameters by name, values or command-line text; the others keep their defaults.
        root: where run folders lie: ``<root>/<notebook>/<run id>`` is that of a run of the same parameters
            and code that was cut off, or a new one.
        folder: an exact run folder instead; an earlier run there is removed.
        arms: name of a grid -> label of its arm that this run is.
        about: name, tags and note of the run.
        time_limit: seconds after which the run is ended; ``None`` = none.
        say: takes a line: the heading of each part before it runs, and what cells write to stderr, such as a
            line an epoch.

    Raises:
        FileNotFoundError: no such notebook, or one of the ``runs`` it is given is not there.
        FileExistsError: ``folder`` holds something that is not a run, or is being written.
        ParameterError, KeyError, TypeError, ValueError: as ``check_parameters``; no kernel was started, no
            folder made.
        OSError: the folder cannot be written.
        KeyboardInterrupt: Ctrl-C or SIGTERM; the run is ``interrupted`` then.
    """
    path, values = Path(path), check_parameters(path, given or {})
    began = time.perf_counter()
    spellings.require_data(values)
    for name in names if isinstance(names := values.get("runs"), list) else ():
        runs.find(str(name))
    called = ", ".join((arms or {}).values()) or (about or About()).name or path.stem
    with sigterm_raises(), ExitStack() as stack:
        target = _claim_folder(stack, path, values, root, folder)
        runs.add_arms(target, arms or {})
        add_about(target, about or About())
        result = Outcome(target, "interrupted", FAILED, error="stopped by a signal")
        try:
            with Cells(path, called, say) as cells:
                result = _with_page(_execute(path, target, values, cells, time_limit), path.stem)
        finally:
            result = replace(result, seconds=round(time.perf_counter() - began, 2))
            with suppress(OSError):  # a full disk
                env = runs.load(target / runs.ENV) or environment()
                write_json(target / runs.ENV, {**env, "seconds": result.seconds, "error": result.error})
                runs.write_status(target, result.status)
    return result


def _claim_folder(
    stack: ExitStack, path: Path, values: Mapping[str, Any], root: Path | str, folder: Path | str | None
) -> Path:
    """Return the folder of a run, in which no other process runs a notebook until the stack is closed."""
    for target in _candidate_folders(path, values, root, folder):
        # the watcher of a run that was just cut off may still be writing how it ended
        with suppress(BlockingIOError):
            stack.enter_context(only_writer(target, runs.WATCHED, wait=GRACE))
            if folder is None and not _is_cut_off(target):
                continue
            for file in target.iterdir():
                if file.is_dir() and folder is not None:
                    shutil.rmtree(file)
                elif file.name in ENDINGS or (folder is not None and file.name != runs.WATCHED):
                    file.unlink()
            write_json(target / runs.PARAMS, values)
            return target
    raise FileExistsError(f"{folder or root} is being written by another process; choose another folder")


def _candidate_folders(
    path: Path, values: Mapping[str, Any], root: Path | str, folder: Path | str | None
) -> Iterator[Path]:
    """Yield where the run may lie: what was cut off, the latest first, then a new folder."""
    if folder is not None:
        target = Path(folder).resolve()
        target.mkdir(parents=True, exist_ok=True)
        ours = (target / runs.PARAMS).is_file() or all(file.name == runs.WATCHED for file in target.iterdir())
        require(ours, f"{target} is not empty and not a run folder; choose another", FileExistsError)
        yield target
        return
    yield from resumable_runs(path, values, root)
    yield runs.new_run(path.stem, values, root, read_code(path))


def resumable_runs(path: Path, values: Mapping[str, Any], root: Path | str) -> list[Path]:
    """List the runs of a notebook that were cut off and that a run with the same parameters and code resumes,
    the latest first.

    Args:
        path: the notebook.
        values: of its parameters, from ``check_parameters``.
        root: where run folders lie.
    """
    earlier = (Path(root).resolve() / path.stem).glob(f"*-{runs.run_key(values, read_code(path))}*")
    return [folder for folder in sorted(earlier, reverse=True) if _is_cut_off(folder)]


def _is_cut_off(folder: Path) -> bool:
    try:
        return runs.read(folder).status in CUT_OFF
    except ValueError:
        return False


def _execute(
    path: Path, target: Path, values: Mapping[str, Any], cells: Cells, time_limit: float | None
) -> Outcome:
    """Run the cells with papermill's own engine, and say how that ended."""
    import papermill
    from nbclient.exceptions import CellTimeoutError

    until, ended = time.monotonic() + (time_limit or 0), partial(Outcome, target)
    # what is left of the time is that of the next cell
    limit = {"timeout_func": lambda cell: max(0.1, until - time.monotonic())} if time_limit else {}
    try:
        papermill.execute_notebook(
            path,
            target / NOTEBOOK,
            {**values, "out": str(target)},
            kernel_name="python3",
            language="python",
            progress_bar=False,
            on_cell_execute=cells.begin,
            extra_arguments=cells.kernel,
            stderr_file=cells,
            config=cells.connection,
            **limit,
        )
    except papermill.PapermillExecutionError as error:
        trace = COLOURS.sub("", "\n".join(error.traceback))
        message = f"cell {error.exec_count}: {error.ename}: {error.evalue}"
        return ended(f"failed:{error.exec_count}", FAILED, error=message, traceback=trace)
    except CellTimeoutError:
        message = f"cell {cells.number} was ended after the time limit of {time_limit} seconds"
        return ended("timeout", TIMEOUT, error=message)
    except RuntimeError as error:
        when = "died, most often for lack of memory" if cells.number else "did not start"
        return ended("killed", KILLED, error=f"the kernel {when}: {error}")
    except OSError as error:  # a full disk
        return ended(f"failed:{cells.number}", FAILED, error=f"cell {cells.number}: {error}")
    return _outcome_of_cells(target)


def _outcome_of_cells(target: Path) -> Outcome:
    """Return how a run ended in which no cell raised."""
    # Code cells counted from 1: the number that a reader sees in "In [n]".
    cells = [cell for cell in nbformat.read(target / NOTEBOOK, 4).cells if cell.cell_type == "code"]
    for number, cell in enumerate(cells, 1):
        if cell.metadata.get("papermill", {}).get("status") != "completed":
            message = f"cell {number} was never run; did a cell call sys.exit?"
            return Outcome(target, f"failed:{number}", INCOMPLETE, error=message)
    if not (target / runs.RESULTS).is_file():
        message = f"no {runs.RESULTS} was written; the last cell must do it"
        return Outcome(target, f"failed:{len(cells)}", INCOMPLETE, error=message)
    return Outcome(target, "ok", OK)


def _with_page(result: Outcome, name: str) -> Outcome:
    """Return the notebook as a page, and a warning where it is heavy."""
    book = result.folder / NOTEBOOK
    if not book.is_file():
        return result
    try:
        size = report.write_page(book, name)
    except (OSError, nbformat.reader.NotJSONError) as error:  # a full disk; what went wrong first stays
        book.unlink()
        status = result.status if result.exit_code else "failed:page"
        message = "; ".join(filter(None, (result.error, f"the page could not be written: {error}")))
        return replace(result, status=status, exit_code=result.exit_code or FAILED, error=message)
    heavy, limit = format_number(size / 1e6, 1), format_number(LIMIT / 1e6, 0)
    warning = f"{NOTEBOOK} has {heavy} MB; keep it below {limit} MB"
    return replace(result, warnings=(warning,)) if size > LIMIT else result
