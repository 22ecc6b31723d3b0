"""Retrieval on Crisscrossed Captions in four directions: image to text, text to image, image to image, text
to text.

"R@K is the share of queries with at least one positive among the K best scored." Positives are pairs that
people rated, from the grade on that the judgements name: 3 for image and caption, 2.5 for two images, 3 for
two captions. For text to text the other captions of the same image are positive as well. Of two ratings of a
pair the larger one counts. Within a modality the score is the cosine of the embeddings, and the query is
removed from its own gallery. ``rsum`` is the sum of R@1 and R@5 of the four.

A tie counts against the model (``_ranks``). A query without a positive does not count, and how many there
were is reported: of the 25,000 captions of the test split 28 have no image, and of its 5,000 images 209 have
no other image.

Source: Z. Parekh et al., Crisscrossed captions, EACL 2021 (section 4); VSE-infinity's evaluation iterates
over all captions, the ECCV Caption package over those that have a positive, as here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from workbench.metrics._bootstrap import Estimate, columns, total
from workbench.metrics._grades import WithoutOwn
from workbench.metrics._ranks import AnyScores, Ranked, Ranks, Relevant, both, by_rows, rank
from workbench.metrics.recall import hit_at_k
from workbench.records import Judgements, Measurement, Rows

KS = (1, 5, 10)
SUMMED = (1, 5)
NAME = "cxc"
HIT = "at least one pair rated as positive among the {k} best"
SUM_HIT = "sum of R@1 and R@5 of the four directions; gallery = that of all four"


def within(scores: AnyScores, rated: Judgements, group: Rows | None = None) -> Ranks:
    """Ranks of an item's positives among all others of its kind.

    Args:
        scores: ``(N, N)``, larger = more alike; the diagonal is not read.
        rated: of pairs of one kind, in either order.
        group: ``(N,)``; items of the same group are positives of one another, as captions of one image are.
            ``None`` = no groups.

    >>> pairs = Judgements("sis", "x", (3, 3), np.array([2]), np.array([0]), np.ones(1, np.float32))
    >>> within(np.array([[9.0, 3.0, 1.0], [0.0, 9.0, 0.0], [2.0, 1.0, 9.0]]), pairs).first.tolist()
    [2.0, nan, 1.0]
    """
    itself = np.arange(rated.shape[0])
    return rank(WithoutOwn(by_rows(scores), itself, itself), Relevant.of(_of_one_kind(rated, group)))


def _of_one_kind(rated: Judgements, group: Rows | None) -> Judgements:
    """Positives in both directions, with those of the group and without an item itself."""
    good = rated.grades >= rated.relevant_from
    first, second = rated.images[good], rated.captions[good]
    if group is not None:
        mates = np.array(list(_mates(group)), dtype=np.int64).reshape(-1, 2)
        first, second = np.concatenate([first, mates[:, 0]]), np.concatenate([second, mates[:, 1]])
    size = np.int64(rated.shape[0])
    names = np.unique(np.concatenate([first * size + second, second * size + first]))
    names = names[names // size != names % size]
    ones = np.ones(len(names), dtype=np.float32)
    return replace(
        rated, images=names // size, captions=names % size, grades=ones, relevant_from=1.0, unlisted=0.0
    )


def _mates(group: Rows) -> Iterator[tuple[int, int]]:
    order = np.argsort(group, kind="stable")
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        yield from ((a, b) for a in members for b in members if a != b)


def measure(
    scores: AnyScores | Ranked,
    judgements: Judgements,
    *,
    images: Ranks | None = None,
    captions: Ranks | None = None,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """``R@1``, ``R@5``, ``R@10`` of every direction that is given, and ``rsum`` where all four are.

    Args:
        scores: ``(I, T)``, larger = more alike; or ranks by these judgements.
        judgements: which captions are positive for which images.
        images: ``i2i``, from ``within(image_scores, sis)``.
        captions: ``t2t``, from ``within(caption_scores, sts, own)``.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, or no query of a direction has a positive.
    """
    rng = np.random.default_rng(seed)
    given = [*both(scores, judgements).items(), ("i2i", images), ("t2t", captions)]
    ranks = {str(direction): one for direction, one in given if one is not None}
    out, sums = list[Measurement](), list[Estimate]()
    for direction, one in ranks.items():
        # a query is not in its own gallery
        gallery = one.gallery - (direction in ("i2i", "t2t"))
        values = {f"R@{k}": hit_at_k(one, k) for k in KS}
        estimates = columns(
            {**values, "sum": np.sum([values[f"R@{k}"] for k in SUMMED], axis=0)}, rounds, rng
        )
        sums.append(estimates.pop("sum"))
        contract = Measurement("", 0.0, judgements=NAME, gallery=gallery)
        out += [
            e.report(contract, f"{direction}/{key}", HIT.format(k=key[2:])) for key, e in estimates.items()
        ]
    if len(ranks) == 4:
        galleries = sum(m.gallery for m in out) // len(KS)
        out.append(
            total(sums).report(Measurement("", 0.0, judgements=NAME, gallery=galleries), "rsum", SUM_HIT)
        )
    return out


MEMBER = measure
