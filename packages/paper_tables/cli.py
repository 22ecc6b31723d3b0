"""The papers' tables in a terminal: a grid is planned, its table is written, and all tables are listed."""

import inspect
import json
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.cli.lines import columns, screen
from workbench.execution import library
from workbench.records import require


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

    Raises:
        FileNotFoundError: no such file, or the data are not there; others as ``grid.plan``.
    """
    from paper_tables import layout
    from workbench.execution import grid, parameters

    path = library.find(file, "grid")
    changes = parameters.spelt(parameters.inspect(library.find(notebook)), words)
    described = grid.over_seeds(grid.read_grid(path), changes)
    if "table" in described:
        layout.read(described, path)
    arms = grid.plan(notebook, described, changes)
    require_data(arms)
    return described, changes, arms


def require_data(arms: Mapping[str, Mapping[str, Any]]) -> None:
    """Refuse data that are not there, or cannot be trained on, before anything runs.

    Args:
        arms: parameters by label.

    Raises:
        FileNotFoundError: data are not there; ValueError: they have no training split, or cannot be read.
    """
    from workbench import data

    asked = {
        json.dumps([one.get("data"), one.get("data_options")], sort_keys=True): one for one in arms.values()
    }
    for one in asked.values():
        name, options = one.get("data"), one.get("data_options") or {}
        if name in (None, "scenes"):
            continue
        split = inspect.signature(data.member(name)).parameters["split"].annotation
        trains = "train" in getattr(split, "__args__", ("train",))
        require(
            trains,
            f"{name} has no training split: train on other data, and `workbench evaluate RUN --data {name}`",
        )
        data.load(name, split="train", **options)


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
    from paper_tables import pages as tables
    from paper_tables import table
    from workbench.execution import grid

    lacking = table.complete(grid.read_grid(library.find(file, "grid")), ended)
    made = table.make(file, changes, root=root)
    made = replace(made, notes=[*made.notes, *lacking])
    files = tables.write(made, Path(root) / "tables")
    return made, files, [tables.markdown(made).rstrip(), *map(str, files.values())]


def listed() -> tuple[list[dict[str, str]], list[str]]:
    """All tables and figures, and as lines what each shows, the command that makes it, and what it lacks."""
    from paper_tables import table

    found, lines = table.listed(), list[str]()
    for one in found:
        wrapped = textwrap.wrap(one.remark, min(screen(), 1000) - 4)
        lines += [f"{one.table}: {one.shows}", *(f"    {text}" for text in (one.command, *wrapped))]
    lines += ['RUN is a finished run, RUNS is a list of them: \'["RUN", "RUN"]\'']
    return [one._asdict() for one in found], lines
