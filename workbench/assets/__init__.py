"""Files that come with the package and with those beside it: small models, recorded results.

An installed package adds its own by an entry point of the group ``workbench.assets``, which names a package
that has a folder ``assets``.
"""

from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def path(name: str) -> Path:
    """Return where a shipped file or folder lies.

    Args:
        name: relative to a folder of assets, e.g. ``"scenes"`` or ``"scenes/pretrain.json"``.

    Returns:
        The path, which exists.

    Raises:
        FileNotFoundError: nothing of that name is shipped.

    >>> path("scenes").is_dir()
    True
    """
    folders = [package / "assets" for package in annex_folders()]
    shipped: list[str] = []
    for folder in folders:
        place = (folder / name).resolve()
        if place.exists() and place.is_relative_to(folder.resolve()):
            return place
        shipped += [file.relative_to(folder).as_posix() for file in folder.rglob("*")]
    raise FileNotFoundError(f"no shipped file {name!r}; there are {', '.join(sorted(shipped))}")


def annex_folders() -> tuple[Path, ...]:
    """Return folders of the installed packages that bring files."""
    return package_folders("workbench.assets")


@cache
def package_folders(*groups: str) -> tuple[Path, ...]:
    """Return folders of the installed packages that offer something in these groups of entry points, by name.
    None is imported.
    """
    entries = chain.from_iterable(entry_points(group=group) for group in groups)
    specs = map(find_spec, sorted({entry.module.split(".")[0] for entry in entries}))
    places = chain.from_iterable(spec.submodule_search_locations or () for spec in specs if spec)
    return tuple(map(Path, places))


@cache
def model_names() -> tuple[str, ...]:
    """Return names of the matching models that are shipped, in open_clip's layout of local folders."""
    files = chain.from_iterable(package.glob("assets/*/open_clip_config.json") for package in annex_folders())
    return tuple(sorted(file.parent.name for file in files))


def read_recorded(table: str | Path) -> "pd.DataFrame":
    """Return a table that a grid has recorded, see ``results/README.md``.

    Args:
        table: the name of a shipped one, e.g. ``"objectives_flickr8k"``, or the path of another.

    Raises:
        FileNotFoundError: there is no such table.
        ValueError: it cannot be read.
    """
    import pandas as pd  # slow to import, and most of what is read here is no table

    where = path(f"results/{table}.tsv") if isinstance(table, str) and not Path(table).suffix else table
    try:
        return pd.read_csv(where, sep="\t", comment="#")
    except ValueError as error:
        raise ValueError(f"{where} is no table with tabs between its columns: {error}") from error
