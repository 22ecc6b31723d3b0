"""Word counts as sparse matrices, and what each word adds to a caption under four readings of summed TF-IDF.

A scorer answers with a matrix of *contributions* ``(T, W)``; the score of a caption is the sum of its row.
Natural logarithms. ``M`` sentences in the pool, ``M_w`` of them hold word ``w``; ``N_w`` times it occurs in
the caption of ``N`` words. A word that the pool does not hold counts as if one sentence held it.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.text.words import words

Floats = NDArray[np.float64]
Scorer = Callable[[sparse.csr_array, Floats, int], sparse.csr_array]


def count_words(captions: Sequence[str]) -> tuple[sparse.csr_array, list[str]]:
    """How often each word occurs in each caption.

    Args:
        captions: ``T`` texts.

    Returns:
        ``(T, W)`` counts, and the ``W`` words in order of first occurrence.
    """
    number: dict[str, int] = {}
    columns, ends = array("q"), array("q", [0])
    for caption in captions:
        columns.extend([number.setdefault(word, len(number)) for word in words(caption)])
        ends.append(len(columns))
    shape = (len(captions), len(number))
    counts = sparse.csr_array((np.ones(len(columns)), np.asarray(columns), np.asarray(ends)), shape=shape)
    counts.sum_duplicates()
    return counts, list(number)


def document_frequency(counts: sparse.csr_array) -> NDArray[np.int64]:
    """``(W,)`` number of captions that hold each word."""
    return np.bincount(counts.indices, minlength=counts.shape[1])


def printed(counts: sparse.csr_array, holding: Floats, sentences: int) -> sparse.csr_array:
    """``N_w / N log(M / M_w)``, each distinct word once: the formula as printed, the mean idf of the
    caption's words.
    """
    return _scaled(raw_sum(counts, holding, sentences), 1 / _lengths(counts))


def printed_tokens(counts: sparse.csr_array, holding: Floats, sentences: int) -> sparse.csr_array:
    """The printed formula summed over word positions: ``N_w^2 / N log(M / M_w)``."""
    return _scaled(raw_sum(counts.power(2), holding, sentences), 1 / _lengths(counts))


def raw_sum(counts: sparse.csr_array, holding: Floats, sentences: int) -> sparse.csr_array:
    """``N_w log(M / M_w)``: without the division by the length."""
    return _weighted(counts, np.log(sentences / holding))


def l2_sum(counts: sparse.csr_array, holding: Floats, sentences: int) -> sparse.csr_array:
    """``N_w (log((1 + M) / (1 + M_w)) + 1)``, divided by the Euclidean length of the caption's vector."""
    weighted = _weighted(counts, np.log((1 + sentences) / (1 + holding)) + 1)
    length = np.sqrt(weighted.power(2).sum(axis=1))
    return _scaled(weighted, 1 / np.where(length > 0, length, 1))


SCORERS: dict[str, Scorer] = {
    "l2_sum": l2_sum,
    "raw_sum": raw_sum,
    "printed": printed,
    "printed_tokens": printed_tokens,
}


def _lengths(counts: sparse.csr_array) -> Floats:
    """``(T,)`` words of each caption; 1 where there is none, whose row is empty."""
    return np.maximum(counts.sum(axis=1), 1)


def _weighted(counts: sparse.csr_array, weights: Floats) -> sparse.csr_array:
    """Every column times its weight."""
    return sparse.csr_array(
        (counts.data * weights[counts.indices], counts.indices, counts.indptr), shape=counts.shape
    )


def _scaled(counts: sparse.csr_array, factors: Floats) -> sparse.csr_array:
    """Every row times its factor."""
    factors = np.repeat(factors, np.diff(counts.indptr))
    return sparse.csr_array((counts.data * factors, counts.indices, counts.indptr), shape=counts.shape)
