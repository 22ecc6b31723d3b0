"""Judgements corrected by labels, what that does to every metric, and judgements as files that other tools
read.

A line of qrels, the format of TREC, is ``query 0 item grade``, with whole grades, queries of one direction
a file, and no place for a name or a rule. Parquet holds one row a pair and, in the metadata of its schema,
everything else that a ``Judgements`` record says, so that the record comes back equal.

Source: E. Voorhees, D. Harman, TREC: Experiment and Evaluation in Information Retrieval, MIT Press 2005
(qrels).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relevance_audit.false_negatives import Direction
from relevance_audit.labels import INVALID, VALID, Pair
from workbench.io import parse_json, read_text, reading_errors, replacing, validate, write_text
from workbench.metrics.evaluation import Evidence, evaluate
from workbench.metrics.intervals import ROUNDS, SEED
from workbench.metrics.registry import Metric
from workbench.records import Array, Judgements, Rows, Split, densest_judgements, require
from workbench.registry import require_known

MEASURED = ("R", "recall", "medr", "map_at_r", "r_precision", "rsum")
KEY = b"workbench.judgements"
# fields of the record that hold rows beside those of the pairs, whose ids they are, and the kind for messages
ROWS = {
    "image_queries": ("image_ids", "image"),
    "caption_queries": ("caption_ids", "caption"),
    "missing_captions": ("image_ids", "image"),
}


SCHEMA = {"image": "string", "caption": "string", "grade": "float32"}


@dataclass(frozen=True)
class _About:
    """What the metadata of a Parquet file say of its judgements."""

    name: str
    rule: str
    relevant_from: float
    unlisted: float | None
    source: str
    queries: dict[str, list[str] | None]


def judgements_named(split: Split, name: str) -> Judgements:
    """Return the judgements of a split by their name; without one, the densest that there are.

    Raises:
        ValueError: it has none of that name, perhaps since their file is not there.
    """
    name = name or densest_judgements(split.judgements)
    require_known(
        f"{split.name} has no judgements",
        name,
        split.judgements,
        ValueError,
        "; those of an optional file are there where the file is, see the data card",
    )
    return split.judgements[name]


def corrected_judgements(
    base: Judgements, labels: Mapping[Pair, str], split: Split, *, name: str = "corrected"
) -> Judgements:
    """Return judgements in which valid pairs are relevant and invalid ones are not; unsure ones stay as they
    were.

    Args:
        base: what was judged before, e.g. ``split.judgements["own"]``.
        labels: label of each pair of ids ``(image, caption)``, e.g. ``Labels.settled_labels()``.
        split: whose ids they are.
        name: of the new judgements.

    Returns:
        The base's grades, except: a valid pair has at least the least relevant grade, an invalid one that was
        relevant, or that nobody had judged, has grade 0. Whoever is asked in the base is asked still.

    Raises:
        ValueError: an id is not in the split, or grade 0 would count as relevant.
    """
    require(
        base.relevant_from > 0,
        f"judgements {base.name!r} call grade 0 relevant, so that no label can make a pair irrelevant",
    )
    decided = {pair: label for pair, label in labels.items() if label in (VALID, INVALID)}
    images = rows_of([image for image, _ in decided], split.image_ids, "image")
    captions = rows_of([caption for _, caption in decided], split.caption_ids, "caption")
    before = base.grades_at(images, captions)
    valid = np.array([label == VALID for label in decided.values()], dtype=bool)
    lowered = np.where((before >= base.relevant_from) | np.isnan(before), 0.0, before)
    grades = np.where(valid, np.fmax(before, base.relevant_from), lowered)
    width = np.int64(base.shape[1])
    rest = ~np.isin(base.images * width + base.captions, images * width + captions)
    images = np.concatenate([base.images[rest], images])
    captions = np.concatenate([base.captions[rest], captions])
    grades = np.concatenate([base.grades[rest], grades.astype(np.float32)])
    rule = f"{base.rule}; corrected by labels: {valid.sum()} pairs valid, {(~valid).sum()} invalid"
    return replace(
        base,
        name=name,
        rule=rule,
        images=images,
        captions=captions,
        grades=grades,
        source=_source_with_labels(base),
    )


def _source_with_labels(base: Judgements) -> str:
    return f"{base.source or base.name}, and labels"


def rows_of(ids: Sequence[str], known: Sequence[str], kind: str) -> Rows:
    """Return the rows of ids among the known ids of a split; ``kind`` is ``"image"`` or ``"caption"``, for
    the message.

    Raises:
        ValueError: an id is not among the known ones.
    """
    rows = pd.Index(list(known)).get_indexer(pd.Index(list(ids)))
    if missing := sorted({name for name, row in zip(ids, rows, strict=True) if row < 0}):
        raise ValueError(
            f"{len(missing)} {kind} ids are not in the split of {len(known)}, e.g. {missing[0]!r}; "
            "load the split that was judged, with as many images"
        )
    return rows.astype(np.int64)


def recompute_metrics(
    scores: Mapping[str, Array],
    judgements: Mapping[str, Judgements],
    own: Rows,
    *,
    metrics: Sequence[str | Metric] = MEASURED,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> pd.DataFrame:
    """Return every metric of every run by each of several judgements.

    Args:
        scores: run -> ``(I, T)``.
        judgements: e.g. ``{"before": own, "after": corrected}``.
        own: ``(T,)`` row of each caption's image.
        metrics: of ranks, or their names.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Returns:
        Indexed by ``run`` and ``key``; for each judgement the columns ``(name, "value")``, ``(name, "low")``,
        ``(name, "high")``.

    Raises:
        ValueError: shapes differ, or no query has an answer.
    """
    rows = []
    for (run, matrix), (name, judged) in product(scores.items(), judgements.items()):
        evidence = Evidence(matrix, judged, own, name="own")
        for m in evaluate(evidence, metrics, rounds=rounds, seed=seed):
            rows.append((run, m.key.local, name, m.value, m.low, m.high))
    table = pd.DataFrame(rows, columns=["run", "key", "judgements", "value", "low", "high"])
    order = pd.MultiIndex.from_frame(table[["run", "key"]].drop_duplicates())
    parts = ["value", "low", "high"]
    wide = table.pivot(index=["run", "key"], columns="judgements", values=parts).swaplevel(axis=1)
    return wide.loc[order, list(product(judgements, parts))].astype(float)


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
    require(
        not (judgements.grades != np.round(judgements.grades)).any(),
        f"{path}: qrels hold whole grades, {judgements.name!r} has others; write Parquet instead",
    )
    if spoilt := [name for name in (*split.image_ids, *split.caption_ids) if name.split() != [name]]:
        raise ValueError(f"{path}: the id {spoilt[0]!r} is empty or holds a blank; write Parquet instead")
    ids = _listed_ids(judgements, split)
    queries, items = reversed(ids) if direction == "t2i" else ids
    lines = sorted(zip(queries, items, judgements.grades.astype(int).tolist(), strict=True))
    return write_text(Path(path), "".join(f"{query} 0 {item} {grade}\n" for query, item, grade in lines))


def _listed_ids(judgements: Judgements, split: Split) -> tuple[list[str], list[str]]:
    """Return the images and the captions of the listed pairs."""
    return (
        [split.image_ids[row] for row in judgements.images],
        [split.caption_ids[row] for row in judgements.captions],
    )


def read_qrels(
    path: Path | str,
    split: Split,
    *,
    direction: Direction = "t2i",
    name: str = "",
    relevant_from: float = 1.0,
) -> Judgements:
    """Return judgements of a split from qrels; ``direction`` says whether images or captions are the queries.
    By default they are named like the file.

    Raises:
        ValueError: a line has not four fields, an id is not in the split, a pair comes twice.
    """
    path = Path(path)
    lines = [line.split() for line in read_text(path).splitlines() if line.strip()]
    for number, fields in enumerate(lines, 1):
        require(
            len(fields) == 4,
            f"{path}: line {number} has {len(fields)} fields, qrels have 4: query, 0, item, grade",
        )
    queries, items = [fields[0] for fields in lines], [fields[2] for fields in lines]
    images, captions = (items, queries) if direction == "t2i" else (queries, items)
    with reading_errors(path, "holds no judgements of this split"), np.errstate(over="ignore"):
        image_rows = rows_of(images, split.image_ids, "image")
        caption_rows = rows_of(captions, split.caption_ids, "caption")
        grades = np.array([float(fields[3]) for fields in lines], dtype=np.float32)
        rule = f"qrels, relevant from grade {relevant_from}"
        shape = (len(split.image_ids), len(split.caption_ids))
        pairs = (image_rows, caption_rows, grades)
        return Judgements(name or path.stem, rule, shape, *pairs, relevant_from, source=path.name)


def write_parquet(path: Path | str, judgements: Judgements, split: Split) -> Path:
    """Write judgements of a split with their rule: columns ``image``, ``caption`` (ids) and ``grade``."""
    import pyarrow as pa
    from pyarrow import parquet

    columns = dict(zip(("image", "caption"), _listed_ids(judgements, split), strict=True))
    about: dict[str, Any] = {
        name: getattr(judgements, name) for name in ("name", "rule", "relevant_from", "unlisted", "source")
    }
    about["queries"] = dict.fromkeys(ROWS)
    for name, (ids, _) in ROWS.items():
        rows = getattr(judgements, name)
        if rows is not None:
            about["queries"][name] = [getattr(split, ids)[row] for row in rows]
    table = pa.table(
        {**columns, "grade": judgements.grades}, pa.schema([*SCHEMA.items()], {KEY: json.dumps(about)})
    )
    with replacing(Path(path)) as temporary:
        parquet.write_table(table, temporary)
    return Path(path)


def read_parquet(path: Path | str, split: Split) -> Judgements:
    """Return the judgements that ``write_parquet`` wrote, in the rows of this split, whose images and
    captions may stand in another order.

    Raises:
        ValueError: the file lacks a column or its rule, or an id is not in the split.
    """
    import pyarrow
    from pyarrow import parquet

    message = "holds no judgements of this split"
    with reading_errors(path, message, pyarrow.ArrowException):
        table = parquet.read_table(Path(path))
        metadata: dict[bytes, bytes] = table.schema.metadata or {}
        require(
            {*SCHEMA} <= set(table.column_names) and KEY in metadata,
            f"{path} has {table.column_names}; judgements have image, caption and grade, and their rule",
        )
        table = table.select([*SCHEMA]).cast(pyarrow.schema([*SCHEMA.items()]))
        about = vars(validate(parse_json(metadata[KEY], path), _About, path, message))
        queries = about.pop("queries")
        queried: dict[str, Any] = {}
        for name, (ids, kind) in ROWS.items():
            if queries.get(name) is not None:
                queried[name] = rows_of(queries[name], getattr(split, ids), kind)
        images = rows_of(table["image"].to_pylist(), split.image_ids, "image")
        captions = rows_of(table["caption"].to_pylist(), split.caption_ids, "caption")
        grades = table["grade"].to_numpy().astype(np.float32)
        shape = (len(split.image_ids), len(split.caption_ids))
        return Judgements(shape=shape, images=images, captions=captions, grades=grades, **about, **queried)
