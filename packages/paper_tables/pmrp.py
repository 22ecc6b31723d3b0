"""PMRP: R-precision with plausible matches, told from the categories of the images.

"An item is a plausible match of a query when the categories of their images differ in at most zeta places;
R-precision is the share of plausible matches among the R best, R being their number; PMRP is its mean over
zeta = 0, 1, 2." A caption has the categories of its image. Images without any category are left out, with
their captions, as queries and from the lists.

A tie counts against the model: of equal scores the item whose categories differ more comes first.

Source: S. Chun et al., Probabilistic embeddings for cross-modal retrieval (PCME), CVPR 2021, section 4.2.
"""

import numpy as np

from workbench.metrics.grades import Lists
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.records import Mask, Values, require
from workbench.registry import Count


class Pmrp(Metric):
    """Mean over several zeta of R-precision by plausible matches.

    Args:
        zetas: how many categories may differ, less than ``Categories.far``; a single one is named
            ``r_precision[zeta=1]``.
    """

    name = "pmrp"
    hit = "share of the items with at most zeta other categories among the R best, R being their number"
    requires = "lists"
    directions = ("i2t", "t2i")
    by = ("categories",)
    ties = "among equal scores the item whose categories differ more ranks above"
    default = False

    def __init__(self, *, zetas: tuple[Count, ...] = (0, 1, 2)) -> None:
        super().__init__()
        self.zetas = zetas
        if len(zetas) == 1:
            self.name, self.subset = "r_precision", f"zeta={zetas[0]}"

    def per_query(self, inputs: Lists, k: int | None = None) -> Values:
        """Return ``(queries,)`` values in [0, 1], NaN where nothing is plausible."""
        # an item has all categories of its own query; where nothing is listed, nothing is plausible
        far, most = inputs.distinct.max() or np.inf, max(self.zetas)
        require(most < far, f"zeta {most} needs Categories(codes, own, far={most + 1})")
        grades = np.where(inputs.codes > 0, inputs.distinct[inputs.codes], -1)
        plausible = [grades >= far - zeta for zeta in self.zetas]
        return np.asarray(np.mean([_r_precision(items) for items in plausible], axis=0))


def _r_precision(plausible: Mask) -> Values:
    number = plausible.sum(axis=1)
    among = np.arange(plausible.shape[1]) < number[:, None]
    return ratio((plausible & among).sum(axis=1), number)
