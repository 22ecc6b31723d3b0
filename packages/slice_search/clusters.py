"""Slices without names: clusters of the embedding space that hold what a model answers alike well.

"Half of the images are learnt from. Each query gets its vector and the mean value of its nearest neighbours
among those of that half; k-means cuts this space. The clusters are then compared on the other half alone,
whose values had no say in where a cluster lies. So p values are those of slices that were known before."

Source: S. Eyuboglu, M. Varma, K. Saab, J. Delbrouck, C. Lee-Messer, J. Dunnmon, J. Zou and C. Re, Domino:
discovering systematic errors with cross-modal embeddings, ICLR 2022. It fits a mixture to vectors, labels and
predictions. Here the value of a query is smoothed over its neighbours, so that what was not learnt from has
a place in the space too.
"""

from typing import Any

import numpy as np

from slice_search.candidates import Candidates, Condition, combine
from workbench.records import Array, Mask, Rows, Values

CLUSTERS = 12
NEIGHBOURS = 20
# how much a standard deviation of the smoothed value counts beside one of the vectors as a whole
WEIGHT = 1.0
SEED = 0
FIELD = "cluster"


def cluster_slices(
    vectors: Array, values: Values, image_rows: Rows, *, count: int = CLUSTERS, minimum: int
) -> tuple[Candidates, Mask]:
    """Return clusters as slices, and on which queries they may be compared.

    Args:
        vectors: ``(Q, D)`` of the queries.
        values: ``(Q,)`` a value of each; NaN = it does not count.
        image_rows: ``(Q,)`` image of each.
        count: clusters.
        minimum: images that a slice and its rest have at least.

    Returns:
        The slices, and ``(Q,)`` the queries that nothing was learnt from.
    """
    from sklearn.cluster import KMeans

    rng = np.random.default_rng(SEED)
    images = rng.permutation(np.unique(image_rows))
    learnt = np.isin(image_rows, images[: len(images) // 2])
    space = _error_aware(_centred(vectors), values, learnt & ~np.isnan(values))
    means = KMeans(min(count, int(learnt.sum())), random_state=SEED, n_init=4).fit(space[learnt])
    numbers = means.predict(space)
    conditions = []
    for number in range(len(means.cluster_centers_)):
        conditions.append(Condition(f"{FIELD}={number + 1}", FIELD, numbers == number))
    return combine(conditions, image_rows, minimum=minimum, pairs=False), ~learnt


def _centred(vectors: Array) -> Values:
    """Return vectors around their mean, with a mean squared length of 1."""
    centred = vectors.astype(np.float64) - vectors.mean(axis=0)
    length = np.sqrt((centred**2).sum(axis=1).mean())
    return np.asarray(centred / max(length, np.finfo(np.float64).tiny))


def _error_aware(vectors: Values, values: Values, learnt: Mask) -> Values:
    """Return ``(Q, D + 1)`` vectors with the mean value of the nearest ones that are learnt from behind
    them.
    """
    from sklearn.neighbors import NearestNeighbors

    nearest: Any = NearestNeighbors(n_neighbors=min(NEIGHBOURS, int(learnt.sum()))).fit(vectors[learnt])
    smooth = values[learnt][nearest.kneighbors(vectors, return_distance=False)].mean(axis=1)
    spread = smooth[learnt].std()
    scaled = (smooth - smooth[learnt].mean()) / spread if spread > 0 else np.zeros(len(smooth))
    return np.column_stack([vectors, WEIGHT * scaled])
