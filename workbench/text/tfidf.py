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
        self._hypotheses, self._images = hypotheses, mean @ references

    def take(self, images: Rows, captions: Rows) -> Array:
        """``(n, m)`` scores, see ``Relevance``."""
        return np.asarray((self._images[images] @ self._hypotheses[captions].T).toarray(), dtype=np.float32)


class Tfidf(RelevanceMaker):
    """Compares captions by their words."""

    name = "tfidf"

    def __init__(self) -> None:
        self._vectorizer: Any = None

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn the words and how many captions hold each.

        Raises:
            ValueError: no caption holds a word of two letters.
        """
        self._vectorizer = TfidfVectorizer().fit(captions)
        return self

    def against(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> TfidfRelevance:
        """Texts from elsewhere against every image."""
        own, images = image_rows(self.name, len(references), own, images)
        return TfidfRelevance(self._vectors(hypotheses), self._vectors(references), own, images)

    def _vectors(self, captions: Sequence[str]) -> sparse.csr_array:
        require(self._vectorizer is not None, "tfidf: no words yet; call fit(captions, own) first")
        made = self._vectorizer.transform(captions) if captions else (0, len(self._vectorizer.vocabulary_))
        return sparse.csr_array(made)

    def state(self) -> dict[str, Any]:
        """The words with their weights."""
        if self._vectorizer is None:
            return {}
        known = self._vectorizer.get_feature_names_out().tolist()
        return dict(zip(known, self._vectorizer.idf_.tolist(), strict=True))

    def restore(self, state: dict[str, Any]) -> Self:
        """Take over what ``state`` returned."""
        self._vectorizer = TfidfVectorizer(vocabulary=list(state))
        self._vectorizer.idf_ = np.array(list(state.values()))
        return self


MEMBER = Tfidf
