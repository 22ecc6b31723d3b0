"""The readers of ``opening``: each reads one layout into rows and their images' places."""

import json
import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from workbench.data.benchmark import EACH, PARTS, read_karpathy
from workbench.data.columns import NAMES, field, normalise_name
from workbench.data.images import image_endings, image_files, is_visible
from workbench.data.memory import read_in_memory
from workbench.data.reading import (
    Reading,
    Request,
    Row,
    choose_split,
    split_of_name,
)
from workbench.data.rows import NO_IDS, path_inside, table_rows
from workbench.data.tables import caption_column, read_table
from workbench.formatting import format_count, format_some
from workbench.io import fields_of, parse_json, read_text
from workbench.records import require

# bytes at either end of a JSON file by which its kind is told
SNIFFED = 2**16
# what is read of an image and of a caption of MS-COCO
OF_IMAGES, OF_ANNOTATIONS = ("id", "file_name"), ("id", "image_id")
# texts that stand beside images and are not theirs
ABOUT = ("readme", "license", "licence", "classes", "labels")


def split_of_file(file: Path) -> str:
    """Return the split that the name of a file says, or that of its folder."""
    return split_of_name(file.stem) or split_of_name(file.parent.name)


def read_ends(file: Path) -> str:
    """Return the beginning and the end of a file: they tell one kind of JSON from another."""
    with file.open("rb") as opened:
        start = opened.read(SNIFFED)
        opened.seek(max(0, file.stat().st_size - SNIFFED))
        return (start + opened.read()).decode(json.detect_encoding(start), "replace")


def read_karpathy_files(files: Sequence[Path], request: Request) -> Reading:
    """Return the images of one file in Karpathy's form, under the name that it gives itself."""
    (file,) = files
    named = re.search(r'"dataset":\s*"([^"]+)"', read_ends(file))
    name = (named[1] if named else file.stem).removeprefix("dataset_").removesuffix(".json")
    each = EACH if name == "coco" else None
    rows, paths = read_karpathy(file, PARTS, each, request.problems, _images_root(request, file.parent))
    places, notes = _image_finder(request, file.parent, paths)
    if each:
        notes = (*notes, f"the first {EACH} captions of an image, as published numbers of MS-COCO have them")
    return Reading(name, rows, places, "the field split of the images", notes)


def read_coco_files(files: Sequence[Path], request: Request) -> Reading:
    """Return annotations of MS-COCO; files that name another split than the one asked for stay closed."""
    name, there = request.base.resolve().name, {split_of_file(file): file for file in files}
    split = request.split or choose_split(name, list(filter(None, there)))
    require(
        split in ("all", *there) or len(files) == 1,
        f"{name} has no annotations of the split {split!r}; choose {', '.join(there)} or all",
    )
    read = {part: file for part, file in there.items() if split in ("all", part) or len(files) == 1}
    rows = []
    order = []
    notes: tuple[str, ...] = ()
    for part, file in read.items():
        own, images, more = _read_annotations(file, part, request)
        rows += own
        order += images
        notes += more
    places, on_images = _image_finder(request, request.base, *_paths_and_splits(rows))
    notes = (*dict.fromkeys(notes), *on_images)
    return Reading(name, rows, places, "the names of the files", notes, order=order, hint=NO_IDS)


def _read_annotations(
    file: Path, part: str, request: Request
) -> tuple[list[Row], list[str], tuple[str, ...]]:
    """Return the captions of a file of MS-COCO, the names of its images in one form, and notes."""
    content = parse_json(file.read_bytes(), file.name, "is not whole")
    kind = dict[str, list[dict[str, Any]]]
    images, annotations = fields_of(content, kind, file.name, "images", "annotations")
    named = _names_by_id(images, file.name, request)
    about = {image.get("id"): _unread_cells(image, OF_IMAGES) for image in images}
    column = caption_column(annotations, file.name, request.columns)
    others = {ours: name for ours, name in request.columns.items() if ours != "caption"}
    if others == {"id": None}:
        others = {}
    require(
        not others, f"{file.name}: columns={others} names nothing of annotations; name their caption alone"
    )
    records = []
    for n, annotation in enumerate(annotations, start=1):
        where, image = f"{file.name} annotation {n}", annotation.get("image_id")
        if not isinstance(image, str | int) or image not in named:
            request.problems.add("caption without image", f"{where}: no image has the id {image!r}")
            continue
        with request.problems.adding("missing caption", where):
            caption = field(annotation, (column,))
            require(caption is not None, f"{where} has no {column}, but {', '.join(annotation)}")
            more = about[image] | _unread_cells(annotation, (*OF_ANNOTATIONS, column.partition(".")[0]))
            record = {**more, "image": named[image], "caption": caption, "split": part}
            if "id" not in request.columns:
                record["id"] = annotation.get("id", n)
            records.append((where, record))
    rows, notes = table_rows(records, file.name, str, request.problems) if records else ([], ())
    rows = [replace(row, caption=" ".join(row.caption.split())) for row in rows]
    for image in sorted({*named.values()} - {row.image for row in rows}):
        request.problems.add("image without captions", f"{file.name}: {image} has no caption")
    return rows, [*named.values()], notes


def _unread_cells(record: Mapping[str, Any], known: Sequence[str]) -> dict[str, Any]:
    """Return what an image or a caption of MS-COCO has beside what is read, without what would be taken for
    that.
    """
    ours = set(chain.from_iterable(NAMES.values()))
    return {
        name: value for name, value in record.items() if not {name, normalise_name(name)} & {*known, *ours}
    }


def _names_by_id(images: Sequence[Mapping[str, Any]], file: str, request: Request) -> dict[Any, str]:
    """Return the name of each image below the folder of the images, in one form."""
    start = _images_root(request, request.base)
    named = {}
    counts = Counter[str]()
    for n, about in enumerate(images, start=1):
        where, number = f"{file} image {n}", about.get("id")
        with request.problems.adding("malformed image", where):
            require(isinstance(number, str | int), f"{where}: its id is {number!r:.60}; expected a number")
            require(number not in named, f"{where}: the id {number!r} was used before")
            require("file_name" in about, f"{where} has no file_name, but {', '.join(about)}")
            name = path_inside(start, about["file_name"])
            named[number] = name
            counts[name] += 1
    for name, count in counts.items():
        if count > 1:
            request.problems.add("one file for two images", f"{file}: {count} images have the file {name}")
    return named


def read_tables(files: Sequence[Path], request: Request) -> Reading:
    """Return tables, one a split, or one for all; images are looked for where they do not lie beside them."""
    rows = []
    notes: tuple[str, ...] = ()
    several = len(files) > 1
    lists = {} if several else _splits_in_lists(files[0].parent)
    for file in files:
        start = _images_root(request, file.parent)
        prefix = file.parent.relative_to(request.base) if several and not request.images else Path()
        part = split_of_file(file) if several or file.parent != request.base else ""
        records, name = list(read_table(file, request.problems)), file.relative_to(request.base).as_posix()

        def place(value: Any, start: Path = start, prefix: Path = prefix) -> str:
            web = "://" in str(value) and not request.require_images
            return str(value) if web else (prefix / path_inside(start, value)).as_posix()

        own, more = table_rows(records, name, place, request.problems, request.columns)
        rows += [replace(row, split=row.split or part or lists.get(row.image, "")) for row in own]
        notes += more
    unlisted = {row.image for row in rows if lists and not row.split}
    if unlisted:
        rows = [row for row in rows if row.image not in unlisted]
        notes += (f"{format_count(len(unlisted), 'image')} that no list of a split names were left out",)
    splits_by = "the names of the files" if several else "the column split"
    if lists:
        splits_by = "the lists of images"
    base = request.base if several else files[0].parent
    places, on_images = _image_finder(request, base, *_paths_and_splits(rows))
    name = files[0].stem
    if not request.table or name in ("captions", "metadata"):
        name = request.base.resolve().name
    return Reading(name, rows, places, splits_by, (*dict.fromkeys(notes), *on_images), hint=NO_IDS)


def _splits_in_lists(folder: Path) -> dict[str, str]:
    """Return the split of each image that the lists of Flickr8k name, ``Flickr_8k.trainImages.txt``."""
    splits: dict[str, str] = {}
    for file in sorted(folder.glob("*Images.txt")):
        if mark := re.search(r"(train|dev|test)Images", file.name):
            splits |= dict.fromkeys(read_text(file).split(), mark[1])
    return splits


def _paths_and_splits(rows: Iterable[Row]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the path of each image, and the split that its last row says."""
    return {row.image: row.image for row in rows}, {row.image: row.split for row in rows}


def _images_root(request: Request, folder: Path) -> Path:
    """Return the folder that paths of images begin in: the one that the caller names, or another."""
    return Path(request.base, Path(request.images).expanduser()) if request.images else folder


def _image_finder(
    request: Request, folder: Path, paths: Mapping[str, str], splits: Mapping[str, str] = {}
) -> tuple[Callable[[str], Path], tuple[str, ...]]:
    """Return where each image lies: below the folder, or wherever a file is found that has its name, or its
    name and an ending, of several that one whose folder is called as the image's split; and a note on that.

    Raises:
        ValueError: an image is found at several places, or under several names.
    """
    start = _images_root(request, folder)
    places = {image: start / path for image, path in paths.items()}
    lost = [image for image, place in places.items() if not place.is_file()]
    if not lost:
        return places.__getitem__, ()
    root = start if request.images else request.base
    named = _files_by_name(root)
    folders: dict[str, None] = {}
    renamed = ""
    for image in lost:
        name = Path(paths[image]).name
        files = _nearest_files(
            named.get(_fold_name(name), []), root, paths[image], split_of_name(splits.get(image, ""))
        )
        both = " and ".join(os.path.relpath(file, request.base) for file in files[:2])
        require(
            len(files) < 2,
            f"{request.base}: {image} may be {both}; choose their folder with images=..., or write the "
            "ending",
        )
        for file in files:
            places[image] = file
            folders[f"{os.path.relpath(file.parent, request.base)}/"] = None
            if file.name != name:
                renamed = renamed or f"{name} is {file.name}"
    _require_one_name(request.base, places)
    listed = f"images are read from {format_some([*folders])}" if folders else ""
    return places.__getitem__, tuple(filter(None, (listed, renamed)))


def _files_by_name(root: Path) -> dict[str, list[Path]]:
    """Return the files below a folder by their names, images also by their names without an ending."""
    named: dict[str, list[Path]] = {}
    for file in sorted(root.rglob("*")):
        if is_visible(file, root) and file.is_file():
            named.setdefault(_fold_name(file.name), []).append(file)
            if file.suffix.lower() in image_endings():
                named.setdefault(_fold_name(file.stem), []).append(file)
    return named


def _nearest_files(files: Sequence[Path], root: Path, path: str, split: str) -> Sequence[Path]:
    """Return the files with an image's name that fit its path best, then those in a folder of its
    split.
    """
    end = f"/{path}"
    exact = [file for file in files if f"/{file}".endswith(end) or f"/{file.with_suffix('')}".endswith(end)]
    files = exact or [file for file in files if end.endswith(f"/{file.relative_to(root)}")] or files
    if len(files) > 1 and split:
        return [file for file in files if split_of_name(file.parent.name) == split] or files
    return files


def _fold_name(name: str) -> str:
    """Return a name as other file systems know it: without case, with composed letters."""
    return unicodedata.normalize("NFC", name.strip()).casefold()


def _require_one_name(base: Path, places: Mapping[str, Path]) -> None:
    """Raise if two names lead to one image, which could then be in two splits."""
    first: dict[Path, str] = {}
    for image, place in places.items():
        other = first.setdefault(place, image)
        require(other == image, f"{base}: {image} and {other} name one image; write one name")


def texts_beside(base: Path) -> list[Path]:
    """Return the texts of a folder, if one of them stands beside an image of its name."""
    texts = [text for text in sorted(base.rglob("*.txt")) if is_visible(text, base)]
    texts = [text for text in texts if not text.stem.lower().startswith(ABOUT)]
    stems = {image.with_suffix("") for image in image_files(base)}
    return texts if any(text.with_suffix("") in stems for text in texts) else []


def read_texts_beside(texts: Sequence[Path], request: Request) -> Reading:
    """Return a text beside each image, a caption a line; folders may be named as splits."""
    rows = []
    own = {text.with_suffix(""): text for text in texts}
    for file in image_files(request.base):
        image = file.relative_to(request.base).as_posix()
        text = own.pop(file.with_suffix(""), None)
        if text is None:
            request.problems.add(
                "missing caption", f"{image} has no {Path(image).with_suffix('.txt')} beside it"
            )
            continue
        split = split_of_name(Path(image).parts[0]) if "/" in image else ""
        where = text.relative_to(request.base).as_posix()
        with request.problems.adding("unreadable text", where):
            lines = [line.strip() for line in read_text(text).splitlines() if line.strip()] or [""]
            rows += [Row(where, image, line, f"{image}#{n}", split=split) for n, line in enumerate(lines)]
    for text in own.values():
        request.problems.add(
            "missing image", f"{text.relative_to(request.base)} has no image of its name beside it"
        )
    return Reading(request.base.resolve().name, rows, request.base.joinpath, "the names of the folders")


def read_saved_dataset(request: Request) -> Reading:
    """Return what ``save_to_disk`` of the library ``datasets`` wrote."""
    try:
        from datasets import load_from_disk
    except ImportError:
        raise ModuleNotFoundError(
            f"{request.base} was written by the library datasets; pip install 'itm-workbench[hub]' reads it"
        ) from None
    return read_in_memory(load_from_disk(str(request.base)), request)
