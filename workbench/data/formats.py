"""The field's two formats: A. Karpathy's JSON of captions, and the folders of precomputed regions.

*Karpathy*: ``images``, each with a filename, a split and its sentences. *Precomputed*: ``{part}_ims.npy``,
``{part}_caps.txt`` and ``{part}_ids.txt`` in one folder. A line of ``_caps.txt`` is a caption, five lines are
an image. ``_ids.txt`` names the image, once a caption or once an image, and ``_ims.npy (N, K, D)`` holds its
regions, once an image or once a caption: all four combinations are in use.

Sources: A. Karpathy, L. Fei-Fei, "Deep visual-semantic alignments for generating image descriptions", CVPR
2015; K.-H. Lee et al., "Stacked cross attention for image-text matching", ECCV 2018, whose regions most
papers use, by P. Anderson et al., "Bottom-up and top-down attention", CVPR 2018.
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.data.reading import Problems, Row
from workbench.records.shown import count

PARTS = ("train", "restval", "val", "test")


def read_karpathy(
    file: Path, parts: tuple[str, ...], captions: int | None, problems: Problems
) -> tuple[list[Row], dict[str, str]]:
    """Read the images of some parts.

    Args:
        file: ``dataset_coco.json`` or ``dataset_flickr30k.json``.
        parts: of ``PARTS``.
        captions: how many captions of an image are taken, the first ones; ``None`` = all.
        problems: takes what is wrong.

    Returns:
        Rows in the order of the file, with the filename as image id and ``sentid`` as caption id; and where
        the photograph of each image id lies, relative to the folder of the images.

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
            problems.add("malformed image", f"{where}: {error}")
            continue
        paths[image] = path
        rows += found
    return rows, paths


def _images(file: Path) -> list[Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        size = file.stat().st_size
        raise ValueError(
            f"{file.name} is not whole: expected JSON to its end, found {count(size, 'byte')} and {error}"
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
                f"{image} has the sentence {sentence.get('sentid')} of another image: expected imgid "
                f"{record.get('imgid')}, "
                f"found {sentence.get('imgid')}"
            )
        text = " ".join(_text(sentence, "raw").split())
        yield Row(where, image, text, str(sentence["sentid"]))


def _text(record: Any, key: str) -> str:
    value = record.get(key) if isinstance(record, dict) else None
    if not isinstance(value, str):
        raise ValueError(f"expected a text {key!r}, found {value!r}")
    return value


EACH, PROBES = 5, 16
# share of an image's captions that must be known from the annotations before the others are taken for edited
# ones
KNOWN = 0.9


def read_precomp(folder: Path, part: str) -> tuple[list[Row], NDArray[Any]]:
    """Read one part.

    Args:
        folder: holds the three files.
        part: how their names begin, e.g. ``"testall"``.

    Returns:
        Captions, five an image; and regions ``(I, K, D)``, memory-mapped, in the order of the images.

    Raises:
        ValueError: the lengths of the files do not fit together, or the ids say that captions stand at the
            wrong image; the message names file, expected and found.
    """
    captions, ids = _lines(folder / f"{part}_caps.txt"), _lines(folder / f"{part}_ids.txt")
    name = f"{part}_caps.txt"
    if not captions or len(captions) % EACH:
        raise ValueError(f"{name}: expected {EACH} lines an image, found {len(captions)} lines")
    images = _image_ids(ids, len(captions), f"{part}_ids.txt")
    regions = _regions(folder / f"{part}_ims.npy", len(captions))
    rows = [
        Row(f"{name} line {n + 1}", images[n // EACH], text.strip(), f"{images[n // EACH]}#{n % EACH}")
        for n, text in enumerate(captions)
    ]
    return rows, regions


def _lines(file: Path) -> list[str]:
    # only the end of a line ends it: captions hold other characters that splitlines would take for one
    lines = file.read_text(encoding="utf-8").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _image_ids(ids: list[str], captions: int, name: str) -> list[str]:
    """``(I,)`` ids of the images, from a list with one line a caption or one line an image."""
    ids = [line.strip() for line in ids]
    if len(ids) == captions:
        for n, image in enumerate(ids):
            first = ids[n - n % EACH]
            if image != first:
                raise ValueError(
                    f"{name} line {n + 1}: expected {first!r} {EACH} times in a row, found {image!r}; is "
                    "it shuffled?"
                )
        ids = ids[::EACH]
    elif len(ids) != captions // EACH:
        raise ValueError(
            f"{name}: expected {captions} lines or {captions // EACH}, as there are captions, found "
            f"{len(ids)}"
        )
    if len(set(ids)) != len(ids):
        twice = next(image for n, image in enumerate(ids) if image in ids[:n])
        raise ValueError(f"{name}: expected each image once, found {twice!r} at two places; is it shuffled?")
    return ids


def _regions(file: Path, captions: int) -> NDArray[Any]:
    """``(I, K, D)`` regions, a view of the file."""
    try:
        features: NDArray[Any] = np.load(file, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{file.name} is not whole: expected an array (N, K, D), found {error}") from error
    images = captions // EACH
    if features.ndim != 3 or len(features) not in (images, captions):
        raise ValueError(
            f"{file.name}: expected ({images} or {captions}, K, D) for {captions} captions, found "
            f"{features.shape}"
        )
    if len(features) == images:
        return features
    for image in np.linspace(0, images - 1, min(PROBES, images)).astype(int):
        block = features[image * EACH : image * EACH + EACH]
        if not (block == block[0]).all():
            raise ValueError(
                f"{file.name}: expected rows {image * EACH} to {image * EACH + EACH - 1} alike, as "
                "regions of one image, "
                "found others; is it shuffled?"
            )
    return features[::EACH]


def identified(rows: list[Row], known: list[Row], source: str) -> tuple[list[Row], int]:
    """Rows with the ids that the annotations give to the same captions.

    Captions are compared by their letters and digits, since the files differ in capitals, blanks and
    punctuation.

    Args:
        rows: five an image.
        known: captions of the same split with their ids.
        source: name of the file of ``known``, for the message.

    Returns:
        The rows, and how many images were not found.

    Raises:
        ValueError: more than a tenth of the images has no image with the same captions.
    """
    of_image: dict[str, list[Row]] = {}
    for row in known:
        of_image.setdefault(row.image, []).append(row)
    by_texts = {
        tuple(sorted(map(_plain, [row.caption for row in block]))): block for block in of_image.values()
    }
    out: list[Row] = []
    lost = 0
    for start in range(0, len(rows), EACH):
        block = rows[start : start + EACH]
        same = by_texts.get(tuple(sorted(_plain(row.caption) for row in block)))
        lost += same is None
        out += block if same is None else _renamed(block, same)
    images = len(rows) // EACH
    if lost > (1 - KNOWN) * images:
        raise ValueError(
            f"{rows[0].where.split()[0]}: expected every {EACH} lines to be the captions of one image of "
            f"{source}, found "
            f"{images - lost} of {images} images so; is it shuffled, or of another split?"
        )
    return out, lost


def _renamed(block: list[Row], known: list[Row]) -> list[Row]:
    ids = {
        row.id: other
        for row, other in zip(
            sorted(block, key=lambda row: _plain(row.caption)),
            sorted(known, key=lambda row: _plain(row.caption)),
            strict=True,
        )
    }
    return [replace(row, image=ids[row.id].image, id=ids[row.id].id) for row in block]


def _plain(caption: str) -> str:
    return "".join(letter for letter in caption.lower() if letter.isalnum())
