"""Evaluation: a model on a split, every number with its contract."""

from __future__ import annotations

from workbench.batches import Source
from workbench.metrics import judgement, ranking, recall
from workbench.model import Model
from workbench.records import Embedding, Measurement


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
            out += ranking.measure(scores, judged, rounds=rounds, seed=seed)
    if "exact" in split.judgements:
        out += judgement.measure(scores, split.judgements["own"], split.judgements["exact"], rounds=rounds, seed=seed)
    return out, image, text
