"""The readers of ``opening``: each reads one layout into rows and their images' places."""

import os
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image

from workbench.data.benchmark import EACH, PARTS, read_karpathy
from workbench.data.columns import find_columns
from workbench.data.images import endings, pictures, visible
from workbench.data.reading import (
    Ask,
    Problems,
    Reading,
    Row,
    choose_split,
    one_split,
    said_split,
    without_pictures,
)
from workbench.data.shards import content
from workbench.data.tables import Record, inside, read_table, table_rows
from workbench.formatting import format_count
from workbench.io import fields_of, parse_json, read_text
from workbench.records import Split, require

# bytes at either end of a JSON file by which its kind is told
SNIFFED = 2**16
Name = Literal["", "train", "val", "test", "all"]
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
        return (start + opened.read()).decode("utf-8", "replace")


def karpathy(file: Path, ask: Ask) -> Reading:
    """The images of a file in Karpathy's form, under the name that it gives itself."""
    named = re.search(r'"dataset":\s*"([^"]+)"', sniffed(file))
    name = (named[1] if named else file.stem).removeprefix("dataset_").removesuffix(".json")
    each = EACH if name == "coco" else None
    rows, paths = read_karpathy(file, PARTS, each, ask.problems)
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
    rows, order = list[Row](), list[Any]()
    for part, file in read.items():
        content = parse_json(file.read_bytes(), file.name, "is not whole")
        kind = dict[str, list[dict[str, Any]]]
        images, annotations = fields_of(content, kind, file.name, "images", "annotations")
        named = {one.get("id"): one.get("file_name") for one in images}
        order += named.values()
        for image, count in Counter(named.values()).items():
            if count > 1:
                ask.problems.add(
                    "one file for two images", f"{file.name}: {count} images have the file {image}"
                )
        for n, one in enumerate(annotations, start=1):
            if one.get("image_id") not in named:
                where = f"{file.name} annotation {n}: no image has the id"
                ask.problems.add("caption without image", f"{where} {one.get('image_id')!r}")
        records = [
            (f"{file.name} annotation {n}", {
                "image": named.get(one.get("image_id")), "caption": one.get("caption"), "split": part,
                "id": one.get("id", n),
            }) for n, one in enumerate(annotations, start=1) if one.get("image_id") in named
        ]  # fmt: skip
        own = table_rows(records, file.name, partial(inside, ask.base), ask.problems)[0]
        own = [replace(row, caption=" ".join(row.caption.split())) for row in own]
        for image in sorted({str(one) for one in named.values()} - {row.image for row in own}):
            ask.problems.add("image without captions", f"{file.name}: {image} has no caption")
        rows += own
    places, notes = _images(ask, ask.base, *_named(rows))
    return Reading(name, rows, places, "the names of the files", notes, order=order)


def tables(files: Sequence[Path], ask: Ask) -> Reading:
    """Tables, one a split, or one for all; images are looked for where they do not lie beside them."""
    rows: list[Row] = []
    notes: tuple[str, ...] = ()
    several = len(files) > 1
    lists = {} if several else _lists(files[0].parent)
    for file in files:
        start = Path(ask.base, Path(ask.images).expanduser()) if ask.images else file.parent
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
    return Reading(name, rows, places, told, (*dict.fromkeys(notes), *found))


def _lists(folder: Path) -> dict[str, str]:
    """The split of each image that the lists of Flickr8k name, ``Flickr_8k.trainImages.txt``."""
    found = (
        (re.search(r"(train|dev|test)Images", one.name), one) for one in sorted(folder.glob("*Images.txt"))
    )
    return {image: mark[1] for mark, one in found if mark for image in read_text(one).split()}


def _named(rows: Iterable[Row]) -> tuple[dict[str, str], dict[str, str]]:
    """The path of each image, and the split that its last row says."""
    return {row.image: row.image for row in rows}, {row.image: row.split for row in rows}


def _images(
    ask: Ask, folder: Path, paths: Mapping[str, str], splits: Mapping[str, str] = {}
) -> tuple[Callable[[str], Path], tuple[str, ...]]:
    """Where each image lies: below the folder, or wherever a file is found that has its name, or its name and
    an ending, of several that one whose folder is called as the image's split; and a note on that.

    Raises:
        ValueError: an image is found at several places, or under several names.
    """
    start = Path(ask.base, Path(ask.images).expanduser()) if ask.images else folder
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


def held(
    data: Any,
    *,
    split: Name = "",
    images: str | Path = "",
    columns: Mapping[str, str | None] = {},
    on_error: Literal["raise", "skip"] = "raise",
    check_images: bool = True,
    pictures: bool = True,
) -> Split:
    """Load one split of data in memory.

    Args:
        data: a pandas ``DataFrame``, a ``datasets.Dataset`` or a ``DatasetDict``, with the columns of a
            table; an image is a path, its bytes, a struct of both, an array or an image of Pillow.
        split: as for a path; the name in a ``DatasetDict``, or a column, says it.
        images: folder that paths are relative to; default the working directory.
        columns: names of columns by ours, ``{"caption": "title"}``.
        on_error: as for a path.
        check_images: read every image now.
        pictures: as for a path.

    Raises:
        TypeError: data of another kind.
        FileNotFoundError, ValueError: as for a path.
    """
    ask = Ask(Path(images or ".").expanduser(), split, "", "", columns, Problems(on_error), "", pictures)
    read = in_memory(data, ask)
    read = read if pictures else without_pictures(read)
    return one_split(read, split, ask.problems, check_images=check_images)


def in_memory(data: Any, ask: Ask) -> Reading:
    """A table in memory, or one a split."""
    sources: dict[str, Any] = {}
    parts = data if isinstance(data, Mapping) else {"": data}
    records = [record for said, part in parts.items() for record in _records(part, str(said), sources, ask)]
    rows, notes = table_rows(records, "the table", str, ask.problems, {**ask.columns, "image": " image"})
    told = "the names of the parts" if isinstance(data, Mapping) else "the column split"
    return Reading("table", rows, sources.__getitem__, told, notes)


def _records(data: Any, said: str, sources: dict[str, Any], ask: Ask) -> Iterator[tuple[str, Record]]:
    """The rows of a table in memory, with the id of the image for the image, whose source is kept apart."""
    frame = hasattr(data, "to_dict") and hasattr(data, "columns")
    require(
        frame or hasattr(data, "column_names"),
        "expected a name, a path, a DataFrame, a datasets.Dataset or a Split as data, found "
        f"{type(data).__name__}",
        TypeError,
    )
    names = list(data.columns if frame else data.column_names)
    column = find_columns(names, "the table", ask.columns)["image"][0]
    texts = {name: list(data[name]) for name in names if name != column}
    given: Iterable[Any] = data[column] if frame or isinstance(data[0][column], str) else range(len(data))
    for n, value in enumerate(given):
        where = f"{said} row {n + 1}".strip()
        record = {name: values[n] for name, values in texts.items() if not _missing(values[n])}
        image = f"{said}/{n}".lstrip("/")
        if isinstance(value, str | Path):
            image = str(value)
            sources[image] = ask.base / Path(value).expanduser()
        elif not frame:
            sources[image] = partial(_item, data, n, column)
        else:
            sources[image] = partial(_plain_image, value, ask.base)
        yield where, {" image": image, **record, **({"split": said} if said else {})}


def _missing(value: Any) -> bool:
    return value is None or value == "" or (isinstance(value, float) and np.isnan(value))


def _item(data: Any, row: int, column: str) -> Any:
    return _plain_image(data[row][column], Path())


def _plain_image(value: Any, base: Path) -> Any:
    if isinstance(value, Image.Image):
        return value
    return Image.fromarray(value) if isinstance(value, np.ndarray) else content(value, base)
