"""Places on a map, by t-SNE or UMAP, and two maps laid on one another.

Places are computed once, kept with the run, and taken from there while nothing has changed: neither method
gives the same places on every machine, so that the file is the map. A map may be turned, mirrored and
scaled without saying anything else, so two maps are compared only after the second has been laid on the
first.

Source: van der Maaten, Hinton, "Visualizing data using t-SNE", JMLR 2008; McInnes, Healy, Melville, "UMAP:
uniform manifold approximation and projection for dimension reduction", 2018.
"""

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge

from workbench import __version__
from workbench.io import replacing
from workbench.records import Array, Rows, require
from workbench.registry import check_options

# vectors that differ by less differ by rounding alone
ONE_POINT = 1e-5


@dataclass(frozen=True)
class Settings:
    """How places are computed.

    Args:
        method: ``"tsne"`` or ``"umap"``.
        seed: of the method.
        neighbours: the perplexity of t-SNE, the neighbours of UMAP; lowered where there are few points.
        steps: iterations of t-SNE, the first 250 of which only gather groups; UMAP chooses its own.

    Raises:
        ValueError: an unknown method, or a number that is too small; TypeError: a value of another type.
    """

    method: Literal["tsne", "umap"] = "tsne"
    seed: int = 0
    neighbours: Annotated[int, Ge(2)] = 30
    steps: Annotated[int, Ge(300)] = 500

    def __post_init__(self) -> None:
        check_options("a map", Settings, asdict(self))


def places(
    vectors: Array,
    ids: Sequence[str],
    settings: Settings,
    *,
    folder: Path | None = None,
    start: Array | None = None,
) -> Array:
    """Return places of all vectors: read from the folder if they were made from the same vectors and
    settings, else computed and saved.

    Args:
        vectors: ``(N, D)`` unit vectors.
        ids: ``(N,)`` their names, saved beside the places.
        settings: method and its numbers.
        folder: ``<method>.parquet`` lies here; ``None`` saves nothing.
        start: ``(N, 2)`` places of the same items in another run, from which points move only as far as they
            must, so that the maps can be compared; ``None`` = the method's own start.

    Raises:
        ValueError: as ``compute_places`` raises it.
    """
    if folder is None:
        return compute_places(vectors, settings, start)
    import pandas as pd

    facts = _placement_facts(vectors, settings, start)
    path = folder / f"{settings.method}.parquet"
    if path.is_file():
        table = pd.read_parquet(path)
        if table.attrs == facts and table["id"].tolist() == list(ids):
            return table[["x", "y"]].to_numpy()
    points = compute_places(vectors, settings, start)
    table = pd.DataFrame({"id": list(ids), "x": points[:, 0], "y": points[:, 1]})
    # the table says inside what it was made from, so that it and the settings cannot come apart
    table.attrs = facts
    with replacing(path) as temporary:
        table.to_parquet(temporary)
    return points


def compute_places(vectors: Array, settings: Settings, start: Array | None = None) -> Array:
    """Return places by the method, whatever lies on the disk; for the arguments see ``places``.

    Raises:
        ValueError: fewer than four points, a number that is not finite, or all points are one, which ends the
            process in t-SNE.
    """
    require(len(vectors) >= 4, f"a map needs at least four points, got {len(vectors)}")
    require(np.isfinite(vectors).all(), "a map needs finite numbers; the model's vectors hold others")
    require(
        np.ptp(vectors, axis=0).max() > ONE_POINT,
        "all vectors are equal, so there is no map; the model has collapsed, train it anew",
    )
    points = METHODS[settings.method](vectors.astype(np.float32), settings, start)
    return np.ascontiguousarray(points, dtype=np.float32)


def _tsne(vectors: Array, settings: Settings, start: Array | None) -> Array:
    from sklearn.manifold import TSNE

    # The early exaggeration would pull a finished map together and turn it over.
    initial: dict[str, Any] = {}
    if start is not None:
        initial = {"init": start.astype(np.float32), "early_exaggeration": 1.0}
    # Of unit vectors the squared Euclidean distance is twice the cosine distance: the same neighbours, the
    # same probabilities.
    perplexity = min(settings.neighbours, (len(vectors) - 1) / 3)
    method = TSNE(2, perplexity=perplexity, max_iter=settings.steps, random_state=settings.seed, **initial)
    return np.asarray(method.fit_transform(vectors))


def _umap(vectors: Array, settings: Settings, start: Array | None) -> Array:
    with warnings.catch_warnings():
        # It warns that a variant of it that we do not use lacks its library.
        warnings.simplefilter("ignore", ImportWarning)
        from umap.umap_ import UMAP
    # The spectral start needs more points than it has dimensions to look for.
    usual = "spectral" if len(vectors) > 10 else "random"
    method = UMAP(
        n_neighbors=min(settings.neighbours, len(vectors) - 1),
        metric="cosine",
        init=usual if start is None else start,
        random_state=settings.seed,
        n_jobs=1,
    )
    return np.asarray(method.fit_transform(vectors))


def _placement_facts(vectors: Array, settings: Settings, start: Array | None) -> dict[Any, Any]:
    """Return what places are made from; those on the disk are taken only if theirs are the same."""
    return {
        **asdict(settings),
        "workbench": __version__,
        "vectors": _checksum(vectors),
        "start": None if start is None else _checksum(start),
        "points": len(vectors),
        "dimensions": vectors.shape[1],
    }


def _checksum(values: Array) -> str:
    return hashlib.sha256(np.ascontiguousarray(values, dtype=np.float32).tobytes()).hexdigest()


METHODS = {"tsne": _tsne, "umap": _umap}


@dataclass(frozen=True)
class Aligned:
    """Points laid on other points.

    Args:
        points: ``(N, D)`` the second points where they come to lie, in the units of the first.
        moved: ``(N,)`` distance that is left between the two places of each item.
        disparity: share of the first points' spread that the second does not explain, in [0, 1]; 0 = the same
            shape.
    """

    points: Array
    moved: Array
    disparity: float


def procrustes(reference: Array, points: Array) -> Aligned:
    """Move, turn, mirror and scale points so that the squared distances from the reference are least.

    Args:
        reference: ``(N, D)`` first places, e.g. of a map or of a whole space.
        points: ``(N, D)`` second places of the same items.

    Raises:
        ValueError: the shapes differ, or all points of one side coincide.

    Source:
        Gower, "Generalized Procrustes analysis", Psychometrika 1975; the rotation is SciPy's.
    """
    from scipy.spatial import procrustes

    require(
        reference.shape == points.shape,
        f"only places of the same items compare, got shapes {reference.shape} and {points.shape}",
    )
    require(
        min(np.ptp(reference), np.ptp(points)) != 0,
        "all points of one side coincide, which no turning lays on others",
    )
    centre = reference.mean(axis=0, dtype=np.float64)
    spread = float(np.linalg.norm(reference - centre))
    # SciPy centres both and gives them a spread of 1
    first, second, disparity = procrustes(reference, points)
    return Aligned(
        second * spread + centre, np.linalg.norm(first - second, axis=1) * spread, float(disparity)
    )


def most_moved_rows(moved: Array, count: int) -> Rows:
    """Return rows of the items that moved most, the farthest first; of equal ones the lower row first.

    >>> most_moved_rows(np.array([0.1, 0.9, 0.4]), 2).tolist()
    [1, 2]
    """
    return np.argsort(-moved, kind="stable")[:count].astype(np.int64)
