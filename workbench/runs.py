"""The run folder: ``runs/<notebook>/<run id>/``, written atomically, read, listed and compared.

A run id is ``yyyymmdd-hhmmss-<8 hex>``; equal hex digits mean equal parameters and equal code. ``STATUS`` is written last, by the
process that watched the run, and is one of ``ok``, ``failed:<cell>`` and ``killed``; a run without it is unfinished.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import math
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

RESULTS, PARAMS, ENV, STATUS = "results.json", "params.json", "env.json", "STATUS"
NAME = re.compile(r"^([\w.-]+)")
SCRAP = "application/scrapbook.scrap.json+json"


@dataclass(frozen=True)
class Run:
    """What a run folder holds; a file that is not there (yet) is an empty mapping.

    Args:
        folder: where it lies.
        notebook, id: the last two names of the path.
        status: ``ok``, ``failed:<cell>``, ``killed``; where none was written ``unwatched`` (with results) or ``unfinished``.
        params, results, env: contents of the three JSON files.
    """

    folder: Path
    notebook: str
    id: str
    status: str
    params: dict[str, Any]
    results: dict[str, Any]
    env: dict[str, Any]


def write_text(path: Path, text: str) -> Path:
    """Write a file so that a reader sees the old content or the new, never half of it; its folder is made if needed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    return temporary.replace(path)


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Write a mapping as JSON with sorted keys, atomically; numpy numbers become plain ones.

    Raises:
        ValueError, TypeError: a number is not finite, a value has no JSON form; the message names its place.
    """
    return write_text(path, json.dumps(_plain(value, path.name), indent=2, sort_keys=True, ensure_ascii=False) + "\n")


def _plain(value: Any, place: str) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item, f"{place}/{key}") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item, f"{place}[{i}]") for i, item in enumerate(value)]
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Path):
        return str(value)
    if hasattr(value, "tolist"):
        return _plain(value.tolist(), place)
    if not isinstance(value, float):
        raise TypeError(f"{place} is of type {type(value).__name__}, which has no JSON form")
    if not math.isfinite(value):
        raise ValueError(f"{place} is {value}; leave out what could not be measured, or say why as text")
    return value


def write_results(folder: Path | str, results: Mapping[str, Any]) -> Path:
    """Write ``results.json`` of a run.

    Args:
        folder: the run folder.
        results: JSON values; by habit ``objective``, ``data``, ``seed`` and ``metrics`` (key -> value).

    Raises:
        ValueError: a number is NaN or infinite.
    """
    return write_json(Path(folder) / RESULTS, results)


def write_status(folder: Path | str, status: str) -> Path:
    """Write ``STATUS``, the last file of a run.

    Raises:
        ValueError: it is none of ``ok``, ``failed:<cell>``, ``killed``.
    """
    if status not in ("ok", "killed") and not status.startswith("failed:"):
        raise ValueError(f"status {status!r} is none of ok, failed:<cell>, killed")
    return write_text(Path(folder) / STATUS, status + "\n")


def code_hash(code: str = "") -> str:
    """Hash of the package's sources and of ``code`` (a notebook's cells): 64 hex digits."""
    digest = hashlib.sha256(code.encode())
    for path in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def new_run(notebook: str, params: Mapping[str, Any], root: Path | str = "runs", code: str = "") -> Path:
    """Make a new run folder ``<root>/<notebook>/<run id>`` and write ``params.json`` into it.

    Args:
        notebook: bare name, e.g. ``"03_train"``.
        params: all parameters, defaults included.
        root: where runs lie, relative to the current folder or absolute.
        code: the notebook's code, which counts into the id.

    Returns:
        The folder, absolute.
    """
    key = json.dumps(_plain(params, PARAMS), sort_keys=True) + code_hash(code)
    run_id = f"{datetime.now():%Y%m%d-%H%M%S}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
    parent, name, again = Path(root).resolve() / notebook, run_id, 1
    while True:
        try:
            (parent / name).mkdir(parents=True)
        except FileExistsError:  # the same run in the same second, perhaps by another process
            name, again = f"{run_id}.{again + 1}", again + 1
        else:
            return write_json(parent / name / PARAMS, params).parent


def folder(notebook: str, out: Path | str, params: Mapping[str, Any]) -> Path:
    """The folder a notebook writes to: the one it was given, or a new one below ``runs/`` when it was given none.

    Args:
        notebook: bare name of the notebook.
        out: its parameter ``out``; empty under plain papermill and in JupyterLab.
        params: the parameters of the run.
    """
    path = Path(out) if str(out) else new_run(notebook, params)
    return path if (path / PARAMS).is_file() else write_json(path / PARAMS, params).parent


def environment(seed: int | None = None) -> dict[str, Any]:
    """What a number may depend on beside the parameters: versions, device, commit, code, and the run's ``seed``.

    The device is known only where torch is already loaded; it is not loaded for this.
    """
    versions = {"python": platform.python_version()} | dict(_versions("itm-workbench"))
    machine = {"platform": platform.platform(), "cpus": os.cpu_count(), "device": _device()}
    return machine | {"versions": versions, "commit": _commit(), "code": code_hash()[:16], "seed": seed}


def _versions(distribution: str) -> Iterator[tuple[str, str]]:
    names = [requirement[1] for line in importlib.metadata.requires(distribution) or [] if (requirement := NAME.match(line))]
    for name in [distribution, *names]:
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed


def _device() -> str | None:
    torch = sys.modules.get("torch")
    if torch is None:
        return None
    return str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"


def _commit() -> str | None:
    here = Path(__file__).parent
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(command, cwd=here, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None  # an installed package, not a clone: its version says what it is


def read(folder: Path | str) -> Run:
    """Read a run folder.

    Raises:
        FileNotFoundError: the folder is not there.
    """
    path = Path(folder)
    if not path.is_dir():
        raise FileNotFoundError(f"no run folder {path}; `workbench ls` lists the runs")
    files = {name: json.loads(file.read_text()) if (file := path / name).is_file() else {} for name in (PARAMS, RESULTS, ENV)}
    unwritten = "unwatched" if files[RESULTS] else "unfinished"
    status = (path / STATUS).read_text().strip() if (path / STATUS).is_file() else unwritten
    return Run(path, path.parent.name, path.name, status, files[PARAMS], files[RESULTS], files[ENV])


def list_runs(root: Path | str = "runs", notebook: str = "*") -> list[Run]:
    """All runs below a root, oldest first; a root that is not there has none."""
    folders = sorted(Path(root).glob(f"{notebook}/*/"), key=lambda path: (path.name, path.parent.name))
    return [read(path) for path in folders if (path / PARAMS).is_file() or (path / STATUS).is_file()]


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
    """What differs between two runs, file by file: key -> (value in the first, value in the second); ``None`` = absent."""
    out = {}
    for name in ("params", "results", "env"):
        a, b = flat(getattr(first, name)), flat(getattr(second, name))
        out[name] = {key: (a.get(key), b.get(key)) for key in sorted(a | b) if a.get(key) != b.get(key)}
    return out


def publish(folder: Path | str, results: Mapping[str, Any], seed: int | None = None) -> Path:
    """A notebook's last word: write ``results.json`` and ``env.json``, and show where they lie.

    The output also carries the results in scrapbook's format, so that its readers find them without our help.

    Args:
        folder: the run folder.
        results: JSON values, as for ``write_results``.
        seed: the seed of the run, for ``env.json``.

    Returns:
        The path of ``results.json``.
    """
    from IPython import display

    path = write_results(folder, results)
    write_json(Path(folder) / ENV, environment(seed))
    scrap = {"name": "results", "data": _plain(results, RESULTS), "encoder": "json", "display": None, "version": 1}
    metadata = {"scrapbook": {"name": "results", "data": True, "display": False}}
    display.display({"text/plain": f"results: {path}", SCRAP: scrap}, metadata=metadata, raw=True)
    return path
