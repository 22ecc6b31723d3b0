"""The queries that one result answers first with a ground truth and another does not, or that one result
misses: what is looked at behind a difference of R@1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from workbench.metrics.blocks import blocks, by_rows
from workbench.metrics.ranks import ranks_of
from workbench.records import Array, Mask, Rows, Split, Values, require
from workbench.registry import check_arguments, require_known
from workbench.runs.conditions import slice_masks
from workbench.runs.fields import AllFields
from workbench.runs.opening import open_results, share_split
from workbench.runs.result import Result
from workbench.runs.ways import WAYS, Way

COLUMNS = [
    "direction",
    *("query_id", "query"),
    *("right", "wrong", "rank"),
    *("answer_id", "answer", "answer_score"),
    *("truth_id", "truth", "truth_score"),
]
# of the result that is right, where two are compared
COLUMNS_OF_RIGHT = [
    "right_rank",
    "right_answer_id",
    "right_answer_score",
    "right_truth_id",
    "right_truth_score",
]


@dataclass(frozen=True)
class FirstAnswers:
    """The first answers of one result in one direction, by query.

    Args:
        rank: ``(queries,)`` of the best ground truth, as R@1 counts it; NaN = the query does not count.
        answer, answer_score: ``(queries,)`` row and score of the best item that is no ground truth; -1 where
            a list names none.
        truth, truth_score: likewise of the best ground truth; -1 where the gallery lacks all of them.
    """

    rank: Values
    answer: Rows
    answer_score: Array
    truth: Rows
    truth_score: Array

    @property
    def first(self) -> Rows:
        """``(queries,)`` row of the item that stands first; -1 where a list names none."""
        return np.where(self.rank == 1, self.truth, self.answer)

    def within(self, mask: Mask) -> Self:
        """Return the same, where queries outside a slice do not count.

        Args:
            mask: ``(queries,)`` the slice.
        """
        return replace(self, rank=np.where(mask, self.rank, np.nan))


@check_arguments("errors")
def errors(
    first: Result | str | Path,
    second: Result | str | Path | None = None,
    *,
    judgements: str = "own",
    where: str = "",
) -> pd.DataFrame:
    """List the queries that one of two results answers rightly and the other wrongly, in both directions; of
    one result those that it answers wrongly. An answer is right where a ground truth has rank 1, as in R@1.

    Args:
        first: of ``evaluate``, ``train`` or ``open_runs``, or a run folder.
        second: likewise, on the same data; ``None`` = the errors of the first alone.
        judgements: of the data, which say what the ground truth is.
        where: a slice, as tables print it, such as ``"language=de, words>20"``: its queries alone, see
            ``conditions``.

    Returns:
        One row a query: ``direction``, ``query_id``, ``query``, the names of the results that are ``right``
        and ``wrong``; of the wrong one the ``rank`` of its best ground truth, its first ``answer`` and the
        best ground truth (``truth``), each with id and score. ``query``, ``answer`` and ``truth`` are
        captions; of an image it is its first one. Of the right one ``right_rank``, which is 1, and ids and
        scores of its best ground truth and of the best item that is none. Within a direction the largest
        ranks stand first. ``attrs["queries"]`` counts the queries by direction.

    Raises:
        KeyError: the data have no such judgements.
        ValueError: the results were measured on different images or captions, or nothing is in the slice.
    """
    results = [first] if second is None else [first, second]
    every: list[Result] = []
    for result in results:
        every += open_results(result)
    runs = share_split(every)
    split = runs[0].split
    require(len(runs) == len(results), "give one result, or two")
    require_known(f"{split.name} has no judgements", judgements, split.judgements)
    tables, counts = [], {}
    shared = set(WAYS).intersection(*(run.model.ways for run in runs))
    ways = [way for way in WAYS if way in shared]
    require(ways, "the results have no direction in common")
    masks = slice_masks(split, where, fields=AllFields(split, runs[0])) if where else {}
    for way in ways:
        firsts = [first_answers(run, way, judgements) for run in runs]
        if where:
            firsts = [answers.within(masks[way]) for answers in firsts]
        right = [answers.rank == 1 for answers in firsts]
        counts[way] = _error_counts(right, firsts[0].rank, [run.name for run in runs])
        for number, answers in enumerate(firsts):
            wrong, names = answers.rank > 1, {"right": "", "wrong": runs[number].name}
            other = None
            if second is not None:
                wrong &= right[1 - number]
                names["right"] = runs[1 - number].name
                other = firsts[1 - number]
            tables.append(_error_rows(split, way, np.flatnonzero(wrong), answers, names, other))
    table = pd.concat(tables, ignore_index=True)
    table.attrs["queries"] = counts
    return table


def _error_counts(right: Sequence[Mask], rank: Values, names: Sequence[str]) -> dict[str, Any]:
    """Return how many queries count, how many each result answers rightly, and how many all of them or none
    does.
    """
    counted = ~np.isnan(rank)
    each = {name: int(mask.sum()) for name, mask in zip(names, right, strict=True)}
    both = {"both": int(np.logical_and.reduce(right).sum())} if len(right) > 1 else {}
    none = int((counted & ~np.logical_or.reduce(right)).sum())
    return {"queries": int(counted.sum()), "right": each, **both, "none": none}


def first_answers(
    run: Result, way: Way, judgements: str = "own", queries: Rows | None = None
) -> FirstAnswers:
    """Find what a result puts first, block by block.

    Args:
        run: an open run.
        way: whether images or captions are the queries.
        judgements: see ``errors``.
        queries: rows of those that are wanted, in this order; ``None`` = all.
    """
    scores, judged = by_rows(run.any_scores()), run.split.judgements[judgements]
    if queries is not None:
        images, captions = map(np.arange, scores.shape)
        sides = (queries, captions) if way == "i2t" else (images, queries)
        scores, judged = scores.select(*sides), judged.restrict(*sides)
    rank = run.ranks(way, judgements) if queries is None else ranks_of(scores, judged, way).first
    grades = by_rows(judged)
    if way == "t2i":
        scores, grades = scores.T, grades.T
    parts = []
    for start, rows in blocks(scores, scores.shape):
        good = grades.rows(slice(start, start + len(rows))) >= judged.relevant_from
        worth, other = np.where(good, rows, -np.inf), np.where(good, -np.inf, rows)
        truth, answer = worth.argmax(1), other.argmax(1)
        every = np.arange(len(rows))
        parts.append((answer, other[every, answer], truth, worth[every, truth]))
    answer, answer_score, truth, truth_score = map(np.concatenate, zip(*parts, strict=True))
    # ranked lists need not name any ground truth, nor any other item
    floor = run.model.floor
    answer, answer_score = _without_unlisted(answer, answer_score, floor)
    truth, truth_score = _without_unlisted(truth, truth_score, floor)
    return FirstAnswers(rank, answer, answer_score, truth, truth_score)


def _without_unlisted(items: Rows, scores: Array, floor: float) -> tuple[Rows, Array]:
    """Return rows and scores of items, -1 and minus infinity where a list does not name them."""
    there = scores > floor
    return np.where(there, items, -1), np.where(there, scores, -np.inf)


def _as_whole_numbers(ranks: Values) -> Values | Rows:
    """Return ranks as whole numbers, or unchanged if one is infinite: a list that names no ground truth."""
    return ranks.astype(np.int64) if np.isfinite(ranks).all() else ranks


def _error_rows(
    split: Split,
    way: Way,
    rows: Rows,
    first: FirstAnswers,
    names: Mapping[str, str],
    other: FirstAnswers | None,
) -> pd.DataFrame:
    """Return the errors of one result in one direction, the largest ranks first, and what the other one has
    instead.
    """
    rows = rows[np.argsort(-first.rank[rows], kind="stable")]
    images, captions = _ids_and_texts(split, "image"), _ids_and_texts(split, "caption")
    queries, items = (images, captions) if way == "i2t" else (captions, images)
    columns: dict[str, Any] = {
        "direction": way,
        **_side_columns("query", queries, rows),
        **names,
        "rank": _as_whole_numbers(first.rank[rows]),
    }
    columns |= _side_columns("answer", items, first.answer[rows])
    columns["answer_score"] = first.answer_score[rows].astype(float)
    columns |= _side_columns("truth", items, first.truth[rows])
    columns["truth_score"] = first.truth_score[rows].astype(float)
    names_of_columns = list(COLUMNS)
    if other is not None:
        columns["right_rank"] = _as_whole_numbers(other.rank[rows])
        columns |= {
            "right_answer_id": items[0][other.answer[rows]],
            "right_truth_id": items[0][other.truth[rows]],
        }
        columns["right_answer_score"] = other.answer_score[rows].astype(float)
        columns["right_truth_score"] = other.truth_score[rows].astype(float)
        names_of_columns += COLUMNS_OF_RIGHT
    return pd.DataFrame(columns, columns=names_of_columns)


def _ids_and_texts(split: Split, kind: str) -> tuple[Array, Array]:
    """Return ids and texts of images or captions; the text of an image is its first caption. Behind the last
    stands what is not there.
    """
    texts = np.array([*split.captions, ""], dtype=object)
    if kind == "caption":
        return np.array([*split.caption_ids, ""], dtype=object), texts
    caption = np.unique(split.own, return_index=True)[1]
    return np.array([*split.image_ids, ""], dtype=object), texts[[*caption, -1]]


def _side_columns(name: str, side: tuple[Array, Array], rows: Rows) -> dict[str, Array]:
    ids, texts = side
    return {f"{name}_id": ids[rows], name: texts[rows]}
