"""What lies at a path is recognised, and read by the reader of its layout.

==============  =======================================================================================
layout          what is read
==============  =======================================================================================
``karpathy``    a JSON file of images with ``sentences`` and ``split``, under any name
``coco``        ``captions_*.json`` of MS-COCO, in ``annotations/`` or beside the images
``table``       a table with an image and a caption column, see ``read_tables``; one a split, or one for all
``shards``      ``.tar`` and ``.parquet`` files that hold the images, see ``shards``
``texts``       a ``.txt`` beside each image, a caption a line
``datasets``    what ``save_to_disk`` of the library ``datasets`` writes
``flickr8k``    the folder of that name of the registry, and ``hierarcaps``
==============  =======================================================================================
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pandas as pd

from workbench.data import flickr8k, hierarcaps, layouts
from workbench.data.coco import FOLDED, FOLDS
from workbench.data.columns import column_of, has_image_and_caption, matching_columns
from workbench.data.images import image_endings, is_visible
from workbench.data.loader import Loader, loader
from workbench.data.reading import (
    SAME,
    Name,
    Problems,
    Reading,
    Request,
    select_split,
    split_of_name,
    without_missing_images,
)
from workbench.data.region_files import locate
from workbench.data.rows import path_inside
from workbench.data.shards import read_shards, shard_files
from workbench.data.tables import READERS, read_header, read_table
from workbench.formatting import format_count, format_some
from workbench.progress import each
from workbench.records import Split, require
from workbench.registry import make

Layout = Literal["", "karpathy", "coco", "table", "shards", "texts", "datasets", "flickr8k", "hierarcaps"]
# images that are opened in search of doubts
OPENED = 10_000
# tables that are read whatever their columns, so that a message names these
TABLES = ("captions.*", "metadata.*", "results.csv")
OFFICIAL: dict[str, tuple[Loader, tuple[str, ...]]] = {
    "flickr8k": (
        flickr8k.MEMBER,
        (flickr8k.CAPTIONS, flickr8k.HUMAN, flickr8k.IMAGES, *flickr8k.LISTS.values()),
    ),
    "hierarcaps": (hierarcaps.MEMBER, (hierarcaps.CHAINS, hierarcaps.IMAGES)),
}
# options that the reader of a layout does not look at
UNREAD = {
    "karpathy": ("columns",),
    "texts": ("columns", "images"),
    "shards": ("images",),
    "datasets": ("images",),
}
# tables whose fault is told where nothing else can be read; archives
TEXTS = (".json", ".jsonl", ".csv", ".tsv")
PACKED = (".zip", ".gz", ".tgz", ".7z", ".rar")
LAYOUTS = (
    "a table with the columns image and caption (.csv, .tsv, .json, .jsonl, .parquet), annotations of "
    "MS-COCO or in Karpathy's form, shards (.tar, .parquet), or a .txt beside each image"
)


class NoDataError(FileNotFoundError):
    """A place holds nothing that can be read, though it may hold images."""


class Candidate(NamedTuple):
    """One way to read a place: the layout, what is read in it, how, and the files where it reads some."""

    layout: str
    what: str
    read: Callable[[Request], Reading | Split]
    files: Sequence[Path] = ()


def loader_at(path: Path) -> Loader:
    """Return what loads the data at a path, so that its options can be checked before."""

    @loader(positives=("own", SAME))
    def load(  # noqa: PLR0913 - options that a person gives by name
        *,
        split: Name = "",
        layout: Layout = "",
        table: str = "",
        images: str = "",
        columns: Mapping[str, str | None] = {},
        regions: str = "",
        on_error: Literal["raise", "skip"] = "raise",
        check_images: bool = True,
        require_images: bool = True,
    ) -> Split:
        """Load one split of the data at a path.

        Args:
            split: ``""`` = ``"test"``, or the only one that the data say, or all images where they say none;
                then ``"train"``, ``"val"`` and ``"test"`` are cut by a checksum of the images' names.
            layout: how to read, where two ways are possible; see the module.
            table: name or path of the file to read, where there are several; ``*`` stands for any letters.
            images: folder that the images lie in, relative to the path.
            columns: names of columns by ours, ``{"image": "photo", "caption": "title"}``.
            regions: folder with region features, see ``folder``.
            on_error: ``"raise"``, or ``"skip"`` to leave out what is bad; ``Split.notes`` counts it.
            check_images: read every image now; otherwise a broken one is found when it is opened.
            require_images: whether images have to be there; vectors of them need none.
        """
        base, name = place_of(path, table)
        request = Request(base, split, name, images, columns, Problems(on_error), layout, require_images)
        with _naming_data_sets(path):
            candidate = choose_candidate(path, request, regions)
        read = candidate.read(request)
        read = replace(read, notes=(f"read as {candidate.layout}: {candidate.what}", *read.notes))
        if isinstance(read, Split):
            return read
        return _with_folds(_with_regions(read, request, regions, check_images), read, candidate)

    return load


@contextmanager
def _naming_data_sets(path: Path) -> Iterator[None]:
    """Add to an error in the block the names of data sets whose files a folder holds, for their readers."""
    try:
        yield
    except (NoDataError, ValueError) as error:
        from workbench.data import member, names  # which import this module

        readers = {name: member(name).recognises for name in names()}
        alike = [name for name, recognises in readers.items() if recognises and recognises(path)]
        if not alike:
            raise
        remedy = f"it holds the files of {' and '.join(alike)}; name {alike[0]} as the data, with root={path}"
        raise type(error)(f"{error}; {remedy}") from error


def place_of(path: Path, table: str = "") -> tuple[Path, str]:
    """Return the folder in which data are looked for, and the name or path of the file to read there, if any.

    Args:
        path: a folder, or a file of it.
        table: to read in a folder.
    """
    if path.is_dir():
        return path, table
    above = path.parent.parent if path.parent.name == "annotations" else path.parent
    return above, path.name


def _with_folds(split: Split, read: Reading, candidate: Candidate) -> Split:
    """Mark the test split of MS-COCO, which is also read as five smaller galleries."""
    coco = candidate.layout == "karpathy" and read.name == "coco"
    return replace(split, folds=FOLDS) if coco and len(split.image_ids) == FOLDED else split


def _unread_notes(read: Reading) -> list[str]:
    """Return notes on images and on texts that lie beside the images that captions name, and were not
    read.
    """
    images = {row.image for row in read.rows}
    files = {source for source in map(read.path, images) if isinstance(source, Path)}
    folders = {file.parent for file in files if file.is_file()}
    beside = set(_visible_files(folders)) - files
    extra = [file for file in beside if file.suffix.lower() in image_endings()]
    notes = [f"{format_count(len(extra), 'image')} beside them without a caption in what was read"]
    notes = notes if extra else []
    read_from = {row.where.rpartition("/")[2] for row in read.rows}
    texts = beside & {file.with_suffix(".txt") for file in files}
    unread = [text for text in texts if text.name not in read_from]
    if unread:
        many = format_count(len(unread), "text")
        notes.append(f"{many} beside images not read; layout='texts' reads these instead")
    return notes


def _with_regions(read: Reading, request: Request, regions: str, check_images: bool) -> Split:
    """Return one split, with region features where a folder of them is named: there need not be any images
    then.
    """
    read = read if request.require_images else without_missing_images(read)
    if not regions:
        more = [] if request.images else _unread_notes(read)
        read = replace(read, notes=(*read.notes, *more))
        return select_split(read, request.split, request.problems, check_images=check_images)
    split = select_split(replace(read, needed=False), request.split, request.problems, check_images=False)
    features: Any = locate(request.base / path_inside(request.base, regions), split.image_ids)
    notes = (*split.notes, *features.notes())
    return replace(split, regions=features, open_boxes=features.boxes, notes=notes)


def choose_candidate(path: Path, request: Request, regions: str) -> Candidate:
    """Return the one way to read a place.

    Raises:
        ValueError: there are several, or an option is given that its reader does not look at. NoDataError:
            there is none.
    """
    candidates = _candidates(request)
    if not candidates:
        raise NoDataError(_explain_nothing(path, request))
    alike = len({candidate.what for candidate in candidates}) < len(candidates)
    base = request.base if alike else None
    listed = [
        f"{_describe_files(candidate.files, base) or candidate.what} (layout={candidate.layout!r})"
        for candidate in candidates
    ]
    option = "table=..." if len({candidate.layout for candidate in candidates}) == 1 else "layout=..."
    many = f"{path} can be read in {len(candidates)} ways: {', '.join(listed)}"
    require(len(candidates) == 1, f"{many}; choose one with {option}")
    candidate = candidates[0]
    chosen = {"columns": request.columns, "images": request.images, "regions": regions}
    unread = UNREAD.get(candidate.layout, tuple(chosen) if candidate.layout in OFFICIAL else ())
    names = " and no ".join(name for name in unread if chosen[name])
    wrong = f"{candidate.what}: read as {candidate.layout}, which takes no {names}"
    require(not names, f"{wrong}; leave it out, or choose another layout=...")
    return candidate


def _explain_nothing(path: Path, request: Request) -> str:
    """Return what a place holds instead of data, and what to do."""
    names = sorted(entry.name for entry in request.base.iterdir() if is_visible(entry, request.base))
    listed = f": {format_some(names, 6) or 'nothing'}" if path.is_dir() else ""
    wanted = ""
    if request.layout:
        wanted = f" as layout={request.layout!r}"
    elif request.table:
        wanted = f" named {request.table}"
    broken = Problems("skip")
    for file in [request.base / name for name in names if name.endswith(TEXTS)]:
        with broken.adding("unreadable table"):
            if file.is_file():
                next(read_table(file, Problems("raise")), None)
    remedies = [*(str(error) for _, error in broken.errors[:1]), f"give {LAYOUTS}"]
    if any(name.endswith(PACKED) for name in names):
        remedies[-1] = f"unpack the archives, or {remedies[-1]}"
    return f"{path} holds no data that can be read{wanted}{listed}; {'; '.join(remedies)}"


def _candidates(request: Request) -> list[Candidate]:
    """Return the ways to read a folder that the first of ``SEARCH_ORDER`` with any finds."""
    for find in SEARCH_ORDER:
        candidates = [candidate for candidate in find(request) if request.layout in ("", candidate.layout)]
        if candidates:
            return candidates
    return []


def _official_candidates(request: Request) -> list[Candidate]:
    """Return the folder of a data set of the registry."""
    for name, (load, marks) in OFFICIAL.items():
        other_splits = request.split == "all" and len(load.splits) > 1
        if not request.table and not other_splits and all((request.base / mark).exists() for mark in marks):
            return [Candidate(name, f"the files of {name}", partial(_load_official, name, load))]
    return []


def _dataset_candidates(request: Request) -> list[Candidate]:
    if request.table or not any(
        (request.base / name).is_file() for name in ("dataset_dict.json", "state.json")
    ):
        return []
    return [Candidate("datasets", "a folder of the library datasets", layouts.read_saved_dataset)]


def _candidates_in_place(request: Request) -> list[Candidate]:
    """Return files in the folder, and in those inside it that are called as a split or ``annotations``."""
    named = [
        folder
        for folder in _searched_folders(request)
        if split_of_name(folder.name) or folder.name == "annotations"
    ]
    return _candidates_in_folders(request, [request.base, *named])


def _text_candidates(request: Request) -> list[Candidate]:
    texts = [] if request.table else layouts.texts_beside(request.base)
    what = f"{format_count(len(texts), 'text')} beside images"
    return [Candidate("texts", what, partial(layouts.read_texts_beside, texts))] if texts else []


def _candidates_below(request: Request) -> list[Candidate]:
    """Return files in the folders inside the folder, and in those inside them."""
    candidates = []
    for folder in _searched_folders(request):
        candidates += _candidates_in_folders(request, [folder, *_folders_of(folder)])
    return candidates


# Where and how data are looked for: the first that has a way to read a place decides. Two ways of one are a
# question to the caller.
SEARCH_ORDER: tuple[Callable[[Request], list[Candidate]], ...] = (
    _official_candidates,
    _dataset_candidates,
    _candidates_in_place,
    _text_candidates,
    _candidates_below,
)


def _searched_folders(request: Request) -> list[Path]:
    """Return the folders that are looked through; none where a table of the folder itself is named."""
    # a path with a folder in it leads to one of those
    alone = request.table and "/" not in request.table and (request.base / request.table).is_file()
    return [] if alone else _folders_of(request.base)


def _folders_of(base: Path) -> list[Path]:
    return sorted(entry for entry in base.iterdir() if entry.is_dir() and is_visible(entry, base))


def _visible_files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from (file for file in sorted(folder.iterdir()) if file.is_file() and is_visible(file, folder))


def _candidates_in_folders(request: Request, folders: Sequence[Path]) -> list[Candidate]:
    """Return the ways to read the files of some folders."""
    files = [file for file in _visible_files(folders) if _is_named(file, request)]
    karpathy, coco = _annotation_files(files, request)
    tables = [file for file in files if file not in karpathy + coco and _is_table(file, request)]
    shards = [file for file in shard_files(request.base) if file in files or not request.table]
    shards = [file for file in shards if file.suffix == ".tar" or _holds_images(file, request)]
    candidates = [_candidate_of_files("karpathy", layouts.read_karpathy_files, [file]) for file in karpathy]
    candidates += [
        _candidate_of_files("coco", layouts.read_coco_files, group) for group in _group_by_split(coco)
    ]
    candidates += [
        _candidate_of_files("table", layouts.read_tables, group) for group in _group_by_split(tables)
    ]
    if shards:
        candidates.append(_candidate_of_files("shards", read_shards, shards))
    return candidates


def _candidate_of_files(
    layout: str, read: Callable[[list[Path], Request], Reading], files: list[Path]
) -> Candidate:
    """Return the way to read some files together."""
    return Candidate(layout, _describe_files(files), partial(read, files), files)


def _is_named(file: Path, request: Request) -> bool:
    """Return whether a file is the table that the caller names, where one is named."""
    path = file.relative_to(request.base).as_posix()
    return not request.table or fnmatch(file.name, request.table) or fnmatch(path, request.table)


def _annotation_files(files: Sequence[Path], request: Request) -> tuple[list[Path], list[Path]]:
    """Return the JSON files in Karpathy's form, and those of MS-COCO, told by their keys."""
    texts = {file: layouts.read_ends(file) for file in files if file.suffix.lower() == ".json"}
    karpathy = [file for file, text in texts.items() if '"sentences"' in text and '"images"' in text]
    caption = (request.columns.get("caption") or "caption").partition(".")[0]
    objects = [file for file, text in texts.items() if text.lstrip("\ufeff \t\r\n").startswith("{")]
    coco = [file for file in objects if f'"{caption}"' in texts[file] and '"image_id"' in texts[file]]
    return karpathy, [file for file in coco if file not in karpathy]


def _describe_files(files: Sequence[Path], base: Path | None = None) -> str:
    names = [file.name for file in files]
    if base:
        names = [file.relative_to(base).as_posix() for file in files]
    if len(names) < 4:
        return ", ".join(names)
    return f"{names[0]} to {names[-1]}, {format_count(len(names), 'file')}"


def _group_by_split(files: Sequence[Path]) -> list[list[Path]]:
    """Group files that each name another split; every other file is a group of its own."""
    splits = {file: split for file in files if (split := layouts.split_of_file(file))}
    together = len(set(splits.values())) == len(splits)
    alone = [file for file in files if not (together and file in splits)]
    groups = [list(splits)] if together and splits else []
    return groups + [[file] for file in alone]


def _is_table(file: Path, request: Request) -> bool:
    readable = file.suffix.lower() in READERS and ".lemma." not in file.name
    shard = file.suffix == ".parquet" and _holds_images(file, request)
    known = Path(request.table).name == file.name or any(fnmatch(file.name, name) for name in TABLES)
    return readable and not shard and (known or has_image_and_caption(read_header(file), request.columns))


def _holds_images(file: Path, request: Request) -> bool:
    """Return whether a Parquet file has a column of images, and not of their paths alone."""
    from pyarrow import parquet, types

    try:
        schema = parquet.read_schema(file)
    except (OSError, ValueError):
        return True  # reading it says what is wrong
    images = (
        [request.columns["image"] or ""]
        if "image" in request.columns
        else matching_columns(schema.names, "image")
    )
    columns = {column_of(name, schema.names) for name in images}
    # where no name says which column holds images, it may be any
    kinds = [column.type for column in schema if column.name in columns or not columns]
    return any(
        types.is_struct(kind) or types.is_binary(kind) or types.is_large_binary(kind) for kind in kinds
    )


def _load_official(name: str, load: Loader, request: Request) -> Split:
    split = "test" if request.split in ("", "all") else request.split
    options = {
        "split": split,
        "root": str(request.base),
        "on_error": request.problems.on_error,
        "complete": False,
    }
    return make(f"data {name!r}", load, options)


def find_doubts(split: Split) -> list[str]:
    """List what is doubtful in a split: images that cannot be opened, or that are the same under two names,
    and captions that stand twice. The first ``OPENED`` images are opened.
    """
    broken, duplicates = _open_images(split)
    table = pd.DataFrame({"own": split.own, "caption": split.captions})
    facts = [
        ("image", "cannot be opened", broken),
        ("image", "with the pixels of another one", duplicates),
        ("caption", "standing twice at an image", table["caption"][table.duplicated()].tolist()),
    ]
    notes = [
        f"{format_count(len(listed), thing)} {what}: {listed[0]}" for thing, what, listed in facts if listed
    ]
    rest = len(split.image_ids) - OPENED
    if rest > 0:
        notes.append(f"{format_count(rest, 'image')} not opened: only the first {OPENED} were")
    return notes


def _open_images(split: Split) -> tuple[list[str], list[str]]:
    """Return what is wrong with images that cannot be opened, and the names of those that have the same
    pixels.
    """
    broken = []
    duplicates = []
    first: dict[bytes, str] = {}
    names = split.image_ids[:OPENED] if split.regions is None else ()
    for row, name in enumerate(each(names, "looking for doubtful images", "images")):
        try:
            image = split.open_image(row)
        except (FileNotFoundError, ValueError) as error:
            broken.append(str(error))
            continue
        digest = hashlib.blake2b(image.tobytes(), salt=str(image.size).encode()[:16]).digest()
        other = first.setdefault(digest, name)
        if other != name:
            duplicates.append(f"{name} and {other}")
    return broken, duplicates
