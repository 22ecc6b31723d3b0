"""TF-IDF cosine: how much a caption shares words with the captions of an image; the relevance of the released
DAA code.

The score of a caption is the mean cosine with the image's captions, each a TF-IDF vector of single words as
scikit-learn makes it: lower-cased runs of two or more letters or digits, ``idf = log((1 + M) / (1 + M_w)) +
1`` over the M captions of the corpus, rows of length 1. A word that the corpus does not hold counts nothing.

Source: released code of Li et al., "A Differentiable Semantic Metric Approximation in Probabilistic Embedding
for Cross-Modal Retrieval", NeurIPS 2022, which calls it CIDEr. It is not: there are no n-grams, no clipping
and no penalty of the length.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer

from workbench.records import Array, Rows, require
from workbench.text.signal import Relevance, RelevanceMaker, image_rows


class TfidfRelevance(Relevance):
    """Mean TF-IDF cosine of ``T`` captions with the references of ``I`` images: rows ``(T, W)`` and ``(R,
    W)`` of length 1, and the image row of each reference.
    """

    def __init__(
        self, hypotheses: sparse.csr_array, references: sparse.csr_array, own: Rows, images: int
    ) -> None:
        super().__init__(
            Tfidf.name,
            "TF-IDF cosine, 0 to 1: single words shared with the image's captions",
            (images, hypotheses.shape[0]),
        )
        shares = 1 / np.maximum(np.bincount(own, minlength=images), 1)
        mean = sparse.csr_array((shares[own], (own, np.arange(len(own)))), shape=(images, len(own)))
        self._hypotheses = hypotheses
        self._images = mean @ references

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores, see ``Relevance``."""
        return np.asarray((self._images[images] @ self._hypotheses[captions].T).toarray(), dtype=np.float32)


class Tfidf(RelevanceMaker):
    """Compares captions by their words."""

    name = "tfidf"
    learnt = ("idf",)

    def __init__(self) -> None:
        self.idf: dict[str, float] = {}

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn the words and how many captions hold each.

        Raises:
            ValueError: no caption holds a word of two letters.
        """
        vectorizer = TfidfVectorizer().fit(captions)
        names = vectorizer.get_feature_names_out().tolist()
        self.idf = dict(zip(names, vectorizer.idf_.tolist(), strict=True))
        return self

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> TfidfRelevance:
        """Return texts from elsewhere against every image."""
        own, images = image_rows(self.name, len(references), own, images)
        return TfidfRelevance(self._tfidf_vectors(hypotheses), self._tfidf_vectors(references), own, images)

    def _tfidf_vectors(self, captions: Sequence[str]) -> sparse.csr_array:
        require(self.idf, "tfidf: no words yet; call fit(captions, own) first")
        vectorizer: Any = TfidfVectorizer(vocabulary=list(self.idf))
        vectorizer.idf_ = np.array(list(self.idf.values()))
        return sparse.csr_array(vectorizer.transform(captions) if captions else (0, len(self.idf)))


MEMBER = Tfidf
