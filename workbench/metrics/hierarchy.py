"""HierarCaps: whether a model orders texts from generic to specific around the images they describe.

Each image has chains of texts, generic first. Two protocols that do not agree retrieve a set of texts for
an image. ``hierarcaps_radius`` (released code): 50 equally spaced thresholds between the smallest and the
largest distance from the root; at each the text nearest the image among those within the threshold.
``hierarcaps_traversal`` (the DITM paper, after MERU): 50 equally spaced points from the text nearest the
image to the root, both included; each point retrieves its nearest text. The root, the embedding of the empty
string, is in the pool but never counted; without it every image retrieves the same few texts near the end.
Among equally near texts the first of the list is retrieved.

"P is the share of retrieved texts that belong to the image's chain, R the share of the chain's levels
retrieved; both are means over chains." Texts are compared as strings. Recall by level is R of one level, 1 =
the most generic. ``d_corr_radius`` and ``d_corr_image``: Kendall tau, chain by chain, of the level with the
distance from the root, and with the nearness to the image; equal distances count 0. Specific texts may be
nearer to any image: ``d_corr_other`` is the same with the images of other chains, its mean over them, and
``d_corr_gain`` what the own image has more.

Source: M. Alper, H. Averbuch-Elor, Emergent visual-semantic hierarchies in image-text representations, ECCV
2024, and its released code (radius, P, R); K. Desai et al., Hyperbolic image-text representations (MERU),
ICML 2023 (image traversals); DITM's description of its HierarCaps experiment (traversal, d_corr). Departure
from the released radius code: equal strings are one candidate, which changes no set.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, Literal

import numpy as np

from workbench.formatting import Unit, format_number
from workbench.metrics.intervals import ROUNDS, SEED, Draws
from workbench.metrics.registry import Metric
from workbench.metrics.reporting import report_number
from workbench.records import Array, Mask, Measurement, MetricKey, Rows, Split, Values, require
from workbench.registry import Natural

ROOT = -1
# images that are scored at a time
BLOCK = 256


@dataclass(frozen=True, eq=False)
class Chains:
    """What the hierarchy metrics read: a split whose captions form chains, with its embeddings.

    Args:
        split: equal captions are one text, embedded as at their first place; every chain has the same levels,
            once each, and describes one image.
        image: ``(I, D)`` unit vectors.
        text: ``(T, D)`` unit vectors of the captions.
        root: ``(D,)`` unit vector of the empty string.

    Raises:
        ValueError: the captions form no chains, a caption has no vector, a vector is not of unit length, a
            chain lacks a level or describes two images.
    """

    split: Split
    image: Array
    text: Array
    root: Array

    def __post_init__(self) -> None:
        level, chain, own = (
            np.asarray(values)[self.rows] for values in (self.split.level, self.split.chain, self.split.own)
        )
        captions = len(self.split.captions)
        require(len(self.text) == captions, f"{len(self.text)} vectors for {captions} captions")
        for name, vectors in (("image", self.image), ("text", self.text), ("root", self.root[None])):
            lengths_off = np.abs(np.linalg.norm(vectors.astype(np.float64), axis=1) - 1).max()
            require(
                lengths_off < 1e-3,  # false for NaN too
                f"{name} vectors must have length 1, one is off by {format_number(lengths_off, 4)}",
            )
        require(
            (level == level[0]).all() and (chain == chain[:, :1]).all(),
            f"every chain must have the levels {level[0].tolist()}, once each",
        )
        require((own == own[:, :1]).all(), "a chain describes two images")

    @cached_property
    def rows(self) -> Rows:
        """``(C, L)`` caption rows of each chain, generic first."""
        level, chain = self.split.level, self.split.chain
        if level is None or chain is None:
            raise ValueError(
                f"the captions of {self.split.name} form no chains; load chains, "
                "e.g. scenes with texts='chains'"
            )
        depth = len(np.unique(level))
        require(len(level) % depth == 0, f"{len(level)} captions do not make chains of {depth} levels")
        return np.lexsort((level, chain)).reshape(-1, depth)

    @cached_property
    def image_rows(self) -> Rows:
        """``(C,)`` image row of each chain."""
        return self.split.own[self.rows[:, 0]]

    @cached_property
    def first(self) -> Rows:
        """``(T,)`` first row that holds the same string: the name of a text."""
        place: dict[str, int] = {}
        return np.array(
            [place.setdefault(text, row) for row, text in enumerate(self.split.captions)], dtype=np.int64
        )

    @cached_property
    def pool(self) -> Rows:
        """``(P,)`` rows of the distinct texts."""
        return np.unique(self.first)

    @property
    def cosine(self) -> Values:
        """``(T,)`` cosine of each caption with its own image."""
        return np.asarray(np.einsum("td,td->t", self.text, self.image[self.split.own], dtype=np.float64))

    @property
    def distance(self) -> Values:
        """``(T,)`` Euclidean distance of each caption from its own image, in [0, 2]."""
        return np.sqrt(np.maximum(2 - 2 * self.cosine, 0))

    @property
    def radius(self) -> Values:
        """``(T,)`` Euclidean distance of each caption from the root, in [0, 2]."""
        return np.asarray(np.linalg.norm(self.text.astype(np.float64) - self.root, axis=1))


# several metrics read what one protocol retrieves
@lru_cache(maxsize=2)
def hierarcaps_radius(chains: Chains, *, steps: int = 50) -> list[Rows]:
    """Return texts retrieved by growing a ball around the root: for each chain the caption rows of the
    distinct texts, in the order they were found.
    """
    radius = chains.radius[chains.pool]
    inside = radius <= np.linspace(radius.min(), radius.max(), steps)[:, None]

    def picks(images: Values) -> Rows:
        scores = images @ chains.text[chains.pool].T
        return np.stack([np.where(within, scores, -np.inf).argmax(axis=1) for within in inside], axis=1)

    return _distinct_picks(chains, picks)


@lru_cache(maxsize=2)
def hierarcaps_traversal(
    chains: Chains, *, start: Literal["text", "image"] = "text", root_in_pool: bool = True, steps: int = 50
) -> list[Rows]:
    """Return texts retrieved on the straight way to the root: for each chain the caption rows of the distinct
    texts, in the order they were found; -1 stands for the root.

    Args:
        chains: embeddings and chains.
        start: from the text nearest the image (DITM), or from the image itself (MERU).
        root_in_pool: whether a point may retrieve the root.
        steps: number of points, both ends included.
    """
    require(start in ("text", "image"), f"start={start!r}: choose 'text' or 'image'")
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

    return _distinct_picks(chains, picks)


def _distinct_picks(chains: Chains, picks: Callable[[Values], Rows]) -> list[Rows]:
    """Return distinct picks of each chain as caption rows, in order; by blocks, since a block is scored
    against the whole pool.
    """
    out = []
    for first in range(0, len(chains.image_rows), BLOCK):
        images = chains.image[chains.image_rows[first : first + BLOCK]].astype(np.float64)
        for picked in picks(images):
            distinct = np.array(list(dict.fromkeys(picked.tolist())))
            out.append(np.where(distinct == ROOT, ROOT, chains.pool[distinct]))
    return out


def describe_retrieval(
    chains: Chains, retrieved: Rows, chain: int, true: Mask | None = None
) -> tuple[list[str], list[int], list[bool]]:
    """Return what one chain's image retrieved, in words: the texts without the root, their levels in the
    chain (0 = not in it), and whether they are true of the image, by ``true`` ``(I, T)`` or by its chain
    alone.
    """
    own, levels = chains.rows[chain], np.asarray(chains.split.level)
    level = dict(zip(chains.first[own].tolist(), levels[own].tolist(), strict=True))
    rows = [row for row in retrieved.tolist() if row != ROOT]
    holds = [row in level or (true is not None and bool(true[chains.image_rows[chain], row])) for row in rows]
    return [chains.split.captions[row] for row in rows], [level.get(row, 0) for row in rows], holds


class Retrieval(Metric):
    """How well the retrieved texts of an image match its chain.

    Args:
        steps: thresholds, or points on the way to the root.
        start: of the traversal, see ``hierarcaps_traversal``.
        root_in_pool: of the traversal.
    """

    way: Literal["radius", "traversal"] = "radius"

    def __init__(
        self, *, steps: Natural = 50, start: Literal["text", "image"] = "text", root_in_pool: bool = True
    ) -> None:
        super().__init__()
        self.steps = steps
        self.start = start
        self.root_in_pool = root_in_pool

    def phrase(self, k: int | None, judgements: str) -> str:
        """Return what counts as a hit, and how texts are retrieved."""
        if self.way == "radius":
            return f"{self.hit}; {self.steps} thresholds of the distance from the root"
        pool = "in" if self.root_in_pool else "not in"
        return f"{self.hit}; {self.steps} points from the {self.start} to the root, root {pool} the pool"

    def per_query(self, inputs: Chains, k: int | None = None) -> Values:
        """Return ``(C,)`` in [0, 1]."""
        retrieved = (
            hierarcaps_radius(inputs, steps=self.steps)
            if self.way == "radius"
            else hierarcaps_traversal(
                inputs, start=self.start, root_in_pool=self.root_in_pool, steps=self.steps
            )
        )
        return self.values_of(retrieved, inputs.first[inputs.rows], k)


def d_corr_radius(chains: Chains, k: int | None = None) -> Values:
    """Return ``(C,)`` Kendall tau between a text's level and its distance from the root, in [-1, 1]."""
    return _tau_of_rows(chains.radius[chains.rows])


def d_corr_image(chains: Chains, k: int | None = None) -> Values:
    """Return ``(C,)`` Kendall tau between a text's level and its nearness to the image: 1 = the most specific
    is nearest, -1 = the most generic.
    """
    return _tau_of_rows(chains.cosine[chains.rows])


# two numbers read it
@lru_cache(maxsize=1)
def d_corr_other(chains: Chains, k: int | None = None) -> Values:
    """Return ``(C,)`` ``d_corr_image`` with each image of another chain in the place of the chain's own, mean
    over these images; NaN where there is none.
    """
    images, text = np.unique(chains.image_rows), chains.text[chains.rows].astype(np.float64)
    earlier, later = np.triu_indices(text.shape[1], k=1)
    # the difference of two texts, not of their scores: equal texts are then equally near, by whatever order
    steps, near = text[:, later] - text[:, earlier], chains.image[images].astype(np.float64).T
    signs = np.zeros((len(text), len(images)))
    for step in steps.swapaxes(0, 1):
        signs += np.sign(step @ near)
    other = chains.image_rows[:, None] != images
    with np.errstate(invalid="ignore"):
        return np.asarray(np.sum(signs, axis=1, where=other) / (len(earlier) * other.sum(axis=1)))


def d_corr_gain(chains: Chains, k: int | None = None) -> Values:
    """Return ``(C,)`` ``d_corr_image`` less ``d_corr_other``: what the order of the texts owes to this image,
    in [-2, 2].
    """
    return d_corr_image(chains, k) - d_corr_other(chains, k)


def precision(retrieved: list[Rows], chains: Rows, k: int | None = None) -> Values:
    """Return ``(C,)`` share of the retrieved texts that belong to the chain; 0 where only the root was
    retrieved. ``chains``: ``(C, L)`` first row of each text of the chain, generic first.
    """
    right = [int(np.isin(texts, names).sum()) for texts, names in zip(retrieved, chains, strict=True)]
    sizes = [max(1, int(np.count_nonzero(texts != ROOT))) for texts in retrieved]
    return np.asarray(right, dtype=np.float64) / np.asarray(sizes, dtype=np.float64)


def recall(retrieved: list[Rows], chains: Rows, k: int | None = None) -> Values:
    """Return ``(C,)`` share of the chain's levels whose text was retrieved; for the arguments see
    ``precision``.

    With a level ``k`` it is whether the chain's text of this level was retrieved.
    """
    levels = np.array(list(map(np.isin, chains, retrieved)), dtype=np.float64)
    return np.asarray(levels.mean(axis=1) if k is None else levels[:, k - 1])


def _tau_of_rows(values: Values) -> Values:
    """Return the Kendall tau of each row with its columns' order."""
    earlier, later = np.triu_indices(values.shape[1], k=1)
    return np.asarray(np.sign(values[:, later] - values[:, earlier]).mean(axis=1))


SHARED: dict[str, Any] = {
    "requires": "chains",
    "directions": ("",),
    "by": ("chains",),
    "default": False,
    "ties": "among equally near texts the first of the list is retrieved; equal distances count 0 in tau",
}
HIT = "a text of the image's chain, compared as a string"
LEVELS = (1, 2, 3, 4)


def _correlation_metric(values: Callable[..., Values], what: str, face: Unit = "correlation") -> type[Metric]:
    hit = f"Kendall tau of level and {what}, mean over chains"
    return Metric.from_function(values.__name__, values, hit, face=face, **SHARED)


CORRELATIONS = (
    _correlation_metric(d_corr_radius, "distance from the root"),
    _correlation_metric(d_corr_image, "nearness to the image"),
    _correlation_metric(d_corr_other, "nearness to the images of other chains"),
    _correlation_metric(
        d_corr_gain, "nearness to the image, less that to the images of other chains", "number"
    ),
)
RETRIEVALS = (
    Retrieval.from_function("hierarcaps_radius_P", precision, HIT, way="radius", **SHARED),
    Retrieval.from_function("hierarcaps_radius_R", recall, HIT, way="radius", **SHARED),
    Retrieval.from_function("hierarcaps_radius_R_level", recall, HIT, way="radius", ks=LEVELS, **SHARED),
    Retrieval.from_function("hierarcaps_traversal_P", precision, HIT, way="traversal", **SHARED),
    Retrieval.from_function("hierarcaps_traversal_R", recall, HIT, way="traversal", **SHARED),
    Retrieval.from_function(
        "hierarcaps_traversal_R_level", recall, HIT, way="traversal", ks=LEVELS, **SHARED
    ),
)
MEMBER = CORRELATIONS + RETRIEVALS


def hierarchy_scores(
    chains: Chains,
    *,
    start: Literal["text", "image"] = "text",
    root_in_pool: bool = True,
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> list[Measurement]:
    """Return both protocols with P, R and R by level, and d_corr; for the options see ``Retrieval``.

    Args:
        chains: embeddings and chains.
        start: of the traversal.
        root_in_pool: of the traversal.
        rounds: bootstrap rounds; images are drawn, each with its chains; 0 = no intervals.
        seed: of the bootstrap.
    """
    draws, depth = Draws(chains.split.own, len(chains.image), rounds, seed), chains.rows.shape[1]
    metrics: list[Metric] = [
        *(metric() for metric in CORRELATIONS),
        *(metric(start=start, root_in_pool=root_in_pool) for metric in RETRIEVALS),
    ]
    measurements = []
    for metric in metrics:
        levels: Iterable[int | None] = metric.ks if metric.ks == (None,) else range(1, depth + 1)
        for k in levels:
            key = MetricKey(metric.name, judgements="chains", k=k)
            values = metric.per_query(chains, k)
            measurements.append(
                report_number(metric, key, values, chains.image_rows, draws, len(chains.pool))
            )
    return measurements
