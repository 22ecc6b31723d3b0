"""CIDEr-D and CIDEr: how well a caption agrees with the captions of an image, as whole matrices by sparse
algebra.

With ``h_g = count_g (log D - log max(1, df_g))`` over the n-grams ``g`` of order n, hypothesis c and
reference r:

``CIDEr-D_n(c, r) = exp(-(l_c - l_r)^2 / 2 sigma^2) * sum_g min(h_g(c), h_g(r)) h_g(r) / (|h(c)| |h(r)|)``

and CIDEr without ``min`` and ``exp``. The score is 10 times the mean over the references and the four orders.
``D`` is the number of images of the corpus and ``df_g`` how many of them have a caption with g.

Source: Vedantam, Zitnick, Parikh, "CIDEr: Consensus-based Image Description Evaluation", CVPR 2015, equations
1-4 and the section on CIDEr-D. Departures: as in every released scorer, the length counts pairs of
neighbouring words. Words are cut at white space after lower-casing, as in the code of NCS.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.records import Rows
from workbench.registry import did_you_mean
from workbench.text._cider_matrix import RULES, CiderRelevance, Vectors
from workbench.text._ngrams import ORDERS, NgramCounts, count_ngrams
from workbench.text.signal import RelevanceMaker, image_rows
from workbench.text.words import words

SPLITS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": lambda caption: caption.lower().split(),
    "words": words,
}


class Cider(RelevanceMaker):
    """Compares captions by their n-grams.

    Args:
        variant: ``"cider-d"`` (clipped, with a length penalty) or ``"cider"``.
        tokens: ``"whitespace"`` (lower-case and split, as NCS does; a sign that touches a word belongs to it)
            or ``"words"`` (the words of the other signals, without signs).
        sigma: width of CIDEr-D's length penalty, in words.
        leave_one_out: in ``of``, compare a caption with the *other* captions of its image. An image with a
            single caption then scores 0 against it.

    Raises:
        ValueError: an unknown variant or way to cut, or a width that is not positive.
    """

    name = "cider"

    def __init__(
        self,
        *,
        variant: Literal["cider-d", "cider"] = "cider-d",
        tokens: Literal["whitespace", "words"] = "whitespace",
        sigma: float = 6.0,
        leave_one_out: bool = False,
    ) -> None:
        for option, value, known in (("variant", variant, list(RULES)), ("tokens", tokens, list(SPLITS))):
            if value not in known:
                raise ValueError(f"cider: no {option} {value!r}; {did_you_mean(value, known)}")
        if not sigma > 0:
            raise ValueError(f"cider: sigma is {sigma}; it must be greater than 0")
        self.variant, self.tokens, self.sigma, self.leave_one_out = variant, tokens, sigma, leave_one_out
        self.documents = 0
        self.holding: dict[str, int] = {}

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn document frequencies: a document is an image with all its captions.

        Fit on the evaluated captions themselves for the metric's "corpus" mode, on the training captions for
        training. With a single image all weights are 0, and so is every score.
        """
        own, _ = image_rows(self.name, len(captions), own, None)
        counted = count_ngrams(captions, SPLITS[self.tokens])
        self.documents = len(np.unique(own))
        # An n-gram of one document weighs as much as one of none, so it need not be kept.
        held = zip(counted.grams, counted.documents(own).tolist(), strict=True)
        self.holding = {gram: number for gram, number in held if number > 1}
        return self

    def of(self, captions: Sequence[str], own: Rows, images: int | None = None) -> CiderRelevance:
        """Every caption against every image, whose references are its own captions."""
        own, images = image_rows(self.name, len(captions), own, images)
        texts = self._vectors(captions)
        return CiderRelevance(
            self.variant, texts, own, images, sigma=self.sigma, leave_one_out=self.leave_one_out
        )

    def against(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> CiderRelevance:
        """Texts from elsewhere against every image."""
        own, images = image_rows(self.name, len(references), own, images)
        n = len(hypotheses)
        first, second = self._vectors([*hypotheses, *references])
        texts = (
            Vectors(first.features[:n], first.lengths[:n]),
            Vectors(second.features[n:], second.lengths[n:]),
        )
        return CiderRelevance(self.variant, texts, own, images, sigma=self.sigma)

    def _vectors(self, captions: Sequence[str]) -> tuple[Vectors, Vectors]:
        """The captions as hypotheses and as references."""
        if not self.documents:
            raise ValueError("cider: no document frequencies yet; call fit(captions, own) first")
        counted = count_ngrams(captions, SPLITS[self.tokens])
        holding = np.array([self.holding.get(gram, 1) for gram in counted.grams], dtype=float)
        idf = np.log(self.documents) - np.log(holding)
        if self.variant == "cider":
            features = plain(counted, idf)
            lengths = np.zeros_like(counted.words)
            return Vectors(features, lengths), Vectors(features * (10 / ORDERS), lengths)
        lengths = np.maximum(counted.words - 1, 0)
        hypotheses, references = clipped(counted, idf)
        return Vectors(hypotheses, lengths), Vectors(references * (10 / ORDERS), lengths)

    def state(self) -> dict[str, Any]:
        """Document frequencies, with the words that they belong to."""
        return {"tokens": self.tokens, "documents": self.documents, "holding": self.holding}

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned.

        Raises:
            ValueError: its words were cut in another way.
        """
        if state["tokens"] != self.tokens:
            raise ValueError(
                f"cider: the state was made with tokens {state['tokens']!r}, this one has {self.tokens!r}"
            )
        self.documents, self.holding = state["documents"], dict(state["holding"])
        return self


def plain(counted: NgramCounts, idf: NDArray[np.float64]) -> sparse.csr_array:
    """``(T, G)`` TF-IDF, every order brought to length 1; the product of two captions is their sum of four
    cosines.
    """
    counts = counted.counts
    values = counts.data * idf[counts.indices] * _inverse_norms(counted, idf)
    return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)


def clipped(counted: NgramCounts, idf: NDArray[np.float64]) -> tuple[sparse.csr_array, sparse.csr_array]:
    """``(T, F)`` features as hypothesis and as reference, whose product clips the hypothesis' counts to the
    reference's.

    ``min(a, b)`` is the number of k >= 1 with ``a >= k`` and ``b >= k``, so an n-gram has as many columns as
    it occurs times: ``min(a, b) b idf^2 = sum_k [a >= k] * [b >= k] b idf^2``.
    """
    counts, inverse = counted.counts, _inverse_norms(counted, idf)
    times = counts.data.astype(np.int64)
    entry = np.repeat(np.arange(len(times)), times)
    level = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
    width = len(counted.grams)
    columns = counts.indices[entry].astype(np.int64)
    # The columns of a second, third, ... occurrence are few: they are numbered behind those of the first.
    again = level > 0
    keys, number = np.unique(level[again] * np.int64(width) + columns[again], return_inverse=True)
    columns[again] = width + number
    at, shape = (counted.rows[entry], columns), (counts.shape[0], width + len(keys))
    weights = counts.data * idf[counts.indices] ** 2 * inverse
    return sparse.csr_array((inverse[entry], at), shape=shape), sparse.csr_array(
        (weights[entry], at), shape=shape
    )


def _inverse_norms(counted: NgramCounts, idf: NDArray[np.float64]) -> NDArray[np.float64]:
    """For every stored count, 1 by the norm of its caption's vector of that order; 0 where the norm is 0."""
    counts = counted.counts
    group = counted.rows * ORDERS + counted.order[counts.indices] - 1
    norms: NDArray[np.float64] = np.sqrt(np.bincount(group, (counts.data * idf[counts.indices]) ** 2))[group]
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)


MEMBER = Cider
