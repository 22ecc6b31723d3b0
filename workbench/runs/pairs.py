"""Models that read an image and a text together and say how well they match. They have no vectors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from workbench import devices
from workbench.io.ahead import in_threads
from workbench.progress import Task
from workbench.records import Array, Embedding, Rows
from workbench.registry import require_list
from workbench.runs.outputs import score_matrix
from workbench.runs.own import OwnModel, called, loose
from workbench.training.batches import Source

# images that are scored at a time, each with so many texts
AT_ONCE, TEXTS_AT_ONCE = 64, 256
# what the scores of an object are given
OF_PAIRS = "a list of PIL images and a list of texts"


class Pairs(Protocol):
    """What a model of one's own offers that reads an image and a text together."""

    def scores(self, images: Sequence[Image.Image], texts: Sequence[str]) -> Any:
        """``(I, T)`` numbers for images in RGB and texts; larger = more alike."""


@dataclass(frozen=True)
class Items(Embedding):
    """Images or texts themselves, of a model that has no vectors: ``mean`` is ``(N, 0)``.

    Args:
        opened: gives the image or text of a row.
        rows: ``(N,)``.
    """

    opened: Callable[[int], Any] = str
    rows: Rows | None = None

    @classmethod
    def from_opener(cls, opened: Callable[[int], Any], rows: Rows) -> "Items":
        """Name rows by what opens them."""
        return cls(torch.empty(len(rows), 0), opened=opened, rows=rows)

    def take(self, rows: Rows | Tensor | slice) -> "Items":
        """Some rows ``(n,)``."""
        return Items.from_opener(self.opened, np.atleast_1d(np.asarray(self.rows)[rows]))

    def in_float32(self, device: torch.device) -> "Items":
        """The same, since there is nothing to move."""
        return self

    def read(self, start: int, end: int) -> list[Any]:
        """Open the items of some rows."""
        return in_threads(self.opened, np.asarray(self.rows)[start:end].tolist())


class PairModel(OwnModel):
    """An object that reads an image and a text together and says how well they match. It has no vectors."""

    of_unit_length = False
    scores_itself = True

    def embed_images_of(self, source: Source) -> Embedding:
        """Name the images of a split, which are opened when they are scored."""
        return Items.from_opener(source.split.open_image, np.arange(len(source.split.image_ids)))

    def embed_images(self, images: Sequence[Image.Image], *, features: str = "") -> Embedding:
        """Name loose images; ``features`` is not read."""
        require_list("images", images)
        return Items.from_opener(lambda row: loose(images[row]), np.arange(len(images)))

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Name loose texts."""
        require_list("texts", texts)
        return Items.from_opener(lambda row: texts[row], np.arange(len(texts)))

    @torch.no_grad()
    def scores(self, image: Embedding, text: Embedding) -> Array:
        """``(I, T)`` scores, some images and texts at a time."""
        if not (isinstance(image, Items) and isinstance(text, Items)):
            raise TypeError(f"{self.name} scores images and texts, and no vectors")
        out = np.empty((len(image), len(text)), np.float32)
        with Task(f"scoring pairs with {self.name}", out.size, "pairs") as task:
            for first in range(0, len(image), AT_ONCE):
                images = image.read(first, first + AT_ONCE)
                for start in range(0, len(text), TEXTS_AT_ONCE):
                    texts = text.read(start, start + TEXTS_AT_ONCE)
                    block = self._block(images, texts)
                    out[first : first + len(images), start : start + len(texts)] = block
                    task.update(block.size)
        return out

    def _block(self, images: list[Any], texts: list[Any]) -> Array:
        with devices.in_precision(self._place, self.precision):
            output = called(self.subject.scores, f"{self.name}.scores", images, texts, remedy=OF_PAIRS)
        return score_matrix(output, f"{self.name}.scores", len(images), len(texts))
