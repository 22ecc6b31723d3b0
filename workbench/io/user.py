"""Where the user stands, at which relative paths begin.

In a terminal that is the working folder. A kernel's working folder is that of its notebook, so that there it
is the folder in which the server was started (JupyterLab, Voilà, papermill). Notebooks and commands then read
the same paths.
"""

import os
from contextlib import suppress
from pathlib import Path

from workbench.io.files import expand_home

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


def resolve_output(path: Path | str) -> Path:
    """Read a path that a user gives to something that is written.

    Args:
        path: ``~`` is the home folder, and a relative path begins where the user stands.
    """
    path = expand_home(path)
    return path if SERVER not in os.environ else user_folder() / path


def resolve_input(path: Path | str) -> Path:
    """Read a path that a user gives to something that is there.

    Args:
        path: ``~`` is the home folder. A relative path begins where the user stands. In a kernel, one that
            leads nowhere from there begins in the working folder.
    """
    place = resolve_output(path)
    return place if os.path.exists(place) else expand_home(path)


def format_from_user(path: Path | str) -> str:
    """Write a path as the user would type it, from the folder in which the user stands.

    Args:
        path: of a file or a folder.
    """
    place, here = Path(path).absolute(), user_folder()
    return place.relative_to(here).as_posix() if place.is_relative_to(here) else str(path)
