"""The JSON format of A. Karpathy's splits: ``images``, each with a filename, a split and its sentences.

Source: A. Karpathy, L. Fei-Fei, "Deep visual-semantic alignments for generating image descriptions", CVPR
2015.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.data._files import Problems
from workbench.data._rows import Row

PARTS = ("train", "restval", "val", "test")


@dataclass(frozen=True)
class Annotated:
    """The captions of some parts of the file, and where its photographs lie.

    Args:
        rows: captions in the order of the file.
        paths: file of each image id, relative to the folder of the images.
    """

    rows: list[Row]
    paths: dict[str, str]


def read_karpathy(file: Path, parts: tuple[str, ...], captions: int | None, problems: Problems) -> Annotated:
    """Read the images of some parts.

    Args:
        file: ``dataset_coco.json`` or ``dataset_flickr30k.json``.
        parts: of ``PARTS``.
        captions: how many captions of an image are taken, the first ones; ``None`` = all.
        problems: takes what is wrong.

    Returns:
        Rows with the filename as image id and ``sentid`` as caption id.

    Raises:
        ValueError: the file breaks off or has another format, or a record is bad; the message names file and
            image.
    """
    rows: list[Row] = []
    paths: dict[str, str] = {}
    for number, record in enumerate(_images(file), start=1):
        where = f"{file.name} image {number}"
        try:
            part, image = _text(record, "split"), _text(record, "filename")
            if part not in PARTS:
                raise ValueError(f"the split is {part!r}, expected one of {', '.join(PARTS)}")
            if part not in parts:
                continue
            if image in paths:
                raise ValueError(f"{image} occurs twice")
            path = f"{record['filepath']}/{image}" if record.get("filepath") else image
            if path.startswith("/") or ".." in path.split("/"):
                raise ValueError(f"expected a file below the folder of the images, found {path!r}")
            found = list(_sentences(record, image, where, captions))
        except ValueError as error:
            problems.add("malformed image", ValueError(f"{where}: {error}"))
            continue
        paths[image] = path
        rows += found
    return Annotated(rows, paths)


def _images(file: Path) -> list[Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        size = file.stat().st_size
        raise ValueError(
            f"{file.name} is not whole: expected JSON to its end, found {size:,} bytes and {error}"
        ) from error
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list):
        raise ValueError(
            f"{file.name}: expected an object with the list 'images', found {type(content).__name__}"
        )
    return images


def _sentences(record: dict[str, Any], image: str, where: str, captions: int | None) -> Iterator[Row]:
    sentences = record.get("sentences")
    if not isinstance(sentences, list) or len(sentences) < (captions or 1):
        found = len(sentences) if isinstance(sentences, list) else "none"
        raise ValueError(f"{image} has too few sentences: expected at least {captions or 1}, found {found}")
    ids = [sentence.get("sentid") for sentence in sentences]
    if record.get("sentids", ids) != ids:
        raise ValueError(
            f"{image} has the sentences of another image: expected sentids {record['sentids']}, found {ids}"
        )
    for sentence in sentences[:captions]:
        if sentence.get("imgid") != record.get("imgid"):
            raise ValueError(
                f"{image} has the sentence {sentence.get('sentid')} of another image: expected imgid {record.get('imgid')}, "
                f"found {sentence.get('imgid')}"
            )
        text = " ".join(_text(sentence, "raw").split())
        yield Row(where, image, text, str(sentence["sentid"]))


def _text(record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, str):
        raise ValueError(f"expected a text {key!r}, found {value!r}")
    return value
