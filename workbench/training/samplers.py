"""The order in which an epoch visits the captions: shuffled, image by image, or neighbouring images together.

An epoch is a list of caption rows, one array a batch. Its order depends on ``(seed, epoch)`` alone, so that a
run can stop at any step and go on at the next one.

Source of neighbours in one batch: the "neighbour sampling" of DIAS, batches of M clusters with P images each.
The paper gives neither the number of clusters nor M and P.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.records import Rows, require


def group_by_image(
    own: Rows,
    size: int,
    captions_per_image: int,
    rng: np.random.Generator,
    arrange: Callable[[Rows], Rows] | None = None,
) -> list[Rows]:
    """Return an epoch of ``size`` images a batch with ``captions_per_image`` captions each.

    Every caption is visited. The epoch goes through all images once a round; where the captions of an image
    do not divide into whole groups, the last group is filled up with captions of its first one.

    Args:
        own: ``(T,)`` image row of each caption.
        size: images a batch.
        captions_per_image: captions of each image in a batch.
        rng: numpy generator.
        arrange: puts the images of a round in order; ``None`` = at random.

    Raises:
        ValueError: an image has fewer captions.
    """
    counts = np.bincount(own)
    require(
        counts.min() >= captions_per_image,
        f"image row {int(counts.argmin())} has {counts.min()} captions, "
        f"but captions_per_image={captions_per_image}; "
        f"lower captions_per_image, or choose an objective that needs fewer",
    )
    order = rng.permutation(len(own))
    by_image = np.split(order[np.argsort(own[order], kind="stable")], np.cumsum(counts)[:-1])
    batches: list[Rows] = []
    for start in range(0, counts.max(), captions_per_image):
        window = np.arange(start, start + captions_per_image)
        images = (arrange or rng.permutation)(np.flatnonzero(counts > start))
        groups = [by_image[i][window % len(by_image[i])] for i in images]
        batches += _cut_batches(np.concatenate(groups), size * captions_per_image)
    return batches


def _cut_batches(order: Rows, size: int) -> list[Rows]:
    """Return whole batches of ``size``; where there is not even one, all rows as one batch."""
    whole = len(order) // size
    return [order] if whole == 0 else list(order[: whole * size].reshape(whole, size))


def epoch_batches(
    own: Rows,
    *,
    size: int,
    captions_per_image: int,
    seed: int,
    number: int,
    clusters: Rows | None = None,
    clusters_per_batch: int = 0,
) -> list[Rows]:
    """Return the caption rows of every batch of one epoch; depends on ``seed`` and the epoch's ``number``
    alone.

    With one caption an image it is the classic epoch: all captions in random order; a short last batch is
    left out.

    Args:
        own: ``(T,)`` image row of each caption.
        size: images a batch; captions, where ``captions_per_image`` is 1 and neighbours do not matter.
        captions_per_image: captions of each image in a batch.
        seed: of the run.
        number: of the epoch.
        clusters: ``(I,)`` cluster of each image.
        clusters_per_batch: clusters that the images of a batch come from; 0 = from anywhere.

    Raises:
        ValueError: neighbours were asked for and nobody said which images are.
    """
    rng = np.random.default_rng([seed, number])
    if clusters_per_batch:
        if clusters is None:
            raise ValueError(
                "sampler='clusters' needs the cluster of every image; give the source clusters=k_means(...)"
            )
        each = max(size // clusters_per_batch, 1)
        return group_by_image(
            own,
            size,
            captions_per_image,
            rng,
            lambda images: neighbours_together(images, clusters, each, clusters_per_batch, rng),
        )
    if captions_per_image == 1:
        return _cut_batches(rng.permutation(len(own)), size)
    return group_by_image(own, size, captions_per_image, rng)


def neighbours_together(
    images: Rows, clusters: Rows, each: int, per_batch: int, rng: np.random.Generator
) -> Rows:
    """Return images in random order, neighbours together: ``each`` images from each of ``per_batch``
    clusters, and so on.

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
    cluster_of_image = clusters[shuffled_images]
    order = rng.permutation(np.unique(cluster_of_image))
    waiting = [shuffled_images[cluster_of_image == cluster] for cluster in order]
    groups: list[Rows] = []
    while True:
        left = np.array([len(rows) // each for rows in waiting])
        if np.count_nonzero(left) < per_batch:
            return np.concatenate([*groups, *waiting])
        for cluster in rng.choice(len(left), per_batch, replace=False, p=left / left.sum()):
            groups.append(waiting[cluster][:each])
            waiting[cluster] = waiting[cluster][each:]


def mean_regions(regions: NDArray[Any], *, chunk: int = 256) -> NDArray[np.float32]:
    """Return ``(I, D)`` mean region of each image, read a chunk at a time since features are usually
    memory-mapped. Rows of zeros are padding and no regions.

    Args:
        regions: ``(I, K, D)``.
        chunk: images at a time.
    """
    chunks = (regions[i : i + chunk] for i in range(0, len(regions), chunk))
    means = []
    for part in chunks:
        whole = np.asarray(part, dtype=np.float32)
        number = whole.any(axis=2).sum(axis=1)
        means.append(whole.sum(axis=1) / np.maximum(number, 1)[:, None])
    return np.concatenate(means)


def k_means(features: NDArray[Any], clusters: int, *, seed: int) -> Rows:
    """Return the cluster of each row by k-means.

    Args:
        features: ``(I, D)``.
        clusters: how many.
        seed: of the starting centres.

    Raises:
        ValueError: there are fewer rows than clusters.
    """
    from sklearn.cluster import KMeans

    require(
        len(features) >= clusters,
        f"{len(features)} images cannot form {clusters} clusters; lower clusters, or set sampler='shuffled'",
    )
    return np.asarray(KMeans(clusters, n_init=1, random_state=seed).fit_predict(features), dtype=np.int64)
