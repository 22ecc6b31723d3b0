"""The command line: verbs only, and every verb calls one function of the library.

Heavy modules are imported inside the verbs, so that ``workbench --help`` answers at once. Exit codes: 0 ok, 1
the notebook or a check failed, 2 usage, 3 incomplete run, 138 the kernel was killed.
"""

from workbench.cli import looking, making
from workbench.cli._common import app

__all__ = ["app", "looking", "making"]
