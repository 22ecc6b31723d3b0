"""ECCV Caption: the false negatives of MS-COCO's test split, found by machines and confirmed by people.

Source: Chun, Kim, Park, Chang, Oh, "ECCV Caption: correcting false negatives by collecting
machine-and-human-verified image-caption associations for MS-COCO", ECCV 2022. The positives come from its
package ``eccv-caption``.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Literal

import numpy as np

from workbench.data.coco import coco
from workbench.data.loader import loader
from workbench.formatting import format_count
from workbench.io import parse_json, read_text, validate
from workbench.records import Judgements, Rows, Split, require

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
    folder = _package_folder()
    base = coco(split=split, root=root, source=source, complete=complete)
    images = {_coco_id(image): n for n, image in enumerate(base.image_ids)}
    captions = {int(caption): n for n, caption in enumerate(base.caption_ids) if caption.isdigit()}
    if complete:
        _, own = _read_positives(folder, "original")
        _require_same_ids("captions", own, captions)
        _require_same_ids("images", chain.from_iterable(own.values()), images)
    counted = "; they count into R, as in the package" if complete else ""
    judgements = {"own": base.judgements["own"]}
    notes = list(base.notes)
    for name in RULES:
        positives = _read_positives(folder, name)
        judgements[name] = _make_judgements(name, positives, images, captions, base, complete)
        absent = len(_all_pairs(positives)) - len(judgements[name].grades)
        if absent:
            notes.append(f"{name}: {format_count(absent)} positives name what the split lacks{counted}")
    return replace(base, name=f"eccv_caption/{split}", judgements=judgements, notes=tuple(notes))


def _package_folder() -> Path:
    # the package is found and not imported: it warns of a JSON library that is not needed here
    spec = find_spec("eccv_caption")
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(f"eccv_caption: {REMEDY}")
    return Path(spec.submodule_search_locations[0]) / "data"


def _read_positives(folder: Path, name: str) -> Positives:
    image = _read_side(folder / f"{name}_image_to_caption.json")
    caption = _read_side(folder / f"{name}_caption_to_image.json")
    pairs = [sum(map(len, side.values())) for side in (image, caption)]
    counts = (*pairs, len(image), len(caption))
    require(
        counts == PUBLISHED[name],
        f"{name}_*.json of the package: expected {PUBLISHED[name]} pairs and queries of images and "
        f"captions, found {counts}",
    )
    return image, caption


def _read_side(file: Path) -> dict[int, list[int]]:
    message = "does not hold lists of ids by id"
    ids: dict[int, list[int]] = validate(
        parse_json(read_text(file), file.name, message), dict[int, list[int]], file.name, message
    )
    return ids


def _all_pairs(positives: Positives) -> list[tuple[int, int]]:
    """Return all (image, caption) pairs of either direction, in order."""
    by_image, by_caption = positives
    pairs: set[tuple[int, int]] = set()
    for image, captions in by_image.items():
        pairs.update((image, caption) for caption in captions)
    for caption, images in by_caption.items():
        pairs.update((image, caption) for image in images)
    return sorted(pairs)


def _coco_id(image: str) -> int:
    """Return 391895 of ``COCO_val2014_000000391895.jpg``."""
    if digits := re.search(r"(\d+)\D*$", image):
        return int(digits[1])
    raise ValueError(f"eccv_caption: expected an image id that ends in MS-COCO's number, found {image!r}")


def _require_same_ids(what: str, expected: Iterable[int], ids: Mapping[int, int]) -> None:
    wanted = set(expected)
    numbers = (len(wanted), len(wanted & ids.keys()), len(ids.keys() - wanted))
    all_of_them, there, others = map(format_count, numbers)
    require(
        wanted == ids.keys(),
        f"eccv_caption: expected the {all_of_them} {what} of the test split, found {there} of them and "
        f"{others} others; with source='precomp', dataset_coco.json must lie beside it",
    )


def _make_judgements(
    name: str,
    positives: Positives,
    images: Mapping[int, int],
    captions: Mapping[int, int],
    base: Split,
    complete: bool,
) -> Judgements:
    by_image, by_caption = positives
    pairs = [(images[i], captions[c]) for i, c in _all_pairs(positives) if i in images and c in captions]
    image_rows, caption_rows = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    # positives outside of the gallery, by their images: two of ECCV's name the sixth caption of an image
    missing = []
    for image, relevant in by_image.items():
        missing += [images[image] for caption in relevant if complete and caption not in captions]
    image_queries, caption_queries = _rows_in_split(by_image, images), _rows_in_split(by_caption, captions)
    grades = np.ones(len(pairs), dtype=np.float32)
    missing_captions = np.array(missing, dtype=np.int64) if complete else None
    return Judgements(
        name=name,
        rule=RULES[name],
        shape=(len(base.image_ids), len(base.captions)),
        images=image_rows,
        captions=caption_rows,
        grades=grades,
        source="eccv-caption 0.1.0; Chun et al. 2022",
        image_queries=image_queries,
        caption_queries=caption_queries,
        missing_captions=missing_captions,
    )


def _rows_in_split(ids: Iterable[int], rows: Mapping[int, int]) -> Rows:
    """Return the rows of those ids that the split has, in order."""
    return np.sort(np.array([rows[number] for number in ids if number in rows], dtype=np.int64))


MEMBER = eccv_caption
