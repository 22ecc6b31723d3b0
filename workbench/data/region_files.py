"""Region features of a detector, one file an image, as bottom-up attention writes them.

``.npy`` holds the features ``(K, D)``. ``.npz`` holds them as ``features``, ``x`` or ``feat``, and may hold
the boxes of the regions as ``boxes`` or ``bbox`` ``(K, 4)``: left, top, right, bottom, as shares of width and
height, or in pixels with ``image_w`` and ``image_h`` beside them. ``num_bbox`` or ``num_boxes`` is how many
of the rows are regions; the others are padding. An image with fewer regions than another is padded with rows
of zeros, which the encoders leave out.

Source: P. Anderson et al., "Bottom-up and top-down attention for image captioning and visual question
answering", CVPR 2018, and the files that its re-implementations write.
"""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from workbench.io import NUMPY_ERRORS, numeric, read_array, reading_errors
from workbench.records import Array, require

ENDINGS = (".npy", ".npz")
FAILS = "cannot be read as regions"
FEATURES, BOXES, SIZE = ("features", "x", "feat"), ("boxes", "bbox"), ("image_w", "image_h")
COUNT = ("num_bbox", "num_boxes")


class RegionFiles:
    """Features ``(I, K, D)`` that are read when they are asked for: an int gives ``(K, D)``, a slice or rows
    give another of these, and ``np.asarray`` reads them all. ``K`` is the largest number of an image's
    regions.

    Args:
        files: one an image.
        counts: regions of each; ``()`` = as the files have them.
        each: ``(K, D)``; ``()`` = as the files have them.

    Raises:
        ValueError: a file cannot be read, or, when it is read, has another width than the first.
    """

    def __init__(self, files: Sequence[Path], counts: Sequence[int] = (), each: tuple[int, ...] = ()) -> None:
        self.files = list(files)
        self.counts = list(counts) or [_count(file) for file in self.files]
        self.shape = (len(self.files), *(each or (max(self.counts), _features(self.files[0]).shape[1])))

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            return self._read(int(rows))
        kept = np.arange(len(self))[rows]
        return RegionFiles([self.files[n] for n in kept], [self.counts[n] for n in kept], self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.stack([self._read(row) for row in range(len(self))]).astype(dtype or np.float32, copy=False)

    def boxes(self, row: int) -> Array | None:
        """``(K, 4)`` left, top, right, bottom of the regions as shares of width and height; ``None`` = not
        known.
        """
        if self.files[row].suffix != ".npz":
            return None
        with reading_errors(self.files[row].name, FAILS, *NUMPY_ERRORS), np.load(self.files[row]) as held:
            found: Array | None = next(
                (numeric(held[name]).astype(float) for name in BOXES if name in held), None
            )
            sides = [float(numeric(held[name])) for name in SIZE if name in held]
            require(min(sides, default=1) > 0, f"its image has the sides {sides}")
            if found is None:
                return None
            count = self.counts[row]
            require(
                found.ndim == 2 and found.shape[1] == 4 and count <= len(found) and np.isfinite(found).all(),
                f"expected {count} boxes of 4 finite numbers, found {found.shape}",
            )
            found = _padded(found[:count], self.shape[1])
        if len(sides) == len(SIZE):
            return np.divide(found, sides * 2, dtype=float)
        return found if found.max() <= 1 else None

    def _read(self, row: int) -> Array:
        name, found = self.files[row].name, _features(self.files[row])[: self.counts[row]]
        require(
            found.shape[1] == self.shape[2],
            f"{name}: expected regions of width {self.shape[2]} as of the first image, found {found.shape}",
        )
        wrong = int((~np.isfinite(found)).sum())
        require(not wrong, f"{name}: {wrong} of its numbers are not finite; extract it again")
        return _padded(found, self.shape[1])

    def notes(self) -> tuple[str, ...]:
        """One sentence where images have different numbers of regions."""
        least, most = min(self.counts), max(self.counts)
        return () if least == most else (f"{least} to {most} regions an image; what is missing is masked",)


def _padded(rows: Array, count: int) -> Array:
    """Rows with zeros below them up to a number; as they are, where they are as many."""
    return rows if len(rows) == count else np.pad(rows, ((0, count - len(rows)), (0, 0)))


def _count(file: Path) -> int:
    """Regions of a file, without reading them where their number stands beside them."""
    if file.suffix == ".npz":
        with reading_errors(file.name, FAILS, *NUMPY_ERRORS), np.load(file) as held:
            if said := [numeric(held[name]).ravel().tolist() for name in COUNT if name in held]:
                rows = next((len(held[name]) for name in FEATURES if name in held), 0)
                require(
                    len(said[0]) == 1 and said[0][0] in range(1, rows + 1),
                    f"it says that {str(said[0]).strip('[]')} of its {rows} rows are regions",
                )
                return int(said[0][0])
    return len(_features(file))


def locate(folder: Path, images: Sequence[str]) -> RegionFiles:
    """The files of some images.

    Args:
        folder: where they lie.
        images: ids; the file of ``a/b.jpg`` is ``a/b.npy``, ``b.npy`` or, for an id that ends in digits as
            MS-COCO's do, their number, e.g. ``391895.npz``.

    Raises:
        FileNotFoundError: an image has none.
        ValueError: an image has two, or two images have the same one.
    """
    files = [_file(folder, image) for image in images]
    first: dict[Path, str] = {}
    for image, file in zip(images, files, strict=True):
        other = first.setdefault(file, image)
        require(
            other == image,
            f"{file.name} would hold the regions of {other} and of {image}; write two",
        )
    return RegionFiles(files)


def _file(folder: Path, image: str) -> Path:
    path = PurePosixPath(image)
    digits = re.search(r"(\d+)$", path.stem)
    stems = [str(path.with_suffix("")), path.stem, *([str(int(digits[1]))] if digits else [])]
    for stem in dict.fromkeys(stems):
        files = [folder / f"{stem}{ending}" for ending in ENDINGS]
        there = [file for file in files if file.is_file()]
        names = " and ".join(file.name for file in there)
        require(len(there) < 2, f"{names} may each hold the regions of {image}; keep one")
        if there:
            return there[0]
    names = ", ".join(f"{Path(stem).name}{ending}" for stem in dict.fromkeys(stems) for ending in ENDINGS)
    raise FileNotFoundError(f"{folder} has no regions of {image}: none of {names}; write one file an image")


def _features(file: Path) -> Array:
    """``(K, D)`` of a file; those of an ``.npy`` are a view of it."""
    with reading_errors(file.name, FAILS, *NUMPY_ERRORS):
        if file.suffix == ".npy":
            found = read_array(file, FAILS)
        else:
            with np.load(file) as held:
                names = [name for name in FEATURES if name in held]
                require(names, f"it holds {', '.join(held.files)}, and none of {', '.join(FEATURES)}")
                require(len(names) < 2, f"it holds {' and '.join(names)}, and each may be the features")
                found = numeric(held[names[0]])
        require(found.ndim == 2, f"expected features (K, D), found {found.shape}")
    return found
