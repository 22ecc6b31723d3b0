"""What a space is like, and how far a map of it can be trusted: neighbours, the modality gap, hubs, quality.

Neighbours are compared in the full space and on the map, since every map of many dimensions in two shows
neighbours that are none.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from workbench.metrics.blocks import AnyScores, RowScores, best_items, by_rows, top_k
from workbench.records import Array, Rows, require


def nearest_in_space(vectors: Array, k: int) -> Rows:
    """Return ``(N, k)`` nearest other rows of each row of ``(N, D)`` vectors by inner product, nearest first;
    among equal ones the lower first.

    Raises:
        ValueError: there are not so many others.
    """
    size = len(vectors)
    require(1 <= k < size, f"k = {k} neighbours of {size} points: k must lie in 1..{size - 1}")
    return _without_itself(top_k(vectors, vectors, k + 1)[1])


def nearest_on_map(points: Array, k: int) -> Rows:
    """Return ``(N, k)`` nearest other rows of each of ``(N, 2)`` points by Euclidean distance, nearest first;
    there are more than ``k`` points.
    """
    return _without_itself(np.asarray(scipy.spatial.cKDTree(points).query(points, k + 1)[1], dtype=np.int64))


def neighbour_overlap(first: Rows, second: Rows) -> Array:
    """Return ``(N,)`` share of each row's neighbours that both ``(N, k)`` lists name.

    >>> neighbour_overlap(np.array([[1, 2], [0, 2]]), np.array([[2, 1], [3, 0]])).tolist()
    [1.0, 0.5]
    """
    return np.asarray((first[:, :, None] == second[:, None, :]).any(axis=2).mean(axis=1))


def _without_itself(near: Rows) -> Rows:
    """Return each line without its own row; a row among many equal ones may not be in its line, which then
    loses its last.
    """
    itself = near == np.arange(len(near))[:, None]
    itself[~itself.any(axis=1), -1] = True
    return np.asarray(near[~itself].reshape(len(near), -1))


def map_quality(
    vectors: Array, points: Array, near: Rows, *, sample: int = 2000, seed: int = 0
) -> dict[str, float]:
    """Return what a map keeps of the space that it shows, ``near`` being the ``(N, k)`` nearest others in the
    space.

    Returns:
        ``trustworthiness``: 1 = no point has a neighbour on the map that is far away in the space, about 0.5
        = at random; it is that of a ``sample`` of so many points where there are more.
        ``neighbour_overlap``: share of the ``k`` nearest in the space that are among the ``k`` nearest on
        the map. ``chance``: what the overlap would be for a map drawn at random.

    Source:
        Venna, Kaski, "Neighborhood preservation in nonlinear projection methods", ICANN 2001, Eq. 1.
    """
    from sklearn.manifold import trustworthiness

    k, size = near.shape[1], len(vectors)
    rows = np.sort(np.random.default_rng(seed).choice(size, min(size, sample), replace=False))
    # it is defined for fewer neighbours than half of the points
    fewer = min(k, (len(rows) - 1) // 2)
    trusted = trustworthiness(vectors[rows], points[rows], n_neighbors=fewer, metric="cosine")
    shared = neighbour_overlap(near, nearest_on_map(points, k))
    return {"trustworthiness": float(trusted), "overlap": float(shared.mean()), "chance": k / (size - 1)}


@dataclass(frozen=True)
class Gap:
    """The gap of one space.

    Args:
        distance: of the centres, 0 to 2 for unit vectors.
        image: ``(I,)`` place of each image along the gap, from the captions' centre to the images' centre; 0
            lies half way between them, and everywhere where they coincide.
        text: ``(T,)`` the same of the captions.
        auc: chance that an image lies farther along the gap than a caption; 1 = the gap alone tells
            them apart, 0.5 = not at all. A tie counts half.
        accuracy: share that the half-way plane sorts rightly, the mean of both kinds.
    """

    distance: float
    image: Array
    text: Array
    auc: float
    accuracy: float


def modality_gap(image: Array, text: Array) -> Gap:
    """Return the gap between unit vectors: its distance, places along it, and how well it separates the
    kinds.

    Source:
        Liang et al., "Mind the gap: understanding the modality gap in multi-modal contrastive representation
        learning", NeurIPS 2022, Sec. 4.2: the gap is the difference of the centres of the two clouds.
    """
    image, text = image.astype(np.float64), text.astype(np.float64)
    image_centre = image.mean(axis=0)
    text_centre = text.mean(axis=0)
    distance = float(np.linalg.norm(image_centre - text_centre))
    middle = (image_centre + text_centre) / 2
    direction = (image_centre - text_centre) / (distance or 1.0)
    image_places = (image - middle) @ direction
    text_places = (text - middle) @ direction
    accuracy = ((image_places > 0).mean() + (text_places < 0).mean()) / 2
    auc = scipy.stats.mannwhitneyu(image_places, text_places).statistic / (len(image) * len(text))
    return Gap(distance, image_places, text_places, float(auc), float(accuracy))


def hubness(scores: AnyScores, k: int) -> tuple[Rows, Rows]:
    """Return k-occurrence in cross-modal retrieval by scores ``(I, T)``: ``(I,)`` in how many captions' lists
    of length ``k`` an image stands, and ``(T,)`` in how many images' lists a caption stands. In spaces of
    many dimensions a few items, the hubs, are among the nearest of very many queries, and many of none.

    Source:
        Radovanović, Nanopoulos, Ivanović, "Hubs in space: popular nearest neighbors in high-dimensional
        data", JMLR 2010.
    """
    rows = by_rows(scores)
    return _count_occurrences(rows.T, k), _count_occurrences(rows, k)


def _count_occurrences(scores: RowScores, k: int) -> Rows:
    """Return in how many queries' lists of length ``k`` each item is, of scores ``(queries, items)``."""
    size = scores.shape[1]
    lists = best_items(scores, min(k, size))[1]
    return np.bincount(lists.ravel(), minlength=size).astype(np.int64)
