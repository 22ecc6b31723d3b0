"""One run that is asked: what a question is in its space, and how the gallery scores against it."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.experiment.opened import OpenRun
from workbench.records import Embedding
from workbench.views.explorer import sphere
from workbench.views.explorer.answers import Seeks
from workbench.views.explorer.entities import Entities
from workbench.views.explorer.questions import Question, Term

if TYPE_CHECKING:
    from torch import Tensor

Scores = NDArray[np.float32]
REMEMBERED = 256
SIDES = {"text": "text", "caption": "text", "image": "image", "picture": "image", "embedding": ""}


class Asker:
    """A space with what was asked before remembered.

    Args:
        space: model, split and embeddings.
        number: of the run, which names its vector where an embedding is given one a run.
        entities: words of all entities of all runs.
    """

    def __init__(self, space: OpenRun, number: int, entities: Entities) -> None:
        self.space, self.number, self.entities = space, number, entities
        self._texts: OrderedDict[str, Embedding] = OrderedDict()

    def scores(self, question: Question) -> Scores:
        """``(N,)`` scores of the gallery; by the objective where one item is asked for the other kind, else
        cosines.
        """
        if by_objective(question):
            asked = self.embedding(question.terms[0])
            if question.seeks == "images":
                of_images: Scores = self.space.model.scores(self.space.image, asked)[:, 0]
                return of_images
            of_captions: Scores = self.space.model.scores(asked, self.space.text)[0]
            return of_captions
        of_point: Scores = self._of_points(self.point(question)[None], question.seeks)[0]
        return of_point

    def point(self, question: Question) -> sphere.Vector:
        """``(D,)`` unit vector of the sum of the terms, moved towards the root."""
        total = sphere.unit(np.sum([term.sign * self._mean(term) for term in question.terms], axis=0))
        return sphere.between(total, self.root, question.walk) if question.walk else total

    def way(self, question: Question, steps: Sequence[float], seeks: Seeks) -> Scores:
        """``(S, N)`` cosines of the gallery with the points on the way to the root."""
        start = self.point(replace(question, walk=0.0))
        return self._of_points(np.stack([sphere.between(start, self.root, step) for step in steps]), seeks)

    def sentences(self, sentences: Sequence[str]) -> Scores:
        """``(I, S)`` scores of all images with loose sentences, by the objective."""
        return self.space.model.scores(self.space.image, self._embedded(sentences))

    def sentences_of(self, row: int, sentences: Sequence[str]) -> Scores:
        """``(S,)`` scores of one image with loose sentences, by the objective."""
        return np.asarray(self.space.model.scores(taken(self.space.image, row), self._embedded(sentences))[0])

    @cached_property
    def root(self) -> sphere.Vector:
        """``(D,)`` embedding of the empty text."""
        return np.asarray(self.space.model.embed_texts([""]).mean[0].numpy())

    def embedding(self, term: Term) -> Embedding:
        """What a term is in this space, one row.

        Raises:
            ValueError: a vector of another width than the run's.
        """
        if term.kind == "text":
            return self._text(term.value)
        if term.kind in ("image", "caption"):
            return taken(self.space.image if term.kind == "image" else self.space.text, term.value)
        if term.kind == "picture":
            return self.space.model.embed_images([term.value])
        return Embedding(self._given(term.value))

    def _given(self, value: Any) -> Tensor:
        import torch

        vectors = np.asarray(value, dtype=np.float32)
        vector, width = vectors if vectors.ndim == 1 else vectors[self.number], self.space.image.mean.shape[1]
        if vector.shape != (width,):
            raise ValueError(
                f"{self.space.name} embeds to {width} dimensions, the given embedding has {vector.shape}"
            )
        return torch.from_numpy(sphere.unit(vector))[None]

    def _mean(self, term: Term) -> NDArray[Any]:
        return np.asarray(self.embedding(term).mean[0].float().cpu().numpy())

    def _text(self, sentence: str) -> Embedding:
        if sentence not in self._texts:
            self._texts[sentence] = self._embedded([sentence])
            if len(self._texts) > REMEMBERED:
                self._texts.popitem(last=False)
        return self._texts[sentence]

    def _embedded(self, sentences: Sequence[str]) -> Embedding:
        return self.space.model.embed_texts(sentences)

    def _of_points(self, points: NDArray[Any], seeks: Seeks) -> Scores:
        if seeks == "entities":
            return self.entities.scores(points, self.number)
        return sphere.cosines(points, (self.space.image if seeks == "images" else self.space.text).mean)


def by_objective(question: Question) -> bool:
    """Whether the objective itself scores the question: one item of one kind asks for the other kind."""
    alone = len(question.terms) == 1 and question.walk == 0
    return alone and (SIDES[question.terms[0].kind], question.seeks) in (
        ("text", "images"),
        ("image", "captions"),
    )


def taken(embedding: Embedding, row: int) -> Embedding:
    """One row of an embedding, its entities with it."""
    mean, log_var, parts, mask = (_row(embedding, name, row) for name in ("mean", "log_var", "parts", "mask"))
    if embedding.entities is None or embedding.owner is None:
        return Embedding(mean, log_var, parts, mask)
    own = embedding.owner == row
    labels = None if embedding.labels is None else embedding.labels[own]
    return Embedding(mean, log_var, parts, mask, embedding.entities[own], embedding.owner[own] * 0, labels)


def _row(embedding: Embedding, name: str, row: int) -> Any:
    value = getattr(embedding, name)
    return None if value is None else value[row : row + 1]
