"""Servers that show a notebook in the browser until somebody stops them: JupyterLab, and Voilà, which shows
what the cells show and no code.
"""

import os
import re
import socket
import subprocess
import sys
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Thread

from workbench import progress
from workbench.io import signals
from workbench.records import require

# what both write before each line: "[C 2026-01-31 12:00:00.000 ServerApp] ", "[Voila] CRITICAL | "
LOG_HEAD = re.compile(r"^\[[^\]]*\](?: [A-Z]+ \|)?\s*")
SERVES = " is running at:"  # what both write once they serve; Voilà's address is the next line
# what is passed on of Voilà's words beside that: each tab that is closed in time leaves it a traceback
VOILA_ERROR = re.compile(r"^http|^\[\w+\] (ERROR|CRITICAL)")
TEMPLATES = Path(__file__).parent / "app"
VOILA = (
    "--token",
    "--no-browser",
    "--template=explorer",
    "--progressive_rendering=True",
    "--show_tracebacks=True",
    # images beside the notebook would be served to whoever asks, without the token
    "--VoilaConfiguration.file_allowlist=^$",
    # ten minutes after its tab is gone a kernel ends, which holds a model
    "--MappingKernelManager.cull_idle_timeout=600",
    "--MappingKernelManager.cull_interval=60",
)


def open_lab(path: Path, *, allow_root: bool = False, port: int = 0, browser: bool = True) -> int:
    """Start JupyterLab on a notebook and wait until it is closed, or stopped with Ctrl-C.

    Args:
        path: the notebook.
        allow_root: let the superuser start it, which JupyterLab refuses else.
        port: where it listens; 0 = one that is free.
        browser: open it in the browser.

    Returns:
        Its exit code.

    Raises:
        OSError: it did not start, with the last that it said, or the port is taken.
    """
    flags = {"--allow-root": allow_root, "--no-browser": not browser}
    command = [sys.executable, "-m", "jupyterlab", str(path), *(flag for flag, on in flags.items() if on)]
    return _serve("JupyterLab", [*command, *_port_options(port)], pass_on=_write_line)


def open_app(path: Path, *, allow_root: bool = False, port: int = 0, browser: bool = True) -> int:
    """Show a notebook by Voilà, in a tab of the browser without JupyterLab, and wait until it is stopped with
    Ctrl-C. Its address holds a token, without which nobody is let in.

    Args:
        path: the notebook.
        allow_root: let the superuser start it.
        port: where it listens; 0 = one that is free.
        browser: open the address in the browser.

    Returns:
        Its exit code.

    Raises:
        ModuleNotFoundError, PermissionError: as ``require_app``.
        OSError: it did not start, with the last that it said, or the port is taken.
    """
    require_app(allow_root=allow_root)
    command = [sys.executable, "-m", "voila", str(path), *VOILA, *_port_options(port)]
    paths = [str(TEMPLATES), os.environ.get("JUPYTER_PATH", "")]
    environment = {**os.environ, "JUPYTER_PATH": os.pathsep.join(filter(None, paths))}

    def pass_on(line: str) -> None:
        if SERVES in line:
            _write_line("The explorer runs until Ctrl-C at:\n")
        elif VOILA_ERROR.match(line):
            _write_line(line)
        if browser and line.startswith("http"):
            # a browser of the terminal comes back only when it is closed
            Thread(target=webbrowser.open, args=[line.strip()], daemon=True).start()

    return _serve("Voilà", command, pass_on=pass_on, environment=environment)


def require_app(*, allow_root: bool) -> None:
    """Raise if an explorer could not be served.

    Args:
        allow_root: whether the superuser may serve it.

    Raises:
        ModuleNotFoundError: Voilà is not installed; PermissionError: the superuser is not allowed to.
    """
    hint = 'Voilà is not installed; pip install "itm-workbench[app]"'
    require(find_spec("voila"), hint, ModuleNotFoundError)
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    reason = "Voilà did not start: whoever opens the page runs code as root; --allow-root allows that"
    require(allow_root or not is_root, reason, PermissionError)


def _port_options(port: int) -> list[str]:
    """Return the options that choose a port, which must be free."""
    if not port:
        return []
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise OSError(f"port {port} cannot be used ({error.strerror}); choose another --port") from None
    return [f"--port={port}"]


def _write_line(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()


def _serve(
    name: str,
    command: Sequence[str],
    *,
    pass_on: Callable[[str], None],
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run a server until it ends. What it says is passed on once it serves; before, it is kept, so that a
    failure is one line.
    """
    lines, serves = list[str](), False
    environment = environment or os.environ
    # a kernel works in the folder of its notebook; what runs name by module lies where the command was given
    modules = [str(Path.cwd()), *filter(None, [environment.get("PYTHONPATH")])]
    whole = {**environment, "PYTHONPATH": os.pathsep.join(modules)}
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=whole)
    with (
        progress.showing(),
        progress.Task(f"{name} starts"),
        running as server,
        signals.interrupt_on_either(),
    ):
        try:
            for line in server.stderr or ():
                lines.append(line)
                serves = serves or SERVES in line
                if serves:
                    progress.turn_off()
                    for known in lines:
                        pass_on(known)
                    lines.clear()
        except KeyboardInterrupt:  # Ctrl-C, or this process is ended: the server ends its kernels and itself
            server.terminate()
            server.communicate()
            return 0
    reason = next((LOG_HEAD.sub("", line).strip() for line in reversed(lines) if line.strip()), "")
    require(serves or not server.returncode, f"{name} did not start: {reason}", OSError)
    return server.returncode
