"""HierarCaps: photographs of MS-COCO, each with chains of four texts from generic to specific.

Source: Alper, Averbuch-Elor, "Emergent Visual-Semantic Hierarchies in Image-Text Representations", ECCV 2024.
The last text of a chain is a caption that a person wrote for MS-COCO; the other three were made from it by
language models.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

from workbench.data.reading import Problems, Row, check_counts, find_root, good, to_split
from workbench.records import Split, require
from workbench.records.foreign import read_rows

CHAINS, EXPANDED, IMAGES = "hierarcaps_test.csv", "hierarcaps_test_expanded.csv.gz", "images"
LEVELS, ARROW = 4, " => "
# what is read: file, column of the chains, first level that is kept
TEXTS = {
    "chains": (CHAINS, "captions", 1),
    "expanded": (EXPANDED, "positive", 1),
    "captions": (EXPANDED, "positive", LEVELS),
}
COUNTS = {"chains": (1000, 4000), "expanded": (5000, 93916), "captions": (5000, 23479)}
REMEDY = (
    "Get the text files from https://github.com/TAU-VAILab/hierarcaps and put the photographs that they "
    f"name, of MS-COCO's val2014, into {IMAGES}/"
)


def hierarcaps(
    *,
    split: Literal["test"] = "test",
    texts: Literal["chains", "expanded", "captions"] = "chains",
    root: str | None = None,
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = False,
    complete: bool = True,
) -> Split:
    """Load the test set of HierarCaps.

    Args:
        split: ``"test"``; the texts for training are not read.
        texts: ``"chains"``: 1,000 photographs with one chain of four texts each. ``"expanded"``: 23,479
            chains of 5,000 photographs, those among them. ``"captions"``: the last texts of those, which are
            captions of MS-COCO. Photographs of the last two are looked for when they are opened and not
            before, since most copies lack them.
        root: folder with the text files and ``images/``; default ``WORKBENCH_DATA/hierarcaps``.
        on_error: ``"raise"``, or ``"skip"`` to leave out what is missing, broken, empty or repeated;
            ``Split.notes`` counts it.
        check_images: read every image now; a broken one is otherwise found when it is opened.
        complete: with ``on_error="raise"``, refuse a copy whose counts are not the published ones.

    Returns:
        The split; a caption's level is 1 (generic) to 4 (specific). ``"captions"`` has neither levels nor
        chains.

    Raises:
        FileNotFoundError: a file is missing; the message says what to get.
        ValueError: a row is bad, or the counts are not the published ones.
    """
    file, column, first = TEXTS[texts]
    folder = find_root("hierarcaps", root, [file, IMAGES], REMEDY)
    path, problems = (folder / IMAGES).joinpath, Problems(on_error)
    rows = list(_rows(folder / file, column, first, problems))
    needed: Callable[[str], Path] = path if texts == "chains" or check_images else lambda image: folder / file
    kept = good(rows, needed, problems, check_images=check_images)
    require(kept, f"hierarcaps: {file} holds no usable row. {' '.join(problems.notes())}")
    name = f"hierarcaps/{split}" if texts == "chains" else f"hierarcaps/{split}, {texts}"
    if complete and on_error == "raise":
        check_counts(name, kept, COUNTS[texts])
    return to_split(name, kept, path, notes=problems.notes())


def _rows(file: Path, column: str, first: int, problems: Problems) -> Iterator[Row]:
    """One row a text, images in the order of the file; texts of an image that stand apart there stand
    together here.
    """
    by_image: dict[str, list[Row]] = {}
    for number, record in enumerate(_records(file), start=1):
        where = f"{file.name} row {number}"
        chain = [text.strip() for text in (record.get(column) or "").split(ARROW.strip())]
        image = (record.get("image_url") or "").rpartition("/")[2]
        if len(chain) != LEVELS or not image:
            problems.add(
                "malformed row", f"{where}: expected {LEVELS} texts joined by '=>' in {column}, and image_url"
            )
            continue
        for level, text in list(enumerate(chain, start=1))[first - 1 :]:
            key = f"{record.get('id') or number - 1}#{level}"
            place = (level, number - 1) if first < LEVELS else (None, None)
            by_image.setdefault(image, []).append(Row(where, image, text, key, *place))
    return (row for rows in by_image.values() for row in rows)


def _records(file: Path) -> Iterator[dict[str, str]]:
    rows = read_rows(file)
    header = next(rows, [])
    yield from (dict(zip(header, row, strict=False)) for row in rows)


MEMBER = hierarcaps
