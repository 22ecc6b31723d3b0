"""How many negatives of a training batch are truly positive, by batch size.

In a batch every caption of another image is a negative. With the exact truth of the embedded world, or any
denser judgements, the negatives that are truly positive can be counted. Three shares tell different stories:

``pairs``: share of the negative pairs that are truly positive. A random batch is a sample of the data, so
that this is the same
for all sizes. ``t2i/any``, ``i2t/any``: share of the captions (images) with at least one such negative in
their batch, which grows with the size. ``t2i/hardest``, ``i2t/hardest``: share of the captions (images) whose
best scored negative is one: what a loss with hardest negatives pushes away.

Source: S. Chun et al., ECCV Caption, ECCV 2022 (false negatives of image-caption data); F. Faghri et al.,
VSE++, BMVC 2018 (hardest negatives). The expected values are our own count: a caption stands in a batch with
B - 1 of the T - 1 others, drawn without replacement, so that none of its m false negatives is among them with
probability C(T
- 1 - m, B - 1) / C(T - 1, B - 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import gammaln

from workbench.metrics.intervals import Draws, interval
from workbench.records import Judgements, Rows

Values = NDArray[np.float64]
# the number of an epoch and a batch size give the caption rows of its batches
Draw = Callable[[int, int], list[Rows]]


def false_negatives_in_batches(
    own: Rows,
    truth: Judgements,
    sizes: Sequence[int],
    *,
    scores: NDArray[Any] | None = None,
    draw: Draw | None = None,
    batches: int = 50,
    rounds: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Shares of negatives that are truly positive, with 95 % bootstrap intervals over batches.

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
    wrong = [size for size in sizes if not 2 <= size <= len(own)]
    if wrong:
        raise ValueError(
            f"batches of {wrong[0]} captions cannot be drawn from {len(own)}; give sizes from 2 to that number"
        )
    if not sizes:
        return pd.DataFrame(columns=["size", "key", "value", "low", "high", "expected", "batches"])
    listed = truth.unlisted is None or truth.unlisted < truth.relevant_from
    counted = _counted(own, truth) if draw is None and listed else None
    rows = []
    for size in sizes:
        found = [
            _shares(captions, own, truth, scores)
            for captions in _take(draw or _classic(own, seed), size, batches)
        ]
        values = {key: np.array([one[key] for one in found]) for key in found[0]}
        expected = _expected(size, len(own), counted) if counted else {}
        # batches are drawn, and a batch has one value
        draws = Draws(np.arange(len(found)), len(found), rounds, seed)
        for key, shares in values.items():
            low, high = interval(draws.of(shares, "i2t"))
            rows.append(
                {"size": size, "key": key, "value": shares.mean(), "low": low, "high": high}
                | {"expected": expected.get(key, np.nan), "batches": len(found)}
            )
    return pd.DataFrame(rows)


def _classic(own: Rows, seed: int) -> Draw:
    from workbench.training.batches import epoch

    return lambda number, size: epoch(own, size=size, captions_per_image=1, seed=seed, number=number)


def _take(draw: Draw, size: int, batches: int) -> list[Rows]:
    """The first batches of as many epochs as are needed."""
    taken: list[Rows] = []
    for number in count():
        taken += draw(number, size)
        if len(taken) >= batches:
            break
    return taken[:batches]


def _shares(captions: Rows, own: Rows, truth: Judgements, scores: NDArray[Any] | None) -> dict[str, float]:
    images = np.unique(own[captions])
    negative = images[:, None] != own[captions]
    false = negative & (truth.take(images, captions) >= truth.relevant_from)
    out = {
        "pairs": false.sum() / max(1, negative.sum()),
        "t2i/any": false.any(axis=0).mean(),
        "i2t/any": false.any(axis=1).mean(),
    }
    if scores is not None:
        known = np.where(negative, scores[np.ix_(images, captions)], -np.inf)
        out["t2i/hardest"] = _hardest(known.T, false.T)
        out["i2t/hardest"] = _hardest(known, false)
    return {key: float(value) for key, value in out.items()}


def _hardest(scores: NDArray[Any], false: NDArray[np.bool_]) -> float:
    """Share of the rows whose best scored negative is truly positive; a row without a negative has none."""
    return float(np.take_along_axis(false, scores.argmax(axis=1)[:, None], axis=1).mean())


def _counted(own: Rows, truth: Judgements) -> tuple[float, Values]:
    """Share of the negative pairs that are truly positive; for each caption, how many captions bring an image
    that makes one.
    """
    good = truth.grades >= truth.relevant_from
    images, captions = truth.images[good], truth.captions[good]
    false = own[captions] != images
    of_image = np.bincount(own, minlength=truth.shape[0]).astype(np.float64)
    per_caption = np.bincount(captions[false], weights=of_image[images[false]], minlength=len(own)).astype(
        np.float64
    )
    negatives = len(own) - of_image[own]
    return float(per_caption.sum() / negatives.sum()), per_caption


def _expected(size: int, captions: int, counted: tuple[float, Values]) -> dict[str, float]:
    share, false = counted
    others, drawn = captions - 1, size - 1
    left = others - false
    enough = left >= drawn
    log_none = np.full(len(false), -np.inf)
    log_none[enough] = _log_choose(left[enough], drawn) - _log_choose(np.array(others), drawn)
    return {"pairs": share, "t2i/any": float(1 - np.exp(log_none).mean())}


def _log_choose(n: NDArray[Any], k: int) -> Values:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
