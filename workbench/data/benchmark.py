"""What COCO and Flickr30K share: three sources of a split, known counts, and a check that captions stand at
their images.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.formats import EACH, identified, read_karpathy, read_precomp
from workbench.data.reading import Problems, Row, check_counts, find_root, good, to_split
from workbench.records import Split
from workbench.records.shown import count, fixed
from workbench.registry import did_you_mean

# Of COCO's and Flickr8k's captions 93 % and 96 % share more words with their own image's than with the next
# image's, of shuffled ones 31 % and 41 %, and of COCO's moved by one line 76 %.
SIBLINGS, LEAST, SAMPLE = 0.8, 50, 500
IMAGES, PRECOMP = "images", "precomp"
WORD = re.compile(r"[a-z]+")
COMMON = frozenset(["a", "an", "the", "of", "in", "on", "with", "and", "is", "are", "to", "at"])


def check_order(name: str, rows: list[Row]) -> None:
    """Refuse captions that are not those of the images they stand at: captions of one image share words.

    Args:
        name: of the split, for the message.
        rows: captions; fewer than 50 images, or an image with a single caption, tell nothing and pass.

    Raises:
        ValueError: too few captions are like the others of their image; the message names file, expected and
            found.
    """
    blocks: dict[str, list[str]] = {}
    for row in rows:
        blocks.setdefault(row.image, []).append(row.caption)
    images = list(blocks.values())
    if len(images) < LEAST or min(map(len, images)) < 2:
        return
    right: list[bool] = []
    for n in range(0, len(images), max(1, len(images) // SAMPLE)):
        own, other = _words(images[n]), _words(images[n - 1])
        right += [
            _common(words, own[:t] + own[t + 1 :]) > _common(words, other) for t, words in enumerate(own)
        ]
    share = sum(right) / len(right)
    if share < SIBLINGS:
        raise ValueError(
            f"{name}, from {rows[0].where.split()[0]}: expected at least {fixed(100 * SIBLINGS, 0)}% of "
            "the captions "
            f"to share more words with the others of their image than with another image's, found "
            f"{fixed(100 * share, 0)}%; the captions are shuffled or moved"
        )


def _words(captions: list[str]) -> list[set[str]]:
    return [set(WORD.findall(caption.lower())) - COMMON for caption in captions]


def _common(caption: set[str], others: list[set[str]]) -> float:
    return sum(len(caption & other) for other in others) / len(others)


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
        ValueError: the source has no such split, a file is damaged or misaligned, or the counts are not the
            known ones.
    """
    known = list(bench.files if choice.source == PRECOMP else bench.parts)
    if choice.split not in known:
        near = did_you_mean(choice.split, known)
        raise ValueError(f"{bench.name}: source {choice.source!r} has no split {choice.split!r}; {near}")
    read = _features(bench, choice) if choice.source == PRECOMP else _annotated(bench, choice)
    name = f"{bench.name}/{choice.split}"
    if choice.complete and choice.on_error == "raise":
        images, captions = bench.counts[choice.split]
        each = EACH if choice.source == PRECOMP else choice.captions
        check_counts(name, read.rows, (images, captions if each is None else images * each))
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
    found, paths = read_karpathy(file, bench.parts[choice.split], choice.captions, problems)

    def path(image: str) -> Path:
        return folder / IMAGES / paths[image]

    # the captions alone: photographs are looked for when they are opened
    rows = good(found, path if photographs else lambda image: file, problems, check_images=False)
    if not rows:
        raise ValueError(
            f"{file.name}: expected images of the split {choice.split!r}, found none. "
            f"{' '.join(problems.notes())}"
        )
    return Read(rows, path, notes=problems.notes())


def _features(bench: Benchmark, choice: Choice) -> Read:
    """The field's features; captions take their ids from the Karpathy file where it lies beside them."""
    part = bench.files[choice.split]
    needed = [f"{PRECOMP}/{part}_{kind}" for kind in ("caps.txt", "ids.txt", "ims.npy")]
    folder = find_root(bench.name, choice.root, needed, bench.remedy)
    rows, regions = read_precomp(folder / PRECOMP, part)
    file, notes = folder / bench.json, (f"regions from {needed[-1]}; ids from {needed[-2]}",)
    paths: dict[str, str] = {}
    problems = Problems("raise")
    if file.exists() and choice.split in bench.parts:
        annotated, paths = read_karpathy(file, bench.parts[choice.split], EACH, problems)
        rows, lost = identified(rows, annotated, file.name)
        notes = (
            f"regions from {needed[-1]}; ids from {file.name}, "
            f"but for {lost} images whose captions it does not hold",
        )
    # there need not be any photographs: they are looked for when they are opened
    rows = good(rows, lambda image: folder / needed[0], problems, check_images=False)
    return Read(rows, lambda image: folder / IMAGES / paths.get(image, image), regions, notes)


def _share(rows: list[Row], choice: Choice) -> tuple[list[Row], tuple[str, ...]]:
    """The captions of a random share of the images, in their order; a smaller share of one seed is part of a
    larger one.
    """
    if choice.share == 1:
        return rows, ()
    if not choice.split.startswith("train"):
        raise ValueError(
            f"share is {choice.share} of {choice.split!r}; a part is taken of the splits for training alone"
        )
    images = list(dict.fromkeys(row.image for row in rows))
    drawn = max(1, round(choice.share * len(images)))
    kept = {images[n] for n in np.random.default_rng(choice.seed).permutation(len(images))[:drawn]}
    note = f"{count(drawn)} of {count(len(images), 'image')}, drawn with seed {choice.seed}"
    return [row for row in rows if row.image in kept], (note,)


def _of(read: Read, made: Split) -> NDArray[Any]:
    """The regions of the images that were kept; the file itself where all were."""
    assert read.regions is not None
    place = {image: n for n, image in enumerate(dict.fromkeys(row.image for row in read.rows))}
    if len(place) == len(made.image_ids):
        return read.regions
    return np.asarray(read.regions[[place[image] for image in made.image_ids]])
