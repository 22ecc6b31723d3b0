"""Captions and their counterfactuals, from the files of ARO, SugarCrepe and Winoground.

=============== ============================================== ============================================
source          files                                          kinds of counterfactuals
=============== ============================================== ============================================
``aro``         ``visual_genome_relation.json`` and            the names of the two files' ends; an image
                ``visual_genome_attribution.json``, images/    is the part of a photograph in its box
``sugarcrepe``  ``swap_att.json`` and others, val2017/         the names of the files
``winoground``  ``examples.jsonl``, images/                    the column ``tag``
=============== ============================================== ============================================

Source: M. Yuksekgonul et al., When and why vision-language models behave like bags-of-words, ICLR 2023 (ARO);
C.-Y. Hsieh et al., SugarCrepe, NeurIPS 2023; T. Thrush et al., Winoground, CVPR 2022.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from PIL import Image

from workbench.data.images import read_image
from workbench.data.loader import loader
from workbench.data.reading import Problems, Row, find_root, to_split, usable_rows
from workbench.data.tables import read_table
from workbench.io import fields_of, parse_json, read_text, validate
from workbench.records import Judgements, Split, require


class Counterfactual(NamedTuple):
    """What stands beside a caption.

    Args:
        row: of the caption.
        text: false of the caption's image.
        kind: what was exchanged.
    """

    row: int
    text: str
    kind: str


def with_counterfactuals(split: Split, counterfactuals: Sequence[Counterfactual]) -> Split:
    """The captions of a split followed by counterfactuals, which belong to the images of their captions and
    are right for none; other judgements, graphs, levels and chains are left out.

    Raises:
        ValueError: a counterfactual is empty or its caption itself, or a caption has two of one kind.
    """
    captions, caption_ids = list(split.captions), list(split.caption_ids)
    pairs: dict[str, list[tuple[int, int]]] = {}
    for row, text, kind in counterfactuals:
        wrong = f"{split.name}: the counterfactual of caption {split.caption_ids[row]!r} by {kind} is"
        require(text.strip(), f"{wrong} empty")
        require(text != split.captions[row], f"{wrong} the caption itself")
        pairs.setdefault(kind, []).append((row, len(captions)))
        captions.append(text)
        caption_ids.append(f"{split.caption_ids[row]}, {kind}")
    rows = np.array([each.row for each in counterfactuals], dtype=np.int64)
    own, images = np.concatenate([split.own, split.own[rows]]), len(split.image_ids)
    shape, rule = (len(own), len(own)), "0: a counterfactual of the caption, false of its image"
    judged = {}
    for kind, pairs_of_kind in pairs.items():
        first, second = np.array(pairs_of_kind, dtype=np.int64).T
        judged[kind] = Judgements(kind, rule, shape, first, second, np.zeros(len(first)), unlisted=None)
    right = replace(Judgements.from_own(split.own, images), shape=(images, len(own)))
    return replace(
        split,
        captions=tuple(captions),
        caption_ids=tuple(caption_ids),
        own=own,
        judgements={"own": right},
        counterfactuals=judged,
        fields=split.take_fields(slice(None), np.concatenate([np.arange(len(split.own)), rows])),
        caption_judgements={},
        image_graphs=None,
        caption_graphs=None,
        negatives=None,
        level=None,
        chain=None,
        folds=1,
        grade=None,
    )


class _Pair(NamedTuple):
    """A caption, its counterfactual, and the image: a file, or what is cut out of it."""

    row: Row
    text: str
    kind: str
    file: Path
    cut: Callable[[], Image.Image] | None = None


# files, folder of the images, and where both are found
SOURCES: dict[str, tuple[tuple[str, ...], str, str]] = {
    "aro": (
        ("visual_genome_relation.json", "visual_genome_attribution.json"),
        "images",
        "https://github.com/mertyg/vision-language-models-are-bows",
    ),
    "sugarcrepe": (
        (
            "swap_att.json",
            "swap_obj.json",
            "replace_att.json",
            "replace_obj.json",
            "replace_rel.json",
            "add_att.json",
            "add_obj.json",
        ),
        "val2017",
        "https://github.com/RAIVNLab/sugar-crepe, and val2017 of MS-COCO",
    ),
    "winoground": (
        ("examples.jsonl",),
        "images",
        "https://huggingface.co/datasets/facebook/winoground",
    ),
}


@loader()
def counterfactuals(
    *,
    source: Literal["aro", "sugarcrepe", "winoground"],
    split: Literal["test"] = "test",
    root: str | None = None,
) -> Split:
    """Load captions with their counterfactuals.

    Args:
        source: whose files; those that are there are read.
        split: ``"test"``, there is no other.
        root: folder with the files and images; default ``WORKBENCH_DATA`` and the name of the source.

    Returns:
        The split, with ``Split.counterfactuals``: by kind, each caption and its counterfactual.

    Raises:
        FileNotFoundError: none of the files is there, or an image is missing.
        ValueError: a row is misshapen; the message names file and row.
    """
    names, images, place = SOURCES[source]
    remedy = f"Get {' or '.join(names)} and {images}/ from {place}"
    folder = find_root(source, root, [images], remedy)
    there = [folder / name for name in names if (folder / name).is_file()]
    require(there, f"{source}: {folder} lacks {', '.join(names)}. {remedy}", FileNotFoundError)
    pairs = list(chain.from_iterable(_pairs(source, file, folder / images) for file in there))
    require(pairs, f"{source}: {', '.join(names)} hold no row")
    rows = [pair.row for pair in pairs]
    files = {pair.row.image: pair.file for pair in pairs}
    cuts = {pair.row.image: pair.cut for pair in pairs if pair.cut}
    rows = usable_rows(rows, files.__getitem__, Problems("raise"), check_images=False)
    loaded = to_split(f"{source}/{split}", rows, (files | cuts).__getitem__)
    return with_counterfactuals(
        loaded, [Counterfactual(n, pair.text, pair.kind) for n, pair in enumerate(pairs)]
    )


def _cut(file: Path, where: str, box: tuple[int, int, int, int]) -> Image.Image:
    return read_image(file, where).crop(box)


def _pairs(source: str, file: Path, images: Path) -> Iterator[_Pair]:
    kind = file.stem.removeprefix("visual_genome_")
    for where, content in _records(file):
        if source == "aro":
            name, caption, false = fields_of(
                content, dict[str, str], where, "image_path", "true_caption", "false_caption"
            )
            x, y, width, height = fields_of(
                content, dict[str, int], where, "bbox_x", "bbox_y", "bbox_w", "bbox_h"
            )
            part = partial(_cut, images / name, where, (x, y, x + width, y + height))
            yield _Pair(Row(where, where, caption, where), false, kind, images / name, part)
        elif source == "sugarcrepe":
            name, caption, false = fields_of(
                content, dict[str, str], where, "filename", "caption", "negative_caption"
            )
            yield _Pair(Row(where, name, caption, where), false, kind, images / name)
        else:
            *names, tag = fields_of(content, dict[str, str], where, "image_0", "image_1", "tag")
            captions = fields_of(content, dict[str, str], where, "caption_0", "caption_1")
            for n, name in enumerate(names):
                row = Row(where, name, captions[n], f"{where}, caption_{n}")
                yield _Pair(row, captions[1 - n], tag, images / f"{name}.png")


def _records(file: Path) -> Iterator[tuple[str, Any]]:
    """Each row of a file, which is a list, an object of rows, or a line each, and where it stands."""
    if file.suffix == ".jsonl":
        yield from read_table(file, Problems("raise"))
        return
    content = parse_json(read_text(file), file)
    rows = content if isinstance(content, list) else validate(content, dict[str, Any], file.name).values()
    for number, row in enumerate(rows, start=1):
        yield f"{file.name} row {number}", row


MEMBER = counterfactuals
