"""From a number of a page to its queries: in the explorer's page of the run, or by a command."""

import os
import shlex
from pathlib import Path

from workbench.runs.selection import selection_of

# the explorer's page of a run, in its folder
PAGE = "explorer.html"


def link_to_queries(folder: Path, label: str, page_folder: Path) -> tuple[str, str]:
    """Return where the queries of a number are seen, and the command that opens them; both are empty where
    the number has none of its own.

    Args:
        folder: of the run.
        label: of the number.
        page_folder: in which the page lies that has the number.

    Returns:
        Address, seen from the page; empty where the run has no page of the explorer. And the command.
    """
    selection = selection_of(label)
    if selection is None:
        return "", ""
    # by its name, since a page has no paths of a machine
    command = shlex.join(["workbench", "explore", folder.name, "--select", str(selection)])
    page = folder / PAGE
    if not page.is_file():
        return "", command
    return Path(os.path.relpath(page, page_folder)).as_posix() + selection.fragment, command
