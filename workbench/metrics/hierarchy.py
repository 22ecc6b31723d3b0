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

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from workbench.metrics import load
from workbench.metrics.chains import ROOT, Chains, hierarcaps_radius, hierarcaps_traversal
from workbench.metrics.evaluation import report
from workbench.metrics.intervals import ROUNDS, SEED, Draws
from workbench.metrics.registry import Metric
from workbench.records import Measurement, MetricKey, Rows, Values
from workbench.registry import Natural


class Retrieval(Metric):
    """How well the retrieved texts of an image match its chain.

    Args:
        steps: thresholds, or points on the way to the root.
        start: of the traversal, see ``chains.hierarcaps_traversal``.
        root_in_pool: of the traversal.
    """

    way: Literal["radius", "traversal"] = "radius"

    def __init__(
        self, *, steps: Natural = 50, start: Literal["text", "image"] = "text", root_in_pool: bool = True
    ) -> None:
        super().__init__()
        self.steps, self.start, self.root_in_pool = steps, start, root_in_pool

    def phrase(self, k: int | None, judgements: str) -> str:
        """What counts as a hit, and how texts are retrieved."""
        pool = "in" if self.root_in_pool else "not in"
        way = {
            "radius": f"{self.steps} thresholds of the distance from the root",
            "traversal": f"{self.steps} points from the {self.start} to the root, root {pool} the pool",
        }
        return f"{self.hit}; {way[self.way]}"

    def retrieved(self, chains: Chains) -> list[Rows]:
        """Caption rows of the texts that each chain's image retrieves."""
        if self.way == "radius":
            return hierarcaps_radius(chains, steps=self.steps)
        return hierarcaps_traversal(
            chains, start=self.start, root_in_pool=self.root_in_pool, steps=self.steps
        )

    def per_query(self, found: Chains, k: int | None = None) -> Values:
        """``(C,)`` in [0, 1]."""
        return self.of(self.retrieved(found), found.first[found.rows], k)


def d_corr_radius(found: Chains, k: int | None = None) -> Values:
    """``(C,)`` Kendall tau between a text's level and its distance from the root, in [-1, 1]."""
    return _tau(found.radius[found.rows])


def d_corr_image(found: Chains, k: int | None = None) -> Values:
    """``(C,)`` Kendall tau between a text's level and its nearness to the image: 1 = the most specific is
    nearest, -1 = the most generic.
    """
    return _tau(found.cosine[found.rows])


def precision(retrieved: list[Rows], chains: Rows, k: int | None = None) -> Values:
    """``(C,)`` share of the retrieved texts that belong to the chain; 0 where only the root was retrieved.

    Args:
        retrieved: of each chain the caption rows of the texts.
        chains: ``(C, L)`` first row of each text of the chain, generic first.
        k: not used.
    """
    right = [int(np.isin(texts, names).sum()) for texts, names in zip(retrieved, chains, strict=True)]
    sizes = [max(1, int(np.count_nonzero(texts != ROOT))) for texts in retrieved]
    return np.asarray(right, dtype=np.float64) / np.asarray(sizes, dtype=np.float64)


def recall(retrieved: list[Rows], chains: Rows, k: int | None = None) -> Values:
    """``(C,)`` share of the chain's levels whose text was retrieved; for the arguments see ``precision``.

    With a level ``k`` it is whether the chain's text of this level was retrieved.
    """
    levels = np.array(list(map(np.isin, chains, retrieved)), dtype=np.float64)
    return np.asarray(levels.mean(axis=1) if k is None else levels[:, k - 1])


def _tau(values: Values) -> Values:
    """Kendall tau of each row with its columns' order."""
    earlier, later = np.triu_indices(values.shape[1], k=1)
    return np.asarray(np.sign(values[:, later] - values[:, earlier]).mean(axis=1))


SHARED: dict[str, Any] = {
    "requires": "chains", "directions": ("",), "by": ("chains",), "default": False,
    "ties": "among equally near texts the first of the list is retrieved; equal distances count 0 in tau",
}  # fmt: skip
CORRELATIONS = tuple(
    Metric.row(of.__name__, of, f"Kendall tau of level and {what}, mean over chains", face="correlation",
               **SHARED)
    for of, what in ((d_corr_radius, "distance from the root"), (d_corr_image, "nearness to the image"))
)  # fmt: skip
RETRIEVALS = tuple(
    Retrieval.row(f"hierarcaps_{way}_{what}", of, "a text of the image's chain, compared as a string",
                  way=way, ks=ks, **SHARED)
    for way in ("radius", "traversal")
    for what, of, ks in (("P", precision, (None,)), ("R", recall, (None,)), ("R_level", recall, (1, 2, 3, 4)))
)  # fmt: skip
MEMBER = CORRELATIONS + RETRIEVALS


def hierarchy_scores(
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
    rows: list[Metric] = [row() for row in CORRELATIONS]
    rows += [row(steps=steps, start=start, root_in_pool=root_in_pool) for row in RETRIEVALS]
    rows += [load(row) if isinstance(row, str) else row for row in more]
    return [
        report(row, MetricKey(row.name, judgements="chains", k=k), row.per_query(chains, k), chains.image_of,
               draws, len(chains.pool))
        for row in rows
        for k in (row.ks if row.ks == (None,) else range(1, depth + 1))
    ]  # fmt: skip
