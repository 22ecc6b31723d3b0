"""What one set of judgements calls an error and a better one does not: false negatives at the top of the
list.

"Of the queries whose best scored item is not their own, how many have a best item that is truly relevant?"
With binary labels a caption belongs to one image; it may be true of many. The exact truth of the embedded
world, or any denser judgements, tells the model's errors from the labels'.

A tie counts against the model in both judgements (``_ranks``): an item is on top only if no item that is not
relevant scores as much. A query with nothing relevant in the first judgements does not count, and how many
there were is reported.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of MS-COCO).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._bootstrap import columns
from workbench.metrics._ranks import AnyScores, Ranked, Ranks, Relevant, Values, both, rank_all
from workbench.records import Judgements, Measurement

Mask = NDArray[np.bool_]
HITS = {
    "own@1": "the best scored item is relevant by {own}",
    "true@1": "the best scored item is relevant by {truth}",
    "errors": "the best scored item is not relevant by {own}",
    "false_negatives": "the best scored item is relevant by {truth}; queries = errors by {own}, left out = the other queries",
}


@dataclass(frozen=True)
class TopOne:
    """What two judgements say of each query's best scored item.

    Args:
        own: ``(queries,)`` 1 where it is relevant by the first judgements; NaN where nothing is.
        true: ``(queries,)`` 1 where it is relevant by the second.
    """

    own: Values
    true: Values

    @staticmethod
    def of(own: Ranks, true: Ranks) -> TopOne:
        """What the ranks by both judgements say."""
        counted = ~np.isnan(own.first)
        # nothing truly relevant (a NaN rank) compares as not on top
        return TopOne(np.where(counted, own.first == 1, np.nan), np.where(counted, true.first == 1, np.nan))

    @property
    def false_negative(self) -> Values:
        """``(queries,)`` 1 where an error of the first judgements is right by the second, 0 where it is
        wrong, NaN = no error.
        """
        return np.where(self.own == 0, self.true, np.nan)


def top_one(scores: AnyScores, own: Relevant, true: Relevant) -> TopOne:
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
    return TopOne.of(*rank_all(scores, [own, true]))


def measure(
    scores: AnyScores | Ranked,
    judgements: Judgements,
    truth: Judgements,
    *,
    images: Mask | None = None,
    captions: Mask | None = None,
    part: str = "",
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """In both directions ``own@1``, ``true@1``, ``errors`` (1 - own@1) and ``false_negatives``.

    The last is the share of the errors that are right by the truth; its queries are the errors, and it is
    left out where there is none.

    Args:
        scores: ``(I, T)``, larger = more alike; or ranks by both judgements.
        judgements: the labels, usually ``split.judgements["own"]``.
        truth: the denser judgements.
        images: ``(I,)`` True where an image is a query; the gallery stays whole.
        captions: ``(T,)`` True where a caption is a query, e.g. the most specific ones; the gallery stays
            whole.
        part: name of these queries, appended to the keys: ``"level 4"`` gives ``t2i/true@1[level 4]``.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, or no query has an answer.
    """
    rng, suffix = np.random.default_rng(seed), f"[{part}]" if part else ""
    ranked = scores if isinstance(scores, Ranked) else Ranked(scores, [judgements, truth])
    own, true, out = both(ranked, judgements), both(ranked, truth), []
    for direction, ranks in own.items():
        top, mask = TopOne.of(ranks, true[direction]), images if direction == "i2t" else captions
        asked = np.ones(len(top.own), dtype=bool) if mask is None else mask
        contract = Measurement("", 0.0, judgements=truth.name, gallery=ranks.gallery)
        estimates = columns(
            {"own@1": top.own[asked], "true@1": top.true[asked], "errors": 1 - top.own[asked]}, rounds, rng
        )
        wrong = top.false_negative[asked]
        if not np.isnan(wrong).all():
            estimates |= columns({"false_negatives": wrong}, rounds, rng)
        hits = {key: HITS[key].format(own=judgements.name, truth=truth.name) for key in estimates}
        out += [e.report(contract, f"{direction}/{key}{suffix}", hits[key]) for key, e in estimates.items()]
    return out


MEMBER = measure
