"""One space on a map: places, neighbours in the full space, and what is known of each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.experiment.opened import OpenRun
from workbench.records import Rows
from workbench.registry import did_you_mean
from workbench.views.maps import coordinates, hubs, items, neighbours, quality
from workbench.views.maps.alignment import procrustes
from workbench.views.maps.coordinates import Settings
from workbench.views.maps.gap import Gap, modality_gap
from workbench.views.plots.embedding_map import Marks


@dataclass(frozen=True)
class SpaceMap:
    """A map and what it was made from; rows are the images of the split and then its captions.

    Args:
        name: of the space.
        space: model, split and embeddings.
        items: ``items.table``, with the name of the item's ``cluster`` in the first space that was mapped,
            and of this space ``hubness`` (in how many result lists of the other kind the item stands),
            ``gap`` (its place along the modality gap) and, beside other spaces, ``moved`` (how far it lies
            from where the first space has it, once the whole spaces are laid on one another; in the first,
            the mean over the others).
        vectors: ``(N, D)`` unit vectors.
        points: ``(N, 2)`` places.
        neighbours: ``(N, k)`` nearest others in the full space by cosine, of both kinds.
        gap: the modality gap.
        quality: what the map keeps of the space.
        settings: how the places were computed.
    """

    name: str
    space: OpenRun
    items: pd.DataFrame
    vectors: NDArray[np.float32]
    points: coordinates.Points
    neighbours: Rows
    gap: Gap
    quality: quality.Quality
    settings: Settings

    def marks(self, colour: str) -> Marks:
        """What a figure of the map draws.

        Args:
            colour: a column of the items.

        Raises:
            ValueError: no such column, or one in which nothing is known of these data.
        """
        known = [str(name) for name in self.items if self.items[name].notna().any()]
        if colour not in known:
            raise ValueError(
                f"the map of {self.name} has no colour {colour!r}; {did_you_mean(colour, known)}"
            )
        return Marks(
            self.items["kind"].tolist(), self.items["text"].tolist(), self.items[colour].tolist(), colour
        )

    def facts(self) -> dict[str, float]:
        """The numbers of the map, for a table or a result file.

        Returns:
            ``trustworthiness``, ``overlap`` with its value by ``chance``, ``gap`` (distance of the centres),
            ``gap_auc``, ``gap_accuracy``, and the skewness of the hubness of images and of captions.
        """
        counts, image = self.items["hubness"].to_numpy(), (self.items["kind"] == "image").to_numpy()
        return {
            "trustworthiness": self.quality.trustworthiness,
            "overlap": self.quality.overlap,
            "chance": self.quality.chance,
            "gap": self.gap.distance,
            "gap_auc": self.gap.auc,
            "gap_accuracy": self.gap.accuracy,
            "hubness_images": hubs.skewness(counts[image]),
            "hubness_captions": hubs.skewness(counts[~image]),
        }


def map_spaces(
    spaces: Sequence[OpenRun],
    settings: Settings | None = None,
    *,
    k: int = 10,
    clusters: int = 7,
    folder: Path | None = None,
    reuse: bool = True,
) -> list[SpaceMap]:
    """Map several spaces of one split; each map after the first starts from the places of the first.

    That leaves the maps comparable: where both spaces agree, an item stays where it is.

    Args:
        spaces: what ``open_runs`` gives; they share one split.
        settings: of the method; ``None`` = t-SNE.
        k: neighbours of an item, and length of the result lists that hubness counts.
        clusters: how many, in the first space.
        folder: where places of a space without a run folder are kept; ``None`` = nowhere. Those of a run lie
            in its ``maps``.
        reuse: take places that were saved.
    """
    settings, made = settings or Settings(), list[SpaceMap]()
    shared = items.table(spaces[0].split)
    shared["cluster"] = _clusters(spaces[0], shared, clusters, settings.seed)
    for space, moved in zip(spaces, _moved(spaces), strict=True):
        home = (space.folder / "maps" if space.folder else folder) if reuse else None
        known = shared if moved is None else shared.assign(moved=moved)
        made.append(_map(space, known, settings, k, home, made[0].points if made else None))
    return made


def change(first: SpaceMap, other: SpaceMap) -> dict[str, float]:
    """How far two runs differ, in the full space and on the map.

    Args:
        first: one map.
        other: another one of the same items.

    Returns:
        ``neighbours_kept``, the share of an item's nearest in the first space that are among its nearest in
        the other; ``moved``, the median distance that is left between an item's places in both spaces, laid
        on one another; ``map_disparity``, the share of the first map's spread that the other, laid on it,
        does not explain.
    """
    k = min(first.neighbours.shape[1], other.neighbours.shape[1])
    kept = neighbours.overlap(first.neighbours[:, :k], other.neighbours[:, :k]).mean()
    moved = [found for found in _moved([first.space, other.space]) if found is not None][-1]
    disparity = procrustes(first.points, other.points).disparity
    return {"neighbours_kept": float(kept), "moved": float(np.median(moved)), "map_disparity": disparity}


def metrics(maps: Sequence[SpaceMap]) -> dict[str, float]:
    """The numbers of every map, and of every change from the first map to another, as a result file has them.

    Args:
        maps: of the same items.

    Returns:
        Keys like ``"trustworthiness/ditm"`` and ``"neighbours_kept/infonce-ditm"``.
    """
    found = {f"{fact}/{one.name}": value for one in maps for fact, value in one.facts().items()}
    for one in maps[1:]:
        found |= {f"{fact}/{maps[0].name}-{one.name}": value for fact, value in change(maps[0], one).items()}
    return found


def vectors_of(space: OpenRun) -> NDArray[np.float32]:
    """``(I + T, D)`` unit vectors of a space, images first."""
    return np.concatenate([space.image.mean.numpy(), space.text.mean.numpy()])


def _clusters(space: OpenRun, shared: pd.DataFrame, count: int, seed: int) -> list[str]:
    cluster = items.clusters(space.image.mean.numpy(), space.text.mean.numpy(), count, seed)
    names = items.cluster_names(cluster, shared["kind"].tolist(), shared["text"].tolist())
    return [names[number] for number in cluster]


def _moved(spaces: Sequence[OpenRun]) -> list[NDArray[np.float64] | None]:
    """How far each item lies from where the first space has it, in the full space; nothing where there is one
    space only.
    """
    width = max(space.image.mean.shape[1] for space in spaces)
    first, *others = [np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in map(vectors_of, spaces)]
    found = [procrustes(first, other).moved for other in others]
    return [np.mean(found, axis=0), *found] if found else [None]


def _map(
    space: OpenRun,
    shared: pd.DataFrame,
    settings: Settings,
    k: int,
    folder: Path | None,
    start: coordinates.Points | None,
) -> SpaceMap:
    image, text, vectors = space.image.mean.numpy(), space.text.mean.numpy(), vectors_of(space)
    points = coordinates.places(vectors, shared["id"].tolist(), settings, folder=folder, start=start)
    near, gap = neighbours.in_space(vectors, k), modality_gap(image, text)
    hubness, along = np.concatenate(hubs.across(image, text, k)), np.concatenate([gap.image, gap.text])
    measured = quality.measure(vectors, points, near, seed=settings.seed)
    known = shared.assign(hubness=hubness, gap=along)
    return SpaceMap(space.name, space, known, vectors, points, near, gap, measured, settings)
