"""Images with classes, as folders hold them or as the library ``datasets`` writes them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from workbench.data.images import image_files, read_image
from workbench.formatting import format_some
from workbench.io import content_stamp, read_text, resolve_input
from workbench.records import Rows, Split, require

PARTS = ("train", "val", "test")
# what datasets writes beside its tables
WRITTEN = ("dataset_info.json", "dataset_dict.json")
# the template of one photograph, and the seven that OpenAI's notebook on prompts for ImageNet ends with
TEMPLATES = {
    "name": ("{}",),
    "photo": ("a photo of a {}.",),
    "seven": (
        "itap of a {}.",
        "a bad photo of the {}.",
        "a origami {}.",
        "a photo of the large {}.",
        "a {} in a video game.",
        "art of the {}.",
        "a photo of the small {}.",
    ),
}


class Labelled:
    """Images, each of one class.

    Args:
        split: the images, each with the name of its class as its caption.
        labels: ``(N,)`` number of each image's class.
        classes: names of all classes.
    """

    def __init__(self, split: Split, labels: Rows, classes: Sequence[str]) -> None:
        self.split = split
        self.labels = labels
        self.classes = tuple(classes)


def read_labelled(place: str | Path, part: str, classes: Sequence[str] = (), column: str = "") -> Labelled:
    """Read one part of labelled images.

    Args:
        place: a folder with a folder a class, or with such folders in ``train``, ``val`` and ``test``; or
            what ``save_to_disk`` of the library ``datasets`` has written.
        part: ``"train"``, ``"val"`` or ``"test"``; where there are no parts, ``"test"`` is everything.
        classes: names of the classes, in the order of the folders' names or of the column's numbers, where
            other words than those are to be read; empty = these.
        column: of ``datasets``, that holds the classes; empty = the only one of class labels.

    Raises:
        FileNotFoundError: there is no such folder, or no such part.
        ValueError: the folder holds no classes, or another number of them than names are given.
    """
    folder = resolve_input(Path(place))
    require(folder.is_dir(), f"{place}: there is no folder of classes", FileNotFoundError)
    if any((folder / name).is_file() for name in WRITTEN):
        return _read_written(folder, part, classes, column)
    require(not column, f"{place} is a folder of classes, which has no column {column!r}; leave it out")
    parts = [name for name in PARTS if (folder / name).is_dir()]
    require(
        part in parts or (part == "test" and not parts),
        f"{folder} has no part {part!r}; there is {', '.join(parts) or 'no folder train, val or test'}",
        FileNotFoundError,
    )
    base = folder / part if parts else folder
    names = sorted(each.name for each in base.iterdir() if each.is_dir() and not each.name.startswith("."))
    require(
        len(names) > 1, f"{base} holds {len(names)} folders of classes; a folder is needed for each class"
    )
    words = _words_of(names, classes, base)
    files, labels = [], []
    for number, name in enumerate(names):
        there = image_files(base / name)
        require(there, f"{base / name} holds no image")
        files += there
        labels += [number] * len(there)
    ids = [str(file.relative_to(base)) for file in files]
    sources = [(file, name) for file, name in zip(files, ids, strict=True)]
    return _labelled(f"{folder.name}/{part}", ids, sources, labels, words)


def _read_written(folder: Path, part: str, classes: Sequence[str], column: str) -> Labelled:
    """Read what ``datasets`` has written."""
    from datasets import ClassLabel, DatasetDict, Image, load_from_disk

    written: Any = load_from_disk(str(folder))
    if isinstance(written, DatasetDict):
        require(
            part in written,
            f"{folder} has no part {part!r}; there is {', '.join(written)}",
            FileNotFoundError,
        )
        written = written[part]
    kinds = {name: feature for name, feature in written.features.items() if isinstance(feature, ClassLabel)}
    images = [name for name, feature in written.features.items() if isinstance(feature, Image)]
    columns = ", ".join(written.features)
    require(len(images) == 1, f"{folder} has {len(images)} columns of images among {columns}; one is needed")
    chosen = column or (next(iter(kinds)) if len(kinds) == 1 else "")
    require(
        chosen in kinds,
        f"{folder}: name the column of class labels; there is {format_some(list(kinds)) or 'none'}",
    )
    words = _words_of(kinds[chosen].names, classes, folder)
    rows = written.cast_column(images[0], Image(decode=False))
    sources = []
    for number, value in enumerate(rows[images[0]]):
        content = value["bytes"] if value["bytes"] is not None else Path(value["path"])
        sources.append((content, f"{folder.name} row {number}"))
    ids = [where for _, where in sources]
    return _labelled(f"{folder.name}/{part}", ids, sources, list(rows[chosen]), words)


def _words_of(names: Sequence[str], classes: Sequence[str], place: Path) -> list[str]:
    """Return what each class is called in a text."""
    if not classes:
        return [name.replace("_", " ") for name in names]
    require(
        len(classes) == len(names), f"{place} holds {len(names)} classes, and {len(classes)} names are given"
    )
    return list(classes)


def _labelled(
    name: str,
    ids: Sequence[str],
    sources: Sequence[tuple[Any, str]],
    labels: Sequence[int],
    words: Sequence[str],
) -> Labelled:
    rows = np.array(labels, dtype=np.int64)
    captions = tuple(words[label] for label in labels)
    split = Split(
        name=name,
        image_ids=tuple(ids),
        captions=captions,
        caption_ids=tuple(ids),
        own=np.arange(len(ids)),
        open_image=lambda row: read_image(*sources[row]),
        stamp=lambda row: content_stamp(sources[row][0]),
    )
    return Labelled(split, rows, words)


def read_names(file: str) -> list[str]:
    """Read names of classes, one a line; none without a file.

    Args:
        file: in UTF-8; lines without text do not count.
    """
    lines = read_text(file).split("\n") if file else []
    return [line.strip() for line in lines if line.strip()]


def read_templates(name: str) -> tuple[str, ...]:
    """Return templates, in which ``{}`` stands for a class.

    Args:
        name: of ``TEMPLATES``, or a text file with a template a line.

    Raises:
        ValueError: a line has no ``{}``; the message names it.
        FileNotFoundError: neither a name nor a file.
    """
    if name in TEMPLATES:
        return TEMPLATES[name]
    file = resolve_input(Path(name))
    known = ", ".join(TEMPLATES)
    require(file.is_file(), f"no templates {name!r}: neither one of {known} nor a file", FileNotFoundError)
    lines = [line.strip() for line in read_text(file).splitlines() if line.strip()]
    require(lines, f"{file.name} holds no template")
    for number, line in enumerate(lines, start=1):
        require("{}" in line, f"{file.name} line {number}: {line!r:.60} has no {{}} for the class")
    return tuple(lines)
