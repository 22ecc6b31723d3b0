"""Files that come with the package: the embedded world's small pre-trained models, the configurations that
made them, and recorded results.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def path(name: str) -> Path:
    """Where a shipped file or folder lies.

    Args:
        name: relative to this folder, e.g. ``"scenes"`` or ``"scenes/pretrain.json"``.

    Returns:
        The path, which exists.

    Raises:
        FileNotFoundError: nothing of that name is shipped.

    >>> path("scenes").is_dir()
    True
    """
    folder = Path(__file__).parent
    found = (folder / name).resolve()
    if not found.exists() or not found.is_relative_to(folder.resolve()):
        shipped = sorted(
            p.relative_to(folder).as_posix() for p in folder.rglob("*") if "__" not in p.as_posix()
        )
        raise FileNotFoundError(f"no shipped file {name!r}; there are {', '.join(shipped)}")
    return found


def recorded(table: str | Path) -> "pd.DataFrame":
    """A table that a grid has recorded, see ``results/README.md``.

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
