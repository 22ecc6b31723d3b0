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

The n-grams are counted here and not by scikit-learn, whose counter gives the same counts (a test compares
them) and takes six times as long for n-grams of four orders.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy import sparse

from workbench.records import Array, Rows, Values, require
from workbench.registry import Positive
from workbench.text.signal import Relevance, RelevanceMaker, image_rows
from workbench.text.words import words

ORDERS = 4
SPLITS: dict[str, Callable[[str], list[str]]] = {
    "whitespace": lambda caption: caption.lower().split(),
    "words": words,
}
RULES = {
    "cider-d": "CIDEr-D, 0 to 10: n-grams shared with the image's captions, clipped, with a length penalty",
    "cider": "CIDEr, 0 to 10: n-grams shared with the image's captions",
}


class NgramCounts(NamedTuple):
    """How often each n-gram occurs in each caption.

    Args:
        counts: ``(T, G)`` counts.
        grams: the ``G`` n-grams, their words joined by a space.
        order: ``(G,)`` words of each n-gram, 1 to 4.
        words: ``(T,)`` words of each caption.
    """

    counts: sparse.csr_array
    grams: list[str]
    order: Rows
    words: Rows

    @property
    def rows(self) -> Rows:
        """Caption row of every stored count."""
        return np.repeat(np.arange(len(self.words)), np.diff(self.counts.indptr))


class Features(NamedTuple):
    """``N`` texts as hypotheses or as references: ``values`` ``(N, F)``, of which the product of a
    hypothesis' and a reference's row is their score before the length penalty, and ``lengths`` ``(N,)`` as
    the penalty counts them.
    """

    values: sparse.csr_array
    lengths: Rows


class CiderRelevance(Relevance):
    """CIDEr of ``T`` captions against ``I`` images, exact and in bounded memory.

    A caption against an image is a sum over the image's references, each times a penalty that depends on
    the two lengths. Captions of the same length share their penalties, so the references of an image are
    added up first, once for each length. With ``leave_one_out`` the hypotheses are the references, and each
    is compared with the others of its image only.
    """

    def __init__(
        self,
        maker: "Cider",
        hypotheses: Features,
        references: Features,
        own: Rows,
        images: int,
        *,
        leave_one_out: bool = False,
    ) -> None:
        super().__init__(maker.variant, RULES[maker.variant], (images, len(hypotheses.lengths)))
        self._hypotheses = hypotheses
        self._references = references
        self._own = own
        self._sigma = maker.sigma
        self._members = sparse.csr_array((np.ones(len(own)), (own, np.arange(len(own)))), (images, len(own)))
        self._number = np.bincount(own, minlength=images)
        self._itself = (hypotheses.values * references.values).sum(axis=1) if leave_one_out else None
        # The references of each image added up for any weights of their lengths, (F, I): the sums lie at the
        # same places whatever the weights, so the places are worked out once.
        self._lengths, kind = np.unique(references.lengths, return_inverse=True)
        entries = references.values.tocoo()
        width = np.int64(images)
        keys, place = np.unique(entries.col * width + own[entries.row], return_inverse=True)
        starts = np.searchsorted(keys, np.arange(references.values.shape[1] + 1) * width)
        self._places = keys % max(images, 1), starts
        self._by_length = sparse.csr_array(
            (entries.data, (place, kind[entries.row])), (len(keys), len(self._lengths))
        )

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores, see ``Relevance``: against few images reference by reference, against
        many by the sums of references of one length.
        """
        if 2 * len(images) < self.shape[0]:
            return self._scores_by_reference(images, captions)
        whole = self._scores_by_length(captions)
        return whole if np.array_equal(images, np.arange(self.shape[0])) else whole[images]

    def _scores_by_length(self, captions: Rows) -> Array:
        """Return ``(I, m)`` scores of some captions; those of the same length are one product."""
        images = np.arange(self.shape[0])
        lengths = self._hypotheses.lengths[captions]
        out = np.empty((len(captions), len(images)), dtype=np.float32)
        for length in np.unique(lengths):
            same = np.flatnonzero(lengths == length)
            weighted = self._by_length @ self._length_penalty(length, self._lengths)
            summed = sparse.csr_array((weighted, *self._places), (len(self._places[1]) - 1, len(images)))
            scores = (self._hypotheses.values[captions[same]] @ summed).toarray()
            out[same] = self._mean_over_references(scores.T, images, captions[same]).T
        return out.T

    def _scores_by_reference(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores of some captions against the references of some images."""
        members = self._members[images]
        references = members.indices
        n = len(members.indices)
        shared = (self._references.values[references] @ self._hypotheses.values[captions].T).toarray()
        lengths = self._references.lengths[references]
        shared *= self._length_penalty(self._hypotheses.lengths[captions], lengths[:, None])
        members = sparse.csr_array((members.data, np.arange(n), members.indptr), shape=(len(images), n))
        return self._mean_over_references(members @ shared, images, captions).astype(np.float32)

    def _length_penalty(self, a: Any, b: Any) -> Values:
        return np.asarray(np.exp(-((a - b) ** 2) / (2 * self._sigma**2)))

    def _mean_over_references(self, sums: Values, images: Rows, captions: Rows) -> Values:
        """Return sums over references ``(n, m)`` divided by how many they are; a caption may be left out of
        its own image.
        """
        number = self._number[images][:, None]
        if self._itself is not None:
            same = images[:, None] == self._own[captions]
            number = number - same
            sums = np.where(same, np.maximum(sums - self._itself[captions], 0), sums)
        return sums / np.maximum(number, 1)


class Cider(RelevanceMaker):
    """Compares captions by their n-grams.

    Args:
        variant: ``"cider-d"`` (clipped, with a length penalty) or ``"cider"``.
        tokens: ``"whitespace"`` (lower-case and split, as NCS does; a sign that touches a word belongs to it)
            or ``"words"`` (the words of the other signals, without signs).
        sigma: width of CIDEr-D's length penalty, in words.
        leave_one_out: in ``transform``, compare a caption with the *other* captions of its image. An image
            with a single caption then scores 0 against it.
    """

    name = "cider"
    bound = ("tokens",)
    learnt = ("documents", "holding")

    def __init__(
        self,
        *,
        variant: Literal["cider-d", "cider"] = "cider-d",
        tokens: Literal["whitespace", "words"] = "whitespace",
        sigma: Positive = 6.0,
        leave_one_out: bool = False,
    ) -> None:
        self.variant = variant
        self.tokens = tokens
        self.sigma = sigma
        self.leave_one_out = leave_one_out
        self.documents = 0
        self.holding: dict[str, int] = {}

    def fit(self, captions: Sequence[str], own: Rows) -> Self:
        """Learn document frequencies: a document is an image with all its captions.

        Fit on the evaluated captions for the metric's "corpus" mode, on the training captions for training.
        With a single image all weights are 0, and so is every score.
        """
        own, _ = image_rows(self.name, len(captions), own, None)
        counted = count_ngrams(captions, SPLITS[self.tokens])
        self.documents = len(np.unique(own))
        width = np.int64(max(len(counted.grams), 1))
        # Each n-gram once a document.
        grams = np.unique(own[counted.rows] * width + counted.counts.indices) % width
        documents = np.bincount(grams, minlength=width).tolist()
        # An n-gram of one document weighs as much as one of none, so it need not be kept.
        self.holding = {gram: n for gram, n in zip(counted.grams, documents, strict=False) if n > 1}
        return self

    def transform(self, captions: Sequence[str], own: Rows, images: int | None = None) -> CiderRelevance:
        """Return every caption against every image, whose references are its own captions."""
        own, images = image_rows(self.name, len(captions), own, images)
        return CiderRelevance(
            self, *self._both_features(captions), own, images, leave_one_out=self.leave_one_out
        )

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> CiderRelevance:
        """Return texts from elsewhere against every image."""
        own, images = image_rows(self.name, len(references), own, images)
        n = len(hypotheses)
        texts = self._both_features([*hypotheses, *references])
        parts = zip(texts, (slice(n), slice(n, None)), strict=True)
        first, second = (Features(text.values[part], text.lengths[part]) for text, part in parts)
        return CiderRelevance(self, first, second, own, images)

    def _both_features(self, captions: Sequence[str]) -> tuple[Features, Features]:
        """Return the captions as hypotheses and as references."""
        require(self.documents, "cider: no document frequencies yet; call fit(captions, own) first")
        counted = count_ngrams(captions, SPLITS[self.tokens])
        holding = np.array([self.holding.get(gram, 1) for gram in counted.grams], dtype=float)
        idf = np.log(self.documents) - np.log(holding)
        penalised = self.variant == "cider-d"
        hypotheses, references = (clipped_features if penalised else plain_features)(counted, idf)
        lengths = np.maximum(counted.words - 1, 0) * penalised
        return Features(hypotheses, lengths), Features(references * (10 / ORDERS), lengths)


def count_ngrams(captions: Sequence[str], split: Callable[[str], list[str]]) -> NgramCounts:
    """Count the n-grams of one to four words that occur in ``T`` texts, the single words first; ``split``
    cuts a text into words that hold no space.
    """
    number: dict[str, int] = {}
    spoken: list[int] = []
    ends = [0]
    for caption in captions:
        spoken.extend(number.setdefault(word, len(number)) for word in split(caption))
        ends.append(len(spoken))
    lengths = np.diff(ends)
    vocabulary = list(number)
    flat = np.array(spoken, np.int64)
    rows = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(flat))
    current = flat
    levels = [vocabulary]
    places = [rows]
    columns = [flat]
    for n in range(2, ORDERS + 1):
        # An n-gram is the shorter one at the same place and one word more, so its key needs two numbers and
        # no string.
        starts = np.flatnonzero(left >= n)
        following = flat[starts + n - 1]
        keys, at = np.unique(current[starts] * len(vocabulary) + following, return_inverse=True)
        pairs = (divmod(key, len(vocabulary)) for key in keys.tolist())
        columns.append(at + sum(map(len, levels)))
        places.append(rows[starts])
        levels.append([f"{levels[-1][shorter]} {vocabulary[word]}" for shorter, word in pairs])
        current = np.zeros_like(flat)
        current[starts] = at
    order = np.repeat(np.arange(1, ORDERS + 1), [len(level) for level in levels])
    cells = np.concatenate(places), np.concatenate(columns)
    # Made from pairs, a sparse array adds up what lies at the same place.
    counts = sparse.csr_array((np.ones(len(cells[0])), cells), shape=(len(lengths), len(order)))
    return NgramCounts(counts, list(chain.from_iterable(levels)), order, lengths)


def plain_features(counted: NgramCounts, idf: Values) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return ``(T, G)`` TF-IDF, every order brought to length 1, as hypothesis and as reference the same; the
    product of two captions is their sum of four cosines.
    """
    counts = counted.counts
    values = counts.data * idf[counts.indices] * _inverse_norms(counted, idf)
    features = sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)
    return features, features


def clipped_features(counted: NgramCounts, idf: Values) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return ``(T, F)`` features as hypothesis and as reference, whose product clips the hypothesis' counts
    to the reference's.

    ``min(a, b)`` is the number of k >= 1 with ``a >= k`` and ``b >= k``, so an n-gram has as many columns as
    it occurs times: ``min(a, b) b idf^2 = sum_k [a >= k] * [b >= k] b idf^2``.
    """
    counts = counted.counts
    inverse = _inverse_norms(counted, idf)
    times = counts.data.astype(np.int64)
    entry = np.repeat(np.arange(len(times)), times)
    level = np.arange(len(entry)) - np.repeat(np.cumsum(times) - times, times)
    width = np.int64(len(counted.grams))
    columns = counts.indices[entry].astype(np.int64)
    # The columns of a second, third, ... occurrence are few: they are numbered behind those of the first.
    repeated = level > 0
    keys, number = np.unique(level[repeated] * width + columns[repeated], return_inverse=True)
    columns[repeated] = width + number
    at = (counted.rows[entry], columns)
    shape = (counts.shape[0], width + len(keys))
    weights = counts.data * idf[counts.indices] ** 2 * inverse
    hypotheses = sparse.csr_array((inverse[entry], at), shape=shape)
    references = sparse.csr_array((weights[entry], at), shape=shape)
    return hypotheses, references


def _inverse_norms(counted: NgramCounts, idf: Values) -> Values:
    """Return, for every stored count, 1 by the norm of its caption's vector of that order; 0 where the norm
    is 0.
    """
    counts = counted.counts
    group = counted.rows * ORDERS + counted.order[counts.indices] - 1
    norms: Values = np.sqrt(np.bincount(group, (counts.data * idf[counts.indices]) ** 2))[group]
    return np.divide(1, norms, out=np.zeros_like(norms), where=norms > 0)


MEMBER = Cider
