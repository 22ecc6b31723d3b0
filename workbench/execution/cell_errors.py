"""Errors of cells whose code nobody sees, as in the explorer's own tab: a line, and the rest in a file."""

import sys
import traceback
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from workbench.io import format_from_user


def show_in_one_line(log: Path | str) -> None:
    """Show the first error of a cell of this kernel as one line, which says where the traceback is. Those
    after it follow from it, and are in the file alone.

    Args:
        log: file to which tracebacks are added.
    """
    from IPython import get_ipython

    first = True

    def show(
        shell: Any, kind: type[Exception], error: Exception, trace: TracebackType, tb_offset: Any = None
    ) -> None:
        """Take the place of the traceback, with the arguments that IPython gives."""
        nonlocal first
        lines = "".join(traceback.format_exception(kind, error, trace))
        with Path(log).open("a", encoding="utf-8") as file:
            file.write(f"{datetime.now():%Y-%m-%d %H:%M:%S}\n{lines}\n")
        # a KeyError puts its message into quotes
        message = error.args[0] if isinstance(error, KeyError) and error.args else error
        line = f"{kind.__name__}: {' '.join(str(message).split())}"
        if first:
            sys.stderr.write(f"{line}\nThe traceback is in {format_from_user(log)}.\n")
        first = False

    get_ipython().set_custom_exc((Exception,), show)
