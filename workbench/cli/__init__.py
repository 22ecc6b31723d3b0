"""The command line: verbs only, and every verb calls one function of the library.

Heavy modules are imported inside the verbs, so that ``workbench --help`` answers at once. Exit codes: 0 ok, 1
the notebook or a check failed, 2 usage, 3 incomplete run, 124 the time was up, 130 Ctrl-C, 138 the kernel was
killed, 143 SIGTERM.
"""

from importlib.metadata import entry_points

import typer

from workbench.cli import (
    commands_data,
    commands_errors,
    commands_evaluate,
    commands_inspect,
    commands_run,
    commands_storage,
)
from workbench.cli.base import app

# modules of other packages that add verbs to the application, by importing it from ``workbench.cli.base``
for _entry in entry_points(group="workbench.cli"):
    try:
        _entry.load()
    except ImportError as _error:
        typer.echo(f"workbench: the verbs of {_entry.value} are left out: {_error}", err=True)

__all__ = [
    "app",
    "commands_data",
    "commands_errors",
    "commands_evaluate",
    "commands_inspect",
    "commands_run",
    "commands_storage",
]
