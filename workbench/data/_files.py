"""What loaders of files on disk share: where the files are, how an image is opened, and what happens to a bad
row.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

VARIABLE = "WORKBENCH_DATA"


def find_root(name: str, root: str | None, needed: Sequence[str], remedy: str) -> Path:
    """The folder of a data set.

    Args:
        name: name of the loader, which is also the name of the folder below ``WORKBENCH_DATA``.
        root: the folder, where the caller names it.
        needed: files and folders that must be there, relative to the folder.
        remedy: what to download and from where, as a sentence.

    Returns:
        The folder.

    Raises:
        FileNotFoundError: no folder is named, or something needed is missing; the message says what and how
            to get it.
    """
    base = os.environ.get(VARIABLE)
    if root is None and not base:
        raise FileNotFoundError(
            f"{name}: set root=..., or {VARIABLE} to the folder that holds {name}/. {remedy}"
        )
    folder = Path(root) if root is not None else Path(str(base)) / name
    missing = [item for item in needed if not (folder / item).exists()]
    if missing:
        raise FileNotFoundError(f"{name}: {folder} lacks {', '.join(missing)}. {remedy}")
    return folder


class Problems:
    """Bad rows: the first one is raised, or all are counted and reported.

    Args:
        on_error: ``"raise"`` or ``"skip"``.

    Raises:
        ValueError: another value.
    """

    def __init__(self, on_error: str) -> None:
        if on_error not in ("raise", "skip"):
            raise ValueError(f"on_error is {on_error!r}; choose 'raise' or 'skip'")
        self.on_error = on_error
        self.found: list[tuple[str, Exception]] = []

    def add(self, kind: str, error: Exception) -> None:
        """Raise the error, or note it under its kind, e.g. ``"missing image"``."""
        if self.on_error == "raise":
            raise error
        self.found.append((kind, error))

    def notes(self) -> tuple[str, ...]:
        """One sentence with the counts by kind and the first error; empty when there was none."""
        if not self.found:
            return ()
        counts = Counter(kind for kind, _ in self.found)
        listed = ", ".join(f"{count} x {kind}" for kind, count in sorted(counts.items()))
        return (f"skipped {len(self.found)}: {listed}; the first: {self.found[0][1]}",)


def open_rgb(path: Path, where: str) -> Image.Image:
    """Open an image in RGB, upright by its EXIF orientation.

    Args:
        path: the file.
        where: file and row that name it, for the message.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not an image, or is cut off; both messages name file and row.
    """
    from PIL import ImageOps

    return _read(path, where, lambda image: ImageOps.exif_transpose(image).convert("RGB"))


def check_image(path: Path, where: str) -> None:
    """Read an image to its last byte, at an eighth of its size where the format allows it.

    ``PIL.Image.verify`` would be faster, but it takes a JPEG that is cut off for a whole one.

    Args:
        path: the file.
        where: file and row that name it, for the message.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: the file is not an image, or is cut off.
    """

    def read(image: Image.Image) -> Image.Image:
        image.draft(None, (max(image.width // 8, 1), max(image.height // 8, 1)))
        image.load()
        return image

    _read(path, where, read)


def require_file(path: Path, where: str) -> None:
    """Raise ``FileNotFoundError``, naming file and row, where there is no such file."""
    if not path.is_file():
        raise FileNotFoundError(f"{where}: there is no image file {path}")


def _read(path: Path, where: str, use: Callable[[Image.Image], Image.Image]) -> Image.Image:
    from PIL import Image

    require_file(path, where)
    try:
        with Image.open(path) as image:
            return use(image)
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise ValueError(f"{where}: {path} is not a readable image ({error})") from error


def opener(paths: Sequence[Path], where: Sequence[str]) -> Callable[[int], Image.Image]:
    """The ``open_image`` of a split: row -> image, opened when asked.

    Args:
        paths: ``(I,)`` files.
        where: ``(I,)`` file and row that name each of them.
    """
    return lambda row: open_rgb(paths[row], where[row])
