"""Thumbnails on their way to a page, and what a user uploads.

Thumbnails are made when they are asked for and kept in a bounded memory; each is sent once to a page, small
as a thumbnail and large when it is opened.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from workbench.data.images import read_image
from workbench.formatting import format_number
from workbench.io import NUMPY_ERRORS, reading_errors
from workbench.io.ahead import in_threads
from workbench.records import Split, require
from workbench.views import photographs
from workbench.views.explorer.answers import Answer
from workbench.views.pages import encode

SIDE = 224
LARGE = 512
MEMORY = 4096
PAGES = 8
LIMIT = 32_000_000


class Thumbnails:
    """Thumbnails of a split as JPEG files, and which pages have them already.

    An image that cannot be read has a card that says why.

    Args:
        split: opens the images.
        most: thumbnails that are kept; the longest unused ones are dropped.
    """

    def __init__(self, split: Split, *, most: int = MEMORY) -> None:
        self.split = split
        self.thumbnail = lru_cache(most)(self._thumbnail)
        self._sent = lru_cache(PAGES)(lambda page: set[str]())

    def _thumbnail(self, row: int) -> bytes:
        try:
            image = photographs.image_or_card(self.split, row)
        except (OSError, ValueError) as error:
            image = photographs.caption_card([f"{type(error).__name__}: {error}"])
        # JPEG and not WebP: it is made eight times faster, and a page waits for it
        return encode(image, SIDE, "JPEG", quality=72)

    def new_to(self, page: str, keys: Sequence[str]) -> tuple[list[str], list[bytes]]:
        """Return those keys that a page has not got yet, with their thumbnails.

        Args:
            page: what a page calls itself; a page that is loaded again takes another name.
            keys: thumbnails that it is about to show.
        """
        sent = self._sent(page)
        new = [key for key in keys if key not in sent]
        blobs = self._bytes(new)
        sent.update(new)
        return new, blobs

    def with_thumbnails(self, answer: Answer) -> Answer:
        """Return the answer with its thumbnails as data URLs."""
        blobs = zip(answer.keys, self._bytes(answer.keys), strict=True)
        urls = {key: f"data:image/jpeg;base64,{base64.b64encode(blob).decode()}" for key, blob in blobs}
        return replace(answer, thumbnails=urls)

    def large_thumbnail(self, row: int) -> bytes:
        """Return an image at most 512 pixels wide and high, as WebP.

        Raises:
            IndexError: there is no such image.
        """
        require(0 <= row < len(self.split.image_ids), f"there is no image number {row}", IndexError)
        return encode(photographs.image_or_card(self.split, row), LARGE, "WEBP", quality=85)

    def _bytes(self, keys: Sequence[str]) -> list[bytes]:
        return in_threads(self.thumbnail, map(int, keys))


def read_upload(name: str, content: bytes) -> Any:
    """Return an image in RGB, as ``read_image`` has it, or the vector of an ``.npy`` file.

    Args:
        name: of the file; the ending ``.npy`` tells an embedding.
        content: the file.

    Returns:
        ``PIL.Image``, or ``(D,)`` float32.

    Raises:
        ValueError: the file is too large, or neither an image nor one vector.
    """
    if len(content) > LIMIT:
        size, limit = format_number(len(content) / 1e6, 0), format_number(LIMIT / 1e6, 0)
        raise ValueError(f"{name} has {size} MB; give a file of at most {limit} MB")
    if not name.lower().endswith(".npy"):
        return read_image(content, name)
    message = "cannot be read as an embedding"
    with reading_errors(name, message, *NUMPY_ERRORS):
        array = np.load(io.BytesIO(content), allow_pickle=False).squeeze()
    with reading_errors(name, message), np.errstate(over="ignore"):
        require(
            array.ndim == 1 and array.size and np.issubdtype(array.dtype, np.floating),
            f"it holds {array.dtype} of shape {array.shape}; one vector of numbers is needed",
        )
        vector = array.astype(np.float32)
        require(np.isfinite(vector).all(), "it holds numbers that are not finite")
        return vector
