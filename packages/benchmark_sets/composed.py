"""Composed queries: an image and a text that changes it ask for other images.

``scenes`` asks for "the same scene in the snow" and for "the same scene, but the dog is red", see
``composed_scenes``. CIRR and FashionIQ are read in their own layouts and measured by their own metrics.

Three queries are compared: the unit vector of the image plus that of the text, as the explorer adds terms,
and each of the two alone. What an image alone reaches says how little of a set asks for the text.

Sources: Z. Liu et al., Image retrieval on real-life images with pre-trained vision-and-language models, ICCV
2021 (CIRR: R@K without the reference, and among the five others of its set); H. Wu et al., Fashion IQ, CVPR
2021 (R@10 and R@50, the mean over categories); its two captions are joined by "and", as A. Baldrati et al.
do, CVPR 2022 workshops. Columns and folders were checked against the README of github.com/Cuberick-Orion/CIRR
and ``start_kit/data_loader.py`` of github.com/XiaoxiaoGuo/fashion-iq.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import comb
from pathlib import Path
from typing import Any

import numpy as np

from benchmark_sets.composed_scenes import load_scenes
from benchmark_sets.queries import Gallery as Gallery
from benchmark_sets.queries import Query, split_of
from workbench.data.images import image_endings, read_image, require_file
from workbench.data.reading import find_root
from workbench.formatting import format_count
from workbench.io import content_stamp, fields_of, parse_json, read_text, validate
from workbench.metrics.declared import MeanOfKinds, draws_of_units
from workbench.metrics.intervals import ROUNDS
from workbench.metrics.ranks import rank, ratio
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Array, Measurement, MetricKey, Rows, Split, Values, require
from workbench.registry import require_known

CIRR_URL = "https://github.com/Cuberick-Orion/CIRR"
FASHIONIQ_URL = "https://github.com/XiaoxiaoGuo/fashion-iq"
CATEGORIES = ("dress", "shirt", "toptee")
UNIT = "reference images, each with all its queries"
MEAN = "mean of categories"


def load_cirr(root: str | None) -> list[Gallery]:
    """Read the validation queries of CIRR.

    Args:
        root: folder with ``cirr/captions``, ``cirr/image_splits`` and the images, or with the two first
            beside the images; default ``WORKBENCH_DATA/cirr``.

    Raises:
        FileNotFoundError: a file is missing; the message says where to get it.
        ValueError: a query is malformed, or names an image that the split lacks.
    """
    remedy = f"Get captions/ and image_splits/ from {CIRR_URL} and the images of dev/ beside them"
    folder = find_root("cirr", root, [], remedy)
    base = folder / "cirr" if (folder / "cirr" / "captions").is_dir() else folder
    files = [base / "captions" / "cap.rc2.val.json", base / "image_splits" / "split.rc2.val.json"]
    for file in files:
        require(
            file.is_file(), f"cirr: {base} lacks {file.parent.name}/{file.name}. {remedy}", FileNotFoundError
        )
    places = validate(parse_json(read_text(files[1]), files[1].name), dict[str, str], files[1].name)
    rows = {image: row for row, image in enumerate(places)}
    queries = []
    for where, content in _records(files[0]):
        reference, target, text = fields_of(
            content, dict[str, str], where, "reference", "target_hard", "caption"
        )
        (members,) = fields_of(content.get("img_set"), dict[str, list[str]], where, "members")
        others = [_row(rows, image, where) for image in members if image != reference]
        queries.append(Query(_row(rows, reference, where), text, (_row(rows, target, where),), tuple(others)))
    paths = [folder / place for place in places.values()]
    split = _split_of_files("cirr/val", list(places), paths)
    return [Gallery(split, queries, depths_of_candidates=(1, 2, 3))]


def load_fashioniq(root: str | None) -> list[Gallery]:
    """Read the validation queries of FashionIQ, a gallery for each category.

    Args:
        root: folder with ``captions/``, ``image_splits/`` and ``images/``; default
            ``WORKBENCH_DATA/fashioniq``.

    Raises:
        FileNotFoundError: a file or an image is missing; the message says where to get it.
        ValueError: a query is malformed, or names an image that the split lacks.
    """
    remedy = f"Get captions/ and image_splits/ from {FASHIONIQ_URL} and put the images into images/"
    folder = find_root("fashioniq", root, ["captions", "image_splits", "images"], remedy)
    galleries = []
    for category in CATEGORIES:
        captions = folder / "captions" / f"cap.{category}.val.json"
        if not captions.is_file():
            continue
        split = folder / "image_splits" / f"split.{category}.val.json"
        ids = validate(parse_json(read_text(split), split.name), list[str], split.name)
        rows = {image: row for row, image in enumerate(ids)}
        queries = []
        for where, content in _records(captions):
            reference, target = fields_of(content, dict[str, str], where, "candidate", "target")
            (texts,) = fields_of(content, dict[str, list[str]], where, "captions")
            text = " and ".join(words.strip(".?, ") for words in texts)
            queries.append(Query(_row(rows, reference, where), text, (_row(rows, target, where),)))
        paths = [_image_file(folder / "images", image) for image in ids]
        images = _split_of_files(f"fashioniq/{category}", ids, paths)
        galleries.append(Gallery(images, queries, category, depths=(10, 50), without_reference=False))
    require(galleries, f"fashioniq: {folder}/captions lacks cap.dress.val.json. {remedy}", FileNotFoundError)
    return galleries


LOADERS: dict[str, Callable[[str | None], list[Gallery]]] = {
    "scenes": load_scenes,
    "cirr": load_cirr,
    "fashioniq": load_fashioniq,
}


def load(name: str, root: str | None = None) -> list[Gallery]:
    """Load composed queries by the name of their data set.

    Raises:
        KeyError: no such data set; the message lists those that there are.
    """
    require_known("no composed queries of", name, LOADERS)
    return LOADERS[name](root)


def _records(file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    content = parse_json(read_text(file), file.name)
    require(isinstance(content, list), f"{file.name}: expected a list of queries")
    for number, row in enumerate(content, start=1):
        where = f"{file.name} row {number}"
        require(isinstance(row, dict), f"{where} is malformed: expected an object, found {row!r:.40}")
        yield where, row


def _row(rows: dict[str, int], image: str, where: str) -> int:
    require(image in rows, f"{where}: the split of images has no {image!r}")
    return rows[image]


def _image_file(folder: Path, image: str) -> Path:
    """Return the file of an image whose name has no ending."""
    files = (folder / f"{image}{ending}" for ending in image_endings())
    return next((file for file in files if file.is_file()), folder / f"{image}.png")


def _split_of_files(name: str, ids: Sequence[str], paths: Sequence[Path]) -> Split:
    for image, path in zip(ids, paths, strict=True):
        require_file(path, f"{name}, image {image}")
    read = split_of(name, ids, lambda row: read_image(paths[row], f"{name}, image {ids[row]}"))
    return replace(read, stamp=lambda row: content_stamp(paths[row]))


def evaluate_composed(model: Any, galleries: Sequence[Gallery], *, rounds: int = ROUNDS) -> list[Measurement]:
    """Measure a model by the sum of both vectors, and by each of the two alone, see ``composed_numbers``."""
    return [number for number, _ in composed_numbers(model, galleries, rounds=rounds)]


def composed_numbers(
    model: Any, galleries: Sequence[Gallery], *, rounds: int = ROUNDS
) -> list[tuple[Measurement, Values]]:
    """Measure a model by the sum of both vectors, and by each of the two alone, query by query.

    Args:
        model: of ``open_model``, with cosines of one vector an item.
        galleries: of ``load``.
        rounds: bootstrap rounds, which draw references with all their queries; 0 = no intervals.

    Returns:
        ``R@K[sum]``, ``R@K[image]`` and ``R@K[text]``, and ``R_subset@K`` where queries have candidates; of
        several galleries the mean over them. Where queries are of several kinds or categories, each of these
        has numbers of its own, ``R@K[sum, colour]``. Each with its ``(Q,)`` values by query, gallery after
        gallery, NaN where a query does not count.
    """
    require(
        model.of_unit_length, f"{model.name} has no cosines of one vector an item; vectors cannot be added"
    )
    hits: dict[tuple[str, int, str], list[Array]] = {}
    for gallery in galleries:
        for name, scores in _scores(model, gallery):
            for key, values in _hits(gallery, scores).items():
                hits.setdefault((*key, name), []).append(values)
    draws = draws_of_units(units_of(galleries), UNIT, rounds)
    place = np.concatenate([np.full(len(gallery.queries), n) for n, gallery in enumerate(galleries)])
    kinds = np.array(_kinds_of(galleries))
    size = max(len(gallery.split.image_ids) for gallery in galleries)
    whole, parts = [], []
    for (metric, k, name), columns in hits.items():
        values = np.concatenate(columns, axis=1)
        whole.append((_number(metric, k, name, values, place, draws, size), values[0]))
        for kind in dict.fromkeys(kinds.tolist()):
            of_kind = np.where(kinds == kind, values, np.nan)
            subset = f"{name}, {kind}"
            number = _number(metric, k, subset, of_kind, np.zeros(len(kinds)), draws, size)
            parts.append((number, of_kind[0]))
    return [*whole, *parts] if len(set(kinds.tolist())) > 1 else whole


def _kinds_of(galleries: Sequence[Gallery]) -> list[str]:
    """Return the kind of each query, or else the category of its gallery."""
    kinds = []
    for gallery in galleries:
        kinds += [query.kind or gallery.category for query in gallery.queries]
    return kinds


def units_of(galleries: Sequence[Gallery]) -> Rows:
    """Return ``(Q,)`` number of the reference image that each query is drawn with, gallery after gallery."""
    units: list[Rows] = []
    offset = 0
    for gallery in galleries:
        references = np.array([query.reference for query in gallery.queries])
        _, unit = np.unique(references, return_inverse=True)
        units.append(unit + offset)
        offset += int(unit.max()) + 1
    return np.concatenate(units)


def _number(
    metric: str, k: int, name: str, values: Values, kinds: Values, draws: Any, gallery: int
) -> Measurement:
    values, chances = values
    row: Metric = Metric.from_function(metric, ratio, "a target is among the {k} best")()
    if len(np.unique(kinds)) > 1:
        mean = MeanOfKinds([np.where(kinds == kind, values, np.nan) for kind in np.unique(kinds)])
        mean.name, mean.hit = metric, f"a target is among the {{k}} best; {MEAN}"
        row = mean
    chance = float(np.mean([np.nanmean(chances[kinds == kind]) for kind in np.unique(kinds)]))
    return report_number(row, MetricKey(metric, "", k=k, subset=name), values, "", draws, gallery, chance)


def _scores(model: Any, gallery: Gallery) -> Iterator[tuple[str, Array]]:
    """Yield the name of each kind of query with its ``(Q, I)`` cosines."""
    images = _unit(model.embed_images_of(model.source(gallery.split)).mean.numpy())
    texts = _unit(model.embed_texts([query.text for query in gallery.queries]).mean.numpy())
    references = images[[query.reference for query in gallery.queries]]
    for name, vectors in (("sum", _unit(references + texts)), ("image", references), ("text", texts)):
        yield name, vectors @ images.T


def _unit(vectors: Array) -> Array:
    return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12))


def _hits(gallery: Gallery, scores: Array) -> dict[tuple[str, int], Array]:
    """Return by metric and depth ``(2, Q)`` whether each query has a target among its best, and chance."""
    relevant = np.zeros(scores.shape, dtype=bool)
    among = np.full(scores.shape, -np.inf)
    for row, query in enumerate(gallery.queries):
        relevant[row, list(query.targets)] = True
        among[row, list(query.candidates)] = scores[row, list(query.candidates)]
        if gallery.without_reference:
            scores[row, query.reference] = -np.inf
    size = scores.shape[1] - gallery.without_reference
    out = {}
    for metric, table, depths in (
        ("R", scores, gallery.depths),
        ("R_subset", among, gallery.depths_of_candidates),
    ):
        first = rank(table, relevant).first if depths else np.zeros(0)
        for k in depths:
            sizes = [size] * len(gallery.queries)
            if metric == "R_subset":
                sizes = [len(query.candidates) for query in gallery.queries]
            targets = [len(query.targets) for query in gallery.queries]
            chances = [_chance(k, right, of_all) for right, of_all in zip(targets, sizes, strict=True)]
            out[metric, k] = np.stack([first <= k, chances]).astype(float)
    return out


def _chance(k: int, targets: int, images: int) -> float:
    """Return how likely ``k`` images drawn of all hold a target."""
    k = min(k, images)
    return 1 - comb(images - targets, k) / comb(images, k)


def describe(galleries: Sequence[Gallery]) -> str:
    """Describe in a line how much there is."""
    parts = []
    for gallery in galleries:
        images = format_count(len(gallery.split.image_ids), "image")
        queries = format_count(len(gallery.queries), "composed query")
        parts.append(f"{gallery.split.name}: {queries} of {images}")
    return "; ".join(parts)
