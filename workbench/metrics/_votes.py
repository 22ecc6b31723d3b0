"""Which images are relevant to which in the released Semantic Recall: an image's captions vote."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from workbench.metrics._grades import GradeRows
from workbench.metrics._relevant import Relevant
from workbench.records import Rows


def votes(phi: GradeRows, own: Rows, m: int, *, ballots: int = 30) -> Rows:
    """Released Semantic Recall: the m images that an image's captions vote for.

    Each caption gives its ``ballots`` best images its grade with them; the votes of an image's captions are
    summed.

    Args:
        phi: ``(I, T)`` grades by rows.
        own: ``(T,)`` row of each caption's image.
        m: images kept.
        ballots: images that a caption votes for.

    Returns:
        ``(I, m)`` image rows, most votes first; among equal votes the earlier row first.
    """
    grades = phi.T
    captions, images = grades.shape
    voters, chosen, given = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0)]
    for first in range(0, captions, 512):
        rows = np.nan_to_num(grades.rows(first, min(512, captions - first)))
        best = np.argsort(-rows, axis=1, kind="stable")[:, :ballots]
        voters.append(np.repeat(own[first : first + len(rows)], best.shape[1]))
        chosen.append(best.ravel())
        given.append(np.take_along_axis(rows, best, axis=1).ravel().astype(np.float64))
    at = (np.concatenate(voters), np.concatenate(chosen))
    box = sparse.csr_array((np.concatenate(given), at), shape=(images, images))
    parts = (box[first : first + 512].toarray() for first in range(0, images, 512))
    return np.concatenate([np.argsort(-part, axis=1, kind="stable")[:, :m] for part in parts])


def voted(kept: Rows, own: Rows, direction: str, *, without_own: bool = False) -> Relevant:
    """The relevant pairs: an image's captions are those of its voted images, a caption's images those that
    its image voted for.

    Args:
        kept: ``(I, m)`` from ``votes``.
        own: ``(T,)`` row of each caption's image.
        direction: ``"i2t"`` or ``"t2i"``.
        without_own: leave out a query's own items.
    """
    images, captions = len(kept), len(own)
    at = (np.repeat(np.arange(images), kept.shape[1]), kept.ravel())
    member = sparse.csr_array((np.ones(kept.size), at), shape=(images, images))
    pairs = (member[own] if direction == "t2i" else member[:, own]).tocoo()
    query, item = (side.astype(np.int64) for side in pairs.coords)
    if without_own:
        other = own[query] != item if direction == "t2i" else query != own[item]
        query, item = query[other], item[other]
    order = np.lexsort((item, query))
    return Relevant(
        query[order], item[order], (captions, images) if direction == "t2i" else (images, captions)
    )
