"""ASP, average semantic precision: "mean over candidates of the smaller by the larger of its two ranks, by
score and by grade". It compares two whole rankings.

A tie of scores counts against the model, and equal grades may stand in any order. A pair that nobody judged
is in no list.

Source: Li et al., DAA, NeurIPS 2022, equation 8.
"""

from __future__ import annotations

import numpy as np

from workbench.metrics.grades import Lists
from workbench.metrics.intervals import Values
from workbench.metrics.ranks import ratio
from workbench.metrics.semantic import TIES
from workbench.metrics.table import Metric


class AverageSemanticPrecision(Metric):
    """How alike the order of the scores and the order of the grades are."""

    name = "asp"
    hit = "the smaller by the larger of an item's ranks by score and by phi, mean over the gallery"
    requires = "lists"
    directions = ("i2t", "t2i")
    by = ("graded",)
    ties = TIES
    default = False

    def per_query(self, found: Lists, k: int | None = None) -> Values:
        """``(queries,)`` in (0, 1], 1 where the scores do not contradict the grades; NaN where nothing is
        judged.

        >>> from workbench.metrics.grades import lists
        >>> (_, found), *_ = lists(np.array([[0.3, 0.6, 0.55]]), np.array([[0.5, 1.0, 0.2]]))
        >>> AverageSemanticPrecision().per_query(found).round(4).tolist()  # ranks 3 1 2, 2 1 3
        [0.7778]
        """
        grade = np.where(found.listed, found.grades, -np.inf)
        by_score = np.lexsort((grade, -np.where(found.listed, found.scores, -np.inf)), axis=1)
        # a stable sort: equal grades keep the order of the scores
        by_grade = np.argsort(-np.take_along_axis(grade, by_score, axis=1), axis=1, kind="stable")
        places, ranks = np.empty_like(by_grade), np.arange(1, grade.shape[1] + 1)
        np.put_along_axis(places, by_grade, ranks[None], axis=1)
        shares = np.minimum(ranks, places) / np.maximum(ranks, places)
        counted = np.take_along_axis(found.listed, by_score, axis=1)
        return ratio((shares * counted).sum(axis=1), counted.sum(axis=1))


MEMBER = AverageSemanticPrecision
