"""Images of benchmarks: where they lie, and those that are made of a file."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from workbench.data.images import read_image
from workbench.formatting import format_some
from workbench.io import content_stamp, read_array, text_stamp
from workbench.records import require

ARRAY = ".npy"


class ImageFiles:
    """Finds images by their paths below a folder, else by their names in all folders below it.

    Args:
        folder: of the images.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def by_name(self) -> dict[str, list[Path]]:
        """All files below the folder by their names."""
        files: dict[str, list[Path]] = {}
        for file in sorted(self.folder.rglob("*.*")):
            files.setdefault(file.name, []).append(file)
        return files

    def find(self, name: str) -> Path:
        """Return the file of an image; where there is none, the path at which it was expected.

        Raises:
            ValueError: it is not where it was expected, and several files below the folder have its name.
        """
        place = self.folder / name
        if place.is_file():
            return place
        files = self.by_name.get(place.name, [])
        places = format_some([str(file.relative_to(self.folder)) for file in files])
        require(
            len(files) < 2, f"{place} is not there, and several have its name: {places}; keep one of them"
        )
        return files[0] if files else place


@dataclass(frozen=True)
class MadeImage:
    """An image that is a part of a file, or the pixels of an array.

    Args:
        file: an image, or an ``.npy`` file of bytes ``(H, W, 3)``, blue first, as OpenCV has it.
        where: file and row that name it, for messages.
        box: left, top, width and height of the part in pixels; empty = the whole.
    """

    file: Path
    where: str
    box: tuple[int, ...] = ()

    def __call__(self) -> Image.Image:
        """Return the image.

        Raises:
            ValueError: the file is no image; the message names it.
        """
        image = self._pixels() if self.file.suffix == ARRAY else read_image(self.file, self.where)
        if not self.box:
            return image
        left, top, width, height = self.box
        return image.crop((left, top, left + width, top + height))

    @property
    def stamp(self) -> int:
        """Checksum of what it is made of."""
        return text_stamp(f"{content_stamp(self.file)} {self.box}")

    def _pixels(self) -> Image.Image:
        pixels = read_array(self.file)
        is_image = pixels.ndim == 3 and pixels.shape[2] == 3 and pixels.dtype == np.uint8
        wrong = f"{self.where}: {self.file.name} is no image: {pixels.dtype} of shape {pixels.shape}"
        require(is_image, wrong)
        return Image.fromarray(np.ascontiguousarray(pixels[:, :, ::-1]))
