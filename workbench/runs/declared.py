"""The scores that a data set is published with, and beside each of them what needs no image."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from workbench import text as signals
from workbench.metrics.blocks import AnyScores, at_pairs
from workbench.metrics.declared import Scorer, declared_numbers
from workbench.records import Array, Measurement, Rows, Split, Values, require
from workbench.records.benchmark import Benchmark
from workbench.text.words import words

# captions that the sentence encoder reads at most; it takes a second for a hundred on a processor
MOST_READ = 5_000
# parts of the examples, of which each is judged by what was learnt on the others
PARTS = 5
ALONE = "the captions alone"


def measure_declared(
    scores: AnyScores,
    split: Split,
    vectors: tuple[Array, Array] | None,
    metrics: Sequence[str],
    rounds: int,
) -> tuple[list[Measurement], dict[str, Values]]:
    """Measure a split by the scores that its data set declares, and by nothing else.

    Args:
        scores: ``(I, T)``, larger = more alike.
        split: with a benchmark.
        vectors: unit vectors of images and captions; without them captions are not compared with captions.
        metrics: names of others, of which there must be none.
        rounds: bootstrap rounds; 0 = no intervals.

    Raises:
        ValueError: no example is left, as of a part of the split, or other metrics are asked for.
    """
    benchmark = split.benchmark
    if benchmark is None or not len(benchmark.drawn_with):
        raise ValueError(f"{split.name} holds no whole example; take more of its images")
    declared = ", ".join(dict.fromkeys(score.metric for score in benchmark.scores))
    words_of_others = ", ".join(metrics)
    require(
        not metrics, f"{split.name} is measured by {declared}, and not by {words_of_others}; leave that out"
    )
    if vectors is None:
        left = tuple(score for score in benchmark.scores if score.direction != "t2t")
        benchmark = replace(benchmark, scores=left)
    others = _scores_of_captions(split, benchmark)
    score = partial(_score_pairs, scores, None if vectors is None else vectors[1])
    bags = _bag_numbers(split.captions)
    measurements, values = [], {}
    for number, by_example in declared_numbers(score, benchmark, bags=bags, others=others, rounds=rounds):
        measurements.append(number)
        if by_example is not None:
            values[number.label] = by_example
    return measurements, values


def _score_pairs(scores: AnyScores, texts: Array | None, pairs: Rows, direction: str) -> Array:
    """Return ``(N,)`` scores of images and captions, or cosines of two captions."""
    first, second = pairs.T
    if direction != "t2t" or texts is None:
        return at_pairs(scores, first, second)
    cosines: Array = np.einsum("nd,nd->n", texts[first], texts[second], dtype=np.float64)
    return cosines


def _bag_numbers(captions: Sequence[str]) -> Rows:
    """Return ``(T,)`` a number for each multiset of words."""
    numbers: dict[tuple[str, ...], int] = {}
    bags = [numbers.setdefault(tuple(sorted(words(caption))), len(numbers)) for caption in captions]
    return np.array(bags, dtype=np.int64)


def _scores_of_captions(split: Split, benchmark: Benchmark) -> list[tuple[str, Scorer]]:
    """Return what scores pairs by their captions alone: nothing for a large set."""
    if len(set(split.captions)) > MOST_READ:
        return []
    vectors = _sentence_encoder().vectors(split.captions)
    plausible = _plausibility(benchmark, vectors)

    def score(pairs: Rows, direction: str) -> Array:
        first, second = pairs.T
        if direction == "t2t":
            return np.asarray(np.einsum("nd,nd->n", vectors[first], vectors[second], dtype=np.float64))
        return np.asarray(plausible[second])

    return [(ALONE, score)]


@cache
def _sentence_encoder() -> Any:
    return signals.load("sentence")


def _plausibility(benchmark: Benchmark, vectors: Array) -> Array:
    """Return ``(T,)`` how much a caption looks like a true one of this data set, by a logistic regression on
    sentence vectors that was learnt on the other parts of the examples; 0 where nothing can be learnt.

    A text that is true of one image and false of another teaches both.
    """
    texts, labels, units = _labelled_captions(benchmark)
    part = units % PARTS
    plausible = np.zeros(len(vectors))
    for number in range(PARTS):
        other, mine = part != number, part == number
        if not mine.any() or len(np.unique(labels[other])) < 2:
            continue
        fitted = _fit_logistic(vectors[texts[other]], labels[other])
        plausible[texts[mine]] = fitted(vectors[texts[mine]])
    return plausible


def _labelled_captions(benchmark: Benchmark) -> tuple[Rows, Rows, Rows]:
    """Return captions, 1 where each is true of the image that it is compared for, and the unit of each."""
    columns: list[tuple[Rows, Rows, Rows]] = []
    for score in benchmark.scores:
        if score.direction != "t2t":
            unit = benchmark.drawn_with[score.example]
            for label, pairs in ((1, score.above), (0, score.below)):
                columns.append((pairs[:, 1], np.full(len(pairs), label), unit))
    if not columns:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, nothing
    texts, labels, units = (np.concatenate(column) for column in zip(*columns, strict=True))
    return texts, labels, units


def _fit_logistic(vectors: Array, labels: Rows) -> Callable[[Array], Array]:
    """Return the decision function of a logistic regression."""
    from sklearn.linear_model import LogisticRegression  # slow to import

    model = LogisticRegression(C=1.0, max_iter=1000).fit(vectors, labels)
    return lambda rows: np.asarray(model.decision_function(rows))
