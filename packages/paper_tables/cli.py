"""The papers' tables on the command line: the verb ``table``, ``list tables``, and what a grid with a key
``table`` becomes.
"""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from workbench.cli import describe
from workbench.cli.base import AsJson, Pairs, Root, WithPairs, app, emit, pairs, usage
from workbench.cli.output import screen


@app.command(cls=WithPairs, epilog="Example: workbench table ditm_table4")
def table(file: str, parameter: Pairs = None, root: Root = "runs", as_json: AsJson = False) -> None:
    """The table of a grid, from finished runs.

    Give the -p of that grid; exit code 3: arms are missing.
    """
    with usage():
        made, files, lines = write_table(file, pairs(parameter), root)
    emit({"files": {end: str(path) for end, path in files.items()}, **asdict(made)}, as_json, lines)
    raise typer.Exit(3 if made.missing else 0)


def prepare(grid: Mapping[str, Any], changes: Mapping[str, Any], path: Path | str) -> Mapping[str, Any]:
    """A grid with a ``table``, checked, over the seeds of a table; see ``workbench.execution.grid``."""
    from paper_tables import layout

    layout.read(seeded := layout.over_seeds(grid, changes), path)
    return seeded


def finish(path: Path, changes: Mapping[str, Any], root: str, folders: Sequence[Path]) -> list[str]:
    """Write the table after its grid has run; see ``workbench.execution.grid``."""
    return write_table(path, changes, root, folders)[2]


def write_table(
    file: Path | str, changes: Mapping[str, Any], root: str, ended: Sequence[Path] = ()
) -> tuple[Any, dict[str, Path], list[str]]:
    """Write the table of a grid below the runs.

    Args:
        file: of the grid, by path or name.
        changes: values that go over those of all arms.
        root: where the runs lie; the table goes to its folder ``tables``.
        ended: folders of runs that are first measured on what else the table asks for.

    Returns:
        The table, its files by their ending, and lines to print.
    """
    from paper_tables import pages
    from paper_tables import table as tables
    from workbench.execution import grid, library

    lacking = tables.complete(grid.read_grid(library.find(file, "grid")), ended)
    made = tables.make(file, changes, root=root, measure=bool(ended))
    made = replace(made, notes=[*made.notes, *lacking])
    files = pages.write(made, Path(root) / "tables")
    return made, files, [pages.markdown(made).rstrip(), *map(str, files.values())]


def listed() -> tuple[list[dict[str, str]], list[str]]:
    """All tables and figures, and as lines what each shows, the command that makes it, and what it lacks."""
    from paper_tables import table as tables

    found, lines = tables.listed(), list[str]()
    for one in found:
        wrapped = textwrap.wrap(one.remark, min(screen(), 1000) - 4)
        lines += [f"{one.table}: {one.shows}", *(f"    {text}" for text in (one.command, *wrapped))]
    lines += ['RUN is a finished run, RUNS is a list of them: \'["RUN", "RUN"]\'']
    return [one._asdict() for one in found], lines


describe.LISTS["tables"] = ("tables and figures of the papers, each with its command", listed)
