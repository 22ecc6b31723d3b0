"""nDCG: "the grade at place p is discounted by ``1 / log2(1 + p)``; the sum is divided by that of the best
order".

Gains are the grades themselves (``"linear"``) or ``2 ** grade - 1`` (``"exponential"``). Among equal scores
the less relevant item stands first. A query without a positive grade does not count. Pairs that nobody judged
are in no list.

Source: K. Jarvelin, J. Kekalainen, Cumulated gain-based evaluation of IR techniques, TOIS 2002.
"""

from typing import Literal

import numpy as np

from workbench.metrics.grades import Lists
from workbench.metrics.ranks import ratio
from workbench.metrics.registry import Metric
from workbench.records import Values, require
from workbench.registry import Natural

GRADED_TIES = "an equally scored item of a lower grade ranks above"


class Ndcg(Metric):
    """Normalised discounted cumulative gain of the whole list, and of the first ``k`` places.

    Args:
        ks: depths; ``None`` = the whole list.
        gain: ``"linear"`` = the grade, ``"exponential"`` = ``2 ** grade - 1``.
    """

    name = "ndcg"
    requires = "lists"
    directions = ("i2t", "t2i")
    by = ("graded",)
    ties = GRADED_TIES

    def __init__(
        self,
        *,
        ks: tuple[Natural | None, ...] = (None, 10),
        gain: Literal["linear", "exponential"] = "linear",
    ) -> None:
        self.ks, self.gain = ks, gain

    def phrase(self, k: int | None, judgements: str) -> str:
        """Return what the gain is of."""
        depth = f"{k} best" if k else "whole list"
        return f"discounted {self.gain} gain of the {depth} against the best order"

    def per_query(self, inputs: Lists, k: int | None = None) -> Values:
        """Return ``(queries,)`` in [0, 1], NaN where no grade is positive.

        Raises:
            ValueError: a grade is negative, which nDCG cannot weigh.

        >>> from workbench.metrics.grades import lists
        >>> (_, found), *_ = lists(np.array([[3.0, 2.0, 1.0]]), np.array([[0.0, 1.0, 1.0]]))
        >>> Ndcg().per_query(found).round(4).tolist()  # (1/log2(3) + 1/2) / (1 + 1/log2(3))
        [0.6934]
        """
        least = inputs.distinct.min()
        require(least >= 0, f"nDCG needs grades >= 0, the least is {least}: shift them, and say so")
        gains = inputs.distinct if self.gain == "linear" else np.exp2(inputs.distinct) - 1
        discount = 1 / np.log2(2 + np.arange(inputs.codes.shape[1]))[:k]
        best = np.sort(inputs.codes, axis=1, kind="stable")[:, ::-1]
        return ratio(*(gains[rows[:, :k]] @ discount for rows in (inputs.codes, best)))


MEMBER = Ndcg
