"""What a number depends on beside the parameters of its run: code, weights, versions and the machine. Nothing
here needs torch.
"""

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.assets import package_folders
from workbench.io import checksum
from workbench.registry import Count, Natural, check_value, require_known

PACKAGE = Path(__file__).parent.parent
# registries whose members take part in training or evaluation, wherever they are installed
REGISTRIES = ("backbones", "data", "encoders", "metrics", "objectives", "text")
DECIDING = (".py", ".safetensors", ".json", ".toml", ".gz")
# what a parameter of a notebook may be
KINDS = (str, int, Count, Natural, float, bool, list, dict)
# folders of what starts runs, shows numbers, or tests them
SHOWING = {"views", "cli", "tour", "execution", "notebooks", "results", "published", "tests"}


def code_hash(code: str = "") -> str:
    """Return the hash of ``code`` (a notebook's cells) and of every file that can change a number: sources,
    shipped weights and word lists of this package and of those that add members to its registries. 64 hex
    digits.
    """
    digest = hashlib.sha256(code.encode())
    for package in (PACKAGE, *package_folders(*(f"workbench.{registry}" for registry in REGISTRIES))):
        for path in sorted(package.rglob("*")):
            place = path.relative_to(package)
            if path.suffix in DECIDING and not SHOWING & set(place.parts[:-1]):
                digest.update(f"{package.name}/{place.as_posix()} {checksum(path)}\n".encode())
    return digest.hexdigest()


def check_parameters() -> None:
    """Raise if the running notebook does not have a parameter, or if a value is not of the type that its cell
    of parameters says; plain papermill injects them unchecked.

    Raises:
        ValueError: a name that is unknown, with the near ones, or a value out of range.
        TypeError: a value of another type.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    names = getattr(shell, "user_ns", {})
    cells = names.get("In", ())
    place = next((number for number, cell in enumerate(cells) if cell.startswith("# Parameters\n")), 0)
    known = re.findall(r"^(\w+): ", "\n".join(cells[:place]), re.MULTILINE)
    for name in re.findall(r"^(\w+) = ", cells[place], re.MULTILINE) if known else ():
        require_known("the notebook has no parameter", name, known, ValueError)
    for name, kind in names.get("__annotations__", {}).items():
        if name in names and kind in KINDS:
            check_value(f"the parameter {name}", names[name], kind)


def environment(seed: int | None = None, threads: int = 0) -> dict[str, Any]:
    """Return what a number may depend on beside the parameters: versions, device, threads, commit, code, and
    the run's ``seed``.

    Device and threads are known only where torch is already loaded; it is not loaded for this.

    Args:
        seed: of the run.
        threads: of the processor with which PyTorch computed the run; 0 = those that it has now.
    """
    own, versions = "itm-workbench", {"python": platform.python_version()}
    needed = [re.split(r"[^\w.-]", line)[0] for line in importlib.metadata.requires(own) or []]
    for name in (own, *needed):
        with suppress(importlib.metadata.PackageNotFoundError):  # an extra that is not installed
            versions[name] = importlib.metadata.version(name)
    torch = sys.modules.get("torch")
    device = commit = None
    if torch is not None:
        device = str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"
        threads = threads or torch.get_num_threads()
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    with suppress(OSError, subprocess.CalledProcessError):  # no git, or an installed package and no clone
        commit = subprocess.check_output(command, cwd=PACKAGE, text=True, stderr=subprocess.DEVNULL).strip()
    return {
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "threads": threads or None,
        "device": device,
        "versions": versions,
        "commit": commit,
        "code": code_hash()[:16],
        "seed": seed,
    }
