"""Where other judgements call an error right: among the best results of a run, and among the negatives of
training batches.

A candidate for a false negative is an item among a query's ``k`` best that is not relevant by the labels.
Places are counted as people see them: larger scores first, among equal scores the lower row first.
``own_rank`` is the metrics' rank of the query's best relevant item, where a tie counts against the model;
only a candidate that stands before it costs recall.

In a batch every caption of another image is a negative. With the exact truth of the synthetic scenes, or any
denser judgements, the negatives that are truly positive can be counted. Three shares tell different
stories:

``pairs``: share of the negative pairs that are truly positive. A random batch is a sample of the data, so
that this is the same for all sizes. ``t2i/any``, ``i2t/any``: share of the captions (images) with at least
one such negative in their batch, which grows with the size. ``t2i/hardest``, ``i2t/hardest``: share of the
captions (images) whose best scored negative is one: what a loss with hardest negatives pushes away.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of image-caption data, collected from the
best items of models); F. Faghri et al., VSE++, BMVC 2018 (hardest negatives). The expected values are our
own count: a caption stands in a batch with B - 1 of the T - 1 others, drawn without replacement, so that
none of its m false negatives is among them with probability C(T - 1 - m, B - 1) / C(T - 1, B - 1).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Literal

import numpy as np
import pandas as pd

from workbench.metrics.blocks import best_items
from workbench.metrics.intervals import Draws, percentile_interval
from workbench.metrics.ranks import ranks_of
from workbench.records import Array, Judgements, MetricKey, Rows, Split
from workbench.training.samplers import epoch_batches

Direction = Literal["t2i", "i2t"]
DIRECTIONS: tuple[Direction, ...] = ("t2i", "i2t")
COLUMNS = (
    *("direction", "image", "caption", "rank", "score", "own_rank", "image_row", "caption_row"),
    *("right_by", "votes"),
)
# the number of an epoch and a batch size give the caption rows of its batches
Draw = Callable[[int, int], list[Rows]]


def candidates(
    scores: Array,
    split: Split,
    by: Mapping[str, Judgements],
    *,
    labels: Judgements | None = None,
    k: int = 10,
    directions: Sequence[Direction] = DIRECTIONS,
) -> pd.DataFrame:
    """Return all errors among the ``k`` best of every query, with what other judgements say of them.

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
    """
    labels = split.judgements["own"] if labels is None else labels
    _require_free_names(scores, [labels, *by.values()], by)
    table = pd.concat([_first_errors(scores, labels, k, side) for side in directions], ignore_index=True)
    images, captions = table["image_row"].to_numpy(), table["caption_row"].to_numpy()
    grades = {name: _grades_of_pairs(judged, images, captions) for name, judged in by.items()}
    relevant = {name: grades[name] >= judged.relevant_from for name, judged in by.items()}
    right = pd.DataFrame(relevant, index=table.index, dtype=bool)
    image_ids = np.array(split.image_ids, dtype=object)
    caption_ids = np.array(split.caption_ids, dtype=object)
    right_by = [", ".join(right.columns[row]) for row in right.to_numpy()]
    table = table.assign(image=image_ids[images], caption=caption_ids[captions])
    table = table.assign(right_by=right_by, votes=right.sum(axis=1))
    return table[list(COLUMNS)].assign(**grades)


def _grades_of_pairs(judged: Judgements, images: Rows, captions: Rows) -> Array:
    """Return grades of pairs; NaN where nobody judged them, also since neither of the two was asked and the
    pair is not listed.
    """
    grades = judged.grades_at(images, captions)
    sides = ((images, judged.image_queries), (captions, judged.caption_queries))
    queried = [np.isin(rows, queries) for rows, queries in sides if queries is not None]
    known = np.any([*queried, grades >= judged.relevant_from], axis=0) if queried else True
    return np.where(known, grades, np.float32(np.nan))


def _require_free_names(scores: Array, judged: Sequence[Judgements], by: Mapping[str, Judgements]) -> None:
    if wrong := [judgements.name for judgements in judged if judgements.shape != scores.shape]:
        raise ValueError(
            f"scores are {scores.shape}, judgements {wrong[0]!r} have another shape; give those of one split"
        )
    if taken := [name for name in by if name in COLUMNS or ", " in name]:
        raise ValueError(
            f"judgements cannot be called {taken[0]!r}, a name with its own meaning in the table; rename them"
        )


def _first_errors(scores: Array, labels: Judgements, k: int, direction: Direction) -> pd.DataFrame:
    turned = direction == "t2i"
    rows, queries = (scores.T, labels.caption_queries) if turned else (scores, labels.image_queries)
    values, items = best_items(rows, min(k, rows.shape[1]))
    query, place = (axis.ravel() for axis in np.indices(items.shape))
    images, captions = (items.ravel(), query) if turned else (query, items.ravel())
    # a NaN, a pair that nobody judged, is not relevant
    wrong = ~(labels.grades_at(images, captions) >= labels.relevant_from)
    own = ranks_of(scores, labels, direction).first
    columns = {"rank": place + 1, "score": values.ravel(), "own_rank": own[query]}
    table = pd.DataFrame({**columns, "image_row": images, "caption_row": captions})
    return table[wrong & (queries is None or np.isin(query, queries))].assign(direction=direction)


def select_candidates(
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
    """Return the candidates to look at.

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
    known = [name for name in table.columns if name not in COLUMNS]
    if unknown := [name for name in right_by if name not in known]:
        raise ValueError(f"no judgement {unknown[0]!r} in the table; it has {', '.join(known) or 'none'}")
    named = table["right_by"].map(lambda names: set(right_by) <= set(names.split(", "))).astype(bool)
    near = (table["votes"] >= votes) & (table["rank"] <= (rank or np.inf))
    turned = table["direction"].isin([direction] if direction else DIRECTIONS)
    chosen = table[named & near & turned]
    chosen = chosen[chosen["rank"] < chosen["own_rank"]] if ahead else chosen
    return chosen.sample(min(sample, len(chosen)), random_state=seed).sort_index() if sample else chosen


def false_negatives_in_batches(
    own: Rows,
    truth: Judgements,
    sizes: Sequence[int],
    *,
    scores: Array | None = None,
    draw: Draw | None = None,
    batches: int = 50,
    rounds: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return shares of negatives that are truly positive, with 95 % bootstrap intervals over batches.

    Args:
        own: ``(T,)`` image row of each caption.
        truth: ``(I, T)`` what is truly relevant.
        sizes: captions a batch.
        scores: ``(I, T)`` of a model, for the hardest negatives; ``None`` = leave these out.
        draw: makes the batches of an epoch; ``None`` = the classic epoch, all captions in random order.
        batches: how many are looked at for each size.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the batches and of the bootstrap.

    Returns:
        One row a size and key: ``size``, ``key``, ``value``, ``low``, ``high``, ``expected`` (closed form for
        the classic epoch; NaN where there is none) and ``batches``.

    Raises:
        ValueError: a size is below 2 or above the number of captions.
    """
    if wrong := [size for size in sizes if not 2 <= size <= len(own)]:
        raise ValueError(
            f"batches of {wrong[0]} captions cannot be drawn from {len(own)}; give sizes from 2 to {len(own)}"
        )
    listed = truth.unlisted is None or truth.unlisted < truth.relevant_from
    counted = _count_false_negatives(own, truth) if draw is None and listed else None
    draw_batches = draw or partial(_epoch_batches, own, seed)
    rows = []
    for size in sizes:
        drawn = chain.from_iterable(draw_batches(number, size) for number in count())
        table = pd.DataFrame(
            _batch_shares(captions, own, truth, scores) for captions in islice(drawn, batches)
        )
        expected = _expected_shares(size, *counted) if counted else {}
        # batches are drawn, and a batch has one value
        resamples = Draws(np.arange(len(table)), len(table), rounds, seed)
        for key in map(str, table):
            shares = table[key].to_numpy()
            low, high = percentile_interval(resamples.resample(shares, "i2t"))
            measured = {"size": size, "key": key, "value": shares.mean(), "low": low, "high": high}
            rows.append({**measured, "expected": expected.get(key, np.nan), "batches": len(table)})
    return pd.DataFrame(rows, columns=["size", "key", "value", "low", "high", "expected", "batches"])


def _epoch_batches(own: Rows, seed: int, number: int, size: int) -> list[Rows]:
    """Return batches of captions as training draws them, one caption an image."""
    return epoch_batches(own, size=size, captions_per_image=1, seed=seed, number=number)


def _batch_shares(captions: Rows, own: Rows, truth: Judgements, scores: Array | None) -> dict[str, float]:
    images = np.unique(own[captions])
    negative = images[:, None] != own[captions]
    false = negative & (truth.take(images, captions) >= truth.relevant_from)
    out = {"pairs": false.sum() / max(1, negative.sum())}
    out[str(MetricKey("any", "t2i"))] = false.any(axis=0).mean()
    out[str(MetricKey("any", "i2t"))] = false.any(axis=1).mean()
    if scores is not None:
        known = np.where(negative, scores[np.ix_(images, captions)], -np.inf)
        out[str(MetricKey("hardest", "t2i"))] = _share_of_hardest(known.T, false.T)
        out[str(MetricKey("hardest", "i2t"))] = _share_of_hardest(known, false)
    return {key: float(value) for key, value in out.items()}


def _share_of_hardest(scores: Array, false: Array) -> float:
    """Return the share of the rows whose best scored negative is truly positive; a row without a negative has
    none.
    """
    return float(np.take_along_axis(false, scores.argmax(axis=1)[:, None], axis=1).mean())


def _count_false_negatives(own: Rows, truth: Judgements) -> tuple[float, Rows]:
    """Return the share of the negative pairs that are truly positive; for each caption, how many captions
    bring an image that makes one.
    """
    false = (truth.grades >= truth.relevant_from) & (own[truth.captions] != truth.images)
    of_image = np.bincount(own, minlength=truth.shape[0])
    weights = of_image[truth.images[false]]
    per_caption = np.bincount(truth.captions[false], weights, minlength=len(own))
    return float(per_caption.sum() / (len(own) - of_image[own]).sum()), per_caption.astype(np.int64)


def _expected_shares(size: int, share: float, false: Rows) -> dict[str, float]:
    from scipy.stats import hypergeom

    none = np.asarray(hypergeom.pmf(0, len(false) - 1, false, size - 1))
    return {"pairs": share, str(MetricKey("any", "t2i")): float(1 - none.mean())}
