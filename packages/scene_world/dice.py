"""Random choices that are the same on every machine and with every version of NumPy.

NumPy promises a stable stream only for its bit generators, not for ``Generator`` methods; so the choices
below are made from the raw 64-bit words of PCG64 (the modulo bias is under 1e-16).
"""

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

T = TypeVar("T")


class Dice:
    """A stream of choices.

    Args:
        key: non-negative integers; another key is another, independent stream.
    """

    def __init__(self, *key: int) -> None:
        self._bits = np.random.PCG64(key)
        self._words: list[int] = []

    def below(self, n: int) -> int:
        """Return an integer in ``0..n-1``."""
        if not self._words:
            self._words = self._bits.random_raw(64).tolist()
        return self._words.pop() % n

    def between(self, low: int, high: int) -> int:
        """Return an integer in ``low..high``, both included."""
        return low + self.below(high - low + 1)

    def chance(self, percent: int) -> bool:
        """Return True in this percentage of throws."""
        return self.below(100) < percent

    def pick(self, items: Sequence[T]) -> T:
        """Return one of the items, each as likely; repeat an item to give it weight."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in random order."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out
