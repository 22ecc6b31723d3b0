"""Crisscrossed Captions: people's ratings, 0 to 5, of image-caption, image-image and caption-caption pairs of
MS-COCO.

Source: Parekh, Baldridge, Cer, Waters, Yang, "Crisscrossed captions: extended intramodal and intermodal
semantic similarity judgments for MS-COCO", EACL 2021.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np

from workbench.data.coco import coco as load_coco
from workbench.data.reading import find_root
from workbench.formatting import format_count
from workbench.io import read_rows
from workbench.records import Judgements, Split, require

REMEDY = (
    "Get the six tables {sits,sis,sts}_{val,test}.csv from the folder data/ of "
    "https://github.com/google-research-datasets/Crisscrossed-Captions; the captions and photographs are "
    "those of coco, to which coco=... or WORKBENCH_DATA must lead."
)
# What is rated, from which grade on a pair counts as relevant, and the question that people answered.
TABLES = {
    "sits": (("caption", "image"), 3.0, "rating 0 to 5: how well the caption describes the image"),
    "sis": (("image", "image"), 2.5, "rating 0 to 5: how alike the two images are"),
    "sts": (("caption", "caption"), 3.0, "rating 0 to 5: how alike the meanings of the two captions are"),
}
COUNTS = {"val": (5000, 25000), "test": (5000, 25000)}
# rows of the tables of the test split
RATED = {"sits": 44833, "sis": 46719, "sts": 44045}
Rating = tuple[str, tuple[str, str], float]


def cxc(
    *,
    split: Literal["val", "test"] = "test",
    root: str | None = None,
    coco: str | None = None,
    source: Literal["photographs", "captions", "precomp", "regions"] = "photographs",
    complete: bool = True,
) -> Split:
    """Load a split of MS-COCO with the ratings of Crisscrossed Captions.

    Args:
        split: ``"val"`` or ``"test"``.
        root: folder with the tables; default ``WORKBENCH_DATA/cxc``.
        coco: folder of MS-COCO; default ``WORKBENCH_DATA/coco``.
        source: of MS-COCO: ``"photographs"``, ``"captions"``, ``"regions"`` or ``"precomp"`` (with
            ``dataset_coco.json`` beside it).
        complete: refuse copies with other counts than the published ones.

    Returns:
        The split with five captions an image. ``judgements["sits"]`` rates images against captions;
        ``image_judgements["sis"]`` and ``caption_judgements["sts"]`` rate pairs of one kind, each in the
        order in which it was rated: some stand in both orders with two ratings, and ``Judgements.symmetric``
        makes them one, the larger. Pairs not listed were not rated.

    Raises:
        FileNotFoundError: a table, or a file of MS-COCO, is missing; the message says what to download.
        ValueError: a row rates an image or a caption that the split does not have, or no rating is there; the
            message names table and row. Or the counts are not the published ones.
    """
    files = {name: f"{name}_{split}.csv" for name in TABLES}
    folder = find_root("cxc", root, list(files.values()), REMEDY)
    base = load_coco(split=split, root=coco, source=source, complete=complete)
    rows = {
        "image": {image: n for n, image in enumerate(base.image_ids)},
        "caption": {caption: n for n, caption in enumerate(base.caption_ids)},
    }
    tables = {name: list(_ratings(folder / file, name)) for name, file in files.items()}
    found = {name: len(table) for name, table in tables.items()}
    require(
        not complete or split != "test" or found == RATED,
        f"{', '.join(files.values())}: expected {RATED} ratings, found {found}; get whole copies",
    )
    rated = {name: _judgements(name, table, rows, files[name]) for name, table in tables.items()}
    return replace(
        base,
        name=f"cxc/{split}",
        judgements={"own": base.judgements["own"], "sits": rated["sits"]},
        image_judgements={"sis": rated["sis"]},
        caption_judgements={"sts": rated["sts"]},
        notes=(
            *base.notes,
            *(
                f"{name}: {format_count(found[name], 'rating')} of {format_count(len(one.grades), 'pair')}"
                for name, one in rated.items()
            ),
        ),
    )


def _judgements(
    name: str, table: list[Rating], rows: Mapping[str, Mapping[str, int]], file: str
) -> Judgements:
    kinds, relevant_from, rule = TABLES[name]
    ratings: dict[tuple[int, int], float] = {}
    for where, ids, rating in table:
        first, second = (_row(where, kind, item, rows[kind]) for kind, item in zip(kinds, ids, strict=True))
        pair = (second, first) if name == "sits" else (first, second)
        # a pair is positive if either of two ratings says so
        ratings[pair] = max(rating, ratings.get(pair, 0.0))
    pairs = np.array(list(ratings), dtype=np.int64).reshape(-1, 2)
    shape = ("image", "caption") if name == "sits" else kinds
    return Judgements(
        name=name,
        rule=rule,
        shape=(len(rows[shape[0]]), len(rows[shape[1]])),
        images=pairs[:, 0],
        captions=pairs[:, 1],
        grades=np.array(list(ratings.values()), dtype=np.float32),
        relevant_from=relevant_from,
        unlisted=None,
        source=f"{file}; Parekh et al. 2021",
    )


def _ratings(file: Path, name: str) -> Iterator[Rating]:
    """The rows of a table: two ids, a rating, and how the pair was sampled, which is not used."""
    table = read_rows(file)
    if (header := next(table, []))[2:3] != ["agg_score"]:
        raise ValueError(
            f"{file.name}: expected the columns of {name}, two ids, agg_score, sampling_method; "
            f"found {header}"
        )
    for number, row in enumerate(table, start=1):
        where = f"{file.name} row {number}"
        try:
            first, second, score, _ = row
            rating = float(score)
        except ValueError as error:
            raise ValueError(
                f"{where}: expected two ids, a rating and a sampling method, found {row}; {error}"
            ) from error
        if not 0 <= rating <= 5:
            raise ValueError(f"{where}: expected a rating from 0 to 5, found {score}")
        yield where, (first, second), rating


def _row(where: str, kind: str, item: str, rows: Mapping[str, int]) -> int:
    """Row of ``COCO_val2014:sentid:732091`` among the captions, or of ``COCO_val2014_000000391895.jpg`` among
    the images.
    """
    key = item.rpartition(":")[2] if kind == "caption" else item
    if key not in rows:
        raise ValueError(
            f"{where}: expected a {kind} of the split, which has {format_count(len(rows))}, found the "
            "unknown "
            f"{item!r}"
        )
    return rows[key]


MEMBER = cxc
