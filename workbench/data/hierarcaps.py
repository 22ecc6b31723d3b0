"""HierarCaps: photographs of MS-COCO, each with chains of four texts from generic to specific.

Source: Alper, Averbuch-Elor, "Emergent Visual-Semantic Hierarchies in Image-Text Representations", ECCV 2024.
The last text of a chain is a caption that a person wrote for MS-COCO; the other three were made from it by
language models.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, groupby
from pathlib import Path
from typing import Literal

import numpy as np

from workbench.data.benchmark import check_counts
from workbench.data.loader import loader
from workbench.data.reading import Problems, Row, find_root, to_split, usable_rows
from workbench.io import read_csv
from workbench.records import Judgements, Split, require

CHAINS = "hierarcaps_test.csv"
EXPANDED = "hierarcaps_test_expanded.csv.gz"
IMAGES = "images"
LEVELS = 4
ARROW = "=>"
# what is read: file, column of the chains, first level that is kept
TEXTS = {
    "chains": (CHAINS, "captions", 1),
    "expanded": (EXPANDED, "positive", 1),
    "captions": (EXPANDED, "positive", LEVELS),
}
COUNTS = {
    "chains": (1000, 4000),
    "expanded": (5000, 93916),
    "captions": (5000, 23479),
    "levels": (2000, 11748),
}
# ends of the ids under which a photograph stands a second time, with the texts that are rated
TRUE, WRONG = "#levels", "#wrong"
REMEDY = (
    "Get the text files from https://github.com/TAU-VAILab/hierarcaps and put the photographs that they "
    f"name, of MS-COCO's val2014, into {IMAGES}/"
)


@loader()
def hierarcaps(
    *,
    split: Literal["test"] = "test",
    texts: Literal["chains", "expanded", "captions", "levels"] = "chains",
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
            before, since most copies lack them. ``"levels"``: texts that are rated, for judges. A photograph
            of ``"chains"`` has its other human captions; under a second id, ``FILE#levels``, it has the four
            texts of its chain and four of a chain that the file calls wrong for it. The judgements
            ``"levels"`` grade these eight for the photograph under its first id.
        root: folder with the text files and ``images/``; default ``WORKBENCH_DATA/hierarcaps``.
        on_error: ``"raise"``, or ``"skip"`` to leave out what is missing, broken, empty or repeated;
            ``Split.notes`` counts it.
        check_images: read every image now; a broken one is otherwise found when it is opened.
        complete: with ``on_error="raise"``, refuse a copy whose counts are not the published ones.

    Returns:
        The split; a caption's level is 1 (generic) to 4 (specific). ``"captions"`` and ``"levels"`` have
        neither levels nor chains.

    Raises:
        FileNotFoundError: a file is missing; the message says what to get.
        ValueError: a row is bad, or the counts are not the published ones.
    """
    rated = texts == "levels"
    file, column, first = TEXTS["captions" if rated else texts]
    folder = find_root("hierarcaps", root, [file, IMAGES, *[CHAINS] * rated], REMEDY)
    problems = Problems(on_error)

    def path(image: str) -> Path:
        return folder / IMAGES / image.partition("#")[0]

    if rated:
        rows = list(_rated_rows(folder, problems))
    else:
        rows = list(chain.from_iterable(_rows_by_image(folder / file, column, first, problems).values()))
    needed = texts in ("chains", "levels") or check_images
    rows = usable_rows(rows, path if needed else lambda image: None, problems, check_images=check_images)
    require(rows, f"hierarcaps: {file} holds no usable row. {' '.join(problems.notes())}")
    name = f"hierarcaps/{split}" if texts == "chains" else f"hierarcaps/{split}, {texts}"
    check_counts(name, rows, COUNTS[texts], problems, complete=complete)
    return to_split(name, rows, path, judge=level_judgements if rated else None, notes=problems.notes())


def _rated_rows(folder: Path, problems: Problems) -> Iterator[Row]:
    """Yield each photograph's other captions, then the eight texts that are rated for it."""
    others = _rows_by_image(folder / EXPANDED, "positive", LEVELS, problems)
    wrong = _rows_by_image(folder / EXPANDED, "negative", 1, problems)
    rows = chain.from_iterable(_rows_by_image(folder / CHAINS, "captions", 1, problems).values())
    for _, group in groupby(rows, lambda row: row.chain):
        texts = list(group)
        image, where = texts[0].image, texts[0].where
        left = [row for row in others.get(image, []) if row.caption != texts[-1].caption]
        if not left:
            problems.add("image without other captions", f"{where}: {EXPANDED} has none of {image}")
            continue
        for row in left:
            yield replace(row, level=None, id=f"caption {row.id}")
        for row in texts:
            yield _row_for_judges(row, f"{image}{TRUE}{row.level}")
        for row in wrong[image][:LEVELS]:
            yield _row_for_judges(row, f"{image}{WRONG}{row.level}")


def _row_for_judges(row: Row, row_id: str) -> Row:
    """Return a text of a chain, at the second id of its photograph."""
    return replace(row, image=row.image + TRUE, id=row_id, level=None, chain=None)


def level_judgements(images: Mapping[str, int], captions: Mapping[str, int]) -> dict[str, Judgements]:
    """Return the level of each rated text, for its photograph; 0 for one of a wrong chain.

    Args:
        images: row of each image id.
        captions: row of each caption id.
    """
    pairs = []
    for text, column in captions.items():
        image, is_true, level = text.partition(TRUE)
        if is_true:
            pairs.append((images[image], column, int(level)))
        image, is_wrong, _ = text.partition(WRONG)
        if is_wrong:
            pairs.append((images[image], column, 0))
    rows, columns, grades = np.array(pairs, dtype=np.int64).T
    rule = f"1 (generic) to {LEVELS} (specific): how much a true text says; 0 for one of a wrong chain"
    shape = (len(images), len(captions))
    graded = grades.astype(np.float64)
    return {
        "levels": Judgements("levels", rule, shape, rows, columns, graded, unlisted=None, source=EXPANDED)
    }


def _rows_by_image(file: Path, column: str, first: int, problems: Problems) -> dict[str, list[Row]]:
    """Return one row a text, by image, in the order of the file."""
    by_image: dict[str, list[Row]] = {}
    for number, record in enumerate(read_csv(file).to_dict("records"), start=1):
        where = f"{file.name} row {number}"
        texts = record.get(column, "").split(ARROW)
        image = record.get("image_url", "").rpartition("/")[2]
        if len(texts) != LEVELS or not image:
            problems.add(
                "malformed row",
                f"{where}: expected {LEVELS} texts joined by {ARROW!r} in {column}, and image_url",
            )
            continue
        for level, text in enumerate(texts[first - 1 :], start=first):
            key = f"{record.get('id') or number - 1}#{level}"
            place = (level, number - 1) if first < LEVELS else (None, None)
            by_image.setdefault(image, []).append(Row(where, image, text.strip(), key, *place))
    return by_image


MEMBER = hierarcaps
