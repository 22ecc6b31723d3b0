"""Semantic Recall, NCS and ASP: retrieval against graded relevance phi, such as CIDEr with an image's
captions.

"NCS at K is the sum of phi over the K items retrieved, divided by the largest sum that K items can have."
That is the released code (``ncs``). The printed equation counts retrieved items of the m best by phi only and
divides by the sum over all m (``ncs_top``). "Semantic Recall at K is the share of the m best items by phi
that are among the K best scored": the paper (``semantic_recall``); in the released code the relevant items
are voted for (``votes``). ASP compares two whole rankings.

Any grades may be phi. A tie of scores counts against the model (``_retrieved``); among equal grades the
earlier row of the gallery is the better one, and an item of grade 0 is not among the m best. Without ground
truth each query's own items leave both lists.

Source: NCS and Semantic Recall: the SAM paper, "Is an image worth five sentences?", equation 5, and its
released code. ASP: Li et
al., DAA, NeurIPS 2022, equation 8. Departures: NCS divides by the sum as it is and not by the sum + 1e-10; an
item of grade 0 does not fill up a set of m; in ASP a tie of scores counts against the model, and equal grades
may stand in any order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from workbench.metrics._bootstrap import Estimate, columns, total
from workbench.metrics._grades import AnyPhi, GradeRows, WithoutOwn, grade_rows, name_of
from workbench.metrics._ranks import rank, ratio
from workbench.metrics._retrieved import Retrieved, retrieve, small_blocks
from workbench.metrics._rows import AnyScores, RowScores, Values, by_rows
from workbench.metrics._votes import voted, votes
from workbench.metrics.recall import SUMMED, recall_at_k
from workbench.records import Measurement, Rows

TIES = "among equal scores the lower grade ranks above"
WITHOUT = "[without own]"


def ncs(found: Retrieved, k: int) -> Values:
    """Released NCS: grades of the K best scored items against the K largest grades.

    Args:
        found: from ``_retrieved.retrieve``.
        k: how many items are retrieved.

    Returns:
        ``(queries,)`` in [0, 1]; 0 where no grade is positive, as in the released code.

    >>> grades = grade_rows(np.array([[3.0, 1.0, 0.0]]))
    >>> ncs(retrieve(np.array([[0.2, 0.9, 0.5]]), grades, 2), 2).tolist()  # (1 + 0) / (3 + 1)
    [0.25]
    """
    return np.nan_to_num(ratio(found.grade[:, :k].sum(axis=1), found.best[:, :k].sum(axis=1)))


def ncs_top(found: Retrieved, k: int, m: int) -> Values:
    """Printed NCS (equation 5): grades of the retrieved items among the m best, against all m.

    Args:
        found: from ``_retrieved.retrieve`` with ``width`` at least ``m``.
        k: how many items are retrieved.
        m: size of the extended set.

    Returns:
        ``(queries,)`` in [0, 1], NaN where no grade is positive.
    """
    counted = np.where(found.place[:, :k] <= m, found.grade[:, :k], 0).sum(axis=1)
    return ratio(counted, found.best[:, :m].sum(axis=1))


def semantic_recall(found: Retrieved, k: int, m: int) -> Values:
    """Share of the m best items by phi that are among the K best scored.

    Args:
        found: from ``_retrieved.retrieve`` with ``width`` at least ``m``.
        k: how many items are retrieved.
        m: how many items are relevant; fewer where fewer have a positive grade.

    Returns:
        ``(queries,)`` in [0, 1], NaN where no grade is positive.
    """
    hits = ((found.place[:, :k] <= m) & (found.grade[:, :k] > 0)).sum(axis=1)
    return ratio(hits, (found.best[:, :m] > 0).sum(axis=1))


def curves(scores: AnyScores, phi: AnyPhi, ms: Sequence[int], *, k: int = 10) -> dict[str, Values]:
    """Semantic Recall at K as the set of relevant items grows.

    Args:
        scores: ``(I, T)``, larger = more alike.
        phi: ``(I, T)`` grades of at least 0.
        ms: sizes of the relevant set.
        k: how many items are retrieved.

    Returns:
        For ``"i2t"`` and ``"t2i"`` ``(len(ms),)`` means over queries.
    """
    rows, grades = by_rows(scores), grade_rows(phi)
    found = {"i2t": retrieve(rows, grades, k, max(ms)), "t2i": retrieve(rows.T, grades.T, k, max(ms))}
    return {
        side: np.array([np.nanmean(semantic_recall(one, k, m)) for m in ms]) for side, one in found.items()
    }


def average_semantic_precision(scores: AnyScores, grades: GradeRows) -> Values:
    """ASP: mean over candidates of the smaller by the larger of its two ranks, by score and by grade.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        grades: of the same shape; NaN = not judged.

    Returns:
        ``(queries,)`` in (0, 1], 1 where the order of the scores does not contradict the grades; NaN where
        nothing is judged.

    >>> s, y = np.array([[0.3, 0.6, 0.55]]), np.array([[0.5, 1.0, 0.2]])
    >>> average_semantic_precision(s, grade_rows(y)).round(4).tolist()  # ranks 3 1 2 and 2 1 3: (2/3 + 1 + 2/3) / 3
    [0.7778]
    """
    out = [np.zeros(0)]
    for first, rows in small_blocks(scores, grades.shape):
        grade = grades.rows(first, len(rows))
        listed = ~np.isnan(grade) & (rows > -np.inf)
        grade = np.where(listed, grade, -np.inf)
        by_score = np.lexsort((grade, -np.where(listed, rows, -np.inf)), axis=1)
        # a stable sort: equal grades keep the order of the scores
        by_grade = np.argsort(-np.take_along_axis(grade, by_score, axis=1), axis=1, kind="stable")
        places, ranks = np.empty_like(by_grade), np.arange(1, grade.shape[1] + 1)
        np.put_along_axis(places, by_grade, ranks[None], axis=1)
        shares = np.minimum(ranks, places) / np.maximum(ranks, places)
        counted = np.take_along_axis(listed, by_score, axis=1)
        out.append(ratio((shares * counted).sum(axis=1), counted.sum(axis=1)))
    return np.concatenate(out)


def measure(
    scores: AnyScores,
    phi: AnyPhi,
    *,
    own: Rows | None = None,
    ground_truth: bool = True,
    ks: Sequence[int] = SUMMED,
    ms: Sequence[int] = (1, 2, 3),
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """Both directions: ``ncs@1``, ``sr_votes3@1`` (released), ``ncs_top3@1``, ``sr_top3@1`` (printed),
    ``asp``; and ``nsum``.

    Args:
        scores: ``(I, T)``, larger = more alike.
        phi: ``(I, T)`` grades of at least 0: judgements, relevance told from captions, or a matrix.
        own: ``(T,)`` row of each caption's image; without it there are no ``sr_votes``.
        ground_truth: whether a query's own items stay in the lists; without them keys end in ``[without
            own]``.
        ks: depths; ``nsum`` is always made of NCS at 1, 5 and 10.
        ms: sizes of the relevant set.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Returns:
        The measurements; a number that no query has an answer to is left out.

    Raises:
        ValueError: shapes differ, a score is NaN, a grade is negative, or own items are to be removed and
            ``own`` is missing.
    """
    if own is None and not ground_truth:
        raise ValueError(
            "to leave out the ground truth, say what it is: own, the row of each caption's image"
        )
    rng, suffix, rows = np.random.default_rng(seed), "" if ground_truth else WITHOUT, by_rows(scores)
    if own is not None and not ground_truth:
        rows = WithoutOwn(rows.T, np.arange(len(own)), own).T
    made = grade_rows(phi)
    kept = None if own is None else votes(made, own, max(ms, default=0))
    sums, out = list[Estimate](), list[Measurement]()
    for direction, turned in (("i2t", False), ("t2i", True)):
        grades, lists = (made.T, rows.T) if turned else (made, rows)
        contract = Measurement("", 0.0, judgements=name_of(phi), gallery=grades.shape[1], ties=TIES)
        values = _values(lists, grades, ks, ms)
        if kept is not None and own is not None:
            values |= _by_votes(lists, own, kept, direction, (ks, ms))
        estimates = _estimates(values, rounds, rng)
        sums.append(estimates.pop("sum"))
        out += [
            one.report(contract, f"{direction}/{key}{suffix}", _hit(key)) for key, one in estimates.items()
        ]
    contract = Measurement("", 0.0, judgements=name_of(phi), gallery=sum(rows.shape), ties=TIES)
    hit = "sum of NCS at 1, 5 and 10 of both directions; gallery = images + captions"
    return [*out, total(sums).report(contract, f"nsum{suffix}", hit)]


def _values(scores: RowScores, grades: GradeRows, ks: Sequence[int], ms: Sequence[int]) -> dict[str, Values]:
    found = retrieve(scores, grades, max(*ks, *SUMMED), max(*ks, *ms, *SUMMED))
    return (
        {f"ncs@{k}": ncs(found, k) for k in ks}
        | {f"ncs_top{m}@{k}": ncs_top(found, k, m) for m in ms for k in ks}
        | {f"sr_top{m}@{k}": semantic_recall(found, k, m) for m in ms for k in ks}
        | {
            "sum": np.sum([ncs(found, k) for k in SUMMED], axis=0),
            "asp": average_semantic_precision(scores, grades),
        }
    )


def _estimates(values: Mapping[str, Values], rounds: int, rng: np.random.Generator) -> dict[str, Estimate]:
    """Means and draws; numbers to which the same queries have an answer share their draws, one to which none
    has is left out.
    """
    groups: dict[bytes, dict[str, Values]] = {}
    for key, value in values.items():
        if not np.isnan(value).all():
            groups.setdefault(np.isnan(value).tobytes(), {})[key] = value
    found = {key: one for group in groups.values() for key, one in columns(group, rounds, rng).items()}
    return {key: found[key] for key in values if key in found}


def _by_votes(
    scores: RowScores, own: Rows, kept: Rows, direction: str, sizes: tuple[Sequence[int], ...]
) -> dict[str, Values]:
    """Released Semantic Recall; own items that the scores lack leave the relevant set as well."""
    ks, ms = sizes
    by_m = {
        m: rank(scores, voted(kept[:, :m], own, direction, without_own=isinstance(scores, WithoutOwn)))
        for m in ms
    }
    return {f"sr_votes{m}@{k}": recall_at_k(ranks, k) for m, ranks in by_m.items() for k in ks}


def _hit(key: str) -> str:
    name, _, k = key.partition("@")
    kind = name.rstrip("0123456789")
    m = name.removeprefix(kind)
    return {
        "ncs": f"phi of the {k} best scored against the largest sum of {k}",
        "ncs_top": f"phi of those of the {m} best by phi that are among the {k} best scored, against the sum of all {m}",
        "sr_top": f"share of the {m} best by phi that are among the {k} best scored",
        "sr_votes": f"share of the captions of the {m} images that an image's captions vote for, or of these images, among the "
        f"{k} best scored",
        "asp": "the smaller by the larger of an item's ranks by score and by phi, mean over the gallery",
    }[kind]


MEMBER = measure
