"""The user's own images and captions: a folder with a table, CSV, JSON Lines or Parquet.

One row of the table is one caption; an image may have any number of rows. Columns: ``image`` (path relative
to the folder) and ``caption``; optional ``id`` (of the caption), ``split``, and ``level`` and ``chain`` where
captions form chains from generic to specific. Where there is no column ``split``, a checksum of an image's
path decides: 80 % train, 10 % val, 10 % test.
"""

from typing import Literal

from workbench.data.loader import loader
from workbench.data.reading import SAME, find_root
from workbench.records import Split

TABLES = "captions.*"
REMEDY = (
    "Put the images into a folder with a table captions.csv (or .jsonl, .parquet) that has the columns "
    "image and caption."
)


@loader(positives=("own", SAME))
def folder(
    *,
    split: Literal["train", "val", "test", "all"] = "train",
    root: str | None = None,
    table: str = "",
    regions: str = "",
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
) -> Split:
    """Load one split of a folder of images: ``opening.loader_at`` its path, with a table of the usual name.

    Args:
        split: ``"train"``, ``"val"``, ``"test"``, or ``"all"`` for every row.
        root: the folder; default ``WORKBENCH_DATA/folder``.
        table: file name of the table in the folder; default ``captions.csv``, or with another ending.
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
    from workbench.data.opening import loader_at  # which reads the layouts of other files of this registry

    base = find_root("folder", root, [table] if table else [], REMEDY)
    how = {"regions": regions, "on_error": on_error, "check_images": check_images}
    return loader_at(base)(split=split, table=table or TABLES, **how)


MEMBER = folder
