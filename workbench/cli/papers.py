"""The papers' tables in a terminal: a grid is planned, its table is written, and all tables are listed."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli.lines import columns, screen
from workbench.execution import library


def planned(
    notebook: str, file: Path | str, words: Mapping[str, str]
) -> tuple[Mapping[str, Any], dict[str, Any], dict[str, dict[str, Any]]]:
    """A grid before anything runs.

    Args:
        notebook: its path or name.
        file: of the grid, by path or name.
        words: values that go over those of all arms, as typed.

    Returns:
        The grid that is run, the values of those words, and the parameters of every arm.
    """
    from workbench.execution import grid, layout, parameters

    path = library.find(file, "grid")
    changes = parameters.spelt(parameters.inspect(library.find(notebook)), words)
    described = grid.over_seeds(grid.read_grid(path), changes)
    if "table" in described:
        layout.read(described, path)
    return described, changes, grid.plan(notebook, described, changes)


def ended(done: Sequence[Any]) -> list[str]:
    """How the arms of a grid ended, one a line, and the tracebacks of those that raised.

    Args:
        done: of type ``grid.Outcome``.
    """
    lines = columns((o.label, "kept" if o.skipped else o.status, o.folder, o.error) for o in done)
    return [*lines, *(f"\n{one.label}:\n{one.traceback}" for one in done if one.traceback)]


def write_table(
    file: Path | str, changes: Mapping[str, Any], root: str, ended: Sequence[Path] = ()
) -> tuple[Any, dict[str, Path], list[str]]:
    """Write the table of a grid below the runs.

    Args:
        file: of the grid, by path or name.
        changes: values that go over those of all arms.
        root: where the runs lie; the table goes to its folder ``tables``.
        ended: folders of runs that have ended now and are first measured on what else the table asks for.

    Returns:
        The table, its files by their ending, and lines to print.
    """
    from workbench.execution import grid, table
    from workbench.views.pages import tables

    lacking = table.complete(grid.read_grid(library.find(file, "grid")), ended)
    made = table.make(file, changes, root=root)
    made = replace(made, notes=[*made.notes, *lacking])
    files = tables.write(made, Path(root) / "tables")
    return made, files, [tables.markdown(made).rstrip(), *map(str, files.values())]


def listed() -> tuple[list[dict[str, str]], list[str]]:
    """All tables and figures, and as lines what each shows, the command that makes it, and what it lacks."""
    from workbench.execution import table

    found, lines = table.listed(), list[str]()
    for one in found:
        wrapped = textwrap.wrap(one.remark, min(screen(), 1000) - 4)
        lines += [f"{one.table}: {one.shows}", *(f"    {text}" for text in (one.command, *wrapped))]
    return [one._asdict() for one in found], lines
