"""Where runs are: below the folder in which the user stands.

In a terminal that is the working folder. A kernel's working folder is that of its notebook, so that there it
is the folder in which the server was started (JupyterLab, Voilà, papermill). Notebooks and commands then
share one ``runs/``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from workbench.io import with_home

RUNS = "runs"
# folder of all runs for the notebooks of a server that a command has started with another one than RUNS
VARIABLE = "WORKBENCH_RUNS"
# in a kernel, the process that started it
SERVER = "JPY_PARENT_PID"


def user_folder() -> Path:
    """Return the folder in which the user stands, absolute."""
    if SERVER not in os.environ:
        return Path.cwd()
    import psutil  # not needed outside of kernels

    # a process of that number that did not start this one is another
    with suppress(psutil.Error, OSError):
        for process in psutil.Process().parents():
            if str(process.pid) == os.environ[SERVER]:
                return Path(process.cwd())
    return Path.cwd()


def runs_folder(root: Path | str = RUNS) -> Path:
    """Return the folder of all runs.

    Args:
        root: its name, or a path; a relative one begins where the user stands.
    """
    path = with_home(Path(root))
    if SERVER not in os.environ or path.is_absolute():
        return path
    if str(path) == RUNS and VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    return user_folder() / path


@contextmanager
def serving(root: Path | str) -> Iterator[None]:
    """Let notebooks of a server that is started in the block write their runs to this folder.

    Args:
        root: of all runs.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(with_home(Path(root)).resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def format_from_user(path: Path | str) -> str:
    """Write a path as the user would type it, from the folder in which the user stands.

    Args:
        path: of a file or a folder.
    """
    place, here = Path(path).absolute(), user_folder()
    return place.relative_to(here).as_posix() if place.is_relative_to(here) else str(path)
