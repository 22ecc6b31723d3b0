"""What every model offers, whoever made it."""

from collections.abc import Sequence
from typing import Protocol

from PIL import Image

from workbench.records import Array, Embedding


class ModelProtocol(Protocol):
    """What a model offers, whoever made it: it embeds images and texts, and scores images by texts.

    ``scores`` reads what the same model embeds to: vectors of unit length for the cosine, vectors of any
    length, several an item (``parts`` and ``mask``), or the items themselves (``Items``) of a model that
    reads an image and a text together. Whoever asks needs ``len`` and ``take`` of an embedding alone.

    ``open_model`` gives one for every way to name a model.
    """

    name: str

    def embed_images(self, images: Sequence[Image.Image]) -> Embedding:
        """Embed ``N`` images in RGB, of any size."""

    def embed_texts(self, texts: Sequence[str]) -> Embedding:
        """Embed ``N`` texts, the empty one among them."""

    def scores(self, image: Embedding, text: Embedding) -> Array:
        """Return ``(I, T)`` scores of embeddings; larger = more alike."""
