"""Where runs are: below the folder in which the user stands (``io.user``), in a terminal and in a kernel."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.io import SERVER, expand_home, resolve_output

RUNS = "runs"
# folder of all runs for the notebooks of a server that a command has started with another one than RUNS
VARIABLE = "WORKBENCH_RUNS"


def runs_folder(root: Path | str = RUNS) -> Path:
    """Return the folder of all runs.

    Args:
        root: its name, or a path; a relative one begins where the user stands.
    """
    if str(root) == RUNS and SERVER in os.environ and VARIABLE in os.environ:
        return Path(os.environ[VARIABLE])
    return resolve_output(root)


@contextmanager
def serving(root: Path | str) -> Iterator[None]:
    """Let notebooks of a server that is started in the block write their runs to this folder.

    Args:
        root: of all runs.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(expand_home(root).resolve())
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
