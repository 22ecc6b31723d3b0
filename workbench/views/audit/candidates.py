"""The retrieval errors of a run that other judgements call right: candidates for false negatives, as a table.

A candidate is an item among a query's ``k`` best that is not relevant by the labels. Places are counted as
people see them: larger scores first, among equal scores the lower row first. ``own_rank`` is the metrics'
rank of the query's best relevant item, where a tie counts against the model; only a candidate that stands
before it costs recall.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.metrics.blocks import best
from workbench.metrics.ranks import best_ranks
from workbench.records import Judgements, Rows, Split

Scores = NDArray[Any]
Direction = Literal["t2i", "i2t"]
DIRECTIONS: tuple[Direction, ...] = ("t2i", "i2t")
COLUMNS = (
    "direction",
    "image",
    "caption",
    "rank",
    "score",
    "own_rank",
    "image_row",
    "caption_row",
    "right_by",
    "votes",
)


def candidates(
    scores: Scores,
    split: Split,
    by: Mapping[str, Judgements],
    *,
    labels: Judgements | None = None,
    k: int = 10,
    directions: Sequence[Direction] = DIRECTIONS,
) -> pd.DataFrame:
    """All errors among the ``k`` best of every query, with what other judgements say of them.

    Args:
        scores: ``(I, T)``, larger = more alike.
        split: whose images and captions are scored.
        by: judgements by name, each ``(I, T)``; signals of captions join as
            ``Relevance.judgements(minimum=...)``.
        labels: what an error is an error by; ``None`` = the split's own pairs. Queries that they do not ask
            have no errors.
        k: places looked at.
        directions: ``"t2i"``: a caption asks for images; ``"i2t"``: an image asks for captions.

    Returns:
        One row a query and item: ``direction``, the ids ``image`` and ``caption``, ``rank`` (1 = top),
        ``score``, ``own_rank``, ``image_row``, ``caption_row``, ``right_by`` (names of the judgements that
        call the pair relevant), ``votes`` (their number), and the grade by each judgement under its name, NaN
        where nobody judged. Sorted by direction, query and rank.

    Raises:
        ValueError: shapes differ, a score is NaN, a judgement is named like another column.

    Source: S. Chun et al., ECCV Caption, ECCV 2022, collects candidates from the best items of models in the
    same way.
    """
    labels = split.judgements["own"] if labels is None else labels
    _check(scores, [labels, *by.values()], by)
    parts = [_errors(scores, labels, k, direction) for direction in directions]
    table = pd.concat(parts, ignore_index=True)
    images, captions = table["image_row"].to_numpy(), table["caption_row"].to_numpy()
    table["image"] = np.array(split.image_ids, dtype=object)[images]
    table["caption"] = np.array(split.caption_ids, dtype=object)[captions]
    grades = {name: _grades(one, images, captions) for name, one in by.items()}
    right = np.array([grades[name] >= by[name].relevant_from for name in by], dtype=bool).reshape(
        len(by), len(table)
    )
    table["right_by"] = [
        ", ".join(name for name, yes in zip(by, column, strict=True) if yes) for column in right.T
    ]
    table["votes"] = right.sum(axis=0)
    return table[list(COLUMNS)].assign(**grades)


def _grades(judged: Judgements, images: Rows, captions: Rows) -> NDArray[np.float32]:
    """Grades of pairs; NaN where nobody judged them, also since neither of the two was asked and the pair is
    not listed.
    """
    grades = judged.at(images, captions)
    if judged.image_queries is None and judged.caption_queries is None:
        return grades
    asked = _asked(images, judged.image_queries) | _asked(captions, judged.caption_queries)
    return np.where(asked | (grades >= judged.relevant_from), grades, np.float32(np.nan))


def _asked(rows: Rows, queries: Rows | None) -> NDArray[np.bool_]:
    return np.zeros(len(rows), dtype=bool) if queries is None else np.isin(rows, queries)


def _check(scores: Scores, judged: Sequence[Judgements], by: Mapping[str, Judgements]) -> None:
    wrong = [one.name for one in judged if one.shape != scores.shape]
    if wrong:
        raise ValueError(
            f"scores are {scores.shape}, judgements {wrong[0]!r} have another shape; take those of the same split"
        )
    taken = [name for name in by if name in COLUMNS or ", " in name]
    if taken:
        raise ValueError(
            f"judgements cannot be called {taken[0]!r}, which the table has its own meaning for; give another name"
        )


def _errors(scores: Scores, labels: Judgements, k: int, direction: Direction) -> pd.DataFrame:
    turned = direction == "t2i"
    rows = scores.T if turned else scores
    found, items = best(rows, min(k, rows.shape[1]))
    query, item = np.repeat(np.arange(len(items)), items.shape[1]), items.ravel()
    rank = np.tile(np.arange(1, items.shape[1] + 1), len(items))
    images, captions = (item, query) if turned else (query, item)
    queries = labels.caption_queries if turned else labels.image_queries
    counted = np.ones(len(query), dtype=bool) if queries is None else _asked(query, queries)
    # a NaN, a pair that nobody judged, is not relevant
    wrong = ~(labels.at(images, captions) >= labels.relevant_from) & counted
    first = best_ranks(scores, labels, direction)
    columns = {
        "rank": rank,
        "score": found.ravel(),
        "own_rank": first[query],
        "image_row": images,
        "caption_row": captions,
    }
    return pd.DataFrame(columns)[wrong].assign(direction=direction)


def select(
    table: pd.DataFrame,
    *,
    direction: str = "",
    right_by: Sequence[str] = (),
    votes: int = 0,
    rank: int = 0,
    ahead: bool = False,
    sample: int = 0,
    seed: int = 0,
) -> pd.DataFrame:
    """The candidates to look at.

    Args:
        table: from ``candidates``.
        direction: ``"t2i"`` or ``"i2t"``; empty = both.
        right_by: judgements that must all call the pair relevant.
        votes: least number of judgements that call it relevant.
        rank: lowest place; 0 = all.
        ahead: only items before the query's best relevant one, which alone cost recall.
        sample: so many at random, which makes the share of valid ones an estimate of all; 0 = all.
        seed: of the sample.

    Raises:
        ValueError: the table knows no such judgement.
    """
    unknown = [name for name in right_by if name not in table.columns or name in COLUMNS]
    if unknown:
        known = [name for name in table.columns if name not in COLUMNS]
        raise ValueError(f"no judgement {unknown[0]!r} in the table; it has {', '.join(known) or 'none'}")
    said = [set(names.split(", ")) for names in table["right_by"]]
    kept = (
        np.array([set(right_by) <= names for names in said], dtype=bool)
        & (table["votes"] >= votes).to_numpy()
    )
    kept &= np.isin(table["direction"], [direction] if direction else DIRECTIONS)
    kept &= (table["rank"] <= (rank or np.inf)).to_numpy()
    if ahead:
        kept &= (table["rank"] < table["own_rank"]).to_numpy()
    chosen = table[kept]
    return chosen.sample(min(sample, len(chosen)), random_state=seed).sort_index() if sample else chosen
