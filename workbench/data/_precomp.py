"""The field's features: ``{part}_ims.npy``, ``{part}_caps.txt`` and ``{part}_ids.txt`` in one folder.

A line of ``_caps.txt`` is a caption, five lines are an image. ``_ids.txt`` names the image, once a caption or
once an image, and ``_ims.npy (N, K, D)`` holds its regions, once an image or once a caption: all four
combinations are in use.

Source: K.-H. Lee et al., "Stacked cross attention for image-text matching", ECCV 2018, whose files most
papers use; regions by P. Anderson et al., "Bottom-up and top-down attention", CVPR 2018.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data._rows import Row

EACH, PROBES = 5, 16
# share of an image's captions that must be known from the annotations before the others are taken for edited
# ones
KNOWN = 0.9


@dataclass(frozen=True)
class Precomputed:
    """Captions and regions of one part.

    Args:
        rows: captions, five an image.
        regions: ``(I, K, D)`` memory-mapped, in the order of the images.
    """

    rows: list[Row]
    regions: NDArray[Any]


def read_precomp(folder: Path, part: str) -> Precomputed:
    """Read one part.

    Args:
        folder: holds the three files.
        part: how their names begin, e.g. ``"testall"``.

    Raises:
        ValueError: the lengths of the files do not fit together, or the ids say that captions stand at the
            wrong image; the message names file, expected and found.
    """
    captions, ids = _lines(folder / f"{part}_caps.txt"), _lines(folder / f"{part}_ids.txt")
    name = f"{part}_caps.txt"
    if not captions or len(captions) % EACH:
        raise ValueError(f"{name}: expected {EACH} lines an image, found {len(captions)} lines")
    images = _image_ids(ids, len(captions), f"{part}_ids.txt")
    regions = _regions(folder / f"{part}_ims.npy", len(captions))
    rows = [
        Row(f"{name} line {n + 1}", images[n // EACH], text.strip(), f"{images[n // EACH]}#{n % EACH}")
        for n, text in enumerate(captions)
    ]
    return Precomputed(rows, regions)


def _lines(file: Path) -> list[str]:
    # only the end of a line ends it: captions hold other characters that splitlines would take for one
    lines = file.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _image_ids(ids: list[str], captions: int, name: str) -> list[str]:
    """``(I,)`` ids of the images, from a list with one line a caption or one line an image."""
    ids = [line.strip() for line in ids]
    if len(ids) == captions:
        for n, image in enumerate(ids):
            first = ids[n - n % EACH]
            if image != first:
                raise ValueError(
                    f"{name} line {n + 1}: expected {first!r} {EACH} times in a row, found {image!r}; is it shuffled?"
                )
        ids = ids[::EACH]
    elif len(ids) != captions // EACH:
        raise ValueError(
            f"{name}: expected {captions} lines or {captions // EACH}, as there are captions, found {len(ids)}"
        )
    if len(set(ids)) != len(ids):
        twice = next(image for n, image in enumerate(ids) if image in ids[:n])
        raise ValueError(f"{name}: expected each image once, found {twice!r} at two places; is it shuffled?")
    return ids


def _regions(file: Path, captions: int) -> NDArray[Any]:
    """``(I, K, D)`` regions, a view of the file."""
    try:
        features: NDArray[Any] = np.load(file, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file.name} is not whole: expected an array (N, K, D), found {error}") from error
    images = captions // EACH
    if features.ndim != 3 or len(features) not in (images, captions):
        raise ValueError(
            f"{file.name}: expected ({images} or {captions}, K, D) for {captions} captions, found {features.shape}"
        )
    if len(features) == images:
        return features
    for image in np.linspace(0, images - 1, min(PROBES, images)).astype(int):
        block = features[image * EACH : image * EACH + EACH]
        if not (block == block[0]).all():
            raise ValueError(
                f"{file.name}: expected rows {image * EACH} to {image * EACH + EACH - 1} alike, as regions of one image, "
                "found others; is it shuffled?"
            )
    return features[::EACH]


def identified(rows: list[Row], known: list[Row], source: str) -> tuple[list[Row], int]:
    """Rows with the ids that the annotations give to the same captions.

    Captions are compared by their letters and digits, since the files differ in capitals, blanks and
    punctuation.

    Args:
        rows: five an image.
        known: captions of the same split with their ids.
        source: name of the file of ``known``, for the message.

    Returns:
        The rows, and how many images were not found.

    Raises:
        ValueError: more than a tenth of the images has no image with the same captions.
    """
    of_image: dict[str, list[Row]] = {}
    for row in known:
        of_image.setdefault(row.image, []).append(row)
    by_texts = {
        tuple(sorted(map(_plain, [row.caption for row in block]))): block for block in of_image.values()
    }
    out: list[Row] = []
    lost = 0
    for start in range(0, len(rows), EACH):
        block = rows[start : start + EACH]
        same = by_texts.get(tuple(sorted(_plain(row.caption) for row in block)))
        lost += same is None
        out += block if same is None else _renamed(block, same)
    images = len(rows) // EACH
    if lost > (1 - KNOWN) * images:
        raise ValueError(
            f"{rows[0].where.split()[0]}: expected every {EACH} lines to be the captions of one image of {source}, found "
            f"{images - lost} of {images} images so; is it shuffled, or of another split?"
        )
    return out, lost


def _renamed(block: list[Row], known: list[Row]) -> list[Row]:
    ids = {
        row.id: other
        for row, other in zip(
            sorted(block, key=lambda row: _plain(row.caption)),
            sorted(known, key=lambda row: _plain(row.caption)),
            strict=True,
        )
    }
    return [replace(row, image=ids[row.id].image, id=ids[row.id].id) for row in block]


def _plain(caption: str) -> str:
    return "".join(letter for letter in caption.lower() if letter.isalnum())
