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

from workbench.io import NUMPY_ERRORS, read_array, reading_errors, require_numeric
from workbench.records import Array, require

ENDINGS = (".npy", ".npz")
FAILS = "cannot be read as regions"
# names of arrays in a file
FEATURES = ("features", "x", "feat")
BOXES = ("boxes", "bbox")
SIZE = ("image_w", "image_h")
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
        self.counts = list(counts) or [_count_regions(file) for file in self.files]
        if not each:
            each = (max(self.counts), _read_features(self.files[0]).shape[1])
        self.shape = (len(self.files), *each)

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, rows: Any) -> Any:
        if isinstance(rows, int | np.integer):
            return self._read(int(rows))
        numbers = np.arange(len(self))[rows]
        files = [self.files[n] for n in numbers]
        return RegionFiles(files, [self.counts[n] for n in numbers], self.shape[1:])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.stack([self._read(row) for row in range(len(self))]).astype(dtype or np.float32, copy=False)

    def boxes(self, row: int) -> Array | None:
        """Return ``(K, 4)`` left, top, right, bottom of the regions as shares of width and height; ``None`` =
        not known.
        """
        file, count = self.files[row], self.counts[row]
        if file.suffix != ".npz":
            return None
        with reading_errors(file.name, FAILS, *NUMPY_ERRORS), np.load(file) as arrays:
            sides = [float(require_numeric(arrays[name])) for name in SIZE if name in arrays]
            require(min(sides, default=1) > 0, f"its image has the sides {sides}")
            names = [name for name in BOXES if name in arrays]
            if not names:
                return None
            boxes: Array = require_numeric(arrays[names[0]]).astype(float)
            fits = boxes.ndim == 2 and boxes.shape[1] == 4 and len(boxes) >= count
            require(
                fits and np.isfinite(boxes).all(),
                f"expected {count} boxes of 4 finite numbers, found {boxes.shape}",
            )
            boxes = _pad_rows(boxes[:count], self.shape[1])
        if len(sides) == len(SIZE):
            return np.divide(boxes, sides * 2, dtype=float)
        return boxes if boxes.max() <= 1 else None

    def _read(self, row: int) -> Array:
        name, features = self.files[row].name, _read_features(self.files[row])[: self.counts[row]]
        width = self.shape[2]
        require(
            features.shape[1] == width,
            f"{name}: expected regions of width {width} as of the first image, found {features.shape}",
        )
        wrong = np.count_nonzero(~np.isfinite(features))
        require(not wrong, f"{name}: {wrong} of its numbers are not finite; extract it again")
        return _pad_rows(features, self.shape[1])

    def notes(self) -> tuple[str, ...]:
        """Return one sentence where images have different numbers of regions."""
        least, most = min(self.counts), max(self.counts)
        return () if least == most else (f"{least} to {most} regions an image; what is missing is masked",)


def _pad_rows(rows: Array, count: int) -> Array:
    """Return rows with zeros below them up to a number; as they are, where they are as many."""
    return rows if len(rows) == count else np.pad(rows, ((0, count - len(rows)), (0, 0)))


def _count_regions(file: Path) -> int:
    """Return regions of a file, without reading them where their number stands beside them."""
    if file.suffix == ".npz":
        with reading_errors(file.name, FAILS, *NUMPY_ERRORS), np.load(file) as arrays:
            written = [require_numeric(arrays[name]) for name in COUNT if name in arrays]
            if written:
                counts = written[0].ravel().tolist()
                rows = next((len(arrays[name]) for name in FEATURES if name in arrays), 0)
                possible = len(counts) == 1 and counts[0] in range(1, rows + 1)
                listed = ", ".join(map(str, counts))
                require(possible, f"it says that {listed} of its {rows} rows are regions")
                return int(counts[0])
    return len(_read_features(file))


def locate(folder: Path, images: Sequence[str]) -> RegionFiles:
    """Return the files of some images.

    Args:
        folder: where they lie.
        images: ids; the file of ``a/b.jpg`` is ``a/b.npy``, ``b.npy`` or, for an id that ends in digits as
            MS-COCO's do, their number, e.g. ``391895.npz``.

    Raises:
        FileNotFoundError: an image has none.
        ValueError: an image has two, or two images have the same one.
    """
    files = [_feature_path(folder, image) for image in images]
    first: dict[Path, str] = {}
    for image, file in zip(images, files, strict=True):
        other = first.setdefault(file, image)
        require(
            other == image,
            f"{file.name} would hold the regions of {other} and of {image}; write two",
        )
    return RegionFiles(files)


def _feature_path(folder: Path, image: str) -> Path:
    path = PurePosixPath(image)
    stems = [str(path.with_suffix("")), path.stem]
    if digits := re.search(r"(\d+)$", path.stem):
        stems.append(str(int(digits[1])))
    names: dict[str, None] = {}
    for stem in stems:
        files = [folder / f"{stem}{ending}" for ending in ENDINGS]
        names |= dict.fromkeys(file.name for file in files)
        there = [file for file in files if file.is_file()]
        both = " and ".join(file.name for file in there)
        require(len(there) < 2, f"{both} may each hold the regions of {image}; keep one")
        if there:
            return there[0]
    listed = ", ".join(names)
    raise FileNotFoundError(f"{folder} has no regions of {image}: none of {listed}; write one file an image")


def _read_features(file: Path) -> Array:
    """Return ``(K, D)`` of a file; those of an ``.npy`` are a view of it."""
    with reading_errors(file.name, FAILS, *NUMPY_ERRORS):
        if file.suffix == ".npy":
            features = read_array(file, FAILS)
        else:
            with np.load(file) as arrays:
                names = [name for name in FEATURES if name in arrays]
                require(names, f"it holds {', '.join(arrays.files)}, and none of {', '.join(FEATURES)}")
                require(len(names) < 2, f"it holds {' and '.join(names)}, and each may be the features")
                features = require_numeric(arrays[names[0]])
        require(features.ndim == 2, f"expected features (K, D), found {features.shape}")
    return features
