"""Pictures on their way to a page: each is sent once to a page, small as a thumbnail and large when it is
opened.
"""

from __future__ import annotations

import base64
import io
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace

from workbench.records import Split
from workbench.views.explorer.answers import Answer, image_row
from workbench.views.explorer.thumbnails import Thumbnails

PAGES = 8
SIDE = 512


class Pictures:
    """Thumbnails of a split, and who has them already.

    Args:
        split: opens the images.
    """

    def __init__(self, split: Split) -> None:
        self.split, self.thumbnails = split, Thumbnails(split)
        self._sent: OrderedDict[str, set[str]] = OrderedDict()

    def new_to(self, page: str, keys: Sequence[str]) -> tuple[list[str], list[bytes]]:
        """Those keys that a page has not got yet, with their pictures.

        Args:
            page: what a page calls itself; a page that is loaded again takes another name.
            keys: thumbnails that it is about to show.
        """
        sent = self._sent.setdefault(page, set())
        self._sent.move_to_end(page)
        if len(self._sent) > PAGES:
            self._sent.popitem(last=False)
        new = [key for key in keys if key not in sent]
        blobs = self._bytes(new)
        sent.update(new)
        return new, blobs

    def inside(self, answer: Answer) -> Answer:
        """The answer with its thumbnails as data URLs."""
        keys = answer.keys
        urls = {
            key: f"data:{_kind(blob)};base64,{base64.b64encode(blob).decode()}"
            for key, blob in zip(keys, self._bytes(keys))
        }
        return replace(answer, thumbnails=urls)

    def large(self, row: int) -> bytes:
        """An image at most 512 pixels wide and high, as WebP.

        Raises:
            IndexError: there is no such image.
        """
        if not 0 <= row < len(self.split.image_ids):
            raise IndexError(f"there is no image number {row}")
        image = self.split.open_image(row).convert("RGB")
        image.thumbnail((SIDE, SIDE))
        file = io.BytesIO()
        image.save(file, format="WEBP", quality=85)
        return file.getvalue()

    def _bytes(self, keys: Sequence[str]) -> list[bytes]:
        rows = [image_row(key) for key in keys]
        made = self.thumbnails.get(rows)
        return [made[row] for row in rows]


def _kind(blob: bytes) -> str:
    return "image/webp" if blob[:4] == b"RIFF" else "image/jpeg"
