"""Runs of one to four words, counted for many captions at once."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

ORDERS = 4


@dataclass(frozen=True)
class NgramCounts:
    """How often each n-gram occurs in each caption.

    Args:
        counts: ``(T, G)`` counts.
        grams: the ``G`` n-grams, their words joined by a space.
        order: ``(G,)`` words of each n-gram, 1 to 4.
        words: ``(T,)`` words of each caption.
    """

    counts: sparse.csr_array
    grams: list[str]
    order: NDArray[np.int64]
    words: NDArray[np.int64]

    @property
    def rows(self) -> NDArray[np.int64]:
        """Caption row of every stored count."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.counts.indptr))

    def documents(self, own: NDArray[np.int64]) -> NDArray[np.int64]:
        """``(G,)`` number of documents that hold each n-gram.

        Args:
            own: ``(T,)`` document of each caption.
        """
        width = len(self.grams)
        held = np.unique(own[self.rows] * np.int64(width) + self.counts.indices)
        return np.bincount(held % max(width, 1), minlength=width)


def count_ngrams(captions: Sequence[str], split: Callable[[str], list[str]]) -> NgramCounts:
    """Count the n-grams of one to four words.

    Args:
        captions: ``T`` texts.
        split: cuts a text into words that hold no space.

    Returns:
        Counts over all n-grams that occur, the single words first.
    """
    flat, words, vocabulary = _number_words(captions, split)
    rows, ends = np.repeat(np.arange(len(words)), words), np.cumsum(words)
    left = np.repeat(ends, words) - np.arange(len(flat))
    level, current, grams = vocabulary, flat, [vocabulary]
    places, columns, first = [rows], [flat], 0
    for n in range(2, ORDERS + 1):
        # An n-gram is the shorter one at the same place and one word more, so its key needs two numbers and
        # no string.
        starts = np.flatnonzero(left >= n)
        keys, number = np.unique(
            current[starts] * len(vocabulary) + flat[starts + n - 1], return_inverse=True
        )
        first += len(level)
        level = [
            f"{level[key // len(vocabulary)]} {vocabulary[key % len(vocabulary)]}" for key in keys.tolist()
        ]
        current = np.zeros_like(flat)
        current[starts] = number
        grams.append(level)
        places.append(rows[starts])
        columns.append(number + first)
    order = np.repeat(np.arange(1, ORDERS + 1), [len(part) for part in grams])
    at = (np.concatenate(places), np.concatenate(columns))
    # Made from pairs, a sparse array adds up what lies at the same place.
    counts = sparse.csr_array((np.ones(len(at[0])), at), shape=(len(words), len(order)))
    return NgramCounts(counts, [gram for part in grams for gram in part], order, words)


def _number_words(
    captions: Sequence[str], split: Callable[[str], list[str]]
) -> tuple[NDArray[np.int64], NDArray[np.int64], list[str]]:
    """Word numbers of all captions end to end, words of each caption, and the words in order of first
    occurrence.
    """
    number: dict[str, int] = {}
    flat, sizes = array("q"), array("q")
    for caption in captions:
        found = split(caption)
        sizes.append(len(found))
        flat.extend([number.setdefault(word, len(number)) for word in found])
    return np.array(flat, dtype=np.int64), np.array(sizes, dtype=np.int64), list(number)
