"""Where the runs of a grid are executed: here, on a cluster through submitit, or on a dask cluster."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil

from workbench.io.signals import GRACE, exit_code
from workbench.records import require
from workbench.registry import Natural, check_options, require_known

# The package that each executor needs, if any.
EXECUTORS = {"local": "", "submitit": "submitit", "dask": "distributed"}
# an option of every executor: seconds that a run may take
TIME_LIMIT = "time_limit"
DASK = {"allowed-failures": 0, "worker-saturation": 1.0}


class ExecutorError(ValueError):
    """An executor that refuses its options or cannot be started."""


def check(name: str, options: Mapping[str, Any]) -> None:
    """Refuse an executor that cannot be used.

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
        check_options("executor 'local'", _local, own, "executor")


@contextmanager
def executor(name: str, root: Path, options: dict[str, Any]) -> Iterator[Any]:
    """Something with ``submit(function, ...)`` that returns a future with ``result()``.

    Args:
        name: ``"local"`` (option ``jobs``: runs at a time, 1), ``"submitit"`` (options of its
            ``update_parameters``, e.g. ``slurm_partition``; without a scheduler it starts processes here) or
            ``"dask"`` (options of ``distributed.Client``; without an address a cluster is started here).
        root: where logs go.
        options: of the executor.

    Raises:
        KeyError, TypeError, ValueError, ModuleNotFoundError: as ``check``.
        ExecutorError: the executor refuses its options, or cannot be started with them.
    """
    check(name, options)
    opening: dict[str, Callable[..., AbstractContextManager[Any]]]
    opening = {"local": _local, "submitit": partial(_submitit, root), "dask": _dask}
    try:
        opened = opening[name](**options)
    except (NameError, TypeError, ValueError, RuntimeError, OSError) as error:
        raise ExecutorError(f"executor {name!r} cannot be started with {options}: {error}") from None
    with opened as pool:
        # the same call twice is two runs, for dask as well
        yield SimpleNamespace(submit=partial(pool.submit, pure=False)) if name == "dask" else pool


@contextmanager
def _local(jobs: Natural = 1) -> Iterator[Any]:
    """One run after the other here, or several at a time, each in a process of its own."""
    if jobs == 1:
        yield SimpleNamespace(submit=_when_asked)
        return
    threads = ThreadPoolExecutor(jobs)
    try:
        yield SimpleNamespace(submit=lambda *call: threads.submit(_in_a_process, *call))
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        threads.shutdown()


def _when_asked(function: Callable[..., Any], *args: Any) -> SimpleNamespace:
    """Something like a future, whose call is made here when its result is asked for."""
    return SimpleNamespace(result=partial(function, *args), done=lambda: True)


def _in_a_process(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a process of its own, so that one that dies takes no other with it."""
    # a forked process would inherit whatever threads this one has
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, spawn, _end_with, (os.getpid(),)) as pool:
        return pool.submit(_until_stopped, function, *args).result()


def _until_stopped(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a worker; a signal that ends the call ends the worker too."""
    try:
        return function(*args)
    except KeyboardInterrupt as stop:
        os._exit(exit_code(stop))


def _end_with(parent: int) -> None:
    """Send this process SIGTERM when the one that asked for its work has ended, and end it if it goes on."""

    def follow() -> None:
        with suppress(psutil.NoSuchProcess):
            other = psutil.Process(parent)
            # one that was killed is a zombie until somebody asks for its exit code
            while other.is_running() and other.status() != psutil.STATUS_ZOMBIE:
                time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(GRACE)
        os._exit(128 + signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()


def _attended(parent: int, function: Callable[..., Any], *args: Any) -> Any:
    _end_with(parent)
    return function(*args)


def _submitit(root: Path, **options: Any) -> AbstractContextManager[Any]:
    auto = import_module(EXECUTORS["submitit"]).AutoExecutor(folder=root / "submitit")
    auto.update_parameters(**{"timeout_min": 24 * 60} | options)
    # processes of this machine end with the one that started them, jobs of a cluster do not
    here = auto.cluster == "local"
    return nullcontext(
        SimpleNamespace(submit=partial(auto.submit, _attended, os.getpid()) if here else auto.submit)
    )


def _dask(**options: Any) -> AbstractContextManager[Any]:
    package = import_module(EXECUTORS["dask"])
    from dask import config

    # the grid itself tries again what a dead worker had, which is one run and none that waits for it
    config.set({f"distributed.scheduler.{name}": n for name, n in DASK.items()})
    return closing(package.Client(**options))
