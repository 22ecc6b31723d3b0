"""What every maker of this shelf offers: fit on a pool of captions, then make signals of any captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from workbench.records import Signal


class Maker:
    """Learns from captions, and applies what it learnt to other captions.

    What was learnt is plain JSON (``state`` / ``restore``), so that a checkpoint can carry it and a caption
    that is typed a year later is read exactly as in training.
    """

    name: str

    def state(self) -> dict[str, Any]:
        """What ``fit`` learnt, as JSON values."""
        return {}

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned."""
        return self


class SignalMaker(Maker):
    """Makes one signal. ``fit`` learns from a pool (usually the training captions), ``of`` applies what was
    learnt.
    """

    def fit(self, captions: Sequence[str]) -> Self:
        """Learn from the pool; a maker without anything to learn returns itself."""
        return self

    def of(self, captions: Sequence[str]) -> Signal:
        """The signal of these captions."""
        raise NotImplementedError
