"""Further texts of a training split that are false of its images, of which every batch takes some."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import torch

from workbench.records import Batch, Rows, Signal


@dataclass(frozen=True)
class Negatives:
    """``N`` texts, which are counted on from the ``T`` captions of the split.

    Args:
        texts: ``(N,)``, in the order of their captions.
        caption: ``(N,)`` row of the caption that each stands by.
        captions: ``T``.
        signals: those that the text encoder reads, by name, over the captions and the texts.
    """

    texts: tuple[str, ...]
    caption: Rows
    captions: int
    signals: Mapping[str, Signal] = field(default_factory=dict)

    @classmethod
    def from_texts(cls, texts: Sequence[Sequence[str]]) -> Self:
        """Collect the texts of each caption ``(T,)``."""
        flat: list[str] = []
        for several in texts:
            flat += several
        counts = np.array([len(several) for several in texts], dtype=np.int64)
        return cls(tuple(flat), np.repeat(np.arange(len(texts)), counts), len(texts))

    def draw(self, captions: Rows, *, seed: int) -> Rows:
        """Draw one text of each caption of a batch that has any, from the seed and the batch alone, so that a
        resumed run and several processes draw as one straight run does.

        Args:
            captions: the batch's caption rows.
            seed: of the run.

        Returns:
            Rows of texts, counted on from ``T``; as many as captions that have some.
        """
        first = np.searchsorted(self.caption, captions)
        count = np.searchsorted(self.caption, captions, side="right") - first
        drawn = np.random.default_rng([seed, *captions.tolist()]).random(len(captions))
        chosen = first + (drawn * count).astype(np.int64)
        return self.captions + chosen[count > 0]

    def batch(self, rows: Rows) -> Batch:
        """Make a batch of captions and texts for a text encoder.

        Args:
            rows: of captions, and of texts counted on from them.
        """
        taken = {name: signal.take(rows) for name, signal in self.signals.items()}
        return Batch([], [str(row) for row in rows], torch.from_numpy(rows), signals=taken)
