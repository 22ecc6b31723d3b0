"""The readers of ``opening``: each reads one layout into rows and their images' places."""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.data.benchmark import EACH, PARTS, read_karpathy
from workbench.data.columns import field
from workbench.data.images import endings, pictures, visible
from workbench.data.memory import in_memory
from workbench.data.reading import (
    Ask,
    Reading,
    Row,
    choose_split,
    said_split,
)
from workbench.data.tables import NO_IDS, caption_column, inside, read_table, table_rows
from workbench.formatting import format_count
from workbench.io import fields_of, parse_json, read_text
from workbench.records import require

# bytes at either end of a JSON file by which its kind is told
SNIFFED = 2**16
# texts that stand beside images and are not theirs
ABOUT = ("readme", "license", "licence", "classes", "labels")


def said(file: Path) -> str:
    """The split that the name of a file says, or that of its folder."""
    return said_split(file.stem) or said_split(file.parent.name)


def sniffed(file: Path) -> str:
    """The beginning and the end of a file: they tell one kind of JSON from another."""
    with file.open("rb") as opened:
        start = opened.read(SNIFFED)
        opened.seek(max(0, file.stat().st_size - SNIFFED))
        return (start + opened.read()).decode(json.detect_encoding(start), "replace")


def karpathy(file: Path, ask: Ask) -> Reading:
    """The images of a file in Karpathy's form, under the name that it gives itself."""
    named = re.search(r'"dataset":\s*"([^"]+)"', sniffed(file))
    name = (named[1] if named else file.stem).removeprefix("dataset_").removesuffix(".json")
    each = EACH if name == "coco" else None
    rows, paths = read_karpathy(file, PARTS, each, ask.problems, _start(ask, file.parent))
    places, notes = _images(ask, file.parent, paths)
    if each:
        notes = (*notes, f"the first {EACH} captions of an image, as published numbers of MS-COCO have them")
    return Reading(name, rows, places, "the field split of the images", notes)


def coco(files: Sequence[Path], ask: Ask) -> Reading:
    """Annotations of MS-COCO; files that name another split than the one asked for stay closed."""
    name, there = ask.base.resolve().name, {said(file): file for file in files}
    split = ask.split or choose_split(name, list(filter(None, there)))
    require(
        split in ("all", *there) or len(files) == 1,
        f"{name} has no annotations of the split {split!r}; choose {', '.join(there)} or all",
    )
    read = {part: file for part, file in there.items() if split in ("all", part) or len(files) == 1}
    rows, order, notes = list[Row](), list[str](), tuple[str, ...]()
    for part, file in read.items():
        own, images, more = _annotated(file, part, ask)
        rows += own
        order += images
        notes += more
    places, found = _images(ask, ask.base, *_named(rows))
    notes = (*dict.fromkeys(notes), *found)
    return Reading(name, rows, places, "the names of the files", notes, order=order, hint=NO_IDS)


def _annotated(file: Path, part: str, ask: Ask) -> tuple[list[Row], list[str], tuple[str, ...]]:
    """The captions of a file of MS-COCO, the names of its images in one form, and notes."""
    content = parse_json(file.read_bytes(), file.name, "is not whole")
    kind = dict[str, list[dict[str, Any]]]
    images, annotations = fields_of(content, kind, file.name, "images", "annotations")
    named = _names_by_id(images, file.name, ask)
    column = caption_column(annotations, file.name, ask.columns)
    others = {
        ours: name for ours, name in ask.columns.items() if ours != "caption" and (ours, name) != ("id", None)
    }
    require(
        not others, f"{file.name}: columns={others} names nothing of annotations; name their caption alone"
    )
    records = []
    for n, one in enumerate(annotations, start=1):
        where, image = f"{file.name} annotation {n}", one.get("image_id")
        if not isinstance(image, str | int) or image not in named:
            ask.problems.add("caption without image", f"{where}: no image has the id {image!r}")
            continue
        caption = None
        with ask.problems.adding("missing caption", where):
            caption = field(one, (column,))
            require(caption is not None, f"{where} has no {column}, but {', '.join(one)}")
        if caption is None:
            continue
        record = {"image": named[image], "caption": caption, "split": part}
        records.append((where, record if "id" in ask.columns else {**record, "id": one.get("id", n)}))
    rows, notes = table_rows(records, file.name, str, ask.problems) if records else ([], ())
    rows = [replace(row, caption=" ".join(row.caption.split())) for row in rows]
    for image in sorted({*named.values()} - {row.image for row in rows}):
        ask.problems.add("image without captions", f"{file.name}: {image} has no caption")
    return rows, [*named.values()], notes


def _names_by_id(images: Sequence[Mapping[str, Any]], file: str, ask: Ask) -> dict[Any, str]:
    """The name of each image below the folder of the images, in one form."""
    start, named, counts = _start(ask, ask.base), dict[Any, str](), Counter[str]()
    for n, one in enumerate(images, start=1):
        where, number = f"{file} image {n}", one.get("id")
        with ask.problems.adding("malformed image", where):
            require(isinstance(number, str | int), f"{where}: its id is {number!r:.60}; expected a number")
            require(number not in named, f"{where}: the id {number!r} was used before")
            require("file_name" in one, f"{where} has no file_name, but {', '.join(one)}")
            name = inside(start, one["file_name"])
            named[number] = name
            counts[name] += 1
    for name, count in counts.items():
        if count > 1:
            ask.problems.add("one file for two images", f"{file}: {count} images have the file {name}")
    return named


def tables(files: Sequence[Path], ask: Ask) -> Reading:
    """Tables, one a split, or one for all; images are looked for where they do not lie beside them."""
    rows: list[Row] = []
    notes: tuple[str, ...] = ()
    several = len(files) > 1
    lists = {} if several else _lists(files[0].parent)
    for file in files:
        start = _start(ask, file.parent)
        prefix = file.parent.relative_to(ask.base) if several and not ask.images else Path()
        part = said(file) if several or file.parent != ask.base else ""
        records, name = list(read_table(file, ask.problems)), file.relative_to(ask.base).as_posix()

        def place(value: Any, start: Path = start, prefix: Path = prefix) -> str:
            web = "://" in str(value) and not ask.pictures
            return str(value) if web else (prefix / inside(start, value)).as_posix()

        own, more = table_rows(records, name, place, ask.problems, ask.columns)
        rows += [replace(row, split=row.split or part or lists.get(row.image, "")) for row in own]
        notes += more
    unlisted = {row.image for row in rows if lists and not row.split}
    if unlisted:
        rows = [row for row in rows if row.image not in unlisted]
        notes += (f"{format_count(len(unlisted), 'image')} that no list of a split names were left out",)
    told = (
        "the lists of images" if lists else "the names of the files" if len(files) > 1 else "the column split"
    )
    base = ask.base if several else files[0].parent
    places, found = _images(ask, base, *_named(rows))
    name = (
        ask.base.resolve().name
        if not ask.table or files[0].stem in ("captions", "metadata")
        else files[0].stem
    )
    return Reading(name, rows, places, told, (*dict.fromkeys(notes), *found), hint=NO_IDS)


def _lists(folder: Path) -> dict[str, str]:
    """The split of each image that the lists of Flickr8k name, ``Flickr_8k.trainImages.txt``."""
    found = (
        (re.search(r"(train|dev|test)Images", one.name), one) for one in sorted(folder.glob("*Images.txt"))
    )
    return {image: mark[1] for mark, one in found if mark for image in read_text(one).split()}


def _named(rows: Iterable[Row]) -> tuple[dict[str, str], dict[str, str]]:
    """The path of each image, and the split that its last row says."""
    return {row.image: row.image for row in rows}, {row.image: row.split for row in rows}


def _start(ask: Ask, folder: Path) -> Path:
    """The folder that paths of images begin in: the one that the caller names, or another."""
    return Path(ask.base, Path(ask.images).expanduser()) if ask.images else folder


def _images(
    ask: Ask, folder: Path, paths: Mapping[str, str], splits: Mapping[str, str] = {}
) -> tuple[Callable[[str], Path], tuple[str, ...]]:
    """Where each image lies: below the folder, or wherever a file is found that has its name, or its name and
    an ending, of several that one whose folder is called as the image's split; and a note on that.

    Raises:
        ValueError: an image is found at several places, or under several names.
    """
    start = _start(ask, folder)
    places = {image: start / path for image, path in paths.items()}
    lost = [image for image, place in places.items() if not place.is_file()]
    if not lost:
        return places.__getitem__, ()
    named, root = dict[str, list[Path]](), start if ask.images else ask.base
    for one in sorted(root.rglob("*")):
        if visible(one, root) and one.is_file():
            named.setdefault(_folded(one.name), []).append(one)
            if one.suffix.lower() in endings():
                named.setdefault(_folded(one.stem), []).append(one)
    folders, renamed = dict[str, None](), ""
    for image in lost:
        same = named.get(_folded(Path(paths[image]).name), [])
        end = f"/{paths[image]}"
        fit = [one for one in same if end in (f"/{one}"[-len(end) :], f"/{one.with_suffix('')}"[-len(end) :])]
        fit = fit or [one for one in same if end.endswith(f"/{one.relative_to(root)}")] or same
        if len(fit) > 1 and (part := said_split(splits.get(image, ""))):
            fit = [one for one in fit if said_split(one.parent.name) == part] or fit
        both = " and ".join(os.path.relpath(one, ask.base) for one in fit[:2])
        require(
            len(fit) < 2,
            f"{ask.base}: {image} may be {both}; choose their folder with images=..., or write the ending",
        )
        if fit:
            places[image] = fit[0]
            if fit[0].name != Path(paths[image]).name:
                renamed = renamed or f"{Path(paths[image]).name} is {fit[0].name}"
            folders[f"{os.path.relpath(fit[0].parent, ask.base)}/"] = None
    _require_one_name(ask.base, places)
    listed = ", ".join([*folders][:3]) + (" ..." if len(folders) > 3 else "")
    notes = (
        f"images are read from {listed}" if folders else "",
        renamed,
    )
    return places.__getitem__, tuple(filter(None, notes))


def _folded(name: str) -> str:
    """A name as other file systems know it: without case, with composed letters."""
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _require_one_name(base: Path, places: Mapping[str, Path]) -> None:
    """Refuse images of which two names lead to one: they could stand in two splits."""
    first: dict[Path, str] = {}
    for image, place in places.items():
        other = first.setdefault(place, image)
        require(other == image, f"{base}: {image} and {other} name one image; write one name")


def texts_beside(base: Path) -> list[Path]:
    """The texts of a folder, if one of them stands beside an image of its name."""
    texts = [one for one in sorted(base.rglob("*.txt")) if visible(one, base)]
    texts = [one for one in texts if not one.stem.lower().startswith(ABOUT)]
    stems = {one.with_suffix("") for one in pictures(base)}
    return texts if any(one.with_suffix("") in stems for one in texts) else []


def beside(texts: Sequence[Path], ask: Ask) -> Reading:
    """A text beside each image, a caption a line; folders may be named as splits."""
    rows, own = list[Row](), {one.with_suffix(""): one for one in texts}
    for picture in pictures(ask.base):
        image = picture.relative_to(ask.base).as_posix()
        text = own.pop(picture.with_suffix(""), None)
        if text is None:
            ask.problems.add("missing caption", f"{image} has no {Path(image).with_suffix('.txt')} beside it")
            continue
        said = said_split(Path(image).parts[0]) if "/" in image else ""
        where = text.relative_to(ask.base).as_posix()
        with ask.problems.adding("unreadable text", where):
            lines = [line.strip() for line in read_text(text).splitlines() if line.strip()] or [""]
            rows += [Row(where, image, line, f"{image}#{n}", split=said) for n, line in enumerate(lines)]
    for text in own.values():
        ask.problems.add("missing image", f"{text.relative_to(ask.base)} has no image of its name beside it")
    return Reading(ask.base.resolve().name, rows, ask.base.joinpath, "the names of the folders")


def from_disk(ask: Ask) -> Reading:
    """What ``save_to_disk`` of the library ``datasets`` wrote."""
    try:
        from datasets import load_from_disk
    except ImportError:
        raise ModuleNotFoundError(
            f"{ask.base} was written by the library datasets; pip install 'itm-workbench[hub]' reads it"
        ) from None
    return in_memory(load_from_disk(str(ask.base)), ask)
