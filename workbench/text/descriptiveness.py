"""Descriptiveness: how much a caption says, from the words it is made of.

``delta(t)`` is a sum of TF-IDF over the words of a caption, brought to [0, 1] by the minimum and maximum of
the pool.

Source: Jang, Lee, Sohn, "Descriptive Image-Text Matching with Graded Contextual Similarity", 2025, the
descriptiveness score.
Departures: the printed formula divides by the number of words and so ranks one-word phrases highest, against
the paper's own figure of descriptiveness by level; the default is the sum of an L2-normalised vector, and
``scorer="printed"`` is the formula. Words are counted and rows brought to length by scikit-learn; against a
sum in the order of the caption this moves the last bit (1e-15 relative, a test holds 1e-12).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import normalize

from workbench.records import Array, Rows, Values, require
from workbench.text.signal import SignalMaker
from workbench.text.words import words

Scorer = Literal["l2_sum", "raw_sum", "printed", "printed_tokens"]
Scale = Literal["minmax", "raw", "both"]


@dataclass(frozen=True)
class DescriptivenessSignal:
    """Descriptiveness of ``N`` captions: ``values`` ``(N,)`` on the pool's scale, where the pool itself
    lies in [0, 1], and ``raw`` ``(N,)`` before the scaling; ``scale`` says which of them ``take`` answers
    with.
    """

    values: Array
    raw: Array
    scale: Scale = "minmax"

    def take(self, rows: Rows) -> torch.Tensor | dict[str, torch.Tensor]:
        """Return ``(n,)`` float32, or with ``scale="both"`` a mapping of ``minmax`` and ``raw``."""
        both = {"minmax": torch.from_numpy(self.values[rows]), "raw": torch.from_numpy(self.raw[rows])}
        return both if self.scale == "both" else both[self.scale]


class Descriptiveness(SignalMaker):
    """Scores captions against a pool.

    Args:
        scorer: ``"l2_sum"`` (sum of an L2-normalised TF-IDF vector), ``"raw_sum"`` (sum of TF-IDF),
            ``"printed"`` (the paper's formula, each distinct word once) or ``"printed_tokens"`` (the same
            over word positions).
        clip: cut captions from outside the pool to [0, 1].
        scale: what a batch gets: ``"minmax"``, ``"raw"`` or ``"both"``.
    """

    name = "descriptiveness"
    bound = ("scorer",)
    learnt = ("sentences", "holding", "low", "high")

    def __init__(self, *, scorer: Scorer = "l2_sum", clip: bool = False, scale: Scale = "minmax") -> None:
        self.scorer = scorer
        self.clip = clip
        self.scale = scale
        self.sentences = 0
        self.holding = dict[str, int]()
        self.low = 0.0
        self.high = 0.0

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn word frequencies, minimum and maximum from the pool.

        Raises:
            ValueError: all captions of the pool score the same, so that there is nothing to scale by.
        """
        self.sentences = len(captions)
        self.holding, scores = score_pool(captions, self.scorer)
        require(
            len(scores) != 0 and scores.min() != scores.max(),
            f"descriptiveness: all {len(captions)} captions of the pool score the same "
            f"with {self.scorer!r}; fit on captions that differ",
        )
        self.low = float(scores.min())
        self.high = float(scores.max())
        return self

    def raw_scores(self, captions: Sequence[str]) -> Values:
        """Return ``(T,)`` scores before scaling; a caption without words scores 0."""
        return np.asarray(self._contributions(captions)[0].sum(axis=1), dtype=np.float64)

    def contributions(self, caption: str) -> list[tuple[str, float]]:
        """Return ``(word, weight)`` of each distinct word of a caption, in its order; the weights sum to the
        raw score.
        """
        weighted, known = self._contributions([caption])
        weights = dict(zip(known, weighted.toarray()[0].tolist(), strict=True))
        return [(word, weights[word]) for word in dict.fromkeys(words(caption))]

    def transform(self, captions: Sequence[str]) -> DescriptivenessSignal:
        """Return scores of the captions on the scale of the pool."""
        raw = self.raw_scores(captions)
        values = (raw - self.low) / (self.high - self.low)
        values = values.clip(0, 1) if self.clip else values
        return DescriptivenessSignal(values.astype(np.float32), raw.astype(np.float32), self.scale)

    def _contributions(self, captions: Sequence[str]) -> tuple[sparse.csr_array, list[str]]:
        """Return ``(T, W)`` what each word adds to each caption, and the words."""
        require(self.sentences, "descriptiveness: no pool yet; call fit(captions) first")
        counts, known = count_words(captions)
        holding = np.array([self.holding.get(word, 1) for word in known], dtype=float)
        return word_weights(self.scorer, counts, holding, self.sentences), known


def score_pool(captions: Sequence[str], scorer: Scorer = "l2_sum") -> tuple[dict[str, int], Values]:
    """Score captions with themselves as the pool.

    Args:
        captions: ``T`` of them.
        scorer: see ``Descriptiveness``.

    Returns:
        How many of the captions hold each word, and ``(T,)`` scores before scaling.
    """
    counts, known = count_words(captions)
    holding = np.bincount(counts.indices, minlength=len(known))
    scores = word_weights(scorer, counts, holding, len(captions)).sum(axis=1)
    return dict(zip(known, holding.tolist(), strict=True)), np.asarray(scores)


def count_words(captions: Sequence[str]) -> tuple[sparse.csr_array, list[str]]:
    """Return ``(T, W)`` how often each word occurs in each caption, and the ``W`` words in alphabetical
    order.
    """
    counter = CountVectorizer(analyzer=words, dtype=np.float64)
    if not any(map(words, captions)):
        return sparse.csr_array((len(captions), 0)), []
    return sparse.csr_array(counter.fit_transform(captions)), counter.get_feature_names_out().tolist()


def word_weights(
    scorer: Scorer, counts: sparse.csr_array, holding: Array, sentences: int
) -> sparse.csr_array:
    """Return ``(T, W)`` what each word adds to the score of a caption; the score is the sum of a row.

    ``M`` sentences in the pool, ``M_w`` of them hold word ``w``; ``N_w`` times it occurs in the caption of
    ``N`` words. A word that the pool does not hold counts as if one sentence held it. Natural logarithms.

    Args:
        scorer: ``"raw_sum"``: ``N_w log(M / M_w)``, without a division by the length. ``"printed"``:
            ``N_w / N log(M / M_w)``, the mean idf of the caption's words. ``"printed_tokens"``: the same
            summed over word positions, ``N_w^2 / N log(M / M_w)``. ``"l2_sum"``:
            ``N_w (log((1 + M) / (1 + M_w)) + 1)``, divided by the Euclidean length of the caption's vector.
        counts: ``(T, W)`` of each word.
        holding: ``(W,)`` sentences of the pool that hold it.
        sentences: of the pool.
    """
    if not counts.nnz:
        return counts
    if scorer == "l2_sum":
        smooth = np.log((1 + sentences) / (1 + holding)) + 1
        return sparse.csr_array(normalize(counts @ sparse.diags_array(smooth), "l2"))
    times = counts if scorer == "raw_sum" else normalize(counts, "l1")
    times = times * counts if scorer == "printed_tokens" else times
    return sparse.csr_array(times @ sparse.diags_array(np.log(sentences / holding)))


MEMBER = Descriptiveness
