"""ECCV Caption: the false negatives of MS-COCO's test split, found by machines and confirmed by people.

Source: Chun, Kim, Park, Chang, Oh, "ECCV Caption: correcting false negatives by collecting
machine-and-human-verified image-caption associations for MS-COCO", ECCV 2022. The positives come from its
package ``eccv-caption``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import numpy as np

from workbench.data.coco import coco
from workbench.data.loader import loader
from workbench.formatting import format_count
from workbench.io import parse_json, read_text, validated
from workbench.records import Judgements, Split, require

REMEDY = "install the positives of ECCV Caption, which come as a package: pip install 'itm-workbench[eccv]'"
# by COCO ids: the captions relevant to each image that is a query, the images relevant to each caption
Positives = tuple[Mapping[int, list[int]], Mapping[int, list[int]]]
# pairs of image queries, pairs of caption queries, image queries, caption queries
PUBLISHED = {
    "eccv": (22550, 11279, 1261, 1332),
    "cxc": (35585, 35585, 5000, 24972),
    "original": (25000, 25000, 5000, 25000),
}
RULES = {
    "eccv": "binary: written for the image, or people confirmed the match; "
    "1,261 images and 1,332 captions are queries",
    "cxc": "binary: people rated the pair 3 or better in Crisscrossed Captions",
}


@loader()
def eccv_caption(
    *,
    split: Literal["test"] = "test",
    root: str | None = None,
    source: Literal["photographs", "captions", "precomp", "regions"] = "photographs",
    complete: bool = True,
) -> Split:
    """Load the test split of MS-COCO with the positives of ECCV Caption and of Crisscrossed Captions.

    Args:
        split: ``"test"``.
        root: folder of MS-COCO; default ``WORKBENCH_DATA/coco``.
        source: of MS-COCO: ``"photographs"``, ``"captions"``, ``"regions"`` or ``"precomp"`` (with
            ``dataset_coco.json`` beside it).
        complete: refuse a copy that is not the whole test split; otherwise pairs that it lacks are left out.
            Two positives of ``"eccv"`` name a sixth caption, which no gallery of 25,000 holds; in the whole
            split they count into R and are never found, as in the package.

    Returns:
        The split with five captions an image and the judgements ``"own"``, ``"cxc"`` and ``"eccv"``. The last
        has fewer queries than the gallery has items, ``image_queries`` and ``caption_queries``: a caption
        that is relevant to a query need not be a query itself.

    Raises:
        ModuleNotFoundError: the package is not installed.
        FileNotFoundError: a file of MS-COCO is missing; the message says what to download.
        ValueError: the ids of the split are not those of the positives, or the package holds other counts
            than published.
    """
    folder = _package()
    base = coco(split=split, root=root, source=source, complete=complete)
    images = {_coco_id(image): n for n, image in enumerate(base.image_ids)}
    captions = {int(caption): n for n, caption in enumerate(base.caption_ids) if caption.isdigit()}
    if complete:
        own = _positives(folder, "original")[1]
        _require_same("captions", own, captions)
        _require_same("images", {image for images in own.values() for image in images}, images)
    found = {name: _positives(folder, name) for name in RULES}
    judged = {name: _judgements(name, one, images, captions, base, complete) for name, one in found.items()}
    absent = {name: len(_pairs(one)) - len(judged[name].grades) for name, one in found.items()}
    counted = "; they count into R, as in the package" if complete else ""
    notes = [
        f"{name}: {format_count(number)} positives name what the split lacks{counted}"
        for name, number in absent.items()
        if number
    ]
    return replace(
        base,
        name=f"eccv_caption/{split}",
        judgements={"own": base.judgements["own"], **judged},
        notes=(*base.notes, *notes),
    )


def _package() -> Path:
    # the package is found and not imported: it warns of a JSON library that is not needed here
    spec = find_spec("eccv_caption")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"eccv_caption: {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _positives(folder: Path, name: str) -> Positives:
    image, caption = (
        _side(folder / f"{name}_{direction}.json") for direction in ("image_to_caption", "caption_to_image")
    )
    counts = (*(sum(map(len, side.values())) for side in (image, caption)), len(image), len(caption))
    require(
        counts == PUBLISHED[name],
        f"{name}_*.json of the package: expected {PUBLISHED[name]} pairs and queries of images and "
        f"captions, found {counts}",
    )
    return image, caption


def _side(file: Path) -> dict[int, list[int]]:
    message = "does not hold lists of ids by id"
    ids: dict[int, list[int]] = validated(
        parse_json(read_text(file), file.name, message), dict[int, list[int]], file.name, message
    )
    return ids


def _pairs(found: Positives) -> list[tuple[int, int]]:
    """All (image, caption) pairs of either direction, in order."""
    return sorted(
        {(image, caption) for image, captions in found[0].items() for caption in captions}
        | {(image, caption) for caption, images in found[1].items() for image in images}
    )


def _coco_id(image: str) -> int:
    """391895 of ``COCO_val2014_000000391895.jpg``."""
    if digits := re.search(r"(\d+)\D*$", image):
        return int(digits[1])
    raise ValueError(f"eccv_caption: expected an image id that ends in MS-COCO's number, found {image!r}")


def _require_same(what: str, expected: Iterable[int], found: Mapping[int, int]) -> None:
    if (wanted := set(expected)) != set(found):
        raise ValueError(
            f"eccv_caption: expected the {format_count(len(wanted))} {what} of the test split, found "
            f"{format_count(len(wanted & set(found)))} of them and "
            f"{format_count(len(set(found) - wanted))} others; "
            "with source='precomp', dataset_coco.json must lie beside it"
        )


def _judgements(
    name: str,
    found: Positives,
    images: Mapping[int, int],
    captions: Mapping[int, int],
    base: Split,
    complete: bool,
) -> Judgements:
    pairs = [(images[i], captions[c]) for i, c in _pairs(found) if i in images and c in captions]
    # images of positives outside of the gallery: two of ECCV's name the sixth caption of an image
    missing = [images[i] for i, items in found[0].items() for c in items if complete and c not in captions]
    image_queries, caption_queries = (
        np.array(sorted(rows[one] for one in asked if one in rows), dtype=np.int64)
        for asked, rows in zip(found, (images, captions), strict=True)
    )
    return Judgements(
        name=name,
        rule=RULES[name],
        shape=(len(base.image_ids), len(base.captions)),
        images=np.array([image for image, _ in pairs], dtype=np.int64),
        captions=np.array([caption for _, caption in pairs], dtype=np.int64),
        grades=np.ones(len(pairs), dtype=np.float32),
        source="eccv-caption 0.1.0; Chun et al. 2022",
        image_queries=image_queries,
        caption_queries=caption_queries,
        missing_captions=np.array(missing, dtype=np.int64) if complete else None,
    )


MEMBER = eccv_caption
