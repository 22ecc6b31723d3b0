"""Crisscrossed Captions: people's ratings, 0 to 5, of image-caption, image-image and caption-caption pairs of
MS-COCO.

Source: Parekh, Baldridge, Cer, Waters, Yang, "Crisscrossed captions: extended intramodal and intermodal
semantic similarity judgments for MS-COCO", EACL 2021.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from workbench.data.coco import coco as load_coco
from workbench.data.loader import loader
from workbench.data.reading import find_root
from workbench.formatting import format_count
from workbench.io import read_csv
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
# rows of the tables of the test split
RATED = {"sits": 44833, "sis": 46719, "sts": 44045}


@loader()
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
        order in which it was rated: some stand in both orders with two ratings, and ``Judgements.symmetrise``
        makes them one, the larger. Pairs not listed were not rated.

    Raises:
        FileNotFoundError: a table, or a file of MS-COCO, is missing; the message says what to download.
        ValueError: a row rates an image or a caption that the split does not have, or no rating is there; the
            message names table and row. Or the counts are not the published ones.
    """
    files = {name: f"{name}_{split}.csv" for name in TABLES}
    folder = find_root("cxc", root, list(files.values()), REMEDY)
    base = load_coco(split=split, root=coco, source=source, complete=complete)
    ids = {"image": pd.Index(base.image_ids), "caption": pd.Index(base.caption_ids)}
    tables = {name: _read_ratings(folder / file, name) for name, file in files.items()}
    counts = {name: len(table) for name, table in tables.items()}
    require(
        not complete or split != "test" or counts == RATED,
        f"{', '.join(files.values())}: expected {RATED} ratings, found {counts}; get whole copies",
    )
    rated = {name: _make_judgements(name, table, ids, files[name]) for name, table in tables.items()}
    notes = list(base.notes)
    for name, judgements in rated.items():
        pairs = format_count(len(judgements.grades), "pair")
        notes.append(f"{name}: {format_count(counts[name], 'rating')} of {pairs}")
    return replace(
        base,
        name=f"cxc/{split}",
        judgements={"own": base.judgements["own"], "sits": rated["sits"]},
        image_judgements={"sis": rated["sis"]},
        caption_judgements={"sts": rated["sts"]},
        notes=tuple(notes),
    )


def _read_ratings(file: Path, name: str) -> pd.DataFrame:
    """Return the rows of a table: two ids, a rating, and how the pair was sampled, which is not used."""
    table = read_csv(file)
    require(
        list(table)[2:3] == ["agg_score"],
        f"{file.name}: expected the columns of {name}, two ids, agg_score, sampling_method; "
        f"found {list(table)}",
    )
    scores = pd.to_numeric(table["agg_score"], errors="coerce")
    for row, score in table["agg_score"][~scores.between(0, 5)].items():
        raise ValueError(f"{file.name} row {int(str(row)) + 1}: expected a rating from 0 to 5, found {score}")
    return table.assign(agg_score=scores)


def _make_judgements(name: str, table: pd.DataFrame, ids: Mapping[str, pd.Index], file: str) -> Judgements:
    """Return the ratings at the rows of ``COCO_val2014:sentid:732091`` among the captions and of
    ``COCO_val2014_000000391895.jpg`` among the images.
    """
    kinds, relevant_from, rule = TABLES[name]
    rows = []
    for column, kind in zip(table, kinds, strict=False):
        rows.append(ids[kind].get_indexer(pd.Index(table[column].str.split(":").str[-1])))
        for row, item in table[column][rows[-1] < 0].items():
            raise ValueError(
                f"{file} row {int(str(row)) + 1}: expected {kind} of the split, which has "
                f"{format_count(len(ids[kind]))}, found the unknown {item!r}"
            )
    # a pair is positive if either of two ratings says so
    rated = table["agg_score"].groupby(rows, sort=False).max()
    sides = [rated.index.get_level_values(side).to_numpy(np.int64) for side in (0, 1)]
    shape = [len(ids[kind]) for kind in kinds]
    if name == "sits":  # captions stand before images there
        sides.reverse()
        shape.reverse()
    return Judgements(
        name=name,
        rule=rule,
        shape=(shape[0], shape[1]),
        images=sides[0],
        captions=sides[1],
        grades=rated.to_numpy(np.float32),
        relevant_from=relevant_from,
        unlisted=None,
        source=f"{file}; Parekh et al. 2021",
    )


MEMBER = cxc
