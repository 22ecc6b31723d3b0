"""HierarCaps: whether a model orders texts from generic to specific around the images they describe.

Two protocols that do not agree retrieve a set of texts for an image and compare it, as strings, with the
image's chain. "P is the share of retrieved texts that belong to the image's chain, R the share of the chain's
levels retrieved; both are means over chains." Per-level recall is R of one level.

``hierarcaps_radius`` (released code): 50 equally spaced thresholds between the smallest and the largest
distance from the root; at each the text nearest the image among those within the threshold.
``hierarcaps_traversal`` (the DITM paper, after MERU): 50 equally spaced points from the text nearest the
image to the root, both included; each point retrieves its nearest text. The root, the embedding of the empty
string, is in the pool but never counted; without it every image retrieves the same few texts near the end.

``d_corr_radius`` and ``d_corr_image``: Kendall tau, chain by chain, of the level with the distance from the
root, and with the nearness to the image. Among equally near texts the first of the list is retrieved; equal
distances count 0 in tau.

Source: M. Alper, H. Averbuch-Elor, Emergent visual-semantic hierarchies in image-text representations, ECCV
2024, and its released code (radius); K. Desai et al., Hyperbolic image-text representations (MERU), ICML 2023
(image traversals); DITM's description of its HierarCaps experiment (traversal, d_corr). Departure from the
released
radius code: equal strings are one candidate, which changes no set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from workbench.metrics._bootstrap import columns
from workbench.metrics._chains import Chains, Values
from workbench.records import Measurement, Rows

ROOT = -1
TIES = "among equally near texts the first of the list is retrieved; equal distances count 0 in tau"
D_CORR = {
    "d_corr_radius": "Kendall tau of level and distance from the root, mean over chains",
    "d_corr_image": "Kendall tau of level and nearness to the image, mean over chains",
}


def hierarcaps_radius(chains: Chains, *, steps: int = 50) -> list[Rows]:
    """Texts retrieved by growing a ball around the root.

    Args:
        chains: embeddings and chains.
        steps: number of thresholds.

    Returns:
        For each chain the caption rows of the distinct texts, in the order they were found.
    """
    radius = chains.radius[chains.pool]
    inside = radius <= np.linspace(radius.min(), radius.max(), steps)[:, None]

    def picks(images: Values) -> Rows:
        scores = images @ chains.text[chains.pool].T
        return np.stack([np.where(within, scores, -np.inf).argmax(axis=1) for within in inside], axis=1)

    return _retrieved(chains, picks)


def hierarcaps_traversal(
    chains: Chains, *, start: Literal["text", "image"] = "text", root_in_pool: bool = True, steps: int = 50
) -> list[Rows]:
    """Texts retrieved on the straight way to the root.

    Args:
        chains: embeddings and chains.
        start: from the text nearest the image (DITM), or from the image itself (MERU).
        root_in_pool: whether a point may retrieve the root.
        steps: number of points, both ends included.

    Returns:
        For each chain the caption rows of the distinct texts, in the order they were found; -1 stands for the
        root.

    Raises:
        ValueError: ``start`` is neither ``"text"`` nor ``"image"``.
    """
    if start not in ("text", "image"):
        raise ValueError(f"start={start!r}: choose 'text' or 'image'")
    pool = chains.text[chains.pool].astype(np.float64)
    candidates = np.concatenate([pool, chains.root[None]]) if root_in_pool else pool
    of_root = candidates @ chains.root

    def picks(images: Values) -> Rows:
        begin = images if start == "image" else pool[(images @ pool.T).argmax(axis=1)]
        # a point's length does not change which unit vector is nearest, so that points need not be normalised
        scores = begin @ candidates.T
        found = [((1 - t) * scores + t * of_root).argmax(axis=1) for t in np.linspace(0, 1, steps)]
        index = np.stack(found, axis=1)
        return np.where(index < len(pool), index, ROOT)

    return _retrieved(chains, picks)


def _retrieved(chains: Chains, picks: Callable[[Values], Rows], block: int = 256) -> list[Rows]:
    """Distinct picks of each chain as caption rows, in order; by blocks, since a block is scored against the
    whole pool.
    """
    out = []
    for first in range(0, len(chains.image_of), block):
        images = chains.image[chains.image_of[first : first + block]].astype(np.float64)
        for picked in picks(images):
            distinct = np.array(list(dict.fromkeys(picked.tolist())))
            out.append(np.where(distinct == ROOT, ROOT, chains.pool[distinct]))
    return out


def described(
    chains: Chains, retrieved: Rows, chain: int, true: NDArray[np.bool_] | None = None
) -> tuple[list[str], list[int], list[bool]]:
    """What one chain's image retrieved, in words.

    Args:
        chains: embeddings and chains.
        retrieved: caption rows, from either protocol.
        chain: number of the chain.
        true: ``(I, T)`` which texts are true of which images; ``None`` = only those of an image's own chain.

    Returns:
        The texts without the root, their levels in the chain (0 = not in it), and whether they are true of
        the image.
    """
    level = dict(
        zip(chains.first[chains.rows[chain]].tolist(), chains.level[chains.rows[chain]].tolist(), strict=True)
    )
    rows = [row for row in retrieved.tolist() if row != ROOT]
    holds = [row in level or (true is not None and bool(true[chains.image_of[chain], row])) for row in rows]
    return [chains.captions[row] for row in rows], [level.get(row, 0) for row in rows], holds


def precision(chains: Chains, retrieved: list[Rows]) -> Values:
    """``(C,)`` share of the retrieved texts that belong to the chain; 0 where only the root was retrieved."""
    hits = [
        np.isin(found, names).sum() for found, names in zip(retrieved, chains.first[chains.rows], strict=True)
    ]
    sizes = [max(1, np.count_nonzero(found != ROOT)) for found in retrieved]
    share: Values = np.array(hits, dtype=np.float64) / np.array(sizes)
    return share


def level_recall(chains: Chains, retrieved: list[Rows]) -> Values:
    """``(C, L)`` whether the chain's text of each level was retrieved, generic first; its mean over levels is
    R.
    """
    rows = zip(retrieved, chains.first[chains.rows], strict=True)
    return np.array([np.isin(names, found) for found, names in rows], dtype=np.float64)


def d_corr_radius(chains: Chains) -> Values:
    """``(C,)`` Kendall tau between a text's level and its distance from the root."""
    return _tau(chains.radius[chains.rows])


def d_corr_image(chains: Chains) -> Values:
    """``(C,)`` Kendall tau between a text's level and its nearness to the image: 1 = the most specific text
    is nearest.
    """
    return _tau(chains.cosine[chains.rows])


def _tau(values: Values) -> Values:
    """Kendall tau of each row with its columns' order."""
    earlier, later = np.triu_indices(values.shape[1], k=1)
    signs: Values = np.sign(values[:, later] - values[:, earlier])
    return np.asarray(signs.mean(axis=1))


def measure(
    chains: Chains,
    *,
    start: Literal["text", "image"] = "text",
    root_in_pool: bool = True,
    steps: int = 50,
    rounds: int = 1000,
    seed: int = 0,
) -> list[Measurement]:
    """Both protocols with P, R and R by level, and both d_corr: ``hierarcaps_radius/P`` ...,
    ``d_corr_image``.

    Args:
        chains: embeddings and chains.
        start: of the traversal, see ``hierarcaps_traversal``.
        root_in_pool: of the traversal.
        steps: thresholds and points.
        rounds: bootstrap rounds over chains; 0 = no intervals.
        seed: of the bootstrap.
    """
    way = f"{steps} points from the {start} to the root, root {'in' if root_in_pool else 'not in'} the pool"
    ball = f"{steps} thresholds of the distance from the root"
    traversal = hierarcaps_traversal(chains, start=start, root_in_pool=root_in_pool, steps=steps)
    values, hits = (
        {"d_corr_radius": d_corr_radius(chains), "d_corr_image": d_corr_image(chains)},
        dict(D_CORR),
    )
    for name, hit, retrieved in (
        ("hierarcaps_radius", ball, hierarcaps_radius(chains, steps=steps)),
        ("hierarcaps_traversal", way, traversal),
    ):
        table = {f"{name}/{key}": column for key, column in _table(chains, retrieved).items()}
        values, hits = (
            values | table,
            hits | dict.fromkeys(table, f"a text of the image's chain, compared as a string; {hit}"),
        )
    contract = Measurement("", 0.0, judgements="chains", gallery=len(chains.pool), ties=TIES)
    estimates = columns(values, rounds, np.random.default_rng(seed))
    return [estimate.report(contract, key, hits[key]) for key, estimate in estimates.items()]


def _table(chains: Chains, retrieved: list[Rows]) -> dict[str, Values]:
    levels = level_recall(chains, retrieved)
    by_level = {f"R_level{number}": found for number, found in enumerate(levels.T, start=1)}
    return {"P": precision(chains, retrieved), "R": levels.mean(axis=1)} | by_level


MEMBER = measure
