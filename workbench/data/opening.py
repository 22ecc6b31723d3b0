"""Data that lie at a path or in memory: what lies there is recognised and read."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from workbench.data.folder import TABLES, folder, split_of_records
from workbench.data.reading import Problems
from workbench.data.shards import shards
from workbench.records import Split, require

# judgements of the training split, for ``Config.positives``
POSITIVES = ("own",)


def at(path: Path) -> Callable[..., Split]:
    """What loads the data at a path, with the options of ``opened``."""

    def opened(
        *,
        split: Literal["train", "val", "test", "all"] = "all",
        table: str = "",
        regions: str = "",
        on_error: Literal["raise", "skip"] = "raise",
        check_images: bool = True,
    ) -> Split:
        """Load one split of the data at a path."""
        root, named = (path.parent, path.name) if path.is_file() else (path, table)
        if named or any((root / name).is_file() for name in TABLES):
            options = {"table": named, "regions": regions, "check_images": check_images}
            return folder(split=split, root=str(root), on_error=on_error, **options)  # type: ignore[arg-type]
        return shards(split=split, root=str(root), on_error=on_error)

    return opened


def held(
    data: Any,
    *,
    split: Literal["train", "val", "test", "all"] = "all",
    root: str | Path = ".",
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
) -> Split:
    """Load one split of a table in memory, with the columns of a table on the disk."""
    require(hasattr(data, "to_dict"), f"expected a name, a path or a table, found {type(data).__name__}")
    frame, problems = data.astype(object).where(data.notna(), None), Problems(on_error)
    records = [(f"row {n}", record) for n, record in enumerate(frame.to_dict("records"), start=1)]
    return split_of_records("table", records, Path(root), split, problems, check_images=check_images)
