"""One space on a map: places, neighbours in the full space, and what is known of each item."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.maps import coordinates, hubs, items, neighbours, quality
from workbench.maps.coordinates import Settings
from workbench.maps.gap import Gap, modality_gap
from workbench.records import Rows
from workbench.space import Space


@dataclass(frozen=True)
class SpaceMap:
    """A map and what it was made from; rows are the images of the split and then its captions.

    Args:
        name: of the space.
        space: model, split and embeddings.
        items: ``items.table``, with ``cluster`` (its name), ``hubness`` (in how many result lists of the other kind the item
            stands) and ``gap`` (its place along the modality gap) of this space.
        vectors: ``(N, D)`` unit vectors.
        points: ``(N, 2)`` places.
        neighbours: ``(N, k)`` nearest others in the full space by cosine, of both kinds.
        gap: the modality gap.
        quality: what the map keeps of the space.
        settings: how the places were computed.
    """

    name: str
    space: Space
    items: pd.DataFrame
    vectors: NDArray[np.float32]
    points: coordinates.Points
    neighbours: Rows
    gap: Gap
    quality: quality.Quality
    settings: Settings

    def facts(self) -> dict[str, float]:
        """The numbers of the map, for a table or a result file.

        Returns:
            ``trustworthiness``, ``overlap`` with its value by ``chance``, ``gap`` (distance of the centres), ``gap_auc``,
            ``gap_accuracy``, and the skewness of the hubness of images and of captions.
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
    spaces: Sequence[Space],
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
        clusters: how many.
        folder: where places of a space without a run folder are kept; ``None`` = nowhere. Those of a run lie in its ``maps``.
        reuse: take places that were saved.
    """
    settings, made = settings or Settings(), list[SpaceMap]()
    shared = items.table(spaces[0].split)
    for space in spaces:
        home = (space.folder / "maps" if space.folder else folder) if reuse else None
        start = made[0].points if made else None
        made.append(_map(space, shared, settings, (k, clusters), home, start))
    return made


def _map(
    space: Space,
    shared: pd.DataFrame,
    settings: Settings,
    sizes: tuple[int, int],
    folder: Path | None,
    start: coordinates.Points | None,
) -> SpaceMap:
    k, count = sizes
    image, text = space.image.mean.numpy(), space.text.mean.numpy()
    vectors = np.concatenate([image, text])
    points = coordinates.places(vectors, shared["id"].tolist(), settings, folder=folder, start=start)
    near, gap = neighbours.in_space(vectors, k), modality_gap(image, text)
    cluster = items.clusters(image, text, count, settings.seed)
    names = items.cluster_names(cluster, shared["kind"].tolist(), shared["text"].tolist())
    known = shared.assign(
        cluster=[names[number] for number in cluster],
        hubness=np.concatenate(hubs.across(image, text, k)),
        gap=np.concatenate([gap.image, gap.text]),
    )
    measured = quality.measure(vectors, points, near, seed=settings.seed)
    return SpaceMap(space.name, space, known, vectors, points, near, gap, measured, settings)
