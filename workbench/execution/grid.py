"""Many runs of one notebook: a grid file says which, one run an arm.

A grid file is YAML: ``notebook`` (its name), ``fixed`` (what all arms share), ``arms`` (label -> what
differs) and ``grid`` (name -> list of values, all combinations); with both, every arm meets every
combination. Values are the notebook's parameters. For a notebook with a parameter ``settings``, other names
are fields of ``Config`` and go there. A name may point into a mapping, ``objective_options.tau``.
``executor`` holds options of the executor.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from workbench.execution import parameters
from workbench.execution.executors import executor as open_executor
from workbench.execution.notebook import check, code, find, run_notebook
from workbench.experiment import runs
from workbench.registry import did_you_mean, read_options

KEYS = ("notebook", "fixed", "arms", "grid", "executor")
Arms = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class Outcome:
    """How one arm ended.

    Args:
        label: of the arm.
        folder: its run folder.
        status: as in ``STATUS``.
        exit_code: as that of ``RunResult``.
        skipped: an earlier run with the same parameters and code was found, and nothing was done.
        error: what happened, in words; empty when ok.
    """

    label: str
    folder: Path
    status: str
    exit_code: int
    skipped: bool = False
    error: str = ""


def read_grid(path: Path | str) -> dict[str, Any]:
    """A grid file.

    Raises:
        FileNotFoundError: no such file.
        ParameterError: an unknown key, no arm, or a part that is not a mapping.
    """
    found = read_options(path)
    for key, value in found.items():
        if key not in KEYS:
            raise parameters.ParameterError(f"{path}: no key {key!r}; {did_you_mean(key, list(KEYS))}")
        parts = {key: value} if key != "arms" or not isinstance(value, Mapping) else {key: {}, **value}
        for name, part in parts.items():
            if key != "notebook" and not isinstance(part or {}, Mapping):
                raise parameters.ParameterError(f"{path}: {name} must be a mapping of names, got {part!r}")
    if not found.get("arms") and not found.get("grid"):
        raise parameters.ParameterError(
            f"{path}: no arm; give `arms` (label -> values) or `grid` (name -> list of values)"
        )
    bad = [
        name for name, values in found.get("grid", {}).items() if not isinstance(values, list) or not values
    ]
    if bad:
        raise parameters.ParameterError(f"{path}: grid: {bad[0]} must be a list of values")
    return found


def expand(
    grid: Mapping[str, Any], changes: Mapping[str, Any] | None = None, known: Container[str] = ()
) -> Arms:
    """All arms by label, each with all its values: what all share, the arm, the combination and the changes,
    laid over one another by ``parameters.lay``.

    Args:
        grid: from ``read_grid``.
        changes: values that go over those of every arm.
        known: names of the notebook's parameters.

    Example:
        >>> expand({"fixed": {"n": 1}, "arms": {"a": {"o": {"x": 1}}}, "grid": {"o.tau": [5, 6]}})
        {'a, tau=5': {'n': 1, 'o': {'x': 1, 'tau': 5}}, 'a, tau=6': {'n': 1, 'o': {'x': 1, 'tau': 6}}}
    """
    axes, out = grid.get("grid") or {}, Arms()
    for label, arm in (grid.get("arms") or {"": {}}).items():
        for values in product(*axes.values()):
            point = dict(zip(axes, values, strict=True))
            parts = [str(label), *(f"{name.rpartition('.')[2]}={value}" for name, value in point.items())]
            layers = (grid.get("fixed") or {}, arm or {}, point, changes or {})
            out[", ".join(filter(None, parts))] = parameters.lay(known, *layers)
    return out


def plan(notebook: Path | str, grid: Mapping[str, Any], changes: Mapping[str, Any] | None = None) -> Arms:
    """The notebook's parameters of every arm, checked before anything runs.

    Args:
        notebook: path, or a name in ``notebooks/``.
        grid: from ``read_grid``.
        changes: values that go over those of every arm.

    Raises:
        ParameterError: another notebook than the grid's, or an unknown or ill-typed parameter.
        KeyError, TypeError, ValueError: a configuration that is refused. The message names the arm.
    """
    path = find(notebook)
    if grid.get("notebook", path.stem) != path.stem:
        raise parameters.ParameterError(
            f"the grid is for the notebook {grid['notebook']!r}, not for {path.stem!r}"
        )
    out: Arms = {}
    for label, values in expand(grid, changes, parameters.inspect(path)).items():
        try:
            out[label] = check(path, values)
        except (KeyError, TypeError, ValueError) as error:
            error.args = (f"arm {label!r}: {error.args[0]}",)
            raise
    return out


def run_grid(
    notebook: Path | str,
    arms: Arms,
    *,
    root: Path | str = "runs",
    executor: str = "local",
    options: Mapping[str, Any] | None = None,
    skip_existing: bool = False,
) -> list[Outcome]:
    """Run every arm; one that fails does not keep the others from running.

    Args:
        notebook: path, or a name in ``notebooks/``.
        arms: from ``plan``.
        root: where run folders lie.
        executor: ``"local"``, ``"submitit"`` or ``"dask"``.
        options: of the executor.
        skip_existing: do not repeat an arm that has a good run with the same parameters and the same code.

    Returns:
        One outcome an arm, in order.

    Raises:
        ModuleNotFoundError: the executor's package is not installed.
        KeyError: no such executor.
    """
    path = find(notebook).resolve()
    there = _good_runs(path, root) if skip_existing else {}
    keys = {label: runs.run_key(values, code(path)) for label, values in arms.items()}
    place = Path(root).resolve()
    outcomes = []
    opened: AbstractContextManager[Any] = open_executor(executor, place, dict(options or {}))
    with opened as pool:
        run = partial(run_notebook, path, root=place)
        waiting = {
            label: pool.submit(run, values) for label, values in arms.items() if keys[label] not in there
        }
        for label in arms:
            if label in waiting:
                done = waiting[label].result()
                outcomes.append(Outcome(label, done.folder, done.status, done.exit_code, error=done.error))
            else:
                outcomes.append(Outcome(label, there[keys[label]], "ok", 0, skipped=True))
    return outcomes


def _good_runs(path: Path, root: Path | str) -> dict[str, Path]:
    found = [run for run in runs.list_runs(root, path.stem) if run.status == "ok"]
    return {runs.key_of(run.id): run.folder for run in found}
