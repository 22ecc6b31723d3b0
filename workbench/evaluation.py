"""Evaluation: a model on a split, every number with its contract."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.batches import Source
from workbench.metrics import judgement, ranking, recall
from workbench.model import Model
from workbench.records import Embedding, Measurement, Split


def calibrate(model: Model, source: Source) -> None:
    """Let the objective choose on the validation split what it chooses there, by RSUM."""
    if not model.objective.calibrates:
        return
    own = source.split.judgements["own"]
    image, text = (one.in_float32(model.device) for one in model.embed(source))

    def rsum(scores: Tensor) -> float:
        numbers = recall.measure(scores.float().cpu().numpy(), own, rounds=0)
        return next(m.value for m in numbers if m.key == "rsum")

    with torch.no_grad():
        model.objective.calibrate(image, text, rsum)


def validation_rsum(model: Model, source: Source) -> dict[str, float]:
    """RSUM on the validation split, in [0, 6], by which the best epoch is chosen."""
    scores = model.scores(*model.embed(source))
    numbers = recall.measure(scores, source.split.judgements["own"], rounds=0)
    return {m.key: m.value for m in numbers if m.key == "rsum"}


def evaluate(
    model: Model, source: Source, *, rounds: int = 1000, seed: int = 0
) -> tuple[list[Measurement], Embedding, Embedding]:
    """All metrics that the split's judgements allow.

    Args:
        model: encoders and objective.
        source: the split, its inputs and signals.
        rounds: bootstrap rounds of the intervals; 0 = none.
        seed: of the bootstrap.

    Returns:
        The measurements, and the embeddings of images and captions.
    """
    image, text = model.embed(source)
    return measure(model.scores(image, text), source.split, rounds=rounds, seed=seed), image, text


def measure(scores: NDArray[np.float32], split: Split, *, rounds: int = 1000, seed: int = 0) -> list[Measurement]:
    """All metrics that the split's judgements allow, of any scores.

    Args:
        scores: ``(I, T)``, larger = more alike.
        split: whose images and captions are scored.
        rounds: bootstrap rounds of the intervals; 0 = none.
        seed: of the bootstrap.
    """
    out = recall.measure(scores, split.judgements["own"], rounds=rounds, seed=seed)
    for name, judged in split.judgements.items():
        if name != "own":
            binary = len(np.unique(judged.grades)) < 2
            out += ranking.measure(scores, judged, graded=not binary, rounds=rounds, seed=seed)
    if "exact" in split.judgements:
        out += _false_negatives(scores, split, rounds, seed)
    return out


def ensemble(members: Sequence[tuple[Model, Source]]) -> NDArray[np.float32]:
    """The mean of the score matrices of several models, as the papers' ensemble rows have it.

    Scores are averaged as they are, so the models should score on one scale, as cosines do.

    Args:
        members: each model with the split as it reads it; all splits hold the same images and captions in the same order.

    Returns:
        ``(I, T)`` scores.

    Raises:
        ValueError: no model, or splits that differ.
    """
    if not members:
        raise ValueError("an ensemble needs at least one model")
    first = members[0][1].split
    for _, source in members:
        split = source.split
        if (split.image_ids, split.caption_ids) != (first.image_ids, first.caption_ids):
            raise ValueError(f"an ensemble scores one split: {split.name} and {first.name} differ in their images or captions")
    total = sum(model.scores(*model.embed(source)).astype(np.float64) for model, source in members)
    return np.asarray(total / len(members), dtype=np.float32)


def _false_negatives(scores: NDArray[np.float32], split: Split, rounds: int, seed: int) -> list[Measurement]:
    """How many of the binary metric's errors are true, over all captions and over the most specific ones alone."""
    own, exact = split.judgements["own"], split.judgements["exact"]
    out = judgement.measure(scores, own, exact, rounds=rounds, seed=seed)
    if split.level is not None:
        specific = split.level == split.level.max()
        part = judgement.measure(scores, own, exact, captions=specific, part="most specific", rounds=rounds, seed=seed)
        out += [m for m in part if m.key.startswith("t2i/")]
    return out
