"""The numbers of a model in parts: within levels or fifths of captions, after the best offset, and what
could be reached at most.

The parts need more than annotated pairs. Where data have no other judgements, pairs that the sentence judge
scores from a threshold count as right too.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from workbench import text
from workbench.formatting import format_count, format_value
from workbench.metrics.blocks import by_rows
from workbench.records import Judgements, MetricKey, Split, densest_judgements
from workbench.records.measurement import chance_warning
from workbench.runs.result import Result
from workbench.views.plots import tables

# metrics that take the truth in its parts, in the order of the table; the offset is asked for by name
METRICS = ("map_at_r", "same_list", "within_map_at_r", "offset_map_at_r", "rsum", "rsum_top")
JUDGED = "judged"


def with_right_pairs(split: Split, least: float) -> Split:
    """Return the split with judgements of more than annotated pairs.

    Args:
        split: as it was loaded; one that has such judgements comes back as it is.
        least: grade of the sentence judge, 0 to 1, from which a pair counts as right.
    """
    if densest_judgements(split.judgements) != "own":
        return split
    judge = text.load("sentence").fit(split.captions, split.own)
    grades = by_rows(judge.transform(split.captions, split.own)).rows()
    shape = (len(split.image_ids), len(split.captions))
    right = (grades >= least) | (split.own == np.arange(shape[0])[:, None])
    images, captions = np.nonzero(right)
    rule = f"annotated, or from {least} by the sentence judge"
    judged = Judgements(JUDGED, rule, shape, images, captions, np.ones(len(images)))
    return replace(split, judgements={**split.judgements, JUDGED: judged})


def table_of_parts(result: Result, *, title: str = "In parts") -> str:
    """Return the parts of a result as a table: each number with its interval and contract.

    Args:
        result: measured by ``METRICS``.
        title: of the table.
    """
    names = list(METRICS)
    chosen = []
    for row in result.measurements:
        key = MetricKey.parse(row.label)
        if key.metric in names and (key.metric == "rsum") == (key.judgements == "own"):
            chosen.append((names.index(key.metric), row))
    chosen.sort(key=lambda pair: pair[0])
    return tables.numbers({result.name: [row for _, row in chosen]}, title=title)


def describe_parts(result: Result) -> str:
    """Say what was measured, and what mAP@R from image to text is made of: beside one list for all images,
    among equally specific captions, and after the best offset that never looks at an image.

    Args:
        result: measured by ``METRICS``.
    """
    numbers: dict[tuple[str, str], float] = {}
    for row in result.measurements:
        key = MetricKey.parse(row.label)
        if key.direction == "i2t" and key.judgements != "own" and key.metric in METRICS:
            numbers[key.metric, key.subset] = row.value
    if ("map_at_r", "") not in numbers:
        return ""
    chance = chance_warning({row.label: row.as_dict() for row in result.measurements})
    return " ".join([_describe_evidence(result.split), *_number_sentences(numbers), chance]).rstrip()


def _describe_evidence(split: Split) -> str:
    """Return how many images and captions were asked, and which pairs count as right."""
    images = format_count(len(split.image_ids), "image")
    captions = format_count(len(split.captions), "caption")
    rule = split.judgements[densest_judgements(split.judgements)].rule
    return f"{split.name}: {images} and {captions}. A pair is right by this rule: {rule}."


def _number_sentences(numbers: Mapping[tuple[str, str], float]) -> Iterator[str]:
    """Yield a sentence a part, by metric and subset."""
    values = {part: f"{format_value(value)} percent" for part, value in numbers.items()}
    whole = ("map_at_r", "")
    yield f"mAP@R from image to text is {values[whole]}."
    if ("same_list", "") in values:
        yield f"One list for all images, which looks at none, has {values['same_list', '']}."
    groups = [part[1] for part in numbers if part[0] == "within_map_at_r" and part[1]]
    if groups:
        ends = [f"{values['within_map_at_r', group]} in {group}" for group in (groups[0], groups[-1])]
        yield f"Among equally specific captions it is {' and '.join(ends)}, the most specific."
    offsets = [part for part in numbers if part[0] == "offset_map_at_r"]
    if offsets:
        best = max(offsets, key=lambda part: numbers[part])
        start = (
            "With the best offset" if numbers[best] > numbers[whole] else "No offset raises it: with the best"
        )
        yield f"{start}, {best[1]}, it is {values[best]}."
