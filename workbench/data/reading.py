"""What loaders of files on disk share: where the files are, what happens to a bad row, and how rows that each
name an image and a caption become a split.
"""

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from workbench.data.images import read_image, require_file
from workbench.formatting import format_count
from workbench.io import reading_errors
from workbench.records import Judgements, Rows, Split, require

VARIABLE = "WORKBENCH_DATA"
SPLITS = ("train", "val", "test")
# the split of an image by the last digit of its checksum
TENTHS = ("test", "val", *["train"] * 8)


def split_of(image: str) -> str:
    """The split of an image where nobody says it: by a checksum of its id, 80, 10 and 10 %."""
    return TENTHS[zlib.crc32(image.encode()) % 10]


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
    require(
        root is not None or base,
        f"{name}: set root=..., or {VARIABLE} to the folder that holds {name}/. {remedy}",
        FileNotFoundError,
    )
    folder = (Path(root) if root is not None else Path(str(base)) / name).expanduser()
    if missing := [item for item in needed if not (folder / item).exists()]:
        raise FileNotFoundError(f"{name}: {folder} lacks {', '.join(missing)}. {remedy}")
    return folder


@dataclass
class Problems:
    """Bad rows: the first one is raised, or all are counted and reported.

    Args:
        on_error: ``"raise"`` or ``"skip"``.
    """

    on_error: str
    found: list[tuple[str, Exception]] = field(default_factory=list)

    def add(self, kind: str, error: Exception | str) -> None:
        """Raise the error, or note it under its kind, as ``"missing image"``; a text is a ``ValueError``."""
        self.found.append((kind, ValueError(error) if isinstance(error, str) else error))
        if self.on_error == "raise":
            raise self.found[-1][1]

    def notes(self) -> tuple[str, ...]:
        """One sentence with the counts by kind and the first error; empty when there was none."""
        counts = Counter(kind for kind, _ in self.found)
        listed = ", ".join(f"{number} x {kind}" for kind, number in sorted(counts.items()))
        return tuple(
            f"skipped {len(self.found)}: {listed}; the first: {error}" for _, error in self.found[:1]
        )


@dataclass(frozen=True)
class Row:
    """One caption of one image.

    Args:
        where: file and row, for messages, e.g. ``"captions.csv row 7"``.
        image: id of the image.
        caption: the text.
        id: id of the caption.
        level, chain: as in ``Split``, where the captions form chains.
    """

    where: str
    image: str
    caption: str
    id: str
    level: int | None = None
    chain: int | None = None


def good(
    rows: Iterable[Row], path: Callable[[str], Path], problems: Problems, *, check_images: bool
) -> list[Row]:
    """The rows without those whose caption is empty, whose id was seen before, or whose image is missing or
    broken.

    Args:
        rows: all rows.
        path: id of an image -> its file.
        problems: takes what is wrong.
        check_images: read every image to its end; otherwise only see that there is a file.
    """
    images: dict[str, Exception | None] = {}
    seen: dict[str, str] = {}
    kept = []
    for row in rows:
        if row.image not in images:
            images[row.image] = _image_error(path(row.image), row.where, check_images)
        if not row.caption.strip():
            problems.add("empty caption", f"{row.where}: the caption of {row.image} is empty")
        elif row.id in seen:
            problems.add("repeated id", f"{row.where}: the id {row.id!r} was used before, in {seen[row.id]}")
        elif (error := images[row.image]) is not None:
            problems.add(f"{'missing' if isinstance(error, FileNotFoundError) else 'corrupt'} image", error)
        else:
            seen[row.id] = row.where
            kept.append(row)
    return kept


def _image_error(path: Path, where: str, check: bool) -> Exception | None:
    try:
        read_image(path, where, small=True) if check else require_file(path, where)
    except (FileNotFoundError, ValueError) as error:
        return error
    return None


def to_split(
    name: str,
    rows: list[Row],
    path: Callable[[str], Path],
    *,
    judge: Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, Judgements]] | None = None,
    notes: tuple[str, ...] = (),
) -> Split:
    """The split of these rows; images stand in order of first mention.

    Args:
        name: of the split.
        rows: good rows, at least one.
        path: id of an image -> its file.
        judge: ``(row of each image id, row of each caption id)`` -> judgements besides ``"own"``.
        notes: facts worth printing.

    Raises:
        ValueError: the rows do not fit together.
    """
    first = {row.image: row.where for row in reversed(rows)}
    images = {image: number for number, image in enumerate(dict.fromkeys(row.image for row in rows))}
    captions = {row.id: number for number, row in enumerate(rows)}
    places = [(path(image), first[image]) for image in images]
    with reading_errors(rows[0].where.split()[0], "gives no split"):
        return Split(
            name=name,
            image_ids=tuple(images),
            captions=tuple(row.caption for row in rows),
            caption_ids=tuple(captions),
            own=np.array([images[row.image] for row in rows], dtype=np.int64),
            open_image=lambda row: read_image(*places[row]),
            # 0 = no such file, as where region features stand for photographs
            stamp=lambda row: places[row][0].stat().st_size if places[row][0].is_file() else 0,
            level=_column([row.level for row in rows]),
            chain=_column([row.chain for row in rows]),
            judgements=judge(images, captions) if judge else {},
            notes=notes,
        )


def share_of(rows: list[Row], split: str, share: float, seed: int) -> tuple[list[Row], tuple[str, ...]]:
    """The captions of a random share of the images, in their order; a smaller share of one seed is part of a
    larger one.

    Args:
        rows: of a split.
        split: its name.
        share: above 0, at most 1.
        seed: which images.

    Returns:
        The rows that are kept, and a note that says how many images they are of; none where all are.

    Raises:
        ValueError: a part of a split that is not for training.
    """
    if share == 1:
        return rows, ()
    require(
        split.startswith("train"),
        f"share is {share} of {split!r}; a part is taken of the splits for training alone",
    )
    images = list(dict.fromkeys(row.image for row in rows))
    drawn = max(1, round(share * len(images)))
    kept = {images[n] for n in np.random.default_rng(seed).permutation(len(images))[:drawn]}
    notes = (f"{format_count(drawn)} of {format_count(len(images), 'image')}, drawn with seed {seed}",)
    return [row for row in rows if row.image in kept], notes


def check_counts(name: str, rows: Sequence[Row], expected: tuple[int, int]) -> None:
    """Refuse a copy that is not whole.

    Args:
        name: of the split, for the message.
        rows: all of its rows.
        expected: how many images and captions the published split has.

    Raises:
        ValueError: there are more or fewer.
    """
    found = (len({row.image for row in rows}), len(rows))
    require(
        found == expected,
        f"{name}, from {rows[0].where.split()[0] if rows else 'empty files'}: expected "
        f"{format_count(expected[0], 'image')} and {format_count(expected[1], 'caption')}, "
        f"found {format_count(found[0])} and {format_count(found[1])}; get a whole copy, or say "
        "complete=False",
    )


def _column(values: list[int | None]) -> Rows | None:
    return None if any(value is None for value in values) else np.array(values, dtype=np.int64)
