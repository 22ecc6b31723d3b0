"""Scores of a model, whole where they fit into memory and by blocks of rows where they do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.experiment.model import Model
from workbench.metrics.blocks import COMPUTED, Scores, Whole
from workbench.records import Embedding, Rows

# scores that are made at once and kept: 1 GiB of float32, more than 5,000 x 25,000
WHOLE = 2**28


@dataclass(frozen=True)
class ModelScores:
    """Scores ``(I, T)`` that a model makes when they are asked for, see ``metrics.blocks``.

    An objective scores pair by pair, so that slices give what the whole gives, up to rounding of the matrix
    product.

    Args:
        model: scores embeddings.
        image, text: embeddings.
        turned: whether captions are the rows.
    """

    model: Model
    image: Embedding
    text: Embedding
    turned: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of queries and gallery size."""
        sizes = (len(self.image), len(self.text))
        return sizes[::-1] if self.turned else sizes

    @property
    def step(self) -> int:
        """As many rows as a block of bounded size holds."""
        return max(1, COMPUTED // max(self.shape[1], 1))

    @property
    def T(self) -> ModelScores:  # noqa: N802  the name that numpy gives it
        """The other direction."""
        return ModelScores(self.model, self.image, self.text, not self.turned)

    def rows(self, part: slice) -> Scores:
        """The scores of some queries with the whole gallery."""
        rows = np.arange(*part.indices(self.shape[0]))
        if self.turned:
            return Whole(self.model.scores(self.image, self.text.take(rows))).T.rows(slice(0, len(rows)))
        return self.model.scores(self.image.take(rows), self.text)

    def cut(self, rows: Rows, columns: Rows) -> ModelScores:
        """The scores of these queries and items."""
        images, captions = (columns, rows) if self.turned else (rows, columns)
        return ModelScores(self.model, self.image.take(images), self.text.take(captions), self.turned)


def scored(model: Model, image: Embedding, text: Embedding) -> NDArray[np.float32] | ModelScores:
    """``(I, T)`` scores of embeddings: a matrix where it has at most 2 ** 28 entries, else by blocks of rows.

    Args:
        model: scores embeddings.
        image: embeddings of images.
        text: embeddings of captions.
    """
    if len(image) * len(text) <= WHOLE:
        return model.scores(image, text)
    return ModelScores(model, image.in_float32(model.device), text.in_float32(model.device))
