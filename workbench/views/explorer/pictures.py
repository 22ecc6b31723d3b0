"""Pictures on their way to a page, and what a person hands in.

Thumbnails are made when they are asked for and kept in a bounded memory; each is sent once to a page, small
as a thumbnail and large when it is opened.
"""

import base64
import io
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from PIL import Image, ImageDraw

from workbench.data.images import read_image
from workbench.formatting import format_number
from workbench.io import NUMPY_ERRORS, reading_errors
from workbench.records import Split, require
from workbench.views import photographs
from workbench.views.explorer.answers import Answer, image_row

SIDE = 224
LARGE = 512
MEMORY = 4096
WORKERS = 2
LINE = 24
PAGES = 8
LIMIT = 32_000_000
Key = TypeVar("Key")
Value = TypeVar("Value")


def recent(kept: dict[Key, Value], key: Key, make: Callable[[], Value], most: int) -> Value:
    """The value of a key, made where there is none; beyond so many keys the one unused longest is dropped."""
    kept[key] = found = kept.pop(key) if key in kept else make()
    if len(kept) > most:
        del kept[next(iter(kept))]
    return found


class Pictures:
    """Thumbnails of a split as JPEG files, and which pages have them already.

    An image that cannot be read has a grey picture that says why.

    Args:
        split: opens the images.
        most: thumbnails that are kept; the longest unused ones are dropped.
    """

    def __init__(self, split: Split, *, most: int = MEMORY) -> None:
        self.split = split
        self.thumbnail = lru_cache(most)(self._thumbnail)
        self._sent: dict[str, set[str]] = {}

    def _thumbnail(self, row: int) -> bytes:
        try:
            picture = scaled(photographs.picture(self.split, row), SIDE)
        except (OSError, ValueError) as error:
            picture = placeholder(f"{type(error).__name__}: {error}")
        # JPEG and not WebP: it is made eight times faster, and a page waits for it
        return encoded(picture, "JPEG", 72)

    def new_to(self, page: str, keys: Sequence[str]) -> tuple[list[str], list[bytes]]:
        """Those keys that a page has not got yet, with their pictures.

        Args:
            page: what a page calls itself; a page that is loaded again takes another name.
            keys: thumbnails that it is about to show.
        """
        sent = recent(self._sent, page, set, PAGES)
        new = [key for key in keys if key not in sent]
        blobs = self._bytes(new)
        sent.update(new)
        return new, blobs

    def inside(self, answer: Answer) -> Answer:
        """The answer with its thumbnails as data URLs."""
        blobs = zip(answer.keys, self._bytes(answer.keys), strict=True)
        urls = {key: f"data:image/jpeg;base64,{base64.b64encode(blob).decode()}" for key, blob in blobs}
        return replace(answer, thumbnails=urls)

    def large(self, row: int) -> bytes:
        """An image at most 512 pixels wide and high, as WebP.

        Raises:
            IndexError: there is no such image.
        """
        if not 0 <= row < len(self.split.image_ids):
            raise IndexError(f"there is no image number {row}")
        return encoded(scaled(photographs.picture(self.split, row), LARGE), "WEBP", 85)

    def _bytes(self, keys: Sequence[str]) -> list[bytes]:
        with ThreadPoolExecutor(WORKERS) as pool:
            return list(pool.map(self.thumbnail, map(image_row, keys)))


def placeholder(reason: str) -> Image.Image:
    """A grey picture with the reason why there is no other; letters that the drawing font lacks become
    question marks.
    """
    picture = Image.new("RGB", (SIDE, SIDE * 3 // 4), "#e4e4e4")
    plain = reason.encode("ascii", "replace").decode()
    lines = ["no picture:", *(plain[start : start + LINE] for start in range(0, len(plain), LINE))]
    ImageDraw.Draw(picture).multiline_text((6, 6), "\n".join(lines[:8]), fill="#5c1a1a")
    return picture


def scaled(image: Image.Image, side: int) -> Image.Image:
    """A picture in RGB, at most so many pixels wide and high, and never enlarged."""
    small = image.convert("RGB")
    small.thumbnail((side, side), reducing_gap=2.0)
    return small


def encoded(image: Image.Image, kind: str, quality: int) -> bytes:
    """A picture as the bytes of a file of this kind, ``"JPEG"`` or ``"WEBP"``."""
    file = io.BytesIO()
    image.save(file, format=kind, quality=quality)
    return file.getvalue()


def uploaded(name: str, content: bytes) -> Any:
    """A picture in RGB, as ``read_image`` has it, or the vector of an ``.npy`` file.

    Args:
        name: of the file; the ending ``.npy`` tells an embedding.
        content: the file.

    Returns:
        ``PIL.Image``, or ``(D,)`` float32.

    Raises:
        ValueError: the file is too large, or neither a picture nor one vector.
    """
    if len(content) > LIMIT:
        size, limit = format_number(len(content) / 1e6, 0), format_number(LIMIT / 1e6, 0)
        raise ValueError(f"{name} has {size} MB; give a file of at most {limit} MB")
    if not name.lower().endswith(".npy"):
        return read_image(content, name)
    message = "cannot be read as an embedding"
    with reading_errors(name, message, *NUMPY_ERRORS):
        held = np.load(io.BytesIO(content), allow_pickle=False).squeeze()
    with reading_errors(name, message), np.errstate(over="ignore"):
        require(
            held.ndim == 1 and held.size and np.issubdtype(held.dtype, np.floating),
            f"it holds {held.dtype} of shape {held.shape}; one vector of numbers is needed",
        )
        vector = held.astype(np.float32)
        require(np.isfinite(vector).all(), "it holds numbers that are not finite")
        return vector
