"""The queries on which several open runs differ, what grades their answers, and a baseline that is known to
be worse.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.experiment.opened import OpenRun
from workbench.metrics import comparison
from workbench.metrics.ranks import best_ranks
from workbench.records import LazyJudgements, Rows, Split, densest

Values = NDArray[np.float64]


def ranks(spaces: Sequence[OpenRun], direction: Literal["i2t", "t2i"]) -> Values:
    """``(runs, queries)`` rank of each query's best own item.

    Args:
        spaces: open runs of one split.
        direction: image to text or text to image.
    """
    return np.stack([best_ranks(space.scores, space.split.judgements["own"], direction) for space in spaces])


def chosen(
    ranked: Values, split: Split, direction: Literal["i2t", "t2i"], asked: Sequence[str], count: int
) -> list[tuple[str, int]]:
    """The queries to show: those asked for by id, then those on which the runs differ most, one an image.

    Args:
        ranked: ``(runs, queries)`` from ``ranks``.
        split: that was measured on.
        direction: whether images or captions are the queries.
        asked: ids of images or captions; those of the other kind are passed over.
        count: how many on which the runs differ.

    Returns:
        Pairs of the reason and the query row.

    Raises:
        KeyError: an id that is neither an image's nor a caption's.
    """
    ids = split.image_ids if direction == "i2t" else split.caption_ids
    known = {*split.image_ids, *split.caption_ids}
    for one in asked:
        if one not in known:
            near = difflib.get_close_matches(one, sorted(known), n=3) or [
                *split.image_ids[:2],
                *split.caption_ids[:2],
            ]
            raise KeyError(f"no image or caption {one!r} in {split.name}; there is {', '.join(near)}")
    given = [("asked for", ids.index(one)) for one in asked if one in ids]
    groups = split.own if direction == "t2i" else None
    most = comparison.most_different(ranked, count, groups)
    spread = [
        f"the runs differ: ranks {ranked[:, row].min():.0f} to {ranked[:, row].max():.0f}" for row in most
    ]
    return given + list(zip(spread, most, strict=True))


def grader(split: Split) -> Callable[[Rows, Rows], NDArray[np.float32]] | None:
    """What grades any image and caption of a split between 0 and 1, where its data know; else ``None``."""
    name = densest(split.judgements, graded=True)
    if name not in ("graded", "exact"):
        return None
    judged = split.judgements
    return judged.relevance(name).take if isinstance(judged, LazyJudgements) else judged[name].take


def noisy(space: OpenRun, amount: float, *, name: str, seed: int = 0) -> OpenRun:
    """The same model with random numbers added to its vectors: a baseline that is known to be worse.

    Args:
        space: an open run whose scores read the mean vectors alone.
        amount: length of what is added to each vector of length 1; 0 changes nothing.
        name: of the baseline.
        seed: of the random numbers.
    """
    generator = torch.Generator().manual_seed(seed)

    def blurred(mean: torch.Tensor) -> torch.Tensor:
        added = torch.nn.functional.normalize(torch.randn(mean.shape, generator=generator), dim=1)
        return torch.nn.functional.normalize(mean + amount * added, dim=1)

    image, text = (replace(one, mean=blurred(one.mean)) for one in (space.image, space.text))
    return space.with_embeddings(name, image, text)
