"""What claims ask of a trained run and no evaluation says: each probe reads one finished run.

A probe gives the values whose mean is its number: one an image where it asks images, else one. They are kept
beside the run, under a name that follows from the probe's own code, so that nothing is measured twice.
"""

import hashlib
import inspect
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import compress
from typing import Any

import numpy as np
import torch
from scene_world import placements
from scene_world.truth import exact_and_graded
from scene_world.vocabulary import NOUNS
from scipy.stats import kendalltau, kurtosis, skew

from paper_tables import weights
from workbench import data, text
from workbench.io import replacing
from workbench.metrics import counterfactual_accuracy, evaluation
from workbench.metrics.blocks import by_rows
from workbench.metrics.grades import Lists, lists
from workbench.metrics.hierarchy import Chains
from workbench.metrics.ranks import ratio
from workbench.metrics.semantic import sr_top
from workbench.records import Array, Embedding, Judgements, Rows, SceneGraph, Split, Values, require
from workbench.runs import Target, open_runs
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate
from workbench.runs.measure import evaluate_split
from workbench.runs.result import Result
from workbench.runs.scoring import score_split
from workbench.views.maps.measures import modality_gap

PREFIX = "probe:"
NEAR_NORMAL = 500  # items whose distances are looked at
ASKED, WEIGHED = 9, 100  # captions that are timed in each gallery, images whose weights are read
GALLERIES = (500, 5000, 25000)  # images
DEPTH = 5  # items that a query retrieves where relevance by CIDEr-D counts
Probe = Callable[[Result], Any]


def probe_values(run: runs.Run, key: str, target: Target | None = None) -> Values:
    """Return the values of a probe, ``(n,)``, measured where they are not there yet.

    Args:
        run: finished.
        key: name of a probe after ``PREFIX``.
        target: other data that it asks; ``None`` = the run's own test split.

    Raises:
        KeyError: no such probe.
    """
    name = key.removeprefix(PREFIX).replace(" ", "_")
    require(name in PROBES, f"no probe {name!r}; there are {', '.join(PROBES)}", KeyError)
    probe = PROBES[name]
    code = inspect.getsource(probe.func if isinstance(probe, partial) else probe)
    description = target.model_dump_json() if target else ""
    place = hashlib.sha256(f"{code} {description}".encode()).hexdigest()[:8]
    file = run.folder / "probes" / f"{name}-{place}.npy"
    if not file.is_file():
        measured = np.atleast_1d(np.asarray(probe(_open_run(str(run.folder), description)), dtype=np.float64))
        with replacing(file) as temporary, temporary.open("wb") as stream:
            np.save(stream, measured)
    return np.asarray(np.load(file))


@lru_cache(maxsize=1)
def _open_run(folder: str, target: str) -> Result:
    return open_runs([folder], on=json.loads(target) if target else None)[0]


def gap(run: Result) -> float:
    """Return the distance of the centres of images and captions."""
    return modality_gap(run.image.mean.numpy(), run.text.mean.numpy()).distance


def departure(run: Result) -> float:
    """Return how far distances are from a normal distribution: the largest skewness or excess kurtosis, by
    amount, of those between images, between captions, and between both.
    """
    image, words = (side.mean.numpy()[:NEAR_NORMAL].astype(np.float64) for side in (run.image, run.text))
    above = np.triu_indices(len(image), k=1)
    cosines = [(image @ image.T)[above], (words @ words.T)[above], (image @ words.T).ravel()]
    amounts = []
    for cosine in cosines:
        distances = np.sqrt(np.maximum(2 - 2 * cosine, 0))
        amounts += [abs(skew(distances)), abs(kurtosis(distances))]
    return float(max(amounts))


def dimensions(run: Result) -> float:
    """Return, over pairs of image and caption, the mean correlation of a dimension with itself, less the mean
    amount of that with the others.
    """
    image, words = run.image.mean.numpy()[run.split.own], run.text.mean.numpy()
    width = image.shape[1]
    with np.errstate(invalid="ignore"):  # a dimension that is the same everywhere
        correlations = np.corrcoef(image.astype(np.float64), words.astype(np.float64), rowvar=False)[
            :width, width:
        ]
    other = ~np.eye(width, dtype=bool)
    return float(np.nanmean(np.diag(correlations)) - np.nanmean(np.abs(correlations[other])))


def families(run: Result) -> Values:
    """Return the silhouette of each image that shows things of one family alone, among these, by cosine."""
    from sklearn.metrics import silhouette_samples

    kinds = [_families_of(graph) for graph in _graphs(run)]
    rows = np.array([row for row, names in enumerate(kinds) if len(names) == 1])
    names = np.array([next(iter(kinds[row])) for row in rows])
    return np.asarray(silhouette_samples(run.image.mean.numpy()[rows], names, metric="cosine"))


def _families_of(graph: SceneGraph) -> set[str]:
    """Return the families of the things of a scene."""
    return {NOUNS[name].kinds[-1] for name in graph.objects if name in NOUNS}


def share_of_sets(run: Result, m: int = 1) -> Values:
    """Return Semantic Recall at 5 of the ``m`` best items by CIDEr-D over the most that it can be, by image:
    the mean of both directions.
    """
    phi = by_rows(_cider_scores(run.split.captions, tuple(run.split.own.tolist())))
    scores, recalls = by_rows(run.scores), []
    for side, grades in ((scores, phi), (scores.T, phi.T)):
        parts = lists(side, grades, depth=DEPTH, width=m)
        recalls.append(np.concatenate([_bounded_recall(part, m) for _, part in parts]))
    return mean_by_image(run.split, *recalls)


def _bounded_recall(part: Lists, m: int) -> Values:
    """Return Semantic Recall over what five items can hold of those that are relevant."""
    relevant = (part.retrieved[2][:, :m] > 0).sum(axis=1)
    most = ratio(np.minimum(DEPTH, relevant), relevant)
    return sr_top(part, DEPTH, m) / most


def growth_of_share(run: Result) -> Values:
    """Return how much this share rises from the best item by CIDEr-D to the thirty best."""
    return np.asarray(share_of_sets(run, 30) - share_of_sets(run, 1))


def order(run: Result) -> Values:
    """Return Kendall's tau of descriptiveness and score among the captions that are true of an image."""
    descriptiveness = (
        text.load("descriptiveness").fit(run.split.captions).transform(run.split.captions).values
    )
    true, scores = run.split.judgements["exact"].dense() > 0, run.scores
    return np.array(
        [
            kendalltau(descriptiveness[mask], row[mask]).statistic
            for mask, row in zip(true, scores, strict=True)
        ]
    )


def above_entities(run: Result) -> Values:
    """Return whether a caption scores above each of its entities, by image the share of its captions."""
    image, words = _embed_split(run, run.split)
    if words.entities is None or words.owner is None:
        raise ValueError("the text encoder has no entities")
    mine, owner = image.mean[torch.from_numpy(run.split.own)], words.owner
    own = (mine * words.mean).sum(1).numpy()
    best = np.full(len(own), -np.inf)
    np.maximum.at(best, owner.numpy(), (mine[owner] * words.entities).sum(1).numpy())
    return mean_of_captions(run.split.own, (own > best).astype(np.float64))


def entities(run: Result) -> Values:
    """Return mAP@R of images by each entity of the captions, an object with its looks, by the truth."""
    graphs: dict[str, SceneGraph] = {}
    for graph in run.split.caption_graphs or ():
        graphs |= {
            _object_phrase(graph, node): _lone_object(graph, node) for node in range(len(graph.objects))
        }
    names = sorted(phrase for phrase, graph in graphs.items() if graph.objects[0] in NOUNS)
    true, _ = exact_and_graded([graphs[name] for name in names], _graphs(run))
    somewhere = np.asarray(true.any(axis=0))
    names, true = list(compress(names, somewhere.tolist())), true[:, somewhere]
    embedding = run.model.embed_texts(names)
    vectors = embedding.mean
    if embedding.entities is not None and embedding.owner is not None:  # the first of each phrase
        vectors = embedding.entities[np.searchsorted(embedding.owner.numpy(), np.arange(len(names)))]
    scores = run.image.mean.numpy() @ vectors.numpy().T
    rows, columns = np.nonzero(true)
    judged = Judgements("exact", "true of the image", true.shape, rows, columns, np.ones(len(rows)))
    evidence = evaluation.Evidence(scores, judged, np.zeros(len(names), dtype=np.int64))
    return next(
        values
        for measurement, values in evaluation.walk(evidence, ["map_at_r"], rounds=0)
        if measurement.key.direction == "t2i"
    )


def reranked(run: Result) -> float:
    """Return RSUM ranked again by entities, their weight chosen on the validation split, less RSUM as it
    is.
    """
    options = {"objective": {"beta": None}}
    return evaluate(run.folder, scoring=options)["rsum"] - run["rsum"]


def first_epoch(run: Result) -> float:
    """Return RSUM on the validation split after the first epoch."""
    return next(row["val/rsum"] for row in run.history if row["epoch"] == 1)


def steps(run: Result) -> float:
    """Return steps until RSUM on the validation split first reaches nine tenths of its last value, by
    straight lines between epochs.
    """
    at = [row["steps"] for row in run.history]
    rsum = [row["val/rsum"] for row in run.history]
    goal = 0.9 * rsum[-1]
    after = next(n for n, value in enumerate(rsum) if value >= goal)
    return float(np.interp(goal, rsum[after - 1 : after + 1], at[after - 1 : after + 1])) if after else at[0]


def attributes(run: Result) -> Values:
    """Return, by image, the share of captions that score above their counterfactuals with two attributes
    exchanged.
    """
    images = len(run.split.image_ids)
    split = data.load("scenes", split="test", size=images, texts="swaps")
    scores, only = (
        score_split(run.model, *_embed_split(run, split)),
        {"attributes": split.counterfactuals["attributes"]},
    )
    return next(
        values
        for _, values in counterfactual_accuracy.counterfactual_accuracies(scores, only, split.own, rounds=0)
    )


def slope_of_time(run: Result) -> float:
    """Return the milliseconds that each further thousand images add to a query, these being embedded already:
    a least-squares line over ``GALLERIES``.
    """
    medians = [_median_milliseconds(run, images) for images in GALLERIES]
    return float(np.polyfit(np.array(GALLERIES) / 1000, medians, 1)[0])


def _median_milliseconds(run: Result, images: int) -> float:
    """Return the median time of a query in a gallery that repeats the images of a run."""
    gallery = _repeated(run.image, images)
    took = []
    for caption in run.split.captions[:ASKED]:
        began = time.perf_counter()
        np.argsort(-run.model.scores(gallery, run.model.embed_texts([caption]))[:, 0], kind="stable")
        took.append(time.perf_counter() - began)
    return 1000 * float(np.median(took))


def _repeated(image: Embedding, images: int) -> Embedding:
    """Repeat embeddings until there are so many."""
    rows = torch.arange(images) % len(image)
    parts: dict[str, Any] = {}
    for name in ("mean", "log_var", "parts", "mask", "local"):
        value = getattr(image, name)
        parts[name] = None if value is None else value[rows]
    return Embedding(**parts)


def named_things(run: Result) -> Values:
    """Return by image the mean weight of the cells of those things that a caption names, in uniform weights,
    over captions that name some of the things and leave out others.
    """
    rows, numbers = range(min(WEIGHED, len(run.split.image_ids))), []
    graphs = run.split.caption_graphs
    assert graphs is not None  # the data are the synthetic scenes
    for row, sheet, scene in zip(
        rows, weights.weights_of_run(run, rows), placements("test", rows), strict=True
    ):
        assert sheet.boxes is not None  # the cells of a grid
        cells = [_cells_of(thing.box, sheet.boxes) for thing in scene.things]
        shares = []
        for caption in np.flatnonzero(run.split.own == row):
            names = [_is_named(thing.noun, graphs[caption]) for thing in scene.things]
            if any(names) and not all(names):
                inside = np.any([of_thing for of_thing, name in zip(cells, names) if name], axis=0)
                shares.append(sheet.regions[inside].mean() * len(inside) if inside.any() else np.nan)
        numbers.append(np.nanmean(shares) if np.isfinite(shares).any() else np.nan)
    return np.array(numbers)


def _cells_of(box: Sequence[int], boxes: Array) -> Array:
    """Return the cells of a grid, ``(K,)``, whose centres lie in a box in thousandths."""
    x, y = ((boxes[:, n] + boxes[:, n + 2]) / 2 * 1000 for n in (0, 1))
    left, top, right, bottom = box
    return np.asarray((left <= x) & (x <= right) & (top <= y) & (y <= bottom))


def _is_named(noun: str, graph: SceneGraph) -> bool:
    """Return whether a caption names a thing, by its noun or by a kind of it."""
    return bool({noun, *NOUNS[noun].kinds} & set(graph.objects))


def levels(run: Result) -> float:
    """Return recall of the generic levels, 1 and 2, less that of the specific ones, 3 and 4."""
    recalls = [run[f"chains:hierarcaps_traversal_R_level@{level}"] for level in (1, 2, 3, 4)]
    return (recalls[0] + recalls[1] - recalls[2] - recalls[3]) / 2


def nearest(run: Result) -> float:
    """Return the median distance of an image from its most specific text, less the least of those from its
    other levels; of each the distance from the images of other chains is taken off.
    """
    sides = (run.image.mean.numpy(), run.text.mean.numpy(), run.model.embed_texts([""]).mean[0].numpy())
    chains = Chains(run.split, *sides)
    own = chains.distance[chains.rows]
    cosines = chains.text[chains.rows] @ chains.image.T.astype(np.float64)
    others = np.sqrt(np.maximum(2 - 2 * cosines, 0)).mean(axis=2)
    medians = np.median(own - others, axis=0)
    return float(medians[-1] - medians[:-1].min())


def elsewhere(run: Result) -> Values:
    """Return RSUM on the photographs of HierarCaps with the captions that people wrote for them, by image."""
    split = _human_captions()
    scores = score_split(run.model, *_embed_split(run, split))
    only = replace(split, judgements={"own": split.judgements["own"]})
    _, values = evaluate_split(scores, only, rounds=0)
    images = len(split.image_ids)
    return 2 * mean_by_image(split, values["rsum"][:images], values["rsum"][images:])


_FUNCTIONS = (
    *(gap, departure, dimensions, families, growth_of_share, order, above_entities, entities, reranked),
    *(first_epoch, steps, attributes, slope_of_time, named_things, levels, nearest, elsewhere),
)
PROBES: dict[str, Probe] = {probe.__name__: probe for probe in _FUNCTIONS}
PROBES |= {"share_of_1": share_of_sets, "share_of_30": partial(share_of_sets, m=30)}


def mean_by_image(split: Split, i2t: Values, t2i: Values) -> Values:
    """Return ``(I,)`` mean of an image's value and the mean of its captions' values."""
    return np.asarray((i2t + mean_of_captions(split.own, t2i)) / 2)


def mean_of_captions(own: Rows, values: Values) -> Values:
    """Return ``(I,)`` mean over the captions of each image that have a value."""
    there, images = ~np.isnan(values), int(own.max()) + 1
    sums, counts = (
        np.bincount(own[there], numbers, images) for numbers in (values[there], np.ones(there.sum()))
    )
    return ratio(sums, counts)


def _embed_split(run: Result, split: Split) -> tuple[Embedding, Embedding]:
    return run.model.embed(run.model.source(split, every_signal=False))


def _graphs(run: Result) -> list[SceneGraph]:
    graphs = run.split.image_graphs
    assert graphs is not None  # the data are the synthetic scenes
    return list(graphs)


def _object_phrase(graph: SceneGraph, node: int) -> str:
    """Return an object with its looks as a phrase: "red striped cat"."""
    looks = sorted(look for other, look in graph.attributes if other == node)
    return " ".join([*looks, graph.objects[node]])


def _lone_object(graph: SceneGraph, node: int) -> SceneGraph:
    looks = tuple((0, look) for other, look in graph.attributes if other == node)
    return replace(graph, objects=(graph.objects[node],), attributes=looks, relations=())


@lru_cache(maxsize=2)
def _cider_scores(captions: tuple[str, ...], own: tuple[int, ...]) -> Array:
    rows = np.array(own)
    return by_rows(text.load("cider").fit(captions, rows).transform(captions, rows)).rows()


@cache
def _human_captions() -> Split:
    """Return the photographs of HierarCaps that are there, with MS-COCO's captions."""
    there, whole = (
        data.load("hierarcaps", split="test"),
        data.load("hierarcaps", split="test", texts="captions"),
    )
    rows = np.flatnonzero(np.isin(whole.image_ids, there.image_ids))
    keep = np.flatnonzero(np.isin(whole.own, rows))
    ids = (tuple(whole.image_ids[row] for row in rows), tuple(whole.caption_ids[row] for row in keep))
    captions = tuple(whole.captions[row] for row in keep)
    own = np.searchsorted(rows, whole.own[keep]).astype(np.int64)
    name = "photographs of hierarcaps, captions of coco"
    return Split(name, ids[0], captions, ids[1], own, lambda row: whole.open_image(int(rows[row])))
