"""Where a run lies, and a notebook's last word."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from workbench.experiment.runs.environment import code_hash, environment
from workbench.experiment.runs.writing import ENV, PARAMS, RESULTS, SCRAP, plain, write_json, write_results


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
    run_id = f"{datetime.now():%Y%m%d-%H%M%S}-{run_key(params, code)}"
    parent, name, again = Path(root).resolve() / notebook, run_id, 1
    while True:
        try:
            (parent / name).mkdir(parents=True)
        except FileExistsError:  # the same run in the same second, perhaps by another process
            name, again = f"{run_id}.{again + 1}", again + 1
        else:
            return write_json(parent / name / PARAMS, params).parent


def run_key(params: Mapping[str, Any], code: str = "") -> str:
    """The 8 hex digits in which run ids agree whose parameters and code agree.

    Args:
        params: all parameters, defaults included.
        code: the notebook's code.
    """
    key = json.dumps(plain(params, PARAMS), sort_keys=True) + code_hash(code)
    return hashlib.sha256(key.encode()).hexdigest()[:8]


def key_of(run_id: str) -> str:
    """The key in a run id.

    >>> key_of("20260102-000000-0000bbbb.2")
    '0000bbbb'
    """
    return run_id.rpartition("-")[2].partition(".")[0]


def folder(notebook: str, out: Path | str, params: Mapping[str, Any]) -> Path:
    """The folder a notebook writes to: the one it was given, or a new one below ``runs/`` when it was given
    none.

    Args:
        notebook: bare name of the notebook.
        out: its parameter ``out``; empty under plain papermill and in JupyterLab.
        params: the parameters of the run.
    """
    path = Path(out) if str(out) else new_run(notebook, params)
    return path if (path / PARAMS).is_file() else write_json(path / PARAMS, params).parent


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
    scrap = {
        "name": "results",
        "data": plain(results, RESULTS),
        "encoder": "json",
        "display": None,
        "version": 1,
    }
    metadata = {"scrapbook": {"name": "results", "data": True, "display": False}}
    display.display({"text/plain": f"results: {path}", SCRAP: scrap}, metadata=metadata, raw=True)
    return path
