"""What lies at a path is recognised, and read by the reader of its layout.

==============  =======================================================================================
layout          what is read
==============  =======================================================================================
``karpathy``    a JSON file of images with ``sentences`` and ``split``, under any name
``coco``        ``captions_*.json`` of MS-COCO, in ``annotations/`` or beside the images
``table``       a table with an image and a caption column, see ``tables``; one a split, or one for all
``shards``      ``.tar`` and ``.parquet`` files that hold the images, see ``shards``
``texts``       a ``.txt`` beside each image, a caption a line
``datasets``    what ``save_to_disk`` of the library ``datasets`` writes
``flickr8k``    the folder of that name of the shelf, and ``hierarcaps``
==============  =======================================================================================
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from workbench.data import flickr8k, hierarcaps, layouts
from workbench.data.coco import FOLDED, FOLDS
from workbench.data.columns import column_of, fitting, names_both
from workbench.data.images import endings, visible
from workbench.data.loader import Loader, loader
from workbench.data.reading import SAME, Ask, Name, Problems, Reading, one_split, said_split, without_pictures
from workbench.data.region_files import locate
from workbench.data.shards import found_shards, read_shards
from workbench.data.tables import READERS, header, inside, read_table
from workbench.formatting import format_count
from workbench.progress import each
from workbench.records import Split, require
from workbench.registry import make

Layout = Literal["", "karpathy", "coco", "table", "shards", "texts", "datasets", "flickr8k", "hierarcaps"]
# pictures that are opened in search of doubts
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
KNOWN = (
    "a table with the columns image and caption (.csv, .tsv, .json, .jsonl, .parquet), annotations of "
    "MS-COCO or in Karpathy's form, shards (.tar, .parquet), or a .txt beside each image"
)


class NoDataError(FileNotFoundError):
    """A place holds nothing that can be read, though it may hold pictures."""


class Found(NamedTuple):
    """One way to read a place: the layout, what is read in it, how, and the files where it reads some."""

    layout: str
    what: str
    read: Callable[[Ask], Reading | Split]
    files: Sequence[Path] = ()


def at(path: Path) -> Loader:
    """What loads the data at a path, so that its options can be checked before."""

    @loader(positives=("own", SAME))
    def opened(  # noqa: PLR0913 - options that a person gives by name
        *,
        split: Name = "",
        layout: Layout = "",
        table: str = "",
        images: str = "",
        columns: Mapping[str, str | None] = {},
        regions: str = "",
        on_error: Literal["raise", "skip"] = "raise",
        check_images: bool = True,
        pictures: bool = True,
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
            pictures: whether they have to be there; vectors of them need none, and cards are shown then.
        """
        above = path.parent.parent if path.parent.name == "annotations" else path.parent
        base, name = (above, path.name) if path.is_file() else (path, table)
        ask = Ask(base, split, name, images, columns, Problems(on_error), layout, pictures)
        read = (way := _way_for(path, ask, regions)).read(ask)
        read = replace(read, notes=(f"read as {way.layout}: {way.what}", *read.notes))
        if isinstance(read, Split):
            return read
        coco = read.name == "coco" and way.layout == "karpathy"
        return _folded(_with_regions(read, ask, regions, check_images), coco=coco)

    return opened


def _folded(split: Split, *, coco: bool) -> Split:
    """The test split of MS-COCO is also read as so many galleries."""
    return replace(split, folds=FOLDS) if coco and len(split.image_ids) == FOLDED else split


def _way_for(path: Path, ask: Ask, regions: str) -> Found:
    """The one way to read a place.

    Raises:
        ValueError: there are several, or an option is given that its reader does not look at. NoDataError:
            there is none.
    """
    way = _one_way(path, ask)
    options = {"columns": ask.columns, "images": ask.images, "regions": regions}
    unread = UNREAD.get(way.layout, tuple(options) if way.layout in OFFICIAL else ())
    names = [name for name in unread if options[name]]
    require(
        not names,
        f"{way.what}: read as {way.layout}, which takes no {' and no '.join(names)}; leave it out, or choose "
        "another layout=...",
    )
    return way


def _unnamed(read: Reading) -> list[str]:
    """Notes on pictures and on texts that lie beside the pictures that captions name, and were not read."""
    named = {read.path(image) for image in {row.image for row in read.rows}}
    files = {source for source in named if isinstance(source, Path)}
    folders, known = {file.parent for file in files if file.is_file()}, endings()
    there = {one for folder in folders for one in folder.iterdir() if visible(one, folder)}
    lost = len([one for one in there - files if one.suffix.lower() in known])
    notes = [f"{format_count(lost, 'picture')} beside them without a caption in what was read"] * bool(lost)
    told = {row.where.rpartition("/")[2] for row in read.rows}
    unread = [one for one in {file.with_suffix(".txt") for file in files} & there if one.name not in told]
    texts = (
        f"{format_count(len(unread), 'text')} beside pictures not read; layout='texts' reads these instead"
    )
    return [*notes, texts] if unread else notes


def _with_regions(read: Reading, ask: Ask, regions: str, check_images: bool) -> Split:
    """One split, with region features where a folder of them is named: there need not be any images then."""
    read = read if ask.pictures else without_pictures(read)
    if not regions:
        more = [] if ask.images else _unnamed(read)
        read = replace(read, notes=(*read.notes, *more))
        return one_split(read, ask.split, ask.problems, check_images=check_images)
    made = one_split(replace(read, needed=False), ask.split, ask.problems, check_images=False)
    found: Any = locate(ask.base / inside(ask.base, regions), made.image_ids)
    return replace(made, regions=found, open_boxes=found.boxes, notes=(*made.notes, *found.notes()))


def _one_way(path: Path, ask: Ask) -> Found:
    """The one way to read a place.

    Raises:
        ValueError: there are several. NoDataError: there is none.
    """
    ways = [one for one in _ways(ask) if ask.layout in ("", one.layout)]
    if not ways:
        names = sorted(one.name for one in ask.base.iterdir() if visible(one, ask.base))
        listed = f": {', '.join(names[:6]) + ' ...' * (len(names) > 6) or 'nothing'}" if path.is_dir() else ""
        wanted = f" as layout={ask.layout!r}" if ask.layout else f" named {ask.table}" if ask.table else ""
        packed = "unpack the archives, or " if any(name.endswith(PACKED) for name in names) else ""
        broken = Problems("skip")
        for name in [one for one in names if one.endswith(TEXTS) and (ask.base / one).is_file()]:
            with broken.adding("unreadable table"):
                next(read_table(ask.base / name, Problems("raise")), None)
        packed = "".join(f"{error}; " for _, error in broken.found[:1]) + packed
        raise NoDataError(f"{path} holds no data that can be read{wanted}{listed}; {packed}give {KNOWN}")
    base = ask.base if len({one.what for one in ways}) < len(ways) else None
    listed = ", ".join(f"{_listed(one.files, base) or one.what} (layout={one.layout!r})" for one in ways)
    option = "table=..." if len({one.layout for one in ways}) == 1 else "layout=..."
    require(len(ways) == 1, f"{path} can be read in {len(ways)} ways: {listed}; choose one with {option}")
    return ways[0]


def _ways(ask: Ask) -> list[Found]:
    """Every way to read a folder; where it has none, those of a single folder inside it."""
    base = ask.base
    if not ask.table:
        for name, (load, marks) in OFFICIAL.items():
            whole = ask.split != "all" or len(load.splits) == 1
            if whole and all((base / mark).exists() for mark in marks):
                return [Found(name, f"the files of {name}", partial(_official, name, load))]
        if any((base / name).is_file() for name in ("dataset_dict.json", "state.json")):
            return [Found("datasets", "a folder of the library datasets", layouts.from_disk)]
    # a path with a folder in it leads to one of those that are looked through
    folders = [
        base,
        *([] if ask.table and "/" not in ask.table and (base / ask.table).is_file() else _folders(base)),
    ]
    inner = [one for one in folders if one == base or said_split(one.name) or one.name == "annotations"]
    ways = _in_folders(ask, inner)
    if ways or len(folders) == 1:
        return ways
    deeper = [found for one in _folders(base) if (found := _in_folders(ask, [one, *_folders(one)]))]
    return deeper[0] if len(deeper) == 1 else [way for found in deeper for way in found]


def _folders(base: Path) -> list[Path]:
    return sorted(one for one in base.iterdir() if one.is_dir() and visible(one, base))


def _in_folders(ask: Ask, folders: Sequence[Path]) -> list[Found]:
    files = [
        one
        for folder in folders
        for one in sorted(folder.iterdir())
        if one.is_file() and visible(one, folder)
    ]
    wanted = [
        one
        for one in files
        if not ask.table
        or fnmatch(one.name, ask.table)
        or fnmatch(one.relative_to(ask.base).as_posix(), ask.table)
    ]
    karpathy, coco = _annotations(wanted, ask)
    tables = [one for one in wanted if one not in karpathy + coco and _is_table(one, ask)]
    shards = [one for one in found_shards(ask.base) if not ask.table or one in wanted]
    shards = [
        one for one in shards if one not in tables and (one.suffix == ".tar" or _holds_images(one, ask))
    ]
    ways = [Found("karpathy", one.name, partial(layouts.karpathy, one), [one]) for one in karpathy]
    ways += [Found("coco", _listed(own), partial(layouts.coco, own), own) for own in _by_split(coco)]
    ways += [Found("table", _listed(own), partial(layouts.tables, own), own) for own in _by_split(tables)]
    if shards:
        ways.append(Found("shards", _listed(shards), partial(read_shards, shards), shards))
    texts = [] if (ways and ask.layout != "texts") or ask.table else layouts.texts_beside(ask.base)
    return ways + (
        [Found("texts", f"{format_count(len(texts), 'text')} beside images", partial(layouts.beside, texts))]
        if texts
        else []
    )


def _annotations(files: Sequence[Path], ask: Ask) -> tuple[list[Path], list[Path]]:
    """The JSON files in Karpathy's form, and those of MS-COCO, told by their keys."""
    texts = {file: layouts.sniffed(file) for file in files if file.suffix.lower() == ".json"}
    karpathy = [file for file, text in texts.items() if '"sentences"' in text and '"images"' in text]
    caption = (ask.columns.get("caption") or "caption").partition(".")[0]
    objects = [file for file, text in texts.items() if text.lstrip("\ufeff \t\r\n").startswith("{")]
    coco = [file for file in objects if f'"{caption}"' in texts[file] and '"image_id"' in texts[file]]
    return karpathy, [file for file in coco if file not in karpathy]


def _listed(files: Sequence[Path], base: Path | None = None) -> str:
    names = [one.relative_to(base).as_posix() if base else one.name for one in files]
    return (
        ", ".join(names)
        if len(names) < 4
        else f"{names[0]} to {names[-1]}, {format_count(len(names), 'file')}"
    )


def _by_split(files: Sequence[Path]) -> list[list[Path]]:
    """Files that each name another split are read together, others are one way each."""
    named = [one for one in files if layouts.said(one)]
    groups = [named] if len({layouts.said(one) for one in named}) == len(named) else [[one] for one in named]
    return [group for group in groups if group] + [[one] for one in files if one not in named]


def _is_table(file: Path, ask: Ask) -> bool:
    readable = file.suffix.lower() in READERS and ".lemma." not in file.name
    shard = file.suffix == ".parquet" and _holds_images(file, ask)
    known = Path(ask.table).name == file.name or any(fnmatch(file.name, name) for name in TABLES)
    return readable and not shard and (known or names_both(header(file), ask.columns))


def _holds_images(file: Path, ask: Ask) -> bool:
    """Whether a Parquet file has a column of images, and not of their paths alone."""
    from pyarrow import parquet, types

    try:
        schema = parquet.read_schema(file)
    except (OSError, ValueError):
        return True  # reading it says what is wrong
    images = [ask.columns.get("image") or ""] if "image" in ask.columns else fitting(schema.names, "image")
    columns = {column_of(name, schema.names) for name in images}
    # where no name says which column holds images, it may be any
    kinds = [one.type for one in schema if one.name in columns or not columns]
    return any(
        types.is_struct(kind) or types.is_binary(kind) or types.is_large_binary(kind) for kind in kinds
    )


def _official(name: str, load: Loader, ask: Ask) -> Split:
    split = "test" if ask.split in ("", "all") else ask.split
    options = {"split": split, "root": str(ask.base), "on_error": ask.problems.on_error, "complete": False}
    return make(f"data {name!r}", load, options)


def doubts(split: Split) -> list[str]:
    """What is doubtful in a split: pictures that cannot be opened, or that are the same under two names, and
    captions that stand twice. The first ``OPENED`` pictures are opened.
    """
    broken, twins, first = list[str](), list[str](), dict[bytes, str]()
    names = split.image_ids[:OPENED] if split.regions is None else ()
    for row, name in enumerate(each(names, "looking for doubtful images", "images")):
        try:
            image = split.open_image(row)
        except (FileNotFoundError, ValueError) as error:
            broken.append(str(error))
            continue
        digest = hashlib.blake2b(image.tobytes(), salt=str(image.size).encode()[:16]).digest()
        if (other := first.setdefault(digest, name)) != name:
            twins.append(f"{name} and {other}")
    rest = max(0, len(split.image_ids) - OPENED)
    said = Counter(zip(split.own.tolist(), split.captions, strict=True))
    again = [caption for (_, caption), n in said.items() for _ in range(n - 1)]
    facts = {
        f"{format_count(len(broken), 'picture')} cannot be opened": broken,
        f"{format_count(len(twins), 'picture')} with the pixels of another one": twins,
        f"{format_count(len(again), 'caption')} standing twice at an image": again,
        f"{format_count(rest, 'picture')} not opened": [f"only the first {OPENED} were"] * rest,
    }
    return [f"{what}: {listed[0]}" for what, listed in facts.items() if listed]
