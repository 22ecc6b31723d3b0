"""Ground truth of other tools, such as qrels of TREC, as judgements of a data set, and the way back."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from workbench.records import Judgements, Split, require
from workbench.runs.run_files import GRADES, name_of, place_rows, read_pairs, short_name, sources_of

# how these judgements are called
NAME = "qrels"


def with_ground_truth(split: Split, source: Any, *, quiet: bool = False) -> Split:
    """Return a split with the judgements ``"qrels"``, relevant from grade 1 on. Asked are the queries that
    the source names; pairs that it does not name are not relevant, and a negative grade counts as 0.

    Args:
        split: whose images and captions are judged.
        source: a file, a mapping, a table or an object of ranx; a list of these, or a mapping of directions.
        quiet: add no notes.

    Raises:
        FileNotFoundError, ValueError, TypeError: see ``read_pairs`` and ``placed``; or two sources grade one
            pair differently.
    """
    tables: list[pd.DataFrame] = []
    notes: list[str] = []
    for way, part in sources_of(source):
        name = name_of(part, GRADES)
        for direction, table in read_pairs(part, GRADES):
            rows = place_rows(table, split, name, way or direction)
            image, caption = (rows.query, rows.item) if rows.way == "i2t" else (rows.item, rows.query)
            grades = np.maximum(rows.values, 0)
            columns = {"way": rows.way, "image": image, "caption": caption, "grade": grades}
            tables.append(pd.DataFrame(columns))
            notes += rows.notes
    every = pd.concat(tables, ignore_index=True)
    pairs = every.drop_duplicates(["image", "caption", "grade"])
    for row in np.flatnonzero(pairs.duplicated(["image", "caption"]))[:1]:
        ids = split.image_ids[pairs["image"].iloc[row]], split.caption_ids[pairs["caption"].iloc[row]]
        raise ValueError(
            f"ground truth: image {ids[0]!r} and caption {ids[1]!r} have "
            "one grade in one direction and another in the other; give one of them"
        )
    require((pairs["grade"] >= 1).any(), "ground truth: no pair has grade 1 or more, and none is relevant")
    queries = [
        np.unique(every[side][every["way"] == way]) for side, way in (("image", "i2t"), ("caption", "t2i"))
    ]
    judged = Judgements(
        NAME,
        "graded in a file; relevant from 1 on",
        (len(split.image_ids), len(split.caption_ids)),
        pairs["image"].to_numpy(np.int64),
        pairs["caption"].to_numpy(np.int64),
        pairs["grade"].to_numpy(np.float32),
        source=", ".join(short_name(name_of(part, GRADES)) for _, part in sources_of(source)),
        image_queries=queries[0],
        caption_queries=queries[1],
    )
    judgements = {name: split.judgements[name] for name in split.judgements} | {NAME: judged}
    return replace(split, judgements=judgements, notes=(*split.notes, *([] if quiet else notes)))


def ground_truth(split: Split, way: str, judgements: str, *, graded: bool = False) -> pd.DataFrame:
    """Return the listed pairs of judgements as ``query``, ``item`` and ``value``, query by query.

    Args:
        split: with the judgements.
        way: the direction.
        judgements: their name.
        graded: the grades themselves; else 1 for what is relevant, and 0.

    Raises:
        ValueError: a grade is no whole number.
    """
    judged = split.judgements[judgements]
    values = judged.grades if graded else (judged.grades >= judged.relevant_from).astype(np.float32)
    whole = bool((values == np.round(values)).all())
    require(whole, f"judgements {judgements!r} have grades that are no whole numbers; write them without")
    images = np.array(split.image_ids, dtype=object)[judged.images]
    captions = np.array(split.caption_ids, dtype=object)[judged.captions]
    rows, asked = (
        (judged.images, judged.image_queries) if way == "i2t" else (judged.captions, judged.caption_queries)
    )
    query, item = (images, captions) if way == "i2t" else (captions, images)
    table = pd.DataFrame({"query": query, "item": item, "value": values, "row": rows})
    table = table if asked is None else table[np.isin(rows, asked)]
    return table.sort_values("row", kind="stable").drop(columns="row").reset_index(drop=True)


def saved_ground_truth(split: Split) -> pd.DataFrame:
    """Return the judgements ``"qrels"`` of a split as ``with_ground_truth`` reads them, both directions by
    name.
    """
    judged = split.judgements[NAME]
    tables = []
    for way, queries in (("i2t", judged.image_queries), ("t2i", judged.caption_queries)):
        if queries is None or len(queries):
            tables.append(ground_truth(split, way, NAME, graded=True).assign(direction=way))
    return pd.concat(tables, ignore_index=True)
