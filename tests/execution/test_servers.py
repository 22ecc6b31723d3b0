"""JupyterLab and Voilà are started on a notebook: a failure is one line, what a server says is passed on, and
Ctrl-C ends it."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from workbench.execution import servers

REFUSES = (
    "print('[I 1 App] begins', file=sys.stderr); print('[C 1 App] no root here', file=sys.stderr); exit(1)"
)
SERVES = "print('[I 1 App] Jupyter Server is running at:', 'http://there', file=sys.stderr)"
APP = """
open("arguments", "w").write(" ".join(sys.argv[1:]))
for line in ("[Voila] Serving files", "[Voila] Voilà is running at:", "http://there/?token=abc",
             "[Voila] WARNING | not trusted", "[Voila] ERROR | no kernel", "Traceback"):
    print(line, file=sys.stderr)
"""
STAYS = """
import time
print("[Voila] Voilà is running at:", "http://there", sep="\\n", file=sys.stderr, flush=True)
time.sleep(60)
"""


@pytest.fixture
def put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """A server that runs lines of Python instead."""

    def write(lines: str, name: str = "jupyterlab") -> Path:
        (tmp_path / f"{name}.py").write_text(f"import sys\n{lines}\n", encoding="utf-8")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.chdir(tmp_path)
        return tmp_path / "book.ipynb"

    return write


def arguments(tmp_path: Path) -> list[str]:
    return (tmp_path / "arguments").read_text("utf-8").split()


def test_a_start_that_fails_is_one_line(put, capfd: pytest.CaptureFixture[str]):
    with pytest.raises(OSError, match=r"^JupyterLab did not start: no root here$"):
        servers.open_lab(put(REFUSES))
    assert capfd.readouterr().err == ""


def test_what_a_server_says_is_passed_on(put, capfd: pytest.CaptureFixture[str]):
    assert servers.open_lab(put(SERVES)) == 0
    assert "http://there" in capfd.readouterr().err


@pytest.mark.parametrize("allowed", [True, False])
def test_the_superuser_is_let_in_where_that_was_asked_for(put, allowed: bool, tmp_path: Path):
    book = put("open('arguments', 'w').write(' '.join(sys.argv[1:]))")
    servers.open_lab(book, allow_root=allowed, browser=allowed)
    assert arguments(tmp_path) == [str(book), *(["--allow-root"] if allowed else ["--no-browser"])]


def test_of_an_explorer_that_is_served_the_address_and_errors_are_told(
    put, tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    assert servers.open_app(put(APP, "voila"), allow_root=True, browser=False) == 0
    told = capfd.readouterr().err.splitlines()
    assert told[1:] == ["http://there/?token=abc", "[Voila] ERROR | no kernel"]
    assert "--token" in arguments(tmp_path)


def test_the_address_of_a_served_explorer_is_opened_with_its_token(put, monkeypatch: pytest.MonkeyPatch):
    opened, done = list[str](), threading.Event()
    monkeypatch.setattr(servers.webbrowser, "open", lambda url: (opened.append(url), done.set()))
    servers.open_app(put(APP, "voila"), allow_root=True)
    assert done.wait(5)
    assert opened == ["http://there/?token=abc"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_server_too(put, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals):
    passed = servers._write_line

    def stop(line: str) -> None:
        passed(line)
        if line.startswith("http"):
            os.kill(os.getpid(), sent)

    monkeypatch.setattr(servers, "_write_line", stop)
    before, began = signal.getsignal(signal.SIGTERM), time.monotonic()
    assert servers.open_app(put(STAYS, "voila"), allow_root=True, browser=False) == 0
    assert time.monotonic() - began < 30
    assert signal.getsignal(signal.SIGTERM) is before


def test_without_voila_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(servers, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=r"itm-workbench\[app\]"):
        servers.require_app(allow_root=True)


def test_root_serves_nothing_unasked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(servers, "find_spec", lambda name: name)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(PermissionError, match="--allow-root"):
        servers.require_app(allow_root=False)


def test_a_port_that_is_taken_is_named(put):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=str(port)):
            servers.open_lab(put(SERVES), port=port)


def test_a_kernel_finds_the_modules_of_the_folder_where_the_command_was_given(
    put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    kernel = (
        "import subprocess\nsubprocess.run([sys.executable, '-c', 'import my_model'], cwd='..', check=True)"
    )
    book, folder = put(kernel), tmp_path / "work"
    folder.mkdir()
    (folder / "my_model.py").touch()
    monkeypatch.chdir(folder)
    assert servers.open_lab(book) == 0
