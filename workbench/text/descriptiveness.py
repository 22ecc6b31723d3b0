"""Descriptiveness: how much a caption says, from the words it is made of.

``delta(t)`` is a sum of TF-IDF over the words of a caption, brought to [0, 1] by the minimum and maximum of
the pool.

Source: Jang, Lee, Sohn, "Descriptive Image-Text Matching with Graded Contextual Similarity", 2025, the
descriptiveness score.
Departures: the printed formula divides by the number of words and so ranks one-word phrases highest, against
the paper's own figure of descriptiveness by level; the default is the sum of an L2-normalised vector, and
``scorer="printed"`` is the formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.records import Rows
from workbench.registry import did_you_mean
from workbench.text._tfidf import SCORERS, count_words, document_frequency
from workbench.text.signal import SignalMaker

if TYPE_CHECKING:
    from torch import Tensor

SCALES = ("minmax", "raw", "both")


@dataclass(frozen=True)
class DescriptivenessSignal:
    """Descriptiveness of ``N`` captions.

    Args:
        values: ``(N,)`` on the pool's scale; the pool itself lies in [0, 1].
        raw: ``(N,)`` before the scaling.
        scale: what ``take`` answers with.
    """

    values: NDArray[np.float32]
    raw: NDArray[np.float32]
    scale: str = "minmax"
    name = "descriptiveness"

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: Rows) -> Tensor | dict[str, Tensor]:
        """``(n,)`` float32, or with ``scale="both"`` a mapping of ``minmax`` and ``raw``."""
        import torch

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

    Raises:
        ValueError: an unknown scorer or scale.
    """

    name = "descriptiveness"

    def __init__(
        self,
        *,
        scorer: Literal["l2_sum", "raw_sum", "printed", "printed_tokens"] = "l2_sum",
        clip: bool = False,
        scale: Literal["minmax", "raw", "both"] = "minmax",
    ) -> None:
        for option, value, known in (("scorer", scorer, list(SCORERS)), ("scale", scale, list(SCALES))):
            if value not in known:
                raise ValueError(f"descriptiveness: no {option} {value!r}; {did_you_mean(value, known)}")
        self.scorer, self.clip, self.scale = scorer, clip, scale
        self.sentences = 0
        self.holding: dict[str, int] = {}
        self.low = self.high = 0.0

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn word frequencies, minimum and maximum from the pool.

        Raises:
            ValueError: all captions of the pool score the same, so that there is nothing to scale by.
        """
        counts, words = count_words(captions)
        holding = document_frequency(counts)
        self.sentences, self.holding = len(captions), dict(zip(words, holding.tolist(), strict=True))
        scores = SCORERS[self.scorer](counts, holding.astype(float), self.sentences).sum(axis=1)
        if len(scores) == 0 or scores.min() == scores.max():
            raise ValueError(
                f"descriptiveness: all {len(captions)} captions of the pool score the same with {self.scorer!r}; "
                f"fit on captions that differ"
            )
        self.low, self.high = float(scores.min()), float(scores.max())
        return self

    def raw(self, captions: Sequence[str]) -> NDArray[np.float64]:
        """``(T,)`` scores before scaling; a caption without words scores 0."""
        contributions, _ = self._contributions(captions)
        return np.asarray(contributions.sum(axis=1), dtype=np.float64)

    def contributions(self, caption: str) -> list[tuple[str, float]]:
        """What each distinct word adds to the raw score of a caption, in the order of the caption.

        Args:
            caption: any text.

        Returns:
            ``(word, weight)`` pairs; the weights sum to the raw score.
        """
        made, words = self._contributions([caption])
        return [
            (words[column], weight) for column, weight in zip(made.indices, made.data.tolist(), strict=True)
        ]

    def of(self, captions: Sequence[str]) -> DescriptivenessSignal:
        """Scores of the captions on the scale of the pool."""
        raw = self.raw(captions)
        values = (raw - self.low) / (self.high - self.low)
        values = values.clip(0, 1) if self.clip else values
        return DescriptivenessSignal(values.astype(np.float32), raw.astype(np.float32), self.scale)

    def _contributions(self, captions: Sequence[str]) -> tuple[sparse.csr_array, list[str]]:
        if not self.sentences:
            raise ValueError("descriptiveness: no pool yet; call fit(captions) first")
        counts, words = count_words(captions)
        holding = np.array([self.holding.get(word, 1) for word in words], dtype=float)
        return SCORERS[self.scorer](counts, holding, self.sentences), words

    def state(self) -> dict[str, Any]:
        """Word frequencies and the scale, with the scorer that they belong to."""
        return {
            "scorer": self.scorer, "sentences": self.sentences, "holding": self.holding, "low": self.low, "high": self.high,
        }  # fmt: skip

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned.

        Raises:
            ValueError: it comes from another scorer.
        """
        if state["scorer"] != self.scorer:
            raise ValueError(
                f"descriptiveness: the state was made with scorer {state['scorer']!r}, this one is {self.scorer!r}"
            )
        self.sentences, self.holding = state["sentences"], dict(state["holding"])
        self.low, self.high = state["low"], state["high"]
        return self


MEMBER = Descriptiveness
