"""Evaluation: a model on a split, every number with its contract."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from workbench.experiment.model import Model
from workbench.experiment.scoring import scored
from workbench.metrics import correlation, cxc, judgement, ranking, recall
from workbench.metrics._ranks import AnyScores, Ranked
from workbench.metrics._rows import Products, at_pairs
from workbench.records import Embedding, Judgements, Measurement, Split
from workbench.training.batches import Source

Vectors = NDArray[Any]
# what says which captions are positive in Crisscrossed Captions: the pairs of the package eccv-caption, and
# the ratings
CXC = ("cxc", "sits")
# data sets whose test split of so many images is also read as so many galleries
COCO, FOLDED, FOLDS = ("coco", "cxc", "eccv_caption"), 5000, 5


class Draws(NamedTuple):
    """Bootstrap rounds, 0 = no intervals, and the seed of the draws."""

    rounds: int
    seed: int


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
    numbers = recall.measure(scored(model, *model.embed(source)), source.split.judgements["own"], rounds=0)
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
    vectors = (image.mean.numpy(), text.mean.numpy())
    return (
        measure(scored(model, image, text), source.split, vectors=vectors, rounds=rounds, seed=seed),
        image,
        text,
    )


def measure(
    scores: AnyScores,
    split: Split,
    *,
    vectors: tuple[Vectors, Vectors] | None = None,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """All metrics that the split's judgements allow, of any scores.

    One pass a direction ranks by all judgements. Of the test split of MS-COCO the five folds of its 1K
    protocol are measured as well, marked ``[1K]``; of Crisscrossed Captions retrieval in two directions, in
    four where vectors are given, and the correlations with the ratings.

    Args:
        scores: ``(I, T)``, larger = more alike; a matrix, or rows made when they are asked for.
        split: whose images and captions are scored.
        vectors: ``(I, D)`` and ``(T, D)`` unit vectors of images and of captions, for judgements of pairs of
            one kind.
        rounds: bootstrap rounds of the intervals; 0 = none.
        seed: of the bootstrap.
    """
    judgements, draws = dict(split.judgements), Draws(rounds, seed)
    ranked = Ranked(scores, list(judgements.values()))
    out = recall.measure(ranked, judgements["own"], rounds=rounds, seed=seed) + _one_k(scores, split, draws)
    for name, judged in judgements.items():
        if name in CXC:
            out += _cxc(ranked, split, judged, vectors, draws)
        if name not in ("own", "cxc"):
            graded = len(np.unique(judged.grades)) > 1
            out += ranking.measure(scores, judged, ranked=ranked, graded=graded, rounds=rounds, seed=seed)
    if "exact" in judgements:
        out += _false_negatives(ranked, split, rounds, seed)
    return out + _correlations(scores, split, vectors, draws)


def ensemble(members: Sequence[tuple[Model, Source]]) -> NDArray[np.float32]:
    """The mean of the score matrices of several models, as the papers' ensemble rows have it.

    Scores are averaged as they are, so the models should score on one scale, as cosines do.

    Args:
        members: each model with the split as it reads it; all splits hold the same images and captions in the
            same order.

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
            raise ValueError(
                f"an ensemble scores one split: {split.name} and {first.name} differ in their images or captions"
            )
    total = sum(model.scores(*model.embed(source)).astype(np.float64) for model, source in members)
    return np.asarray(total / len(members), dtype=np.float32)


def _one_k(scores: AnyScores, split: Split, draws: Draws) -> list[Measurement]:
    """The mean over five galleries of 1,000 images, for the test split of MS-COCO."""
    if split.name.partition("/")[0] not in COCO or len(split.image_ids) != FOLDED:
        return []
    found = recall.measure(
        scores, split.judgements["own"], own=split.own, folds=FOLDS, rounds=draws.rounds, seed=draws.seed
    )
    return [replace(m, key=f"{m.key}[1K]") for m in found]


def _cxc(
    ranked: Ranked, split: Split, judged: Judgements, vectors: tuple[Vectors, Vectors] | None, draws: Draws
) -> list[Measurement]:
    """Retrieval of Crisscrossed Captions, within a modality where its ratings and the vectors are there."""
    images = captions = None
    if vectors is not None and "sis" in split.image_judgements:
        images = cxc.within(Products(vectors[0], vectors[0]), split.image_judgements["sis"])
        # a small part of the split may have no pair of images that is positive
        images = images if images.counts.any() else None
    if vectors is not None and "sts" in split.caption_judgements:
        captions = cxc.within(Products(vectors[1], vectors[1]), split.caption_judgements["sts"], split.own)
    return cxc.measure(ranked, judged, images=images, captions=captions, rounds=draws.rounds, seed=draws.seed)


def _correlations(
    scores: AnyScores, split: Split, vectors: tuple[Vectors, Vectors] | None, draws: Draws
) -> list[Measurement]:
    """Agreement with ratings that list what was rated and leave the rest open; one that is undefined is left
    out.
    """
    out: list[Measurement] = []
    for judged in split.judgements.values():
        if judged.unlisted is None and len(judged.grades):
            values = at_pairs(scores, judged.images, judged.captions)
            out += correlation.measure(values, judged, own=split.own, rounds=draws.rounds, seed=draws.seed)
    if vectors is None:
        return _defined(out)
    sides: tuple[tuple[Mapping[str, Judgements], Vectors, correlation.Query], ...] = (
        (split.image_judgements, vectors[0], "i2i"),
        (split.caption_judgements, vectors[1], "t2t"),
    )
    for by_name, side, query in sides:
        for judged in (one for one in by_name.values() if len(one.grades)):
            values = correlation.cosines(side, side, judged)
            out += correlation.measure(values, judged, queries=(query,), rounds=draws.rounds, seed=draws.seed)
    return _defined(out)


def _defined(found: list[Measurement]) -> list[Measurement]:
    """The numbers that are one: no correlation exists with what is constant."""
    return [m for m in found if not np.isnan(m.value)]


def _false_negatives(ranked: Ranked, split: Split, rounds: int, seed: int) -> list[Measurement]:
    """How many of the binary metric's errors are true, over all captions and over the most specific ones
    alone.
    """
    own, exact = split.judgements["own"], split.judgements["exact"]
    out = judgement.measure(ranked, own, exact, rounds=rounds, seed=seed)
    if split.level is not None:
        specific = split.level == split.level.max()
        part = judgement.measure(
            ranked, own, exact, captions=specific, part="most specific", rounds=rounds, seed=seed
        )
        out += [m for m in part if m.key.startswith("t2i/")]
    return out
