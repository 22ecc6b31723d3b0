"""Where the runs of a grid are executed: here, on a cluster through submitit, or on a dask cluster."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil

from workbench.io import signals
from workbench.records import require
from workbench.registry import Natural, check_options, require_known

# The package that each executor needs, if any.
EXECUTORS = {"local": "", "submitit": "submitit", "dask": "distributed"}
# an option of every executor: seconds that a run may take
TIME_LIMIT = "time_limit"
DASK = {"allowed-failures": 0, "worker-saturation": 1.0}


def _at_once(function: Callable[..., Any], *args: Any) -> SimpleNamespace:
    """Something like a future, whose call is made here when its result is asked for."""
    return SimpleNamespace(result=partial(function, *args), done=lambda: True)


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
def _local(jobs: Natural = 1) -> Iterator[Any]:
    if jobs == 1:
        yield SimpleNamespace(submit=_at_once)
    else:
        with closing(Processes(jobs)) as pool:
            yield pool


class WorkerError(RuntimeError):
    """A process ended without an answer."""


class Processes:
    """Every call in a process of its own, so that one that dies takes no other with it.

    Args:
        jobs: processes at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._threads = ThreadPoolExecutor(jobs)
        self._started: list[BaseProcess] = []

    def submit(self, function: Callable[..., Any], *args: Any) -> "Future[Any]":
        """Call a function when a process is free; its result is what it returns.

        Raises:
            WorkerError: by ``result()``, if the process ended before it answered.
        """
        return self._threads.submit(self._call, partial(function, *args))

    def _call(self, function: Callable[[], Any]) -> Any:
        # A forked process would inherit whatever threads this one has.
        context = get_context("spawn")
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=_answer, args=(there, os.getpid(), function))
        process.start()
        self._started.append(process)
        there.close()
        try:
            answer, error = here.recv()
        except EOFError:
            process.join()
            raise WorkerError(f"its process ended with exit code {process.exitcode}") from None
        finally:
            process.join()
            here.close()
        if error is not None:
            raise error
        return answer

    def close(self) -> None:
        """Ask the processes that still run to end, and kill those that do not."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        running = [process for process in self._started if process.is_alive()]
        for process in running:
            process.terminate()
        until = time.monotonic() + signals.GRACE + 5
        for process in running:
            process.join(max(0.0, until - time.monotonic()))
            process.kill()
        self._threads.shutdown()


def _answer(there: Any, parent: int, function: Callable[[], Any]) -> None:
    try:
        there.send((_followed(parent, function), None))
    except KeyboardInterrupt as stop:
        sys.exit(signals.exit_code(stop))
    except Exception as error:  # noqa: BLE001 - raised again in the process that asked
        there.send((None, error))


def _followed(parent: int, function: Callable[..., Any], *args: Any) -> Any:
    """Call a function in a process that hears SIGTERM, and that is sent it when the process that asked for
    the call, or the one that started this one, has ended.
    """
    threading.Thread(target=_follow, args=(parent,), daemon=True).start()
    with signals.sigterm_raises():
        return function(*args)


def _follow(parent: int) -> None:
    with suppress(psutil.NoSuchProcess):
        others = [psutil.Process(parent), psutil.Process(os.getppid())]
        while all(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in others):
            time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    # whoever does not hear it in time, e.g. since a library is waiting
    time.sleep(signals.GRACE + 5)
    os._exit(128 + signal.SIGTERM)


class ExecutorError(ValueError):
    """An executor that refuses its options or cannot be started."""


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
    try:
        opened = _open(name, root, options)
    except (NameError, TypeError, ValueError, RuntimeError, OSError) as error:
        raise ExecutorError(f"executor {name!r} cannot be started with {options}: {error}") from None
    with opened as pool:
        # The same call twice is two runs, for dask as well.
        yield SimpleNamespace(submit=partial(pool.submit, pure=False)) if name == "dask" else pool


def _open(name: str, root: Path, options: dict[str, Any]) -> AbstractContextManager[Any]:
    if name == "local":
        return _local(**options)
    package = import_module(EXECUTORS[name])
    if name == "dask":
        # the grid itself tries again what a dead worker had, which is one run and none that waits for it
        from dask import config

        config.set({f"distributed.scheduler.{name}": n for name, n in DASK.items()})
        return closing(package.Client(**options))
    auto = package.AutoExecutor(folder=root / "submitit")
    auto.update_parameters(**{"timeout_min": 24 * 60} | options)
    # processes of this machine end with the one that started them, jobs of a cluster do not
    here = auto.cluster == "local"
    submit = partial(auto.submit, _followed, os.getpid()) if here else auto.submit
    return nullcontext(SimpleNamespace(submit=submit))
