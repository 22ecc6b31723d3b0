"""What COCO and Flickr30K share: three sources of a split, known counts, and a check that captions stand at
their images.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data import _precomp
from workbench.data._alignment import check_order
from workbench.data._files import Problems, find_root
from workbench.data._karpathy import read_karpathy
from workbench.data._rows import Row, good, to_split
from workbench.records import Split
from workbench.registry import did_you_mean

SOURCES = ["photographs", "captions", "precomp"]
IMAGES, PRECOMP = "images", "precomp"


@dataclass(frozen=True)
class Benchmark:
    """A data set in the field's two formats.

    Args:
        name: of the loader and of its folder.
        json: name of the file of the split and its captions.
        parts: parts of that file that make each split.
        files: how the names of the features begin, by split.
        counts: images and captions by split; where an image has more than five captions, those of
            ``captions=None``.
        remedy: what to download and from where.
    """

    name: str
    json: str
    parts: Mapping[str, tuple[str, ...]]
    files: Mapping[str, str]
    counts: Mapping[str, tuple[int, int]]
    remedy: str


@dataclass(frozen=True)
class Choice:
    """What the caller asks for; see ``coco``."""

    split: str
    root: str | None
    source: str
    captions: int | None
    share: float
    seed: int
    on_error: str
    complete: bool


@dataclass(frozen=True)
class Read:
    """What a source gives: captions, the file of each image, regions where it has them, and facts worth
    printing.
    """

    rows: list[Row]
    path: Callable[[str], Path]
    regions: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()


def load_benchmark(bench: Benchmark, choice: Choice) -> Split:
    """Load one split, checked and cut to the share that is asked for.

    Raises:
        FileNotFoundError: a file is missing; the message says what to download.
        ValueError: an option is unknown, a file is damaged or misaligned, or the counts are not the known
            ones.
    """
    known = list(bench.files if choice.source == PRECOMP else bench.parts)
    for option, value, values in (("source", choice.source, SOURCES), ("split", choice.split, known)):
        if value not in values:
            raise ValueError(f"{bench.name}: no {option} {value!r}; {did_you_mean(value, values)}")
    read = _features(bench, choice) if choice.source == PRECOMP else _annotated(bench, choice)
    name = f"{bench.name}/{choice.split}"
    if choice.complete and choice.on_error == "raise":
        _check_counts(name, read.rows, _expected(bench, choice))
    check_order(name, read.rows)
    kept, note = _share(read.rows, choice)
    made = to_split(name, kept, read.path, notes=(*note, *read.notes))
    return made if read.regions is None else replace(made, regions=_of(read, made))


def _annotated(bench: Benchmark, choice: Choice) -> Read:
    """The Karpathy file, with or without its photographs."""
    photographs = choice.source == "photographs"
    folder = find_root(
        bench.name, choice.root, [bench.json, *([IMAGES] if photographs else [])], bench.remedy
    )
    problems, file = Problems(choice.on_error), folder / bench.json
    found = read_karpathy(file, bench.parts[choice.split], choice.captions, problems)

    def path(image: str) -> Path:
        return folder / IMAGES / found.paths[image]

    # the captions alone: photographs are looked for when they are opened
    rows = good(found.rows, path if photographs else lambda image: file, problems, check_images=False)
    if not rows:
        raise ValueError(
            f"{file.name}: expected images of the split {choice.split!r}, found none. {' '.join(problems.notes())}"
        )
    return Read(rows, path, notes=problems.notes())


def _features(bench: Benchmark, choice: Choice) -> Read:
    """The field's features; captions take their ids from the Karpathy file where it lies beside them."""
    part = bench.files[choice.split]
    needed = [f"{PRECOMP}/{part}_{kind}" for kind in ("caps.txt", "ids.txt", "ims.npy")]
    folder = find_root(bench.name, choice.root, needed, bench.remedy)
    found, file = _precomp.read_precomp(folder / PRECOMP, part), folder / bench.json
    rows, notes = found.rows, (f"regions from {needed[-1]}; ids from {needed[-2]}",)
    paths: dict[str, str] = {}
    problems = Problems("raise")
    if file.exists() and choice.split in bench.parts:
        annotated = read_karpathy(file, bench.parts[choice.split], _precomp.EACH, problems)
        rows, lost = _precomp.identified(rows, annotated.rows, file.name)
        paths = annotated.paths
        notes = (
            f"regions from {needed[-1]}; ids from {file.name}, but for {lost} images whose captions it does not hold",
        )
    # there need not be any photographs: they are looked for when they are opened
    rows = good(rows, lambda image: folder / needed[0], problems, check_images=False)
    return Read(rows, lambda image: folder / IMAGES / paths.get(image, image), found.regions, notes)


def _expected(bench: Benchmark, choice: Choice) -> tuple[int, int]:
    images, captions = bench.counts[choice.split]
    each = _precomp.EACH if choice.source == PRECOMP else choice.captions
    return images, captions if each is None else images * each


def _check_counts(name: str, rows: list[Row], expected: tuple[int, int]) -> None:
    found = (len({row.image for row in rows}), len(rows))
    if found != expected:
        raise ValueError(
            f"{name}, from {rows[0].where.split()[0]}: expected {expected[0]:,} images and {expected[1]:,} captions, found "
            f"{found[0]:,} and {found[1]:,}; get a whole copy, or say complete=False"
        )


def _share(rows: list[Row], choice: Choice) -> tuple[list[Row], tuple[str, ...]]:
    """The captions of a random share of the images, in their order; a smaller share of one seed is part of a
    larger one.
    """
    if choice.share == 1:
        return rows, ()
    if not 0 < choice.share < 1 or not choice.split.startswith("train"):
        raise ValueError(
            f"share is {choice.share} of {choice.split!r}; expected more than 0 and at most 1, and a training split"
        )
    images = list(dict.fromkeys(row.image for row in rows))
    count = max(1, round(choice.share * len(images)))
    drawn = {images[n] for n in np.random.default_rng(choice.seed).permutation(len(images))[:count]}
    note = f"{count:,} of {len(images):,} images, drawn with seed {choice.seed}"
    return [row for row in rows if row.image in drawn], (note,)


def _of(read: Read, made: Split) -> NDArray[Any]:
    """The regions of the images that were kept; the file itself where all were."""
    assert read.regions is not None
    place = {image: n for n, image in enumerate(dict.fromkeys(row.image for row in read.rows))}
    if len(place) == len(made.image_ids):
        return read.regions
    chosen: NDArray[Any] = read.regions[[place[image] for image in made.image_ids]]
    return chosen
