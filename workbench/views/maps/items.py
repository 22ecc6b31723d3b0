"""The images and captions of a split as rows of one table, images first: what a map colours, filters and
hands back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench import text
from workbench.records import Rows, Split
from workbench.text.words import words
from workbench.training.clusters import k_means


def table(split: Split) -> pd.DataFrame:
    """What the data say of each item.

    Args:
        split: any split.

    Returns:
        ``I + T`` rows: ``id``; ``kind``, ``"image"`` or ``"caption"``; ``text``, of an image all its
        captions, one a line; ``image``, the row of the item's image; ``level`` of a caption, missing for
        images and where the data know none; ``descriptiveness`` of a caption against the captions of the
        split, missing for images.
    """
    images, captions = len(split.image_ids), len(split.captions)
    own: list[list[str]] = [[] for _ in range(images)]
    for row, caption in zip(split.own.tolist(), split.captions, strict=True):
        own[row].append(caption)
    unknown = np.full(images, np.nan)
    level = np.full(captions, np.nan) if split.level is None else split.level.astype(float)
    maker: Any = text.load("descriptiveness").fit(split.captions)
    return pd.DataFrame(
        {
            "id": [*split.image_ids, *split.caption_ids],
            "kind": ["image"] * images + ["caption"] * captions,
            "text": [*("\n".join(several) for several in own), *split.captions],
            "image": np.concatenate([np.arange(images), split.own]),
            "level": np.concatenate([unknown, level]),
            "descriptiveness": np.concatenate([unknown, maker.of(split.captions).values]),
        }
    )


def clusters(image: NDArray[Any], texts: NDArray[Any], count: int, seed: int) -> Rows:
    """The cluster of each item by k-means, images first.

    Each kind is moved to the common centre before, since otherwise the first thing that separates clusters is
    the modality gap.

    Args:
        image: ``(I, D)`` unit vectors.
        texts: ``(T, D)`` unit vectors.
        count: how many clusters.
        seed: of the starting centres.
    """
    return k_means(np.concatenate([image - image.mean(axis=0), texts - texts.mean(axis=0)]), count, seed=seed)


def cluster_names(cluster: Rows, kind: Sequence[str], captions: Sequence[str], *, each: int = 3) -> list[str]:
    """A name for each cluster: the words that its captions hold more often than all captions do.

    A word held by a share ``p`` of the cluster's captions and ``q`` of all captions counts ``p log(p / q)``,
    its part of the Kullback-Leibler divergence, so that neither words that all hold nor words that one
    caption holds come first.

    Args:
        cluster: ``(N,)`` cluster of each item.
        kind: ``(N,)`` ``"image"`` or ``"caption"``.
        captions: ``(N,)`` texts; those of images are not read.
        each: words a name.

    Returns:
        One name a cluster; a cluster without captions has its number alone.
    """
    count = int(cluster.max()) + 1
    held: list[Counter[str]] = [Counter() for _ in range(count)]
    sizes: Counter[int] = Counter()
    for number, what, caption in zip(cluster.tolist(), kind, captions, strict=True):
        if what == "caption":
            held[number].update(set(words(caption)))
            sizes[number] += 1
    overall: Counter[str] = sum(held, Counter())
    share = {word: times / max(1, sizes.total()) for word, times in overall.items()}
    names = []
    for number, counts in enumerate(held):
        inside = {word: times / sizes[number] for word, times in counts.items()}
        lead = {word: held_by * float(np.log(held_by / share[word])) for word, held_by in inside.items()}
        best = sorted(lead, key=lambda word: (-lead[word], word))[:each]
        names.append(f"{number + 1}: {', '.join(best)}" if best else str(number + 1))
    return names


def exemplars(vectors: NDArray[Any], items: pd.DataFrame) -> Rows:
    """One image for each cluster that has images: the one nearest to the middle of the cluster's images.

    Args:
        vectors: ``(N, D)`` unit vectors of the items.
        items: ``table`` with a column ``cluster``.

    Returns:
        Rows, in the order of the clusters' names.
    """
    image = (items["kind"] == "image").to_numpy()
    found = []
    for _, rows in sorted(items[image].groupby("cluster").groups.items()):
        members = np.asarray(rows, dtype=np.int64)
        found.append(members[np.argmax(vectors[members] @ vectors[members].mean(axis=0))])
    return np.array(found, dtype=np.int64)
