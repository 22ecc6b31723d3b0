"""Whether a model binds words to things: its score of a caption and of the caption's twin, in which two of
its attributes, things or sides of a relation are exchanged, so that it is false of the image.

"Share of an image's captions that score higher with it than their twins, mean over images." An equal score
counts half, as a guess between two would: a model that scores at random has .5, and so has one that reads a
bag of words and cannot see a twin of the same words. Scores are equal up to rounding, since caption and twin
are encoded in different batches.

Source: M. Yuksekgonul et al., When and why vision-language models behave like bags-of-words, ICLR 2023.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from workbench.metrics.blocks import AnyScores, at_pairs
from workbench.metrics.evaluation import report_number
from workbench.metrics.intervals import ROUNDS, SEED, Draws
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.records import Judgements, Measurement, MetricKey, Rows, Values

CHANCE = 0.5
# of the largest score: what rounding alone moves a score by
ROUNDING = 1e-5


class TwinAccuracy(Metric):
    """Share of an image's captions that score higher with it than their twins; equal scores count half."""

    name, hit = "twin_accuracy", "the image scores its caption higher than the caption's twin"
    requires = "twins"
    directions, by = ("i2t",), ("twins",)
    ties = "an equal score, up to rounding, counts half"

    def per_query(self, found: tuple[Values, Rows, int], k: int | None = None) -> Values:
        """``(I,)`` of ``(N,)`` whether each caption scores higher than its twin, .5 where equal, ``(N,)`` its
        image, and ``I``; NaN for an image without twins.
        """
        above, image, images = found
        return ratio(np.bincount(image, above, images), np.bincount(image, minlength=images))


def twin_accuracies(
    scores: AnyScores,
    twins: Mapping[str, Judgements],
    own: Rows,
    *,
    rows: Sequence[Metric] = (TwinAccuracy(),),
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> Iterator[tuple[Measurement, Values]]:
    """The accuracy by kind of twin, and its ``(I,)`` values by image.

    Args:
        scores: ``(I, T)``, larger = more alike.
        twins: by kind, captions and their twins, see ``Split.twins``.
        own: ``(T,)`` image row of each caption and twin.
        rows: metrics that read twins.
        rounds: bootstrap rounds; images are drawn, each with all its captions; 0 = no intervals.
        seed: of the bootstrap.
    """
    draws = Draws(own, scores.shape[0], rounds, seed)
    for kind, pairs in twins.items():
        image = own[pairs.images]
        mine, other = (at_pairs(scores, image, text) for text in (pairs.images, pairs.captions))
        close = ROUNDING * np.abs([mine, other]).max(initial=0)
        above = np.where(np.abs(mine - other) <= close, CHANCE, mine > other)
        for row in rows:
            values = row.per_query((above, image, scores.shape[0]))
            key = MetricKey(row.name, "i2t", subset=kind)
            yield report_number(row, key, values, "i2t", draws, 2, CHANCE), values


MEMBER = TwinAccuracy
