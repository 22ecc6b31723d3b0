"""One run's space on a map: places, neighbours in the full space, and what is known of each item.

The images and captions of a split are the rows of one table, images first: what a map colours, filters and
hands back.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from workbench import text
from workbench.metrics.space import third_moment
from workbench.records import Array, MetricKey, Rows, Split, require
from workbench.registry import require_known
from workbench.runs.result import Result
from workbench.text.words import words
from workbench.training.samplers import k_means
from workbench.views.maps import coordinates, measures
from workbench.views.maps.coordinates import Settings, procrustes
from workbench.views.plots.embedding_map import Marks


@dataclass(frozen=True)
class SpaceMap:
    """A map and what it was made from; rows are the images of the split and then its captions.

    Args:
        name: of the run, and that means are mapped where items have several vectors.
        run: model, split and embeddings.
        items: ``items_of``, with the name of the item's ``cluster`` in the first space that was mapped,
            and of this space ``hubness`` (in how many result lists of the other kind the item stands),
            ``gap`` (its place along the modality gap) and, beside other spaces, ``moved`` (how far it lies
            from where the first space has it, once the whole spaces are laid on one another; in the first,
            the mean over the others).
        vectors: ``(N, D)`` unit vectors.
        points: ``(N, 2)`` places.
        neighbours: ``(N, k)`` nearest others in the full space by cosine, of both kinds.
        gap: the modality gap.
        quality: what the map keeps of the space, see ``measures.map_quality``.
        settings: how the places were computed.
    """

    name: str
    run: Result
    items: pd.DataFrame
    vectors: Array
    points: Array
    neighbours: Rows
    gap: measures.Gap
    quality: dict[str, float]
    settings: Settings

    def marks(self, colour: str) -> Marks:
        """Return what a figure of the map draws, coloured by a column of the items.

        Raises:
            ValueError: no such column, or one in which nothing is known of these data.
        """
        known = [str(name) for name in self.items if self.items[name].notna().any()]
        require_known(f"the map of {self.name} has no colour", colour, known, ValueError)
        kind, text, values = (self.items[name].tolist() for name in ("kind", "text", colour))
        return Marks(kind, text, values, colour)

    def map_of_kind(self, kind: str, colour: str = "cluster") -> tuple[Array, Marks]:
        """Return a map of one kind of item, ``"image"`` or ``"caption"``, by itself (AAHR, Fig. 5): places,
        computed when asked, and what is drawn.

        Raises:
            ValueError: as ``marks``, or fewer than four items.
        """
        chosen = (self.items["kind"] == kind).to_numpy()
        part = replace(self, items=self.items[chosen], vectors=self.vectors[chosen])
        places = coordinates.places(part.vectors, part.items["id"].tolist(), self.settings)
        return places, part.marks(colour)

    def facts(self) -> dict[str, float]:
        """Return the numbers of the map, for a table or a result file.

        Returns:
            ``trustworthiness``, ``overlap`` with its value by ``chance``, ``gap`` (distance of the centres),
            ``gap_auc``, ``gap_accuracy``, and the skewness of the hubness of images and of captions.
        """
        counts = self.items["hubness"].to_numpy()
        image = (self.items["kind"] == "image").to_numpy()
        return {
            **self.quality,
            "gap": self.gap.distance,
            "gap_auc": self.gap.auc,
            "gap_accuracy": self.gap.accuracy,
            "hubness_images": third_moment(counts[image]),
            "hubness_captions": third_moment(counts[~image]),
        }


def map_runs(
    runs: Sequence[Result],
    settings: Settings | None = None,
    *,
    k: int = 10,
    clusters: int = 7,
    folder: Path | None = None,
) -> list[SpaceMap]:
    """Map the spaces of several runs on one split; each map after the first starts from the places of the
    first.

    That leaves the maps comparable: where both spaces agree, an item stays where it is.

    Args:
        runs: what ``open_runs`` gives; they share one split.
        settings: of the method; ``None`` = t-SNE.
        k: neighbours of an item, and length of the result lists that hubness counts; where there are fewer
            others, all of them.
        clusters: how many, in the first space; where fewer items differ, as many as differ.
        folder: where places of a run without a folder are kept; ``None`` = nowhere. Those of a run lie in its
            ``maps``.

    Raises:
        ValueError: there are fewer than four items, all vectors of a run are equal, or it has none.
    """
    for run in runs:
        require(run.image.mean.shape[1], f"{run.name} scores pairs and has no vectors, so it has no map")
    settings = settings or Settings()
    maps: list[SpaceMap] = []
    shared = items_of(runs[0].split)
    k = min(k, len(shared) - 1)
    cluster = clusters_of(runs[0].image.mean.numpy(), runs[0].text.mean.numpy(), clusters, settings.seed)
    names = cluster_names(cluster, shared["kind"].tolist(), shared["text"].tolist())
    shared["cluster"] = [names[number] for number in cluster]
    for run, moved in zip(runs, _distances_moved(runs), strict=True):
        image = run.image.mean.numpy()
        texts = run.text.mean.numpy()
        vectors = vectors_of(run)
        start = maps[0].points if maps else None
        place = run.folder / "maps" if run.folder else folder
        points = coordinates.places(vectors, shared["id"].tolist(), settings, start=start, folder=place)
        near = measures.nearest_in_space(vectors, k)
        gap = measures.modality_gap(image, texts)
        hubness = np.concatenate(measures.hubness(run.any_scores(), k))
        items = shared.assign(hubness=hubness, gap=np.concatenate([gap.image, gap.text]))
        if moved is not None:
            items["moved"] = moved
        quality = measures.map_quality(vectors, points, near, seed=settings.seed)
        several = run.image.parts is not None or run.text.parts is not None
        name = f"{run.name} (means of several vectors)" if several else run.name
        maps.append(SpaceMap(name, run, items, vectors, points, near, gap, quality, settings))
    return maps


def space_change(first: SpaceMap, other: SpaceMap) -> dict[str, float]:
    """Return how far two runs differ, in the full space and on the map of the same items.

    Returns:
        ``neighbours_kept``, the share of an item's nearest in the first space that are among its nearest in
        the other; ``moved``, the median distance that is left between an item's places in both spaces, laid
        on one another; ``map_disparity``, the share of the first map's spread that the other, laid on it,
        does not explain.
    """
    k = min(first.neighbours.shape[1], other.neighbours.shape[1])
    shared = measures.neighbour_overlap(first.neighbours[:, :k], other.neighbours[:, :k])
    moved: Any = _distances_moved([first.run, other.run])[-1]
    return {
        "neighbours_kept": float(shared.mean()),
        "moved": float(np.median(moved)),
        "map_disparity": procrustes(first.points, other.points).disparity,
    }


def metrics(maps: Sequence[SpaceMap]) -> dict[str, float]:
    """Return the numbers of every map, and of every change from the first map to another, as a result file
    has them.

    Returns:
        By the text of a ``MetricKey``: ``"trustworthiness[ditm]"``, ``"neighbours_kept[infonce to ditm]"``.
    """
    facts = {space.name: space.facts() for space in maps}
    for other in maps[1:]:
        facts[f"{maps[0].name} to {other.name}"] = space_change(maps[0], other)
    numbers: dict[str, float] = {}
    for subset, values in facts.items():
        numbers |= {str(MetricKey(fact, subset=subset)): value for fact, value in values.items()}
    return numbers


def vectors_of(run: Result) -> Array:
    """Return ``(I + T, D)`` unit vectors of a run, images first."""
    return np.concatenate([run.image.mean.numpy(), run.text.mean.numpy()])


def _distances_moved(runs: Sequence[Result]) -> list[Array | None]:
    """Return how far each item lies from where the first space has it, in the full space; nothing where there
    is one run only.
    """
    width = max(run.image.mean.shape[1] for run in runs)
    spaces = [vectors_of(run) for run in runs]
    first, *others = [np.pad(space, ((0, 0), (0, width - space.shape[1]))) for space in spaces]
    moved = [procrustes(first, other).moved for other in others]
    return [np.mean(moved, axis=0), *moved] if moved else [None]


def items_of(split: Split) -> pd.DataFrame:
    """Return what the data say of each item.

    Returns:
        ``I + T`` rows: ``id``; ``kind``, ``"image"`` or ``"caption"``; ``text``, of an image all its
        captions, one a line; ``image``, the row of the item's image; ``level`` of a caption, missing for
        images and where the data know none; ``descriptiveness`` of a caption against the captions of the
        split, missing for images and where all captions say equally much.
    """
    images, captions = len(split.image_ids), len(split.captions)
    texts = pd.Series(split.captions).groupby(split.own).agg("\n".join).reindex(range(images), fill_value="")
    level = np.full(captions, np.nan) if split.level is None else split.level.astype(float)
    maker: Any = text.load("descriptiveness")
    descriptiveness: Any = np.full(captions, np.nan)
    # captions that say equally much cannot be told apart
    with suppress(ValueError):
        descriptiveness = maker.fit(split.captions).transform(split.captions).values
    unknown = np.full(images, np.nan)
    items = pd.DataFrame({"id": [*split.image_ids, *split.caption_ids]})
    items["kind"] = ["image"] * images + ["caption"] * captions
    items["text"] = [*texts, *split.captions]
    items["image"] = np.concatenate([np.arange(images), split.own])
    items["level"] = np.concatenate([unknown, level])
    items["descriptiveness"] = np.concatenate([unknown, descriptiveness])
    return items


def clusters_of(image: Array, texts: Array, count: int, seed: int) -> Rows:
    """Return the cluster of each item by k-means, images first; no more clusters than items that differ.

    Each kind is moved to the common centre before, since otherwise the first thing that separates clusters is
    the modality gap.
    """
    centred = np.concatenate([image - image.mean(axis=0), texts - texts.mean(axis=0)])
    return k_means(centred, min(count, len(np.unique(centred, axis=0))), seed=seed)


def cluster_names(cluster: Rows, kind: Sequence[str], captions: Sequence[str], *, each: int = 3) -> list[str]:
    """Return a name for each cluster: the words that its captions hold more often than all captions do,
    without English words of no content.

    A word held by a share ``p`` of the cluster's captions and ``q`` of all captions counts ``p log(p / q)``,
    its part of the Kullback-Leibler divergence, so that neither words that all hold nor words that one
    caption holds come first.

    Args:
        cluster: ``(N,)`` cluster of each item.
        kind: ``(N,)`` ``"image"`` or ``"caption"``.
        captions: ``(N,)`` texts; those of images are not read.
        each: words a name.

    Returns:
        One name a cluster; a cluster without such words has its number alone.
    """
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # slow to import

    content = [sorted(set(words(text)) - ENGLISH_STOP_WORDS) for text in captions]
    table = pd.DataFrame({"cluster": cluster, "word": content})
    table = table[[what == "caption" for what in kind]]
    counts = table.explode("word").groupby(["cluster", "word"]).size()
    sizes = table["cluster"].value_counts().to_dict()
    inside = counts / counts.index.get_level_values("cluster").map(sizes)
    overall = counts.groupby("word").sum() / len(table)
    lead = inside * np.log(inside / overall.reindex(inside.index, level="word"))
    order = lead.rename("lead").reset_index().sort_values(["lead", "word"], ascending=[False, True])
    best = order.groupby("cluster")["word"].agg(lambda group: ", ".join(group[:each]))
    names = [str(number + 1) for number in range(int(cluster.max()) + 1)]
    for number, words_of_cluster in best.items():
        names[int(number)] += f": {words_of_cluster}"
    return names


def exemplars(vectors: Array, items: pd.DataFrame) -> Rows:
    """Return one image for each cluster that has images: the one nearest to the middle of the cluster's
    images.

    Args:
        vectors: ``(N, D)`` unit vectors of the items.
        items: ``items_of`` with a column ``cluster``.

    Returns:
        Rows, in the order of the clusters' names.
    """
    images = items.reset_index(drop=True).query("kind == 'image'")
    members = [group.index.to_numpy() for _, group in images.groupby("cluster")]
    middle = [rows[np.argmax(vectors[rows] @ vectors[rows].mean(axis=0))] for rows in members]
    return np.array(middle, dtype=np.int64)
