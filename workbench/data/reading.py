"""What loaders of files on disk share: where the files are, what happens to a bad row, and how rows that each
name an image and a caption become a split.
"""

import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np

from workbench.data.columns import Columns
from workbench.data.fields import fields_of_rows, whole_column
from workbench.data.images import note_same_content, raise_no_image, read_image, require_file
from workbench.formatting import format_count
from workbench.io import content_stamp, reading_errors, resolve_input
from workbench.progress import each
from workbench.records import Judgements, Split, require

VARIABLE = "WORKBENCH_DATA"
SPLITS = ("train", "val", "test")
Name = Literal["", "train", "val", "test", "all"]
# what the field calls them beside their names
NAMES = {
    "train": "train",
    "training": "train",
    "restval": "train",
    "val": "val",
    "valid": "val",
    "validation": "val",
    "dev": "val",
    "test": "test",
    "testing": "test",
}
# the images of a row: a file, what a file holds, an image, or what gives one of these
Source = Any
# (row of each image id, row of each caption id) -> judgements
Judge = Callable[[Mapping[str, int], Mapping[str, int]], Mapping[str, Judgements]]
# judgements by which a text that stands at several images is right for all of them
SAME = "same_text"
# kinds of rows that a person may want to leave out, so that the message says how
SKIPPED = (
    "missing image",
    "corrupt image",
    "empty caption",
    "image without captions",
    "missing caption",
    "unclear sample",
)
MOST_SAME = 10_000_000  # pairs that these list at most
# the split of an image by the last digit of its checksum
TENTHS = ("test", "val", *["train"] * 8)


def split_by_checksum(image: str) -> str:
    """Return the split of an image where nobody says it: by a checksum of its id, 80, 10 and 10 %."""
    return TENTHS[zlib.crc32(image.encode()) % 10]


def split_of_name(name: str) -> str:
    """Return the split that a name says, as that of a file or a folder; ``""`` = none.

    >>> [split_of_name(name) for name in ("TEST-00000-of-00001", "captions_val2017", "latest")]
    ['test', 'val', '']
    """
    return next((NAMES[word] for word in re.split(r"[^a-z]+", name.lower()) if word in NAMES), "")


def find_root(name: str, root: str | None, needed: Sequence[str], remedy: str) -> Path:
    """Return the folder of a data set.

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
    here = f"; or write ./{name} for the folder that lies here" if Path(name).is_dir() else ""
    require(
        root is not None or base,
        f"{name}: set root=..., or {VARIABLE} to the folder that holds {name}/{here}. {remedy}",
        FileNotFoundError,
    )
    folder = resolve_input(root if root is not None else Path(str(base)) / name)
    require(folder.is_dir(), f"{name}: there is no folder {folder}. {remedy}", FileNotFoundError)
    if missing := [item for item in needed if not (folder / item).exists()]:
        raise FileNotFoundError(f"{name}: {folder} lacks {', '.join(missing)}. {remedy}")
    return folder


@dataclass
class Problems:
    """Bad rows: the first one is raised, or all are counted and reported.

    Args:
        on_error, remedy: ``"raise"`` or ``"skip"``, and what a message says of a row that could be left out.
    """

    on_error: str
    remedy: str = "on_error='skip' leaves it out"
    errors: list[tuple[str, Exception]] = field(default_factory=list)

    def add(self, kind: str, error: Exception | str) -> None:
        """Raise the error, or note it under its kind, as ``"missing image"``; a text is a ``ValueError``."""
        error = ValueError(error) if isinstance(error, str) else error
        self.errors.append((kind, error))
        if self.on_error == "raise":
            hint = f"; {self.remedy}" * (kind in SKIPPED and "on_error=" not in str(error))
            raise type(error)(f"{error}{hint}") if hint else error

    @contextmanager
    def adding(self, kind: str, where: str = "") -> Iterator[None]:
        """Add what is wrong with a row in the block; the message then begins with where that stands."""
        try:
            yield
        except (FileNotFoundError, ValueError) as error:
            self.add(kind, error if where in str(error) else f"{where}: {error}")

    def notes(self) -> tuple[str, ...]:
        """Return one sentence with the counts by kind and the first error; empty when there was none."""
        if not self.errors:
            return ()
        counts = Counter(kind for kind, _ in self.errors)
        listed = ", ".join(f"{number} x {kind}" for kind, number in sorted(counts.items()))
        return (f"skipped {len(self.errors)}: {listed}; the first: {self.errors[0][1]}",)


@dataclass(frozen=True)
class Request:
    """What the caller asks for, see ``opening.loader_at``."""

    base: Path
    split: str
    table: str
    images: str
    columns: Columns
    problems: Problems
    layout: str = ""
    require_images: bool = True


@dataclass(frozen=True)
class Row:
    """One caption of one image.

    Args:
        where: file and row, for messages, e.g. ``"captions.csv row 7"``.
        image: id of the image.
        caption: the text.
        id: id of the caption.
        level, chain, negatives: as in ``Split``, where the data have them.
        split: as the data call it; ``""`` = they do not say.
        fields: cells of columns that nobody needs, by name.
    """

    where: str
    image: str
    caption: str
    id: str
    level: int | None = None
    chain: int | None = None
    split: str = ""
    negatives: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)


def usable_rows(
    rows: Iterable[Row],
    path: Callable[[str], Source],
    problems: Problems,
    *,
    check_images: bool,
    hint: str = "",
) -> list[Row]:
    """Return the rows without those whose caption is empty, whose id was seen before, or whose image is
    missing or broken.

    Args:
        rows: all rows.
        path: id of an image -> where it is; ``None`` = it is looked for when it is opened.
        problems: takes what is wrong.
        check_images: read every image to its end, as is done where bad ones are skipped; otherwise only see
            that there is a file.
        hint: see ``Reading``.
    """
    check_images |= problems.on_error == "skip"
    images = {}
    seen: dict[str, str] = {}
    usable = []
    what = "reading images" if check_images else "reading rows"
    for row in each(rows, what, "captions"):
        if row.image not in images:
            images[row.image] = _image_error(path(row.image), row.where, check_images)
        if not row.caption.strip():
            problems.add("empty caption", f"{row.where}: the caption of {row.image} is empty")
        elif row.id in seen:
            problems.add(
                "repeated id", f"{row.where}: the id {row.id!r} was used before, in {seen[row.id]}{hint}"
            )
        elif (error := images[row.image]) is not None:
            missing = isinstance(error, FileNotFoundError)
            problems.add("missing image" if missing else "corrupt image", error)
        else:
            seen[row.id] = row.where
            usable.append(row)
    return usable


def _image_error(source: Source, where: str, check: bool) -> Exception | None:
    try:
        if check and source is not None:
            read_image(source, where, small=True)
        elif isinstance(source, Path):
            require_file(source, where)
    except (FileNotFoundError, ValueError) as error:
        return error
    return None


def to_split(
    name: str,
    rows: list[Row],
    path: Callable[[str], Source],
    *,
    judge: Judge | None = None,
    notes: tuple[str, ...] = (),
    order: Sequence[str] = (),
) -> Split:
    """Return the split of these rows; images stand in order of first mention, or as ``order`` says.

    Args:
        name: of the split.
        rows: good rows, at least one.
        path: id of an image -> where it is.
        judge: ``(row of each image id, row of each caption id)`` -> judgements besides ``"own"``.
        notes: facts worth printing.
        order: see ``Reading``.

    Raises:
        ValueError: the rows do not fit together.
    """
    first = {row.image: row.where for row in reversed(rows)}
    ids = dict.fromkeys(image for image in order if image in first)
    ids |= dict.fromkeys(row.image for row in rows)
    images = {image: number for number, image in enumerate(ids)}
    captions = {row.id: number for number, row in enumerate(rows)}
    places = [(path(image), first[image]) for image in images]
    with reading_errors(rows[0].where.split()[0], "gives no split"):
        own = np.array([images[row.image] for row in rows], dtype=np.int64)
        negatives = tuple(row.negatives for row in rows)
        judgements = judge(images, captions) if judge else {}
        return Split(
            name=name,
            image_ids=tuple(images),
            captions=tuple(row.caption for row in rows),
            caption_ids=tuple(captions),
            own=own,
            open_image=lambda row: read_image(*places[row]),
            stamp=lambda row: _source_stamp(places[row][0]),
            level=whole_column([row.level for row in rows]),
            chain=whole_column([row.chain for row in rows]),
            negatives=negatives if any(negatives) else None,
            judgements=judgements,
            fields=fields_of_rows(rows, own, len(images)),
            notes=notes,
        )


def _source_stamp(source: Source) -> int:
    """Return a checksum of what an image is read from; 0 = no file, or a function without a ``stamp``."""
    if isinstance(source, Path):
        return content_stamp(source) if source.is_file() else 0
    return content_stamp(source) if isinstance(source, bytes) else getattr(source, "stamp", 0)


@dataclass(frozen=True)
class Reading:
    """What was read of a place, before it becomes a split.

    Args:
        name: of the data.
        rows: all captions.
        path: id of an image -> where it is, see ``usable_rows``.
        splits_by: what tells the splits, where something does, e.g. ``"the column split"``.
        notes: what was guessed and how the data were read.
        needed: whether images are looked at now; otherwise they are looked for when they are opened, or were
            read already.
        order: ids of images in the order that the data give them; the others stand as the rows name them.
        hint: what a person can do where an id is that of two captions.
    """

    name: str
    rows: Sequence[Row]
    path: Callable[[str], Source]
    splits_by: str = "the column split"
    notes: tuple[str, ...] = ()
    needed: bool = True
    order: Sequence[str] = ()
    hint: str = ""


def without_missing_images(read: Reading) -> Reading:
    """Return what was read, without the images that are not there."""
    sources = {row.image: read.path(row.image) for row in read.rows}
    lost = [image for image, source in sources.items() if isinstance(source, Path) and not source.is_file()]
    notes = read.notes
    if lost:
        many = format_count(len(lost), "image")
        notes = (*notes, f"{many} not there; cards with the captions stand in their place")
    path = (sources | dict.fromkeys(lost, raise_no_image)).__getitem__
    return replace(read, path=path, notes=notes, needed=False)


def select_split(read: Reading, split: str, problems: Problems, *, check_images: bool) -> Split:
    """Return one split of what was read.

    Args:
        read: all of it.
        split: its name; ``"all"`` = every row; ``""`` = ``"test"`` where the data say splits, the only one
            that they say, or every row where they say none.
        problems: takes what is wrong: an unknown split, an image in two splits, what ``usable_rows`` says.
        check_images: see ``usable_rows``.

    Raises:
        ValueError: the split has no usable row; the message names those that there are.
    """
    named = any(row.split for row in read.rows)
    homes = list(_rows_with_splits(read.rows, problems, named=named, complete=split != "all"))
    counts = Counter({row.image: home for row, home in homes}.values())
    there = [name for name in SPLITS if counts[name]]
    if not split:
        split = choose_split(read.name, there) if named else "all"
    rows = [row for row, home in homes if split in ("all", home)]
    if named and split == "all":
        rows = _with_distinct_ids(homes)
    place = read.path if read.needed else lambda image: None
    rows = usable_rows(rows, place, problems, check_images=check_images, hint=read.hint)
    if not rows:
        remedy = f"; choose {', '.join([*there, 'all'])}"
        if not named:
            remedy = "; nothing tells the splits, and a checksum cuts 80, 10 and 10 %; add a column split"
        if not there or split in (*there, "all"):
            remedy = ""
        wrong = f"{read.name} has no usable row for split {split!r}{remedy}. {' '.join(problems.notes())}"
        raise ValueError(wrong.rstrip())
    _require_chains(rows)
    files = {row.image: read.path(row.image) for row in rows if read.needed and check_images}
    judge, notes = _judge_of_same_text(rows)
    splits_by = _describe_splits(split, counts, read.splits_by if named else "")
    notes = (*read.notes, splits_by, *note_same_content(files), *problems.notes(), *notes)
    return to_split(f"{read.name}/{split}", rows, read.path, judge=judge, notes=notes, order=read.order)


def _require_chains(rows: Sequence[Row]) -> None:
    """Raise if some rows have levels or chains and others lack them."""
    for name in ("level", "chain"):
        empty = [row.where for row in rows if getattr(row, name) is None]
        if 0 < len(empty) < len(rows):
            wrong = f"{empty[0]}: {name} is empty, but other rows have one"
            raise ValueError(f"{wrong}; give it to all rows or to none")


def _with_distinct_ids(homes: Sequence[tuple[Row, str]]) -> list[Row]:
    """Return all rows; an id that two splits use gets its split in front."""
    first: dict[str, str] = {}
    shared = {row.id for row, home in homes if first.setdefault(row.id, home) != home}
    rows = []
    for row, home in homes:
        rows.append(replace(row, id=f"{home}/{row.id}") if row.id in shared else row)
    return rows


def _describe_splits(split: str, counts: Mapping[str, int], rule: str) -> str:
    """Return what tells the splits and how many images each has, or what is read without a ``rule``."""
    listed = ", ".join(f"{name} ({format_count(counts[name], 'image')})" for name in SPLITS if counts[name])
    if rule:
        return f"splits by {rule}: {listed}"
    if split != "all":
        return f"nothing tells the splits, the checksum of an image's name cuts 80, 10 and 10 %: {listed}"
    note = "nothing tells the splits, all images are read"
    if counts["test"]:
        note += f"; `train` tests on {format_count(counts['test'], 'image')} of them, the split test"
    return note


def choose_split(name: str, there: Sequence[str]) -> str:
    """Return the split that is meant where nobody names one: ``"test"``, the only one, or ``"all"`` where
    there is none.

    Args:
        name: of the data, for the message.
        there: the splits that the data say.

    Raises:
        ValueError: there are several others.
    """
    require(
        len(there) < 2 or "test" in there,
        f"{name} has the splits {' and '.join(there)}, and no test; choose one with split=...",
    )
    return "test" if "test" in there else (*there, "all")[0]


def _rows_with_splits(
    rows: Iterable[Row], problems: Problems, *, named: bool, complete: bool
) -> Iterator[tuple[Row, str]]:
    """Yield each row with the split of its image, ``""`` = nobody says it, a problem if ``complete``."""
    homes: dict[str, str] = {}
    for row in rows:
        if named:
            home = NAMES.get(row.split.lower(), "")
        else:
            home = homes.get(row.image) or split_by_checksum(row.image)
        if not home and (row.split or complete):
            known = ", ".join(SPLITS)
            problems.add("unknown split", f"{row.where}: split {row.split!r} is not one of {known}")
        elif (before := homes.setdefault(row.image, home)) != home:
            where = f"{row.where}: {row.image} is in {home!r} here, in {before!r} before"
            problems.add("image in two splits", f"{where}; two images need their folders before their names")
        else:
            yield row, home


def _judge_of_same_text(rows: Sequence[Row]) -> tuple[Judge | None, tuple[str, ...]]:
    """Return what judges texts that stand at several images, if there are any and few, and a note."""
    images: dict[str, dict[str, None]] = {}
    for row in rows:
        images.setdefault(row.caption, {})[row.image] = None
    shared = {text: list(own) for text, own in images.items() if len(own) > 1}
    if not shared:
        return None, ()
    counts = [len(shared[row.caption]) for row in rows if row.caption in shared]
    many, pairs = format_count(len(counts), "caption"), format_count(sum(counts), "pair")
    note = f"{many} stand at another image too, which is wrong by the annotated pairs and"
    if sum(counts) > MOST_SAME:
        return None, (f"{note} in no judgements, since {pairs} are many",)
    return partial(_same_text_judgements, rows, shared), (f"{note} right by the judgements {SAME!r}",)


def _same_text_judgements(
    rows: Sequence[Row],
    shared: Mapping[str, list[str]],
    images: Mapping[str, int],
    captions: Mapping[str, int],
) -> dict[str, Judgements]:
    """Return judgements by which a caption is right for every image that it stands at."""
    own = [shared.get(row.caption, [row.image]) for row in rows]
    image_rows = np.array([images[image] for image in chain.from_iterable(own)], dtype=np.int64)
    caption_rows = np.repeat([captions[row.id] for row in rows], list(map(len, own)))
    rule = "binary: the caption, word for word, was written for the image"
    shape, grades = (len(images), len(captions)), np.ones(len(image_rows), dtype=np.float32)
    return {SAME: Judgements(SAME, rule, shape, image_rows, caption_rows, grades, source="the captions")}


def draw_numbers(size: int, share: float, seed: int) -> list[int]:
    """Return the numbers of a random share of so many images, in order; at least one."""
    return sorted(np.random.default_rng(seed).permutation(size)[: max(1, round(share * size))].tolist())


def share_of(rows: list[Row], split: str, share: float, seed: int) -> tuple[list[Row], tuple[str, ...]]:
    """Return the captions of a random share of the images, in their order; a smaller share of one seed is
    part of a larger one.

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
        f"share is {share} of {split!r}; leave it out, it is for training splits alone",
    )
    images = list(dict.fromkeys(row.image for row in rows))
    share_of_images = {images[n] for n in draw_numbers(len(images), share, seed)}
    of_all = f"{format_count(len(share_of_images))} of {format_count(len(images), 'image')}"
    return [row for row in rows if row.image in share_of_images], (f"{of_all}, drawn with seed {seed}",)
