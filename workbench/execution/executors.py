"""Where the runs of a grid are executed: here, on a cluster through submitit, or on a dask cluster."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from workbench.records import require
from workbench.registry import Natural, check_options, require_known

# The package that each executor needs, if any.
EXECUTORS = {"local": "", "submitit": "submitit", "dask": "distributed"}
# an option of every executor: seconds that a run may take
TIME_LIMIT = "time_limit"
THREADS = "workbench-run"
# Memory that dask lets every process trim at once would be taken anew for each large tensor, which is half of
# the time of a training.
DASK = {
    "scheduler.allowed-failures": 0,
    "scheduler.worker-saturation": 1.0,
    "nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
}


class ExecutorError(ValueError):
    """An executor that refuses its options or cannot be started."""


def require_executor(name: str, options: Mapping[str, Any]) -> None:
    """Raise if an executor cannot be used.

    Args:
        name: of the executor.
        options: of the executor, and ``time_limit``; those of the local one are known.

    Raises:
        KeyError: no such executor; TypeError, ValueError: an option of the local one, as ``check_options``.
        ModuleNotFoundError: its package is not installed; the message says how to install it.
    """
    require_known("no executor", name, EXECUTORS)
    if (package := EXECUTORS[name]) and find_spec(package) is None:
        raise ModuleNotFoundError(
            f"executor {name!r} needs {package}; install it with: pip install 'itm-workbench[cluster]'"
        )
    limit = options.get(TIME_LIMIT, 1)
    require(isinstance(limit, int | float) and limit > 0, f"{TIME_LIMIT} is {limit!r}; give seconds")
    if name == "local":
        own = {option: value for option, value in options.items() if option != TIME_LIMIT}
        check_options("executor 'local'", _local_executor, own, "executor")


@contextmanager
def executor(name: str, root: Path, options: dict[str, Any]) -> Iterator[Any]:
    """Open something with ``submit(function, ...)`` that returns a future with ``result()``.

    Args:
        name: ``"local"`` (option ``jobs``: runs at a time, 1), ``"submitit"`` (options of its
            ``update_parameters``, e.g. ``slurm_partition``; without a scheduler it starts processes here) or
            ``"dask"`` (options of ``distributed.Client``; without an address a cluster is started here).
        root: where logs go.
        options: of the executor.

    Raises:
        KeyError, TypeError, ValueError, ModuleNotFoundError: as ``require_executor``.
        ExecutorError: the executor refuses its options, or cannot be started with them.
    """
    require_executor(name, options)
    opening: dict[str, Callable[..., AbstractContextManager[Any]]] = {
        "local": _local_executor,
        "submitit": partial(_submitit_executor, root),
        "dask": _dask_executor,
    }
    try:
        opened = opening[name](**options)
    except (NameError, TypeError, ValueError, RuntimeError, OSError) as error:
        raise ExecutorError(f"executor {name!r} cannot be started with {options}: {error}") from None
    with opened as pool:
        # the same call twice is two runs, for dask as well
        yield pool.get_executor(pure=False) if name == "dask" else pool


@contextmanager
def _local_executor(jobs: Natural = 1) -> Iterator[Any]:
    """Start runs on this machine, so many at a time; each works in its kernel, which is a process of its
    own.
    """
    with ThreadPoolExecutor(jobs, THREADS) as threads:
        try:
            yield SimpleNamespace(
                submit=lambda *run, **options: threads.submit(_run_in_thread, *run, **options)
            )
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            # a kernel may be starting: until every run has seen the end of its own
            while any(thread.name.startswith(THREADS) for thread in threading.enumerate()):
                _end_kernels()
                time.sleep(0.5)
            raise


def _run_in_thread(function: Callable[..., Any], *args: Any, **options: Any) -> Any:
    from jupyter_core.utils import ensure_event_loop  # slow to import

    try:
        return function(*args, **options)
    finally:
        # papermill leaves that of a thread open
        ensure_event_loop().close()


def _end_kernels() -> None:
    import psutil  # slow to import

    for child in psutil.Process().children():
        with suppress(psutil.Error, OSError):
            if "ipykernel_launcher" in child.cmdline():
                os.killpg(child.pid, signal.SIGKILL)


def _submitit_executor(root: Path, **options: Any) -> AbstractContextManager[Any]:
    auto = import_module(EXECUTORS["submitit"]).AutoExecutor(folder=root / "submitit")
    auto.update_parameters(**{"timeout_min": 24 * 60} | options)
    return nullcontext(auto)


def _dask_executor(**options: Any) -> AbstractContextManager[Any]:
    from dask import config

    # the grid itself tries again what a dead worker had, which is one run and none that waits for it
    config.set({f"distributed.{name}": value for name, value in DASK.items()})
    client: AbstractContextManager[Any] = import_module(EXECUTORS["dask"]).Client(**options)
    return client
