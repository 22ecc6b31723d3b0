"""The image x caption matrix of CIDEr as products of sparse matrices, exact and in bounded memory.

A caption against an image is a sum over the image's references, each times a penalty that depends on the two
lengths. Captions of the same length share their penalties, so the references of an image are added up first,
once for each length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from workbench.records import Rows
from workbench.text.signal import Relevance

Floats = NDArray[np.float64]
RULES = {
    "cider-d": "CIDEr-D, 0 to 10: n-grams shared with the image's captions, clipped, with a length penalty",
    "cider": "CIDEr, 0 to 10: n-grams shared with the image's captions",
}


@dataclass(frozen=True)
class Vectors:
    """``N`` texts in one of the two parts, hypothesis or reference.

    Args:
        features: ``(N, F)``; the product of a hypothesis' and a reference's row is their score before the
            length penalty.
        lengths: ``(N,)`` lengths as the penalty counts them.
    """

    features: sparse.csr_array
    lengths: NDArray[np.int64]


class LengthSums:
    """The references of each image added up, for any weights of their lengths.

    The sums lie at the same places whatever the weights, so the places are worked out once.

    Args:
        references: ``R`` texts.
        own: ``(R,)`` image row of each.
        images: number of images.
    """

    def __init__(self, references: Vectors, own: Rows, images: int) -> None:
        self.lengths, kind = np.unique(references.lengths, return_inverse=True)
        self._shape = (references.features.shape[1], images)
        entries = references.features.tocoo()
        keys, place = np.unique(entries.col * np.int64(images) + own[entries.row], return_inverse=True)
        self._starts = np.searchsorted(keys, np.arange(self._shape[0] + 1) * np.int64(images))
        self._images = keys % max(images, 1)
        by_length = (entries.data, (place, kind[entries.row]))
        self._by_length = sparse.csr_array(by_length, shape=(len(keys), len(self.lengths)))

    def weighted(self, weights: Floats) -> sparse.csr_array:
        """``(F, I)`` sums, given the weight of each of ``lengths``."""
        return sparse.csr_array((self._by_length @ weights, self._images, self._starts), shape=self._shape)


class CiderRelevance(Relevance):
    """CIDEr of ``T`` captions against ``I`` images.

    Args:
        variant: ``"cider-d"`` or ``"cider"``.
        texts: ``T`` hypotheses and ``R`` references.
        own: ``(R,)`` image row of each reference.
        images: number of images.
        sigma: width of the length penalty.
        leave_one_out: the hypotheses are the references, and each is compared with the others of its image
            only.
    """

    def __init__(
        self,
        variant: str,
        texts: tuple[Vectors, Vectors],
        own: Rows,
        images: int,
        *,
        sigma: float,
        leave_one_out: bool = False,
    ) -> None:
        self._hypotheses, self._references = texts
        super().__init__(variant, RULES[variant], (images, len(self._hypotheses.lengths)))
        self._own, self._sigma = own, sigma
        self._members = sparse.csr_array(
            (np.ones(len(own)), (own, np.arange(len(own)))), shape=(images, len(own))
        )
        self._number = np.bincount(own, minlength=images)
        self._sums = LengthSums(self._references, own, images)
        both = self._hypotheses.features.multiply(self._references.features) if leave_one_out else None
        self._itself = None if both is None else np.asarray(both.sum(axis=1))

    def columns(self, captions: slice) -> NDArray[np.float32]:
        """``(I, b)`` scores of neighbouring captions; captions of the same length are one product."""
        rows, images = np.arange(self.shape[1])[captions], np.arange(self.shape[0])
        lengths = self._hypotheses.lengths[rows]
        out = np.empty((len(rows), len(images)), dtype=np.float32)
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            summed = self._sums.weighted(self._penalty(length, self._sums.lengths))
            out[same] = self._mean(
                (self._hypotheses.features[rows[same]] @ summed).toarray().T, images, rows[same]
            ).T
        return out.T

    def pairs(self, images: Rows, captions: Rows) -> NDArray[np.float32]:
        """``(n, m)`` scores of some captions against some images, reference by reference."""
        members = self._members[images]
        references, n = members.indices, len(members.indices)
        shared = (self._references.features[references] @ self._hypotheses.features[captions].T).toarray()
        shared *= self._penalty(
            self._hypotheses.lengths[captions], self._references.lengths[references][:, None]
        )
        members = sparse.csr_array((members.data, np.arange(n), members.indptr), shape=(len(images), n))
        return self._mean(members @ shared, images, captions).astype(np.float32)

    def _penalty(self, a: Any, b: Any) -> Floats:
        return np.asarray(np.exp(-((a - b) ** 2) / (2 * self._sigma**2)))

    def _mean(self, sums: Floats, images: Rows, captions: Rows) -> Floats:
        """Sums over references ``(n, m)`` divided by how many they are; a caption may be left out of its own
        image.
        """
        number = self._number[images][:, None]
        if self._itself is not None:
            same = images[:, None] == self._own[captions]
            number, sums = number - same, np.where(same, np.maximum(sums - self._itself[captions], 0), sums)
        return sums / np.maximum(number, 1)
