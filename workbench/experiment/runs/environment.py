"""What a number may depend on beside the parameters."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAME = re.compile(r"^([\w.-]+)")
PACKAGE = Path(__file__).parent.parent


def code_hash(code: str = "") -> str:
    """Hash of the package's sources and of ``code`` (a notebook's cells): 64 hex digits."""
    digest = hashlib.sha256(code.encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


def environment(seed: int | None = None) -> dict[str, Any]:
    """What a number may depend on beside the parameters: versions, device, commit, code, and the run's
    ``seed``.

    The device is known only where torch is already loaded; it is not loaded for this.
    """
    versions = {"python": platform.python_version()} | dict(_versions("itm-workbench"))
    machine = {"platform": platform.platform(), "cpus": os.cpu_count(), "device": _device()}
    return machine | {"versions": versions, "commit": _commit(), "code": code_hash()[:16], "seed": seed}


def _versions(distribution: str) -> Iterator[tuple[str, str]]:
    names = [
        requirement[1]
        for line in importlib.metadata.requires(distribution) or []
        if (requirement := NAME.match(line))
    ]
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
    try:
        command = ["git", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
        return subprocess.run(command, cwd=PACKAGE, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None  # an installed package, not a clone: its version says what it is
