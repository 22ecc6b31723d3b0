"""What speaks for the files of a run, and for the code and the machine that made them. Nothing here needs
torch.
"""

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.assets import annexes
from workbench.records.sealed import check, checksum, seal

SEAL = "seal.json"
PACKAGE = Path(__file__).parent.parent
DECIDING = (".py", ".safetensors", ".json", ".toml", ".gz")
# folders of what shows numbers, or tests them
SHOWING = {"views", "cli", "tour", "notebooks", "results", "published", "tests"}


def seal_files(folder: Path, patterns: Iterable[str], facts: Mapping[str, Any]) -> None:
    """Seal files of a run, see ``records.sealed``.

    Args:
        folder: of the run.
        patterns: of their places in it; files that begin with a dot are left out.
        facts: what the files were made from, as JSON values.
    """
    files = [file for pattern in patterns for file in folder.glob(pattern) if not file.name.startswith(".")]
    seal(folder / SEAL, {file.relative_to(folder).as_posix(): file for file in files}, facts)


def intact(folder: Path, *files: Path) -> dict[str, Any]:
    """Refuse files of a run that are not what it wrote.

    Returns:
        What they were made from; nothing for a run of a version that sealed nothing.

    Raises:
        SealError: the message names the file.
    """
    if not (folder / SEAL).exists():
        return {}
    return check(folder / SEAL, *files, remedy="restore it, or make the run again")


def code_hash(code: str = "") -> str:
    """Hash of ``code`` (a notebook's cells) and of every file that can change a number: sources, shipped
    weights and word lists of this package and of those that bring assets, but not what only shows numbers.
    64 hex digits.
    """
    digest = hashlib.sha256(code.encode())
    for package in (PACKAGE, *annexes()):
        for path in sorted(package.rglob("*")):
            place = path.relative_to(package)
            if path.suffix in DECIDING and not SHOWING & set(place.parts[:-1]):
                digest.update(f"{package.name}/{place.as_posix()} {checksum(path)}\n".encode())
    return digest.hexdigest()


def environment(seed: int | None = None) -> dict[str, Any]:
    """What a number may depend on beside the parameters: versions, device, commit, code, and the run's
    ``seed``.

    The device is known only where torch is already loaded; it is not loaded for this.
    """
    own, versions = "itm-workbench", {"python": platform.python_version()}
    needed = [re.split(r"[^\w.-]", line)[0] for line in importlib.metadata.requires(own) or []]
    for name in (own, *needed):
        with suppress(importlib.metadata.PackageNotFoundError):  # an extra that is not installed
            versions[name] = importlib.metadata.version(name)
    torch, device, commit = sys.modules.get("torch"), None, None
    if torch is not None:
        device = str(torch.cuda.get_device_name()) if torch.cuda.is_available() else "cpu"
    command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    with suppress(OSError, subprocess.CalledProcessError):  # no git, or an installed package and no clone
        commit = subprocess.check_output(command, cwd=PACKAGE, text=True, stderr=subprocess.DEVNULL).strip()
    machine = {"platform": platform.platform(), "cpus": os.cpu_count(), "device": device}
    return machine | {"versions": versions, "commit": commit, "code": code_hash()[:16], "seed": seed}
