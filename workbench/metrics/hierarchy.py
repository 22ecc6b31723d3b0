"""HierarCaps: whether a model orders texts from generic to specific around the images they describe.

A set of texts is retrieved for an image, by one of two protocols (``chains``), and compared, as strings, with
the image's chain. "P is the share of retrieved texts that belong to the image's chain, R the share of the
chain's levels retrieved; both are means over chains." Recall by level is R of one level, 1 = the most
generic.

``d_corr_radius`` and ``d_corr_image``: Kendall tau, chain by chain, of the level with the distance from the
root, and with the nearness to the image; equal distances count 0.

Source: M. Alper, H. Averbuch-Elor, Emergent visual-semantic hierarchies in image-text representations, ECCV
2024 (P, R); DITM's description of its HierarCaps experiment (d_corr).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from workbench.metrics import load
from workbench.metrics.chains import ROOT, Chains, hierarcaps_radius, hierarcaps_traversal
from workbench.metrics.intervals import ROUNDS, SEED, Draws, Values
from workbench.metrics.table import Metric, report
from workbench.records import Measurement, MetricKey, Rows
from workbench.registry import Natural


class OfChains(Metric):
    """A metric of chains of texts: one value a chain."""

    requires = "chains"
    directions = ("",)
    by = ("chains",)
    ties = "among equally near texts the first of the list is retrieved; equal distances count 0 in tau"
    default = False


class RadiusCorrelation(OfChains):
    """Kendall tau between a text's level and its distance from the root."""

    name = "d_corr_radius"
    hit = "Kendall tau of level and distance from the root, mean over chains"
    face = "correlation"

    def per_query(self, found: Chains, k: int | None = None) -> Values:
        """``(C,)`` in [-1, 1]."""
        return _tau(found.radius[found.rows])


class ImageCorrelation(OfChains):
    """Kendall tau between a text's level and its nearness to the image: 1 = the most specific is nearest."""

    name = "d_corr_image"
    hit = "Kendall tau of level and nearness to the image, mean over chains"
    face = "correlation"

    def per_query(self, found: Chains, k: int | None = None) -> Values:
        """``(C,)`` in [-1, 1]."""
        return _tau(found.cosine[found.rows])


class RadiusPrecision(OfChains):
    """Share of the retrieved texts that belong to the chain; 0 where only the root was retrieved.

    Args:
        steps: thresholds, or points on the way to the root.
        start: of the traversal, see ``chains.hierarcaps_traversal``.
        root_in_pool: of the traversal.
    """

    name = "hierarcaps_radius_P"
    hit = "a text of the image's chain, compared as a string; {way}"

    def __init__(
        self, *, steps: Natural = 50, start: Literal["text", "image"] = "text", root_in_pool: bool = True
    ) -> None:
        super().__init__()
        self.steps, self.start, self.root_in_pool = steps, start, root_in_pool

    def phrase(self, k: int | None, judgements: str) -> str:
        """What counts as a hit, and how texts are retrieved."""
        way = f"{self.steps} thresholds of the distance from the root"
        if "traversal" in self.name:
            pool = "in" if self.root_in_pool else "not in"
            way = f"{self.steps} points from the {self.start} to the root, root {pool} the pool"
        return self.hit.format(way=way)

    def retrieved(self, chains: Chains) -> list[Rows]:
        """Caption rows of the texts that each chain's image retrieves."""
        if "traversal" not in self.name:
            return chains.kept(("radius", self.steps), lambda: hierarcaps_radius(chains, steps=self.steps))
        options = {"start": self.start, "root_in_pool": self.root_in_pool, "steps": self.steps}
        return chains.kept(tuple(options.values()), lambda: hierarcaps_traversal(chains, **options))

    def per_query(self, found: Chains, k: int | None = None) -> Values:
        """``(C,)`` in [0, 1]."""
        several = list(zip(self.retrieved(found), found.first[found.rows], strict=True))
        sizes = [max(1, np.count_nonzero(texts != ROOT)) for texts, _ in several]
        return np.array([np.isin(texts, names).sum() for texts, names in several]) / np.array(sizes)


class RadiusRecall(RadiusPrecision):
    """Share of the chain's levels whose text was retrieved."""

    name = "hierarcaps_radius_R"

    def per_query(self, found: Chains, k: int | None = None) -> Values:
        """``(C,)`` in [0, 1]; with a level ``k`` whether the chain's text of this level was retrieved."""
        several = zip(self.retrieved(found), found.first[found.rows], strict=True)
        levels = np.array([np.isin(names, texts) for texts, names in several], dtype=np.float64)
        return np.asarray(levels.mean(axis=1) if k is None else levels[:, k - 1])


class RadiusLevelRecall(RadiusRecall):
    """Recall of each level."""

    name = "hierarcaps_radius_R_level"
    ks = (1, 2, 3, 4)


class TraversalPrecision(RadiusPrecision):
    """The same on the straight way to the root."""

    name = "hierarcaps_traversal_P"


class TraversalRecall(RadiusRecall):
    """The same on the straight way to the root."""

    name = "hierarcaps_traversal_R"


class TraversalLevelRecall(RadiusLevelRecall):
    """The same on the straight way to the root."""

    name = "hierarcaps_traversal_R_level"


def _tau(values: Values) -> Values:
    """Kendall tau of each row with its columns' order."""
    earlier, later = np.triu_indices(values.shape[1], k=1)
    return np.asarray(np.sign(values[:, later] - values[:, earlier]).mean(axis=1))


MEMBER = (
    RadiusCorrelation, ImageCorrelation, RadiusPrecision, RadiusRecall, RadiusLevelRecall, TraversalPrecision,
    TraversalRecall, TraversalLevelRecall,
)  # fmt: skip


def measure(
    chains: Chains,
    *,
    start: Literal["text", "image"] = "text",
    root_in_pool: bool = True,
    steps: Natural = 50,
    more: Iterable[str | Metric] = (),
    rounds: int = ROUNDS,
    seed: int = SEED,
) -> list[Measurement]:
    """Both protocols with P, R and R by level, and both d_corr.

    Args:
        chains: embeddings and chains.
        start: of the traversal, see ``chains.hierarcaps_traversal``.
        root_in_pool: of the traversal.
        steps: thresholds and points.
        more: further metrics that read chains, or their names.
        rounds: bootstrap rounds; images are drawn, each with its chains; 0 = no intervals.
        seed: of the bootstrap.
    """
    draws, depth = Draws(chains.own, len(chains.image), rounds, seed), chains.rows.shape[1]
    rows = [row(steps=steps, start=start, root_in_pool=root_in_pool) for row in MEMBER[2:]]
    rows = [row() for row in MEMBER[:2]] + rows + [load(row) if isinstance(row, str) else row for row in more]
    return [
        report(row, MetricKey(row.name, judgements="chains", k=k), row.per_query(chains, k), chains.image_of,
               draws, len(chains.pool))
        for row in rows
        for k in (row.ks if row.ks == (None,) else range(1, depth + 1))
    ]  # fmt: skip
