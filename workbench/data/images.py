"""The one place where an image file is opened: what becomes of its pixels, and what is refused.

An image comes out in RGB with eight bits a channel, upright by its EXIF orientation. Of sixteen bits the
upper eight are kept, so that 65,535 is white, as it is meant. Floats are shares of white, 0 to 1. What is
transparent lies on white paper. CMYK is converted by its plain formula, without the file's colour profile. Of
several frames or pages the first is taken. An image of more than 179 million pixels is refused before it is
decoded, as Pillow does, since a file of 200 kB may hold half a gigabyte.
"""

import hashlib
import io
import os
from collections.abc import Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps

from workbench.formatting import format_count
from workbench.io import content_stamp, reading_errors, require_real_file, resolve_input
from workbench.records import NoImageError, Split, require

# no format whose reader starts another program, as that of EPS does
FORMATS = ("JPEG", "MPO", "PNG", "WEBP", "TIFF", "GIF", "BMP", "PPM", "JPEG2000", "AVIF")
# what Pillow raises on damaged images beside the usual errors; its warnings where somebody made them errors
PILLOW = (
    Image.DecompressionBombError,
    Warning,
    SyntaxError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    MemoryError,
    RuntimeError,
    AssertionError,
)
WHITE16 = 2**16 - 1
# bytes by which files of one size are told apart
MIDDLE = 4096


def read_image(source: Any, where: str, *, small: bool = False) -> Image.Image:
    """Return an image in RGB, upright, read to its last byte; for its pixels see above.

    ``PIL.Image.verify`` would be faster for a check, but it takes a JPEG that is cut off for a whole one.

    Args:
        source: the file, what it holds, an image of Pillow, or a function that gives one of these.
        where: what names it in messages: file and row, or what a person calls the content.
        small: at an eighth of its size where the format allows it, for a check.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: it is no image, is cut off, holds numbers that are no colours, or has more pixels than are
            allowed; all messages name file and row.
    """
    if callable(source):
        with reading_errors(where):
            source = source()
    if isinstance(source, Image.Image):
        return _convert_to_rgb(ImageOps.exif_transpose(source))
    require(isinstance(source, bytes | Path), f"{where}: expected an image, found {type(source).__name__}")
    if isinstance(source, Path):
        require_file(source, where)
    file, name = source, f"{where}: {source}"
    if isinstance(source, bytes):
        file, name = io.BytesIO(source), where
    Image.init()
    known = [kind for kind in FORMATS if kind in Image.OPEN]
    message = "is not a readable image"
    try:
        with reading_errors(name, message, *PILLOW), Image.open(file, formats=known) as image:
            if small:
                image.draft(None, (max(image.width // 8, 1), max(image.height // 8, 1)))
            return _convert_to_rgb(ImageOps.exif_transpose(image))
    except ValueError:
        if isinstance(source, Path):
            with reading_errors(where, message):
                require_real_file(source, "image")
        raise


def raise_no_image(*row: Any) -> Any:
    """Raise in the place of opening an image.

    Raises:
        NoImageError: always.
    """
    raise NoImageError("there is no file of the image")


def is_visible(path: Path, base: Path) -> bool:
    """Return whether a path below a folder is one that a person put there: no name begins with a dot, as that
    of a file that macOS or a cache leaves, and none is ``__MACOSX``.
    """
    parts = path.relative_to(base).parts
    return not any(part.startswith(".") or part == "__MACOSX" for part in parts)


@cache
def image_endings() -> tuple[str, ...]:
    """Return how the names of image files that are read end, e.g. ``".jpg"``."""
    Image.init()
    return tuple(sorted(end for end, kind in Image.EXTENSION.items() if kind in FORMATS))


def image_files(base: Path) -> list[Path]:
    """Return the image files of a folder and of those inside it, by path, without hidden ones."""
    known = image_endings()
    return sorted(file for file in base.rglob("*") if file.suffix.lower() in known and is_visible(file, base))


def note_same_content(sources: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a note on image files that hold the same bytes as another one; none where there are none.

    Args:
        sources: what each image is read from, by its id; only files are compared.
    """
    files = {image: source for image, source in sources.items() if isinstance(source, Path)}
    # each step looks at those alone that the one before could not tell apart
    for read in (_file_size, _sample_content, _file_digest):
        groups: dict[Any, list[str]] = {}
        for image, file in files.items():
            groups.setdefault(read(file), []).append(image)
        alike = [group for group in groups.values() if len(group) > 1]
        files = {image: files[image] for image in chain.from_iterable(alike)}
    if not files:
        return ()
    first, other = alike[0][:2]
    many = format_count(len(files) - len(alike), "image")
    return (f"{many} with the bytes of another file, each an image of its own: {other} and {first}",)


def _file_size(file: Path) -> int:
    return file.stat().st_size


def _sample_content(file: Path) -> tuple[int, bytes]:
    """Return the size of a file and some of its bytes: images that only begin alike differ there."""
    size = _file_size(file)
    with file.open("rb") as opened:
        opened.seek(size // 2)
        return size, opened.read(MIDDLE)


def _file_digest(file: Path) -> bytes:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "blake2b").digest()


def images_below(folder: str | Path) -> list[Path]:
    """Return the images of a folder that somebody names.

    Raises:
        ValueError: no folder is named.
        FileNotFoundError: there is no such folder, or no image in it.
    """
    require(folder, "name a folder of images")
    folder = resolve_input(folder)
    require(folder.is_dir(), f"there is no folder {folder}", FileNotFoundError)
    files = image_files(folder)
    require(files, f"{folder} holds no image ({', '.join(image_endings())})", FileNotFoundError)
    return files


def require_file(path: Path, where: str) -> None:
    """Raise ``FileNotFoundError``, naming file and row, where there is no such file."""
    # unlike Path.is_file it takes a name that is too long for one that is not there
    require(os.path.isfile(path), f"{where}: there is no image file {path}", FileNotFoundError)


def _convert_to_rgb(image: Image.Image) -> Image.Image:
    """Convert an image to eight bits a channel, without transparency."""
    if image.mode == "F" or image.mode.startswith("I"):
        return _convert_to_grey(image)
    if image.has_transparency_data:
        over = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", over.size, "white"), over).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _convert_to_grey(image: Image.Image) -> Image.Image:
    """Convert an image of one float or of more than eight bits a pixel to grey."""
    values, most = np.asarray(image), 1 if image.mode == "F" else WHITE16
    low, high = float(values.min()), float(values.max())
    require(
        low >= 0 and high <= most,
        f"its pixels are numbers from {low} to {high}, and 0 to {most} is black to white; scale them",
    )
    grey = np.rint(values * 255) if most == 1 else values >> 8
    paper = values == image.info.get("transparency", -1)
    return Image.fromarray(np.where(paper, 255, grey).astype(np.uint8)).convert("RGB")


def folder_split(folder: str | Path, images: int = 0) -> Split:
    """Return the images of a folder and of those inside it, by path; the caption of an image is its file's
    name.

    Args:
        folder: where they lie.
        images: the first so many; 0 = all.

    Raises:
        ValueError: no folder is named.
        FileNotFoundError: there is no such folder, or no image in it.
    """
    root, files = resolve_input(folder), images_below(folder)[: images or None]
    ids = tuple(path.relative_to(root).as_posix() for path in files)
    names = tuple(" ".join(path.stem.replace("_", " ").split()) or path.name for path in files)
    caption_ids = tuple(f"{image}#0" for image in ids)
    return Split(
        name=root.name,
        image_ids=ids,
        captions=names,
        caption_ids=caption_ids,
        own=np.arange(len(files)),
        open_image=lambda row: read_image(files[row], ids[row]),
        stamp=lambda row: content_stamp(files[row]),
        notes=("captions are the names of the files",),
    )
