"""The user's own images and captions: a folder with a table, CSV, JSON Lines or Parquet.

One row of the table is one caption; an image may have any number of rows. Columns: ``image`` (path relative
to the folder) and ``caption``; optional ``id`` (of the caption), ``split``, and ``level`` and ``chain`` where
captions form chains from generic to specific. Where there is no column ``split``, a checksum of an image's
path decides: 80 % train, 10 % val, 10 % test.
"""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from workbench.data.reading import SAME, Problems, Reading, find_root, one_split
from workbench.data.region_files import locate
from workbench.data.tables import inside, read_table, table_rows
from workbench.records import Split, require

# judgements of the training split, for ``Config.positives``
POSITIVES = ("own", SAME)
TABLES = ["captions.csv", "captions.jsonl", "captions.parquet"]
REMEDY = (
    "Put the images into a folder with a table captions.csv (or .jsonl, .parquet) that has the columns "
    "image and caption."
)


def folder(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    table: str = "",
    regions: str = "",
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
) -> Split:
    """Load one split of a folder of images.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"`` for every row.
        root: the folder; default ``WORKBENCH_DATA/folder``.
        table: file name of the table in the folder; default ``captions.csv``, ``captions.jsonl`` or
            ``captions.parquet``.
        regions: name of a folder below the folder that holds region features, one ``.npy`` or ``.npz`` an
            image, named as the image; see ``region_files``. The images themselves are then looked for when
            they are opened, and need not be there.
        on_error: ``"raise"``, or ``"skip"`` to leave out bad rows; ``Split.notes`` counts them.
        check_images: read every image now (some milliseconds each); otherwise a broken one is found when it
            is opened.

    Returns:
        The split; image ids are the paths as the table gives them. Where a text stands at several images,
        the judgements ``"same_text"`` count it as right for all of them.

    Raises:
        FileNotFoundError: there is no such folder or table, or an image is missing.
        ValueError: a path leads out of the folder, an image is broken, a caption is empty, an id is repeated,
            a level is not a whole number; the message names file and row. Or there is no row for the split.
    """
    base = find_root("folder", root, [table] if table else [], REMEDY)
    file = base / table if table else _find_table(base)
    problems = Problems(on_error)
    rows, notes = table_rows(list(read_table(file, problems)), file.name, partial(inside, base), problems)
    read = Reading(base.name, rows, base.joinpath, notes=notes)
    return with_regions(read, split, problems, base, regions, check_images=check_images, brief=True)


def with_regions(
    read: Reading,
    split: str,
    problems: Problems,
    base: Path,
    regions: str,
    *,
    check_images: bool,
    brief: bool,
) -> Split:
    """One split of what was read, with region features from files where a folder of them is named.

    Args:
        read: all of it.
        split: see ``one_split``, as ``problems``, ``check_images`` and ``brief``.
        problems: takes what is wrong.
        base: the folder that ``regions`` is relative to.
        regions: see ``folder``.
        check_images: not where regions stand for the images.
        brief: see ``one_split``.
    """
    if not regions:
        return one_split(read, split, problems, check_images=check_images, brief=brief)
    made = one_split(replace(read, needed=False), split, problems, check_images=False, brief=brief)
    features: Any = locate(base / inside(base, regions), made.image_ids)
    notes = (*made.notes, *features.notes())
    return replace(made, regions=features, open_boxes=features.boxes, notes=notes)


def _find_table(base: Path) -> Path:
    require(base.is_dir(), f"folder: there is no folder {base}. {REMEDY}", FileNotFoundError)
    if not (found := [base / name for name in TABLES if (base / name).is_file()]):
        raise FileNotFoundError(
            f"folder: {base} holds none of {', '.join(TABLES)}; name the table with table=... {REMEDY}"
        )
    require(
        len(found) <= 1,
        f"folder: {base} holds {' and '.join(file.name for file in found)}; choose one with table=...",
    )
    return found[0]


MEMBER = folder
