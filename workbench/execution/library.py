"""The notebooks, configurations, grids and parameter files that come with the package and with its annexes,
and a user's own.

In a repository they lie in ``notebooks/`` beside the package, in an installed package inside it; those of an
annex lie in folders of the same names in its package. A name is looked for below ``notebooks/`` of the
current folder first, so that a user's own copy is found before the one that was shipped; ``copy_shipped``
makes such a copy.
"""

import shutil
from itertools import product
from pathlib import Path

from workbench import assets
from workbench.records import require
from workbench.registry import did_you_mean

# What a name may stand for: where it lies below ``notebooks/``, and how its file name ends.
KINDS = {
    "notebook": ("", (".ipynb",)),
    "configuration": ("configs", (".json", ".yaml", ".yml")),
    "grid": ("grids", (".yaml", ".yml", ".json")),
    "parameter file": ("parameters", (".yaml", ".yml", ".json")),
}


def shipped_folder() -> Path:
    """Return the folder of notebooks that comes with the package."""
    inside = Path(__file__).parents[1] / "notebooks"
    return inside if inside.is_dir() else inside.parents[1] / "notebooks"


def source_folders() -> list[Path]:
    """Return where shipped files lie: the folder of notebooks, then the packages of the annexes."""
    return [shipped_folder(), *assets.annex_folders()]


def find_file(name: Path | str, kind: str = "notebook") -> Path:
    """Return a file by its path, or by its name among one's own and then among those that come with the
    package.

    Args:
        name: a path, or a bare name such as ``"03_train"`` or ``"ditm_table4"``; the suffix may be left out.
        kind: one of ``KINDS``.

    Raises:
        FileNotFoundError: there is none; the message lists the near names.
    """
    below, suffixes = KINDS[kind]
    require(
        not Path(name).is_file() or Path(name).suffix in suffixes,
        f"{name} is no {kind}, whose name ends with {' or '.join(suffixes)}",
        FileNotFoundError,
    )
    require(
        not Path(name).is_dir() or not str(name),
        f"{name} is a folder; name a {kind} in it",
        FileNotFoundError,
    )
    folders = [Path(), *(folder / below for folder in (Path("notebooks"), *source_folders()))]
    for folder, suffix in product(folders, ("", *suffixes)):
        path = folder / f"{name}{suffix}"
        if path.suffix in suffixes and path.is_file():
            return path
    require("=" not in str(name), f"{name} is no {kind}; write a setting as -p {name}", FileNotFoundError)
    known = [path.stem for path in list_files(kind)]
    raise FileNotFoundError(
        f"no {kind} {str(name)!r}, neither as a path nor by name; {did_you_mean(Path(name).stem, known)}"
    )


def list_files(kind: str) -> list[Path]:
    """Return the files of a kind of ``KINDS``, by name; one's own go before those that come with the
    package.
    """
    below, suffixes = KINDS[kind]
    folders = [source / below for source in (*reversed(source_folders()), Path("notebooks"))]
    by_name = dict[str, Path]()
    for folder in folders:
        by_name |= {path.stem: path for path in folder.glob("*") if path.suffix in suffixes}
    return [by_name[name] for name in sorted(by_name)]


def copy_shipped(target: Path | str) -> list[Path]:
    """Copy all that is shipped into a folder, for a user to change.

    Args:
        target: the folder; it is made. Call it ``notebooks`` for names to be found there.

    Returns:
        The files that were written.

    Raises:
        FileExistsError: a file of that name is there already; then nothing is written.
    """
    place = Path(target)
    require(
        place.is_dir() or not place.exists(),
        f"{target} is a file; name a folder that is to be made",
        FileExistsError,
    )
    files = dict[Path, Path]()
    for source, (below, suffixes) in product(source_folders(), KINDS.values()):
        paths = [path for path in sorted((source / below).glob("*")) if path.suffix in suffixes]
        files |= {place / path.relative_to(source): path for path in paths}
    if there := [path for path in files if path.exists()]:
        raise FileExistsError(f"{there[0]} is there already; name another folder, or move it away first")
    for path, original in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original, path)
    return list(files)
