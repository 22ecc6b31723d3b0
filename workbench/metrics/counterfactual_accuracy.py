"""Whether a model binds words to things: its score of a caption and of the caption's counterfactual, in which
two of its attributes, things or sides of a relation are exchanged, so that it is false of the image.

"Share of an image's captions that score higher with it than their counterfactuals, mean over images." An
equal score counts half, as a guess between two would: a model that scores at random has .5, and so has one
that reads a bag of words and cannot see a counterfactual of the same words. Scores are equal up to rounding,
since caption and counterfactual are encoded in different batches.

Source: M. Yuksekgonul et al., When and why vision-language models behave like bags-of-words, ICLR 2023.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from workbench.metrics.blocks import AnyScores, at_pairs
from workbench.metrics.intervals import ROUNDS, Draws
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Judgements, Measurement, MetricKey, Rows, Values

CHANCE = 0.5
# of the largest score: what rounding alone moves a score by
ROUNDING = 1e-5


class CounterfactualAccuracy(Metric):
    """Share of an image's captions above their counterfactuals with it; equal scores count half."""

    name = "counterfactual_accuracy"
    hit = "the image scores its caption higher than the caption's counterfactual"
    requires = "counterfactuals"
    directions, by = ("i2t",), ("counterfactuals",)
    ties = "an equal score, up to rounding, counts half"

    def per_query(self, inputs: tuple[Values, Rows, int], k: int | None = None) -> Values:
        """Return ``(I,)`` of ``(N,)`` whether each caption scores higher than its counterfactual, .5 where
        equal, ``(N,)`` its image, and ``I``; NaN for an image without counterfactuals.
        """
        above, image, images = inputs
        return ratio(np.bincount(image, above, images), np.bincount(image, minlength=images))


def counterfactual_accuracies(
    scores: AnyScores,
    counterfactuals: Mapping[str, Judgements],
    own: Rows,
    *,
    metrics: Sequence[Metric] = (CounterfactualAccuracy(),),
    rounds: int = ROUNDS,
) -> Iterator[tuple[Measurement, Values]]:
    """Yield the accuracy by kind of counterfactual, and its ``(I,)`` values by image.

    Args:
        scores: ``(I, T)``, larger = more alike.
        counterfactuals: by kind, captions and their counterfactuals, see ``Split.counterfactuals``.
        own: ``(T,)`` image row of each caption and counterfactual.
        metrics: those that read counterfactuals.
        rounds: bootstrap rounds; images are drawn, each with all its captions; 0 = no intervals.
    """
    draws = Draws(own, scores.shape[0], rounds)
    for kind, pairs in counterfactuals.items():
        image = own[pairs.images]
        mine, other = (at_pairs(scores, image, text) for text in (pairs.images, pairs.captions))
        close = ROUNDING * np.abs([mine, other]).max(initial=0)
        above = np.where(np.abs(mine - other) <= close, CHANCE, mine > other)
        for metric in metrics:
            values = metric.per_query((above, image, scores.shape[0]))
            key = MetricKey(metric.name, "i2t", subset=kind)
            yield report_number(metric, key, values, "i2t", draws, 2, CHANCE), values


MEMBER = CounterfactualAccuracy
