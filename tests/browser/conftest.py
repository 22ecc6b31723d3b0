"""A real JupyterLab and a real Chromium, both private to the test session."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = next((path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None)
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SETTINGS = """
c = get_config()
c.LabApp.expose_app_in_browser = True
c.LabApp.news_url = ""
c.IdentityProvider.token = ""
c.ServerApp.password = ""
c.ServerApp.ip = "127.0.0.1"
c.ServerApp.port = {port}
c.ServerApp.port_retries = 0
c.ServerApp.allow_root = True
c.ServerApp.disable_check_xsrf = True
c.ServerApp.open_browser = False
c.ServerApp.root_dir = {root!r}
"""


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; skips where it or Playwright is not installed."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@dataclass(frozen=True)
class Lab:
    """A running JupyterLab: its address, and the folder that it shows."""

    url: str
    folder: Path


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """JupyterLab with configuration, data and runtime folders of its own."""
    with serving(tmp_path_factory.mktemp("jupyter"), tmp_path_factory.mktemp("lab")) as found:
        yield found


@contextmanager
def serving(private: Path, folder: Path) -> Iterator[Lab]:
    """A JupyterLab that shows a folder and keeps everything else in another."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    (private / "config.py").write_text(SETTINGS.format(port=port, root=str(folder)))
    names = ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    environment = {**os.environ, **{name: str(private / name.lower()) for name in names}}
    command = [sys.executable, "-m", "jupyterlab", f"--config={private / 'config.py'}"]
    with (private / "log").open("w") as log:
        server = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=subprocess.STDOUT)
    try:
        _wait(f"http://127.0.0.1:{port}/api/status", server, private / "log")
        yield Lab(f"http://127.0.0.1:{port}", folder)
    finally:
        server.terminate()
        server.wait(30)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")
