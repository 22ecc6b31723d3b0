"""Commands for what is kept: names and tags of runs, runs that are no longer wanted, and the cache."""

import shutil
import sys
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import datetime
from typing import Annotated

import typer

from workbench import progress
from workbench.cli.base import AsJson, Root, about_run, app, emit, usage
from workbench.cli.output import align_columns
from workbench.formatting import format_bytes, format_count, format_path
from workbench.io import cache_folder, cached_kinds, clean_cache, only_writer
from workbench.records import require
from workbench.registry import require_known
from workbench.runs import store as runs
from workbench.runs.about import read_about, write_about

NewName = Annotated[str | None, typer.Option("--name", help="Name of the run, by which commands find it.")]
NewNote = Annotated[str | None, typer.Option("--note", help="Note that is kept with the run.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


def confirm(question: str, yes: bool) -> None:
    """Ask before something is deleted.

    Raises:
        ValueError: the answer is no, or nobody can be asked.
    """
    if yes:
        return
    require(sys.stdin.isatty(), f"{question} Nobody can be asked here; add --yes")
    with progress.aside():
        agrees = typer.confirm(question, err=True)
    require(agrees, "nothing was deleted")


@app.command(epilog="Example: workbench cache --clean vectors-image")
@usage()
def cache(
    clean: Annotated[
        list[str] | None, typer.Option(metavar="KIND", help="Delete a kind, or all; repeatable.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """List what the cache holds, by kind and size, or delete it.

    It holds features, vectors and parsed captions. All of them are computed again when they are needed. The
    environment variable WORKBENCH_CACHE names another folder.
    """
    kinds = {kind.name: kind for kind in cached_kinds()}
    for name in clean or []:
        require_known("the cache has no kind", name, ("all", *kinds))
    chosen = list(kinds.values()) if "all" in (clean or []) else [kinds[name] for name in clean or []]
    room = format_bytes(sum(kind.size for kind in chosen or kinds.values()))
    if chosen:
        names = ", ".join(kind.name for kind in chosen)
        confirm(f"Delete {names} ({room}) from {format_path(cache_folder())}?", yes)
        for kind in chosen:
            clean_cache(kind)
        emit({"deleted": [kind.name for kind in chosen]}, as_json, [f"deleted {names} ({room})"])
        return
    rows = []
    for kind in kinds.values():
        newest = max(file.stat().st_mtime for file in kind.files)
        made = datetime.fromtimestamp(newest).strftime("%Y-%m-%d %H:%M")
        rows.append((kind.name, format_count(len(kind.files), "file"), format_bytes(kind.size), made))
    about = {
        "folder": str(cache_folder()),
        "kinds": {kind.name: {"files": len(kind.files), "bytes": kind.size} for kind in kinds.values()},
    }
    table = align_columns([("kind", "files", "size", "newest"), *rows]) if rows else []
    emit(about, as_json, [*table, f"{room} in {format_path(cache_folder())}"])


@app.command(epilog="Example: workbench tag runs/mine thesis --note 'table 2'")
@usage()
def tag(
    run: Annotated[str, typer.Argument(help="A run: its folder, name, or id as in `workbench ls`.")],
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORD]...", help="Tags to add.")] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="WORD", help="Tag to remove; repeatable.")
    ] = None,
    name: NewName = None,
    note: NewNote = None,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Give a finished run a name, tags or a note, or show them.

    An empty name or note, --note '', takes it away. `workbench ls --tag WORD` lists the runs with a tag; so
    do build and explore.
    """
    folder = runs.find(run, root).folder
    about = read_about(folder).merge(about_run("", words, ""))
    for word in remove or []:
        require_known(f"{format_path(folder)} has no tag", word, about.tags)
    about = replace(about, tags=[word for word in about.tags if word not in (remove or [])])
    if name is not None:
        runs.check_name(name, root, folder)
        about = replace(about, name=name)
    if note is not None:
        about = replace(about, note=note)
    write_about(folder, about)
    lines = {"run": folder, "name": about.name, "tags": " ".join(about.tags), "note": about.note}
    emit(asdict(about), as_json, align_columns((what, text) for what, text in lines.items() if text))


@app.command(epilog="Example: workbench rm runs/mine")
@usage()
def rm(
    run: Annotated[list[str], typer.Argument(help="Runs: folders, or ids as in `workbench ls`.")],
    yes: Yes = False,
    root: Root = "runs",
    as_json: AsJson = False,
) -> None:
    """Delete runs, with all files in their folders.

    Asks first, and says what they take.
    """
    folders = list(dict.fromkeys(runs.find(name, root).folder for name in run))
    room = format_bytes(sum(map(runs.size_of, folders)))
    names = ", ".join(map(format_path, folders))
    confirm(f"Delete {names} ({room})?", yes)
    with ExitStack() as writers:
        for folder in folders:
            writers.enter_context(only_writer(folder))
            writers.enter_context(only_writer(folder, runs.WATCHED))
        for folder in folders:
            # under another name first: a deletion that is cut off leaves no half of a run
            doomed = folder.with_name(f".{folder.name}.deleted")
            folder.rename(doomed)
            shutil.rmtree(doomed)
    emit({"deleted": [str(folder) for folder in folders]}, as_json, [f"deleted {names} ({room})"])
