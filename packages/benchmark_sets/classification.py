"""Zero-shot classification and a linear probe: whether a model still knows what it knew before training.

Classes are texts, images are queries, and the class of an image is its only relevant text, so that top-1 is
R@1. A class with several templates has the mean of their unit vectors, brought to length 1 again. The linear
probe is a logistic regression on the vectors of images, whose ``C`` is chosen on the validation images.

Source: A. Radford et al., Learning transferable visual models from natural language supervision, ICML 2021,
sections 3.1.4 (ensembles of prompts) and 3.2 (linear probes).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from benchmark_sets.classes import Labelled
from workbench.formatting import format_count, format_number
from workbench.metrics.declared import MeanOfKinds
from workbench.metrics.intervals import ROUNDS, Draws
from workbench.metrics.ranks import rank
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Array, Embedding, Measurement, MetricKey, Rows, Values, require

DEPTHS = (1, 5)
# strengths of the probe that are tried on the validation images
STRENGTHS = tuple(np.logspace(-3, 3, 13))
# of the training images, where there are no others for validation
HELD_BACK = 0.2
UNIT = "images"


@dataclass(frozen=True)
class Classified:
    """What came of a classification.

    Args:
        name: of the model.
        measurements: top-1, top-5 and the mean per class, each with its interval.
        values: key -> ``(N,)`` whether each image counts.
        chosen: number of the class that was chosen for each image.
        notes: facts worth printing.
    """

    name: str
    measurements: Sequence[Measurement]
    values: dict[str, Values]
    chosen: Rows
    notes: tuple[str, ...] = ()


def class_vectors(model: Any, classes: Sequence[str], templates: Sequence[str]) -> Array:
    """Return ``(K, D)`` unit vectors of classes.

    Args:
        model: of ``open_model``.
        classes: names.
        templates: with ``{}`` for the name.
    """
    texts = []
    for name in classes:
        texts += [template.replace("{}", name) for template in templates]
    vectors = model.embed_texts(texts).mean
    vectors = torch.nn.functional.normalize(vectors, dim=-1)
    means = vectors.reshape(len(classes), len(templates), -1).mean(dim=1)
    normalised: Array = torch.nn.functional.normalize(means, dim=-1).numpy()
    return normalised


def classify(model: Any, data: Labelled, templates: Sequence[str], *, rounds: int = ROUNDS) -> Classified:
    """Classify images by texts alone.

    Args:
        model: of ``open_model``, whose vectors are one an item.
        data: images of known classes.
        templates: with ``{}`` for the name of a class.
        rounds: bootstrap rounds, which draw images; 0 = no intervals.

    Raises:
        ValueError: the model compares several vectors an item.
    """
    require(model.of_unit_length, f"{model.name} has no cosines of one vector an item; it cannot classify")
    image = model.embed_images_of(model.source(data.split))
    texts = class_vectors(model, data.classes, templates)
    scores = model.scores(image, Embedding(torch.from_numpy(texts)))
    return measure(model.name, scores, data, rounds=rounds)


def measure(
    name: str,
    scores: Array,
    data: Labelled,
    *,
    prefix: str = "",
    rounds: int = ROUNDS,
    notes: tuple[str, ...] = (),
) -> Classified:
    """Measure scores of images with classes.

    Args:
        name: of the model.
        scores: ``(N, K)``, larger = more alike; an equally scored other class ranks above.
        data: the images.
        prefix: of the metrics' names.
        rounds: bootstrap rounds.
        notes: facts worth printing.
    """
    images, classes = scores.shape
    relevant = np.zeros(scores.shape, dtype=bool)
    relevant[np.arange(images), data.labels] = True
    first = rank(scores, relevant).first
    draws = Draws(np.arange(images), images, rounds, unit=UNIT)
    measurements, values = [], {}
    for k in DEPTHS:
        row = Metric.from_function(
            f"{prefix}top", np.asarray, "the class is among the {k} best", by=("own",)
        )()
        key = MetricKey(row.name, "i2t", k=k)
        hits = (first <= k).astype(float)
        measurements.append(report_number(row, key, hits, "i2t", draws, classes, min(1.0, k / classes)))
        values[str(key)] = hits
    hits = values[str(MetricKey(f"{prefix}top", "i2t", k=1))]
    measurements.append(_mean_per_class(hits, data.labels, prefix, draws, classes))
    return Classified(name, measurements, values, scores.argmax(axis=1), notes)


def _mean_per_class(hits: Values, labels: Rows, prefix: str, draws: Draws, classes: int) -> Measurement:
    """Return the mean over classes of the share of their images that are classified rightly."""
    kinds = [np.where(labels == label, hits, np.nan) for label in np.unique(labels)]
    row = MeanOfKinds(kinds)
    row.name, row.hit = f"{prefix}mean_per_class", "the class is the best; mean over classes"
    return report_number(row, MetricKey(row.name, "i2t"), hits, "i2t", draws, classes, 1 / classes)


def probe(
    model: Any,
    train: Labelled,
    test: Labelled,
    val: Labelled | None = None,
    *,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> Classified:
    """Classify images by a logistic regression on their vectors.

    Args:
        model: of ``open_model``.
        train: images that are learnt from.
        test: images that are classified.
        val: images on which ``C`` is chosen; ``None`` = a fifth of the training images, of every class.
        rounds: bootstrap rounds.
        seed: of that fifth.

    Raises:
        ValueError: train and test have other classes, or nothing can be held back of a class.
    """
    require(train.classes == test.classes, f"{train.split.name} and {test.split.name} have other classes")
    vectors, labels = _vectors(model, train), train.labels
    if val is None:
        from sklearn.model_selection import train_test_split

        alone = np.flatnonzero(np.bincount(labels) == 1)
        names = ", ".join(train.classes[label] for label in alone[:3])
        require(
            not names, f"{train.split.name} has one image alone of {names}; give val/, or two of each class"
        )
        parts = train_test_split(vectors, labels, test_size=HELD_BACK, stratify=labels, random_state=seed)
        fitted_on, checked_on, fitted_labels, checked_labels = parts
    else:
        fitted_on, fitted_labels = vectors, labels
        checked_on, checked_labels = _vectors(model, val), val.labels
    shares = [_fit(fitted_on, fitted_labels, c).score(checked_on, checked_labels) for c in STRENGTHS]
    strength = float(STRENGTHS[int(np.argmax(shares))])
    chosen = _fit(vectors, labels, strength)
    scores = _scores_by_class(chosen, _vectors(model, test), len(test.classes))
    checked = format_count(len(checked_labels), "image")
    notes = (f"linear probe with C = {format_number(strength, 3)}, chosen on {checked}",)
    return measure(model.name, scores, test, prefix="probe_", rounds=rounds, notes=notes)


def _vectors(model: Any, data: Labelled) -> Array:
    vectors: Array = model.embed_images_of(model.source(data.split)).mean.numpy()
    return vectors


def _fit(vectors: Array, labels: Rows, strength: float) -> Any:
    from sklearn.linear_model import LogisticRegression  # slow to import

    return LogisticRegression(C=strength, max_iter=2000).fit(vectors, labels)


def _scores_by_class(fitted: Any, vectors: Array, classes: int) -> Array:
    """Return ``(N, K)`` log-probabilities; a class that was not learnt has the lowest."""
    scores = np.full((len(vectors), classes), -np.inf)
    scores[:, fitted.classes_] = fitted.predict_log_proba(vectors)
    return scores
