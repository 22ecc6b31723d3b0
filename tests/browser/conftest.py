"""A real JupyterLab and a real Chromium, both private to the test session."""

from __future__ import annotations

import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
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


# Waiting for `revealed` matters: before it, "run all" can run nothing, silently.
RUN_ALL = """async () => {
  const app = window.jupyterapp; await app.restored;
  const panel = app.shell.currentWidget;
  await panel.context.ready; await panel.sessionContext.ready; await panel.revealed;
  await app.commands.execute('notebook:run-all-cells');
  return panel.content.widgets.filter(cell => cell.model.type === 'code').map(cell => ({
    count: cell.model.executionCount,
    errors: [...Array(cell.model.outputs.length).keys()].map(i => cell.model.outputs.get(i).toJSON())
      .filter(output => output.output_type === 'error').map(output => output.ename + ': ' + output.evalue),
  }));
}"""


AXE = """async ([places, every]) => {
  const found = await axe.run({ include: places }, { resultTypes: ["violations"] });
  return found.violations.filter(one => every || ["serious", "critical"].includes(one.impact))
    .map(one => [one.id, one.nodes.length, one.nodes[0].html.slice(0, 300), one.nodes[0].failureSummary]);
}"""


@pytest.fixture(scope="session")
def axe() -> str:
    """The script of axe-core."""
    found = importlib.util.find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-playwright-python is not installed")
    return Path(found.origin).with_name("axe.min.js").read_text(encoding="utf-8")


def trouble_on(page: Any, script: str, places: list[str]) -> Any:
    """Violations in the chosen parts of the page: all of a whole page; of a part, which need not have its
    headings and landmarks, the serious and critical ones."""
    page.evaluate(script)
    return page.evaluate(AXE, [[[place] for place in places], places == ["html"]])


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


def free_port() -> int:
    """A port that nobody listens to."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(private: Path, folder: Path) -> Iterator[Lab]:
    """A JupyterLab that shows a folder and keeps everything else in another."""
    port = free_port()
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


def run_in_lab(
    browser: Any,
    lab: Lab,
    name: str,
    sources: Sequence[str] = (),
    *,
    height: int,
    timeout: int = 120_000,
    console: bool = False,
) -> tuple[Any, list[dict[str, Any]], list[str]]:
    """Open a notebook in JupyterLab and run all its cells, none of which may fail.

    Args:
        name: of the notebook in the lab's folder.
        sources: its cells; none = it lies there already.
        height: of the page, in pixels.
        timeout: of every step, in milliseconds.
        console: whether errors on the console are trouble, too.

    Returns:
        The page, count and errors of each cell, and a list of what goes wrong: errors, and requests to
        another place.
    """
    if sources:
        book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
        book.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        nbformat.write(book, lab.folder / f"{name}.ipynb")
    trouble: list[str] = []
    page = browser.new_page(viewport={"width": 1400, "height": height})
    page.set_default_timeout(timeout)
    page.on(
        "request",
        lambda r: trouble.append(r.url) if r.url.startswith("http") and "127.0.0.1" not in r.url else None,
    )
    page.on("pageerror", lambda error: trouble.append(str(error)))
    if console:
        page.on("console", lambda said: trouble.append(said.text) if said.type == "error" else None)
    page.goto(f"{lab.url}/lab/tree/{name}.ipynb?reset")
    page.wait_for_selector(".jp-Notebook .jp-Cell")
    cells = page.evaluate(RUN_ALL)
    assert [cell["errors"] for cell in cells if cell["errors"]] == []
    return page, cells, trouble


def in_themes(page: Any, shown: Any, path: Path) -> Iterator[str]:
    """JupyterLab in its dark and in its light theme, with an image of what is shown (page or part) beside
    ``path`` in each."""
    for theme in ("JupyterLab Dark", "JupyterLab Light"):
        page.evaluate(
            "name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", theme
        )
        page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=theme)
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        shown.screenshot(path=path.with_name(f"{path.name}-{theme.split()[1].lower()}.png"))
        yield theme


def _wait(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except OSError:
            time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()}")
