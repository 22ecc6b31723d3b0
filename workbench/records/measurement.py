"""One number with its contract."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Measurement:
    """One reported number with its contract.

    Args:
        key: names the direction, e.g. ``"t2i/R@1"``, ``"rsum"``.
        value: in [0, 1], except ``rsum`` in [0, 6], correlations in [-1, 1] and ranks.
        low, high: bootstrap interval over queries at ``confidence``, or ``None``.
        judgements: name of the judgements that say what is relevant.
        queries, gallery: how many of each; ``left_out``: queries that do not count, since nothing is relevant
            to them or the judgements do not ask them.
        hit: what counts as a hit; ``ties``: how equal scores are treated; ``folds``: 1 = whole gallery.
    """

    key: str
    value: float
    low: float | None = None
    high: float | None = None
    judgements: str = "own"
    queries: int = 0
    gallery: int = 0
    left_out: int = 0
    hit: str = ""
    ties: str = "an equally scored item that is not relevant ranks above"
    folds: int = 1
    confidence: float = 0.95

    @property
    def label(self) -> str:
        """The key, with the judgements before it where they are not the split's own pairs:
        ``"exact:t2i/map_at_r"``.
        """
        return self.key if self.judgements == "own" else f"{self.judgements}:{self.key}"
