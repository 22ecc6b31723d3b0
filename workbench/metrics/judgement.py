"""What one set of judgements calls an error and a better one does not: false negatives at the top of the list.

"Of the queries whose best scored item is not their own, how many have a best item that is truly relevant?" With binary labels a
caption belongs to one image; it may be true of many. The exact truth of the embedded world, or any denser judgements, tells the
model's errors from the labels'.

A tie counts against the model in both judgements (``_ranks``): an item is on top only if no item that is not relevant scores as
much. A query with nothing relevant in the first judgements does not count, and how many there were is reported.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of MS-COCO).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._bootstrap import columns
from workbench.metrics._ranks import Relevant, Scores, Values, rank
from workbench.records import Judgements, Measurement

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class TopOne:
    """What two judgements say of each query's best scored item.

    Args:
        own: ``(queries,)`` 1 where it is relevant by the first judgements; NaN where nothing is.
        true: ``(queries,)`` 1 where it is relevant by the second.
    """

    own: Values
    true: Values

    @property
    def false_negative(self) -> Values:
        """``(queries,)`` 1 where an error of the first judgements is right by the second, 0 where it is wrong, NaN = no error."""
        return np.where(self.own == 0, self.true, np.nan)


def top_one(scores: Scores, own: Relevant, true: Relevant) -> TopOne:
    """Judge each query's best scored item twice.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        own: relevant pairs by the labels.
        true: relevant pairs by the truth.

    >>> pairs = Relevant.of(np.eye(2, dtype=bool))
    >>> top = top_one(np.array([[0.9, 0.1], [0.8, 0.2]]), pairs, Relevant.of(np.ones((2, 2), dtype=bool)))
    >>> top.own.tolist(), top.true.tolist(), top.false_negative.tolist()
    ([1.0, 0.0], [1.0, 1.0], [nan, 1.0])
    """
    first = rank(scores, own).first
    counted = ~np.isnan(first)
    # nothing truly relevant (a NaN rank) compares as not on top
    return TopOne(np.where(counted, first == 1, np.nan), np.where(counted, rank(scores, true).first == 1, np.nan))


def measure(
    scores: Scores,
    judgements: Judgements,
    truth: Judgements,
    *,
    images: Mask | None = None,
    captions: Mask | None = None,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """In both directions ``R@1``, ``true@1``, ``errors`` (1 - R@1) and ``false_negatives``, the share of errors that are right.

    ``false_negatives`` counts the errors as its queries, and is left out where there is no error.

    Args:
        scores: ``(I, T)``, larger = more alike.
        judgements: the labels, usually ``split.judgements["own"]``.
        truth: the denser judgements.
        images: ``(I,)`` True where an image is a query; the gallery stays whole.
        captions: ``(T,)`` True where a caption is a query, e.g. the most specific ones; the gallery stays whole.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, or no query has an answer.
    """
    rng = np.random.default_rng(seed)
    own, true, out = Relevant.of(judgements), Relevant.of(truth), []
    for direction, mask, top in (
        ("i2t", images, top_one(scores, own, true)),
        ("t2i", captions, top_one(scores.T, own.T, true.T)),
    ):
        asked = slice(None) if mask is None else np.flatnonzero(mask)
        gallery = scores.shape[1 if direction == "i2t" else 0]
        contract = Measurement("", 0.0, judgements=f"{judgements.name}, {truth.name}", gallery=gallery)
        estimates = columns({"R@1": top.own[asked], "true@1": top.true[asked], "errors": 1 - top.own[asked]}, rounds, rng)
        wrong = top.false_negative[asked]
        if not np.isnan(wrong).all():
            estimates |= columns({"false_negatives": wrong}, rounds, rng)
        out += [estimate.report(contract, f"{direction}/{key}", HITS[key]) for key, estimate in estimates.items()]
    return out


HITS = {
    "R@1": "the best scored item is relevant by the first judgements",
    "true@1": "the best scored item is relevant by the second judgements",
    "errors": "the best scored item is not relevant by the first judgements",
    "false_negatives": "an error of the first judgements is relevant by the second; queries = errors, left out = the rest",
}
MEMBER = measure
