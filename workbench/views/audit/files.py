"""Judgements as files that other tools read: qrels, the format of TREC, and Parquet.

A line of qrels is ``query 0 item grade``, with whole grades, queries of one direction a file, and no place
for a name or a rule. Parquet holds one row a pair and, in the metadata of its schema, everything else that a
``Judgements`` record says, so that the record comes back equal.

Source: E. Voorhees, D. Harman, TREC: Experiment and Evaluation in Information Retrieval, MIT Press 2005
(qrels).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from workbench.experiment.runs import write_text
from workbench.records import Judgements, Rows, Split
from workbench.records.writing import replacing
from workbench.views.audit.candidates import Direction
from workbench.views.audit.corrected import rows_of

KEY = b"workbench.judgements"
# fields of the record that hold rows beside those of the pairs, whose ids they are, and the kind for messages
ROWS = {
    "image_queries": ("image_ids", "image"),
    "caption_queries": ("caption_ids", "caption"),
    "missing_captions": ("image_ids", "image"),
}


def write_qrels(
    path: Path | str, judgements: Judgements, split: Split, *, direction: Direction = "t2i"
) -> Path:
    """Write the listed pairs as qrels, sorted by query and item; a pair that is not listed is not relevant to
    TREC's tools.

    Who is asked, and pairs whose caption the split lacks, cannot be said in this format.

    Args:
        path: the file.
        judgements: of the split, with whole grades.
        split: whose ids name queries and items.
        direction: ``"t2i"``: captions are the queries; ``"i2t"``: images are.

    Raises:
        ValueError: a grade is not whole, or an id is empty or holds a blank, which the format cannot say.
    """
    path = Path(path)
    if (judgements.grades != np.round(judgements.grades)).any():
        raise ValueError(
            f"{path}: qrels hold whole grades, {judgements.name!r} has others; write Parquet instead"
        )
    spoilt = [one for one in (*split.image_ids, *split.caption_ids) if one.split() != [one]]
    if spoilt:
        raise ValueError(
            f"{path}: the id {spoilt[0]!r} is empty or holds a blank, which ends a field of qrels; write Parquet"
        )
    images = [split.image_ids[row] for row in judgements.images]
    captions = [split.caption_ids[row] for row in judgements.captions]
    queries, items = (captions, images) if direction == "t2i" else (images, captions)
    lines = sorted(zip(queries, items, judgements.grades.astype(int).tolist(), strict=True))
    return write_text(path, "".join(f"{query} 0 {item} {grade}\n" for query, item, grade in lines))


def read_qrels(
    path: Path | str,
    split: Split,
    *,
    direction: Direction = "t2i",
    name: str = "",
    relevant_from: float = 1.0,
) -> Judgements:
    """Judgements of a split from qrels.

    Args:
        path: the file.
        split: whose ids name queries and items.
        direction: which of them are the queries.
        name: of the judgements; by default that of the file.
        relevant_from: a pair counts as relevant from this grade on.

    Raises:
        ValueError: a line has not four fields, an id is not in the split, a pair comes twice.
    """
    path = Path(path)
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    wrong = [number for number, fields in enumerate(lines, 1) if len(fields) != 4]
    if wrong:
        raise ValueError(
            f"{path}: line {wrong[0]} has {len(lines[wrong[0] - 1])} fields, qrels have 4: query, 0, item, grade"
        )
    queries, items = [fields[0] for fields in lines], [fields[2] for fields in lines]
    images, captions = (items, queries) if direction == "t2i" else (queries, items)
    return Judgements(
        name or path.stem,
        f"qrels, relevant from grade {relevant_from:g}",
        (len(split.image_ids), len(split.caption_ids)),
        rows_of(images, split.image_ids, "image"),
        rows_of(captions, split.caption_ids, "caption"),
        np.array([float(fields[3]) for fields in lines], dtype=np.float32),
        relevant_from,
        source=path.name,
    )


def write_parquet(path: Path | str, judgements: Judgements, split: Split) -> Path:
    """Write judgements with their rule: columns ``image``, ``caption`` (ids) and ``grade``.

    Args:
        path: the file.
        judgements: of the split.
        split: whose ids they are.
    """
    import pyarrow as pa
    from pyarrow import parquet

    images = [split.image_ids[row] for row in judgements.images]
    captions = [split.caption_ids[row] for row in judgements.captions]
    columns = {"image": pa.array(images, pa.string()), "caption": pa.array(captions, pa.string())}
    table = pa.table({**columns, "grade": pa.array(judgements.grades, pa.float32())})
    queries = {
        name: None
        if (rows := getattr(judgements, name)) is None
        else [getattr(split, ids)[row] for row in rows]
        for name, (ids, _) in ROWS.items()
    }
    about = {
        name: getattr(judgements, name) for name in ("name", "rule", "relevant_from", "unlisted", "source")
    }
    path = Path(path)
    with replacing(path) as temporary:
        parquet.write_table(
            table.replace_schema_metadata({KEY: json.dumps(about | {"queries": queries})}), temporary
        )
    return path


def read_parquet(path: Path | str, split: Split) -> Judgements:
    """The judgements that ``write_parquet`` wrote, in the rows of this split.

    Args:
        path: the file.
        split: whose ids they are; its images and captions may stand in another order.

    Raises:
        ValueError: the file lacks a column or its rule, or an id is not in the split.
    """
    from pyarrow import parquet

    path = Path(path)
    table = parquet.read_table(path)
    metadata: dict[bytes, bytes] = table.schema.metadata or {}
    if not {"image", "caption", "grade"} <= set(table.column_names) or KEY not in metadata:
        raise ValueError(
            f"{path} has columns {table.column_names}; judgements have image, caption and grade, and their rule"
        )
    about: dict[str, Any] = json.loads(metadata[KEY])
    queries = about.pop("queries")
    rows: dict[str, Any] = {
        name: _rows(queries[name], getattr(split, ids), kind) for name, (ids, kind) in ROWS.items()
    }
    return Judgements(
        shape=(len(split.image_ids), len(split.caption_ids)),
        images=rows_of(table["image"].to_pylist(), split.image_ids, "image"),
        captions=rows_of(table["caption"].to_pylist(), split.caption_ids, "caption"),
        grades=table["grade"].to_numpy().astype(np.float32),
        **about,
        **rows,
    )


def _rows(ids: list[str] | None, known: tuple[str, ...], kind: str) -> Rows | None:
    return None if ids is None else rows_of(ids, known, kind)
