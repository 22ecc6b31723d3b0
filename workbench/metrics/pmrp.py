"""PMRP: R-precision with plausible matches, told from the categories of the images.

"An item is a plausible match of a query when the categories of their images differ in at most zeta places;
R-precision is the share of plausible matches among the R best, R being their number; PMRP is its mean over
zeta = 0, 1, 2." A caption has the categories of its image. Images without any category are left out, with
their captions, as queries and from the gallery.

A tie counts against the model: of equal scores the item whose categories differ more comes first.

Source: S. Chun et al., Probabilistic embeddings for cross-modal retrieval (PCME), CVPR 2021, section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._bootstrap import columns, over_folds
from workbench.metrics._orders import order
from workbench.metrics._retrieved import small_blocks
from workbench.metrics._rows import AnyScores, RowScores, Values, by_rows
from workbench.records import Measurement, Rows

Codes = NDArray[np.bool_]
Part = tuple[RowScores, Rows, Rows]
ZETAS = (0, 1, 2)
TIES = "among equal scores the item whose categories differ more ranks above"
HIT = "share of the items with at most zeta other categories among the R best, R being their number"


def presence(categories: Sequence[Collection[str]]) -> Codes:
    """Which categories are present, as vectors.

    Args:
        categories: the categories of each of ``N`` images.

    Returns:
        ``(N, C)``, one column for each category that occurs, in alphabetical order.

    >>> presence([["dog", "cat"], ["cat"], []]).astype(int).tolist()
    [[1, 1], [1, 0], [0, 0]]
    """
    column = {name: place for place, name in enumerate(sorted(set().union(*categories)))}
    out = np.zeros((len(categories), len(column)), dtype=bool)
    for row, names in enumerate(categories):
        out[row, [column[name] for name in names]] = True
    return out


def differences(query: Codes, gallery: Codes) -> NDArray[np.int64]:
    """``(queries, gallery)`` Hamming distances of vectors of categories."""
    first, second = query.astype(np.float32), gallery.astype(np.float32)
    apart = first.sum(axis=1)[:, None] + second.sum(axis=1) - 2 * first @ second.T
    return np.asarray(np.rint(apart), dtype=np.int64)


def r_precision(
    scores: AnyScores, query: Codes, gallery: Codes, zetas: Sequence[int] = ZETAS
) -> dict[int, Values]:
    """R-precision by plausible matches, for each zeta, from one sort of the gallery.

    Args:
        scores: ``(queries, gallery)``, larger = more alike.
        query: ``(queries, C)`` categories.
        gallery: ``(gallery, C)`` categories.
        zetas: how many categories may differ.

    Returns:
        zeta -> ``(queries,)`` in [0, 1], NaN where nothing is plausible.

    >>> codes = np.array([[1, 0, 1], [1, 0, 1], [1, 1, 1], [0, 1, 0]], dtype=bool)
    >>> found = r_precision(np.array([[0.1, 0.9, 0.3, 0.5]]), codes[:1], codes)  # the ranking 1 3 2 0
    >>> [found[zeta].round(6).tolist() for zeta in (0, 1, 2)]
    [[0.5], [0.666667], [0.666667]]
    """
    far, out = max(zetas) + 1, {zeta: [np.zeros(0)] for zeta in zetas}
    for first, rows in small_blocks(scores, (len(query), len(gallery))):
        # nearer = the larger grade, so that among equal scores the item that differs more stands first
        near = far - np.minimum(differences(query[first : first + len(rows)], gallery), far)
        ordered = order(rows, near)
        grades = ordered.grades[ordered.codes]
        for zeta in zetas:
            plausible = grades >= far - zeta
            number = plausible.sum(axis=1)
            among = (plausible & (np.arange(len(gallery)) < number[:, None])).sum(axis=1)
            out[zeta].append(np.where(number > 0, among / np.maximum(number, 1), np.nan))
    return {zeta: np.concatenate(parts) for zeta, parts in out.items()}


def measure(
    scores: AnyScores,
    categories: Codes,
    own: Rows,
    *,
    zetas: Sequence[int] = ZETAS,
    folds: int = 1,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """In both directions ``pmrp``, and ``r_precision[zeta=0]`` ... of which it is the mean.

    Args:
        scores: ``(I, T)``, larger = more alike.
        categories: ``(I, C)`` which categories each image shows, e.g. from ``presence``.
        own: ``(T,)`` row of each caption's image.
        zetas: how many categories may differ.
        folds: blocks of consecutive images, 1 = the whole gallery, 5 = the 1K protocol of MS-COCO.
        rounds: bootstrap rounds; 0 = no intervals.
        seed: of the bootstrap.

    Raises:
        ValueError: shapes differ, a score is NaN, no image has a category, or the images cannot be cut into
            equal folds.
    """
    rng, out = np.random.default_rng(seed), list[Measurement]()
    parts = list(_folds(by_rows(scores), np.asarray(categories.any(axis=1)), own, folds))
    for direction in ("i2t", "t2i"):
        found = [columns(_values(part, categories, own, direction, zetas), rounds, rng) for part in parts]
        size, asked = (
            max(len(captions if direction == "i2t" else images) for _, images, captions in parts),
            scores.shape,
        )
        contract = Measurement("", 0.0, judgements="categories", gallery=size, folds=folds, ties=TIES)
        for key in found[0]:
            one = over_folds([fold[key] for fold in found])
            one = replace(one, left_out=asked[direction == "t2i"] - one.queries)
            out.append(
                one.report(contract, f"{direction}/{key}", HIT if key == "pmrp" else f"{HIT} of one zeta")
            )
    return out


def _values(
    part: Part, categories: Codes, own: Rows, direction: str, zetas: Sequence[int]
) -> dict[str, Values]:
    scores, images, captions = part
    sides = categories[images], categories[own[captions]]
    found = (
        r_precision(scores, *sides, zetas)
        if direction == "i2t"
        else r_precision(scores.T, *sides[::-1], zetas)
    )
    values = {f"r_precision[zeta={zeta}]": value for zeta, value in found.items()}
    return values | {"pmrp": np.mean(list(values.values()), axis=0)}


def _folds(scores: RowScores, shown: NDArray[np.bool_], own: Rows, folds: int) -> Iterator[Part]:
    """Scores, image rows and caption rows of each fold; images without categories are dropped."""
    if tuple(scores.shape) != (len(shown), len(own)):
        raise ValueError(
            f"scores are {tuple(scores.shape)}, there are {len(shown)} images and {len(own)} captions"
        )
    if len(shown) % folds:
        raise ValueError(f"{folds} folds do not divide {len(shown)} images")
    for rows in np.split(np.arange(len(shown)), folds):
        images = rows[shown[rows]]
        captions = np.flatnonzero(np.isin(own, images))
        whole = len(images) == len(shown) and len(captions) == len(own)
        yield (scores if whole else scores.cut(images, captions)), images, captions


MEMBER = measure
