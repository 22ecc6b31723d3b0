"""Neighbouring images in one batch: k-means over the training images, and an order in which clusters stay
together.

Source: the "neighbour sampling" of DIAS, batches of M clusters with P images each. The paper gives neither
the number of clusters nor M and P.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows


def neighbours_together(
    images: Rows, clusters: Rows, each: int, per_batch: int, rng: np.random.Generator
) -> Rows:
    """Images in random order, neighbours together: ``each`` images from each of ``per_batch`` clusters, and
    so on.

    Clusters are drawn with a chance proportional to what is left of them. What is left when fewer than
    ``per_batch`` clusters have ``each`` images comes last, cluster by cluster.

    Args:
        images: ``(n,)`` image rows.
        clusters: ``(I,)`` cluster of each image.
        each: images from a cluster at a time.
        per_batch: different clusters before one may come again.
        rng: numpy generator.
    """
    shuffled_images = rng.permutation(images)
    of = clusters[shuffled_images]
    waiting = [shuffled_images[of == cluster] for cluster in rng.permutation(np.unique(of))]
    groups: list[Rows] = []
    while True:
        left = np.array([len(rows) // each for rows in waiting])
        if np.count_nonzero(left) < per_batch:
            return np.concatenate([*groups, *waiting])
        for cluster in rng.choice(len(left), per_batch, replace=False, p=left / left.sum()):
            groups.append(waiting[cluster][:each])
            waiting[cluster] = waiting[cluster][each:]


def mean_regions(regions: NDArray[Any], *, chunk: int = 256) -> NDArray[np.float32]:
    """``(I, D)`` mean region of each image, read a chunk at a time since features are usually memory-mapped.

    Args:
        regions: ``(I, K, D)``.
        chunk: images at a time.
    """
    parts = [
        np.asarray(regions[i : i + chunk], dtype=np.float32).mean(axis=1)
        for i in range(0, len(regions), chunk)
    ]
    return np.concatenate(parts)


def k_means(features: NDArray[Any], clusters: int, *, seed: int) -> Rows:
    """The cluster of each row by k-means.

    Args:
        features: ``(I, D)``.
        clusters: how many.
        seed: of the starting centres.

    Raises:
        ValueError: there are fewer rows than clusters.
    """
    from sklearn.cluster import KMeans

    if len(features) < clusters:
        raise ValueError(
            f"{len(features)} images cannot form {clusters} clusters; lower clusters, or set sampler='shuffled'"
        )
    found: Rows = KMeans(clusters, n_init=1, random_state=seed).fit_predict(features).astype(np.int64)
    return found
