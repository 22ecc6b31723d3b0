"""Runs are read, listed, found and compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.experiment.runs.writing import ENV, PARAMS, RESULTS, STATUS


@dataclass(frozen=True)
class Run:
    """What a run folder holds; a file that is not there (yet) is an empty mapping.

    Args:
        folder: where it lies.
        notebook, id: the last two names of the path.
        status: ``ok``, ``failed:<cell>``, ``killed``; where none was written ``unwatched`` (with results) or
            ``unfinished``.
        params, results, env: contents of the three JSON files.
    """

    folder: Path
    notebook: str
    id: str
    status: str
    params: dict[str, Any]
    results: dict[str, Any]
    env: dict[str, Any]


def read(folder: Path | str) -> Run:
    """Read a run folder.

    Raises:
        FileNotFoundError: the folder is not there.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"no run folder {path}; `workbench ls` lists the runs")
    files = {
        name: json.loads(file.read_text()) if (file := path / name).is_file() else {}
        for name in (PARAMS, RESULTS, ENV)
    }
    unwritten = "unwatched" if files[RESULTS] else "unfinished"
    status = (path / STATUS).read_text().strip() if (path / STATUS).is_file() else unwritten
    return Run(path, path.parent.name, path.name, status, files[PARAMS], files[RESULTS], files[ENV])


def list_runs(root: Path | str = "runs", notebook: str = "*") -> list[Run]:
    """All runs below a root, oldest first; a root that is not there has none."""
    folders = sorted(Path(root).glob(f"{notebook}/*/"), key=lambda path: (path.name, path.parent.name))
    return [read(path) for path in folders if (path / PARAMS).is_file() or (path / STATUS).is_file()]


def find(name: Path | str, root: Path | str = "runs") -> Run:
    """A run by its folder, or by its id or the beginning or end of it.

    Args:
        name: a path, a run id, or a part of one that only one run has; ``last`` is the latest.
        root: where runs lie.

    Raises:
        FileNotFoundError: no run has this name; LookupError: several have.
    """
    if Path(name).is_dir():
        return read(name)
    every = list_runs(root)
    fits = (
        every[-1:]
        if name == "last"
        else [run for run in every if run.id.startswith(str(name)) or run.id.endswith(str(name))]
    )
    if not fits:
        raise FileNotFoundError(f"no run {str(name)!r} below {root}; `workbench ls` lists the runs")
    if len(fits) > 1:
        raise LookupError(f"{len(fits)} runs are called {str(name)!r}: {', '.join(run.id for run in fits)}")
    return fits[0]


def flat(value: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A nested mapping as one level, keys joined by ``.``.

    >>> flat({"metrics": {"rsum": 2.5}, "seed": 1})
    {'metrics.rsum': 2.5, 'seed': 1}
    """
    out: dict[str, Any] = {}
    for key, item in value.items():
        out |= flat(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
    return out


def diff(first: Run, second: Run) -> dict[str, dict[str, tuple[Any, Any]]]:
    """What differs between two runs, file by file: key -> (value in the first, value in the second); ``None``
    = absent.
    """
    out = {}
    for name in ("params", "results", "env"):
        a, b = flat(getattr(first, name)), flat(getattr(second, name))
        out[name] = {key: (a.get(key), b.get(key)) for key in sorted(a | b) if a.get(key) != b.get(key)}
    return out
