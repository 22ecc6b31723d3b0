"""Small pictures of the images of a split: made when they are asked for, kept in a bounded memory and, if
wanted, on the disk.
"""

from __future__ import annotations

import hashlib
import io
import os
import struct
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from PIL import Image, ImageDraw

from workbench.records import Split

SIDE = 160
MEMORY = 64_000_000
# of JPEG and not of WebP: it is made eight times faster, and a page waits for it
QUALITY = 72
WORKERS = 2
LINE = 24
# what Pillow and the loaders raise for files that are missing, cut short, huge or no pictures at all
UNREADABLE = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    KeyError,
    struct.error,
    Image.DecompressionBombError,
)


class Thumbnails:
    """Thumbnails of a split as JPEG files in memory.

    An image that cannot be read has a grey picture that says why, and its row stands in ``failed``.

    Args:
        split: opens the images.
        side: greatest width and height in pixels.
        memory: bytes that are kept; the longest unused ones are dropped.
        folder: where thumbnails are kept between sessions, by image id and size; ``None`` = nowhere.
    """

    def __init__(
        self, split: Split, *, side: int = SIDE, memory: int = MEMORY, folder: Path | str | None = None
    ) -> None:
        self.split, self.side, self.memory = split, side, memory
        self.folder = None if folder is None else Path(folder)
        self.failed: dict[int, str] = {}
        self._kept: OrderedDict[int, bytes] = OrderedDict()
        self._bytes = 0

    def get(self, rows: Sequence[int]) -> dict[int, bytes]:
        """Thumbnails by image row, each made at most once; several are made at a time.

        Raises:
            IndexError: there is no such image.
        """
        outside = [row for row in rows if not 0 <= row < len(self.split.image_ids)]
        if outside:
            raise IndexError(
                f"there is no image number {outside[0]}; the split has {len(self.split.image_ids)}"
            )
        found = {row: self._kept[row] for row in rows if row in self._kept}
        missing = [row for row in dict.fromkeys(rows) if row not in found]
        if missing:
            with ThreadPoolExecutor(WORKERS) as pool:
                found.update(zip(missing, pool.map(self._read_or_make, missing), strict=True))
        for row in found:
            self._keep(row, found[row])
        return found

    def _keep(self, row: int, thumbnail: bytes) -> None:
        self._bytes += len(thumbnail) - len(self._kept.get(row, b""))
        self._kept[row] = thumbnail
        self._kept.move_to_end(row)
        while self._bytes > self.memory and len(self._kept) > 1:
            self._bytes -= len(self._kept.popitem(last=False)[1])

    def _read_or_make(self, row: int) -> bytes:
        file = self._file(row)
        if file and file.is_file() and _whole(stored := file.read_bytes()):
            return stored
        try:
            made = _jpeg(_small(self.split.open_image(row), self.side))
        except UNREADABLE as error:
            self.failed[row] = f"{type(error).__name__}: {error}"
            return _jpeg(placeholder(self.failed[row], self.side))
        if file:
            _write(file, made)
        return made

    def _file(self, row: int) -> Path | None:
        if self.folder is None:
            return None
        name = hashlib.sha256(
            f"{self.split.name}\n{self.split.image_ids[row]}".encode(errors="surrogatepass")
        ).hexdigest()
        return self.folder / f"{name[:32]}-{self.side}.jpg"


def placeholder(reason: str, side: int = SIDE) -> Image.Image:
    """A grey picture with the reason why there is no other; letters that the drawing font lacks become
    question marks.
    """
    picture = Image.new("RGB", (side, side * 3 // 4), "#e4e4e4")
    plain = reason.encode("ascii", "replace").decode()
    lines = ["no picture:", *(plain[start : start + LINE] for start in range(0, len(plain), LINE))]
    ImageDraw.Draw(picture).multiline_text((6, 6), "\n".join(lines[:8]), fill="#5c1a1a")
    return picture


def _small(image: Image.Image, side: int) -> Image.Image:
    small = image.convert("RGB")
    small.thumbnail((side, side), reducing_gap=2.0)
    return small


def _jpeg(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, format="JPEG", quality=QUALITY)
    return file.getvalue()


def _whole(stored: bytes) -> bool:
    """Whether a kept file was written to its end."""
    return stored.startswith(b"\xff\xd8") and stored.endswith(b"\xff\xd9")


def _write(file: Path, content: bytes) -> None:
    # Not synchronised with the disk, which would cost more than the thumbnail: what is cut short is made
    # again.
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{os.getpid()}.{file.name}")
    temporary.write_bytes(content)
    temporary.replace(file)
