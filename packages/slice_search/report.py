"""Slices of results: what is searched for one model or two, and the queries behind each slice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from slice_search.candidates import MINIMUM, candidates_of, frequent_words
from slice_search.clusters import cluster_slices
from slice_search.contrasts import Rule
from slice_search.search import LEVEL, MOST, RULES, Findings, Slice, search_slices
from workbench.english import join_words
from workbench.formatting import format_count, format_interval, format_number, format_p_value, format_value
from workbench.records import Array, Field, Measurement, MetricKey, Rows, Split, Values, require
from workbench.runs import compare
from workbench.runs.conditions import rows_of_queries
from workbench.runs.fields import AllFields, usual_fields
from workbench.runs.opening import open_results, share_split
from workbench.runs.result import Result
from workbench.runs.saved_slices import slices_with_queries
from workbench.runs.scores import SavedScores
from workbench.runs.selection import Selection
from workbench.runs.ways import WAYS, Way

KEY = str(MetricKey("R", "t2i", k=1))
TYPICAL = 3
# in labels of clusters of an embedding space, and how many words describe one
CLUSTER = "cluster="
WORDS = 5
ABOUT_CLUSTERS = "; clusters were made on half of the images, and compared on the others"
HEADS = ("slice", "effect", "in the slice", "in the rest", "queries", "images", "p, adjusted")


@dataclass(frozen=True)
class SliceReport:
    """The slices of one model that are worse than the rest, or on which two models differ most.

    Args:
        runs: one result, or two; of two, values are those of the second minus those of the first.
        measurement: of the number that is compared, of the first result.
        values: ``(Q,)`` its values by query, or differences.
        findings: what the search reports.
        about: how many slices were searched.
        named: whether the labels of slices say what their queries have in common, and not which cluster of
            the embedding space they are.
    """

    runs: Sequence[Result]
    measurement: Measurement
    values: Values
    findings: Findings
    about: str
    named: bool = True

    @property
    def split(self) -> Split:
        """The split that was measured on."""
        return self.runs[0].split

    @property
    def direction(self) -> Way:
        """The direction of the queries."""
        return "i2t" if self.measurement.key.direction == "i2t" else "t2i"

    @property
    def title(self) -> str:
        """What was asked, as a heading."""
        number = self.measurement.label
        if len(self.runs) == 1:
            return f"Where {self.runs[0].name} is worse than elsewhere, by {number}"
        first, second = (run.name for run in self.runs)
        return f"Where {second} differs most from {first}, by {number}"

    def summary(self) -> str:
        """Describe what was searched, by which rule, and how many slices are reported."""
        count = format_count(len(self.findings.slices), "slice")
        rule = f"{RULES[self.findings.rule]} at {format_number(self.findings.level, 2)} over {self.about}"
        return f"{count} on {self.split.name}: {rule}."

    def table(self) -> pd.DataFrame:
        """Return a row a slice, with its numbers as they are stored."""
        return self.findings.table()

    def describe(self, part: Slice) -> str:
        """Return the label of a slice; a cluster is described by the words that are frequent in it."""
        if not any(CLUSTER in label for label in part.conditions):
            return part.label
        words = frequent_words(self.split, self.direction, part.mask, WORDS)
        return f"{part.label} ({', '.join(words)})"

    def rows(self) -> list[list[str]]:
        """Return a row of texts a slice, under ``HEADS``."""
        unit = self.measurement.face
        signed = len(self.runs) > 1
        rows = []
        for part in self.findings.slices:
            effect = format_interval(part.effect, part.low, part.high, unit, sign=True)
            means = (part.mean, part.mean - part.effect)
            numbers = [format_value(mean, unit, sign=signed) for mean in means]
            sizes = [format_count(part.queries), format_count(part.images)]
            rows.append([self.describe(part), effect, *numbers, *sizes, format_p_value(part.p_adjusted)])
        return rows

    def selection(self, part: Slice) -> Selection:
        """Return the queries of a slice as a selection, which the explorer opens."""
        return Selection(replace(self.measurement.key, subset=part.label))

    def queries(self, part: Slice) -> pd.DataFrame:
        """Return the queries of a slice, those that make its effect first: ``query``, ``image``, ``value``.

        Args:
            part: of the findings.
        """
        rows = self.sorted_queries(part)
        ids = self.split.image_ids if self.direction == "i2t" else self.split.caption_ids
        image_rows = rows_of_queries(self.split, self.direction)[rows]
        return pd.DataFrame(
            {
                "query": [ids[row] for row in rows.tolist()],
                "image": [self.split.image_ids[row] for row in image_rows.tolist()],
                "value": self.values[rows],
            }
        )

    def sorted_queries(self, part: Slice) -> Rows:
        """Return ``(N,)`` rows of a slice's queries, those that make its effect first."""
        rows = np.flatnonzero(part.mask & ~np.isnan(self.values))
        return rows[np.argsort(-np.sign(part.effect) * self.values[rows], kind="stable")]

    def typical_queries(self, part: Slice, count: int = TYPICAL) -> Rows:
        """Return rows of queries that make a slice's effect, one an image, evenly spaced over them:
        those that lie at least half as far from the rest as the farthest.

        Args:
            part: of the findings.
            count: how many at most.
        """
        rows = self.sorted_queries(part)
        distance = np.sign(part.effect) * (self.values[rows] - (part.mean - part.effect))
        rows = rows[distance >= distance.max(initial=0.0) / 2]
        images = rows_of_queries(self.split, self.direction)[rows]
        rows = rows[np.sort(np.unique(images, return_index=True)[1])]
        places = np.linspace(0, len(rows) - 1, min(count, len(rows))).astype(np.int64)
        return np.asarray(rows[places])

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "runs": [run.name for run in self.runs],
            "number": self.measurement.label,
            "data": self.split.name,
            "searched": self.findings.searched,
            "rule": self.findings.rule,
            "level": self.findings.level,
            "about": self.about,
            "slices": [part.row() for part in self.findings.slices],
        }

    def __repr__(self) -> str:
        table = pd.DataFrame(self.rows(), columns=list(HEADS)).set_index("slice")
        return "\n".join([self.title, table.to_string() if len(table) else "", self.summary()])


def find_slices(
    *results: Result | str | Path,
    key: str = "",
    by: Sequence[str] = (),
    rule: Rule = "holm",
    minimum: int = MINIMUM,
    most: int = MOST,
    pairs: bool = True,
    clusters: int = 0,
) -> SliceReport:
    """Find the slices on which one model is worse than on the rest, or on which two models differ most.

    Args:
        results: one or two results of one data set, or their folders. Of two, the first is the baseline.
        key: number whose values by query are compared, of one direction; empty takes R@1 of text to image.
        by: what to search, see ``candidates_of``: names of fields, of the data or computed ones, ``"word"``
            and ``"shows"``. None takes all that ``fields_to_search`` names.
        rule: ``"holm"`` or ``"bh"``, see ``search_slices``.
        minimum: images that a slice and its rest have at least.
        most: slices that are reported at most.
        pairs: also search slices of two conditions.
        clusters: search so many clusters of the embedding space of the first result instead, see
            ``cluster_slices``; 0 = none.

    Raises:
        KeyError: no such field or number.
        ValueError: not one or two results, results of other data, a number of both directions, or clusters of
            a result without vectors.
    """
    runs: list[Result] = []
    for result in results:
        runs += open_results(result)
    require(0 < len(runs) < 3, f"slices are of one run or of two, not of {len(runs)}; name one or two")
    runs = share_split(runs)
    key = key or KEY
    parsed = MetricKey.parse(key)
    wanted = f"{key} is no number of one direction; give one such as {KEY}"
    require(parsed.direction in WAYS and parsed.folds == 1, wanted)
    measurement, values = _values(runs, key)
    split = runs[0].split
    image_rows = rows_of_queries(split, parsed.direction)
    if clusters:
        require(not by, "clusters have no fields; leave out what to search, or the clusters")
        vectors = _vectors_of_queries(runs[0], parsed.direction)
        candidates, tested = cluster_slices(vectors, values, image_rows, count=clusters, minimum=minimum)
        values = np.where(tested, values, np.nan)
    else:
        fields = fields_to_search(runs[0], by)
        candidates = candidates_of(
            split, parsed.direction, fields=fields, by=by, minimum=minimum, pairs=pairs
        )
    require(candidates.labels, _nothing_to_search(split, minimum))
    worse = 0
    if len(runs) == 1:
        worse = 1 if measurement.smaller_is_better else -1
    findings = search_slices(values, image_rows, candidates, worse=worse, rule=rule, level=LEVEL, most=most)
    about = candidates.about() + ABOUT_CLUSTERS * bool(clusters)
    return SliceReport(runs, measurement, values, findings, about, named=not clusters)


def _vectors_of_queries(run: Result, direction: str) -> Array:
    """Return ``(Q, D)`` vectors of the queries of a direction, a caption's with that of its image behind."""
    reason = f"{run.name} has no vectors, which clusters are made of; leave them out, or evaluate a model"
    require(not isinstance(run.model, SavedScores), reason)
    images = run.image.mean.numpy()
    if direction.startswith("i"):
        return images
    return np.concatenate([run.text.mean.numpy(), images[run.split.own]], axis=1)


def _values(runs: Sequence[Result], key: str) -> tuple[Measurement, Values]:
    """Return the number of the first run, and its values by query or those of the second minus its own."""
    numbers = [compare.numbers(run, [key])[key] for run in runs]
    values = [np.asarray(by_query, np.float64) for _, by_query in numbers]
    return numbers[0][0], values[0] if len(values) == 1 else values[1] - values[0]


def fields_to_search(run: Result, by: Sequence[str] = ()) -> Mapping[str, Field]:
    """Return the fields of a split that are searched: its own, and those that are computed.

    Args:
        run: whose split.
        by: what is searched; none leaves out what is computed from images, from a model's answers, and by
            parsing captions, which takes time or tells what the model got wrong.
    """
    fields = AllFields(run.split, run)
    if by:
        return fields
    saved = slices_with_queries(run.split)
    return {name: fields[name] for name in usual_fields(run.split) if name not in saved}


def _nothing_to_search(split: Split, minimum: int) -> str:
    fields = join_words([*split.fields]) or "no field"
    least = format_count(minimum, "image")
    return (
        f"{split.name} has {fields}, and no slice of it has {least} with as many in the rest; lower minimum"
    )
