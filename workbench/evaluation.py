"""Evaluation: a model on a split, every number with its contract."""

from __future__ import annotations

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
    scores = model.scores(image, text)
    split = source.split
    out = recall.measure(scores, split.judgements["own"], rounds=rounds, seed=seed)
    for name, judged in split.judgements.items():
        if name != "own":
            binary = len(np.unique(judged.grades)) < 2
            out += ranking.measure(scores, judged, graded=not binary, rounds=rounds, seed=seed)
    if "exact" in split.judgements:
        out += _false_negatives(scores, split, rounds, seed)
    return out, image, text


def _false_negatives(scores: NDArray[np.float32], split: Split, rounds: int, seed: int) -> list[Measurement]:
    """How many of the binary metric's errors are true, over all captions and over the most specific ones alone."""
    own, exact = split.judgements["own"], split.judgements["exact"]
    out = judgement.measure(scores, own, exact, rounds=rounds, seed=seed)
    if split.level is not None:
        specific = split.level == split.level.max()
        part = judgement.measure(scores, own, exact, captions=specific, part="most specific", rounds=rounds, seed=seed)
        out += [m for m in part if m.key.startswith("t2i/")]
    return out
