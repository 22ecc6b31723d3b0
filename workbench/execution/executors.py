"""Where the runs of a grid are executed: here, on a cluster through submitit, or on a dask cluster."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from workbench.registry import Natural, check_options, require_known

# The package that each executor needs, if any.
EXECUTORS = {"local": "", "submitit": "submitit", "dask": "distributed"}


def _at_once(function: Callable[..., Any], *args: Any) -> "Future[Any]":
    future: Future[Any] = Future()
    future.set_result(function(*args))
    return future


def check(name: str, options: Mapping[str, Any]) -> None:
    """Refuse an executor that cannot be used.

    Args:
        name: of the executor.
        options: of the executor; those of the local one are known.

    Raises:
        KeyError: no such executor; TypeError, ValueError: an option of the local one, as ``check_options``.
        ModuleNotFoundError: its package is not installed; the message says how to install it.
    """
    require_known("no executor", name, EXECUTORS)
    if (package := EXECUTORS[name]) and find_spec(package) is None:
        raise ModuleNotFoundError(
            f"executor {name!r} needs {package}; install it with: pip install 'itm-workbench[cluster]'"
        )
    if name == "local":
        check_options("executor 'local'", _local, options, "executor")


@contextmanager
def _local(jobs: Natural = 1) -> Iterator[Any]:
    if jobs == 1:
        yield SimpleNamespace(submit=_at_once)
    else:
        # A forked process would inherit whatever threads this one has.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            yield pool


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
        return closing(package.Client(**options))
    auto = package.AutoExecutor(folder=root / "submitit")
    auto.update_parameters(**{"timeout_min": 24 * 60} | options)
    return nullcontext(auto)
