"""mAP@R and R-Precision within groups of captions: among those of one level alone, or, where the data know no
levels, of one fifth by descriptiveness.

From image to text, "mAP@R of an image in the gallery of one group's captions, R being the number of relevant
captions in the group"; the number without a group is an image's mean over the groups in which something is
relevant to it. From text to image, the captions of the group are the queries and all images the gallery. A
model that puts generic captions first, whatever the image, gains in the whole gallery and nothing in a group.

A tie counts against the model (``ranks``). A query with nothing relevant in the group does not count, and how
many there were is reported. The fifths are those of this split's captions, the least descriptive first.

Source: mAP@R as in ``map_at_r``.
"""

from collections.abc import Iterator, Mapping
from copy import copy

import numpy as np

from workbench.metrics.evaluation import Evidence
from workbench.metrics.map_at_r import map_at_r, r_precision, random_map_at_r, random_r_precision
from workbench.metrics.ranks import Ranks, ratio
from workbench.metrics.registry import Metric
from workbench.records import Values

Grouped = Mapping[str, Ranks]


def map_at_r_in_group(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` mAP@R in the gallery of one group of captions; NaN where nothing in it is
    relevant.
    """
    return map_at_r(ranks)


def r_precision_in_group(ranks: Ranks, k: int | None = None) -> Values:
    """Return ``(queries,)`` R-Precision in the gallery of one group of captions; NaN where nothing in it is
    relevant.
    """
    return r_precision(ranks)


class Within(Metric):
    """A metric of ranks in each group of captions, and its mean over the groups."""

    requires = "groups"
    directions: tuple[str, ...] = ("i2t", "t2i")
    by = ("densest",)
    expected = staticmethod(random_map_at_r)

    def parts(self, evidence: Evidence) -> Iterator[Metric]:
        """Yield itself, the mean over groups, from image to text alone: from text to image every caption is
        of one group. Then one for each group.
        """
        mean = copy(self)
        mean.directions = ("i2t",)
        yield mean
        for group in evidence.groups:
            part = copy(self)
            part.subset = group
            yield part

    def per_query(self, inputs: Grouped, k: int | None = None) -> Values:
        """Return ``(queries,)`` values in the group, or their mean over groups; NaN where nothing is
        relevant.
        """
        return self._mean_over_groups([self.values_of(ranks) for ranks in self._group_ranks(inputs)])

    def by_chance(self, inputs: Grouped, k: int | None = None) -> Values:
        """Return ``(queries,)`` the same of a random order."""
        return self._mean_over_groups([self.expected(ranks) for ranks in self._group_ranks(inputs)])

    def gallery(self, evidence: Evidence, direction: str) -> int:
        """Return captions of the group, or of the largest group."""
        if direction == "t2i":
            return evidence.gallery(direction)
        return max(len(rows) for name, rows in evidence.groups.items() if self.subset in ("", name))

    def _group_ranks(self, inputs: Grouped) -> list[Ranks]:
        return [inputs[self.subset]] if self.subset else [*inputs.values()]

    def _mean_over_groups(self, columns: list[Values]) -> Values:
        values = np.stack(columns)
        return ratio(np.nansum(values, axis=0), (~np.isnan(values)).sum(axis=0))


MEMBER = (
    Within.from_function(
        "within_map_at_r",
        map_at_r_in_group,
        "precision at each relevant item among the R best, with captions of one group alone, summed and "
        "divided by R",
    ),
    Within.from_function(
        "within_r_precision",
        r_precision_in_group,
        "share of relevant items among the R best, with captions of one group alone",
        expected=staticmethod(random_r_precision),
    ),
)
