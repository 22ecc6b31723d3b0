"""Every metric by slice, with the whole data as the gallery or each slice as a gallery of its own.

The gallery is part of the contract. With ``gallery="whole"`` a query of a slice is ranked among all items,
and a number by slice is the mean of the same values by query as the whole. With ``gallery="slice"`` each
slice is a data set of its own: its captions and the images that these belong to, ranked among themselves.
The name of such a slice begins with ``within``, and ``by="within language"`` asks for it alone.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, Literal, get_args

import numpy as np

from workbench import metrics as registry
from workbench.metrics.blocks import RowScores, by_rows
from workbench.metrics.intervals import ROUNDS, Draws
from workbench.metrics.registry import Metric
from workbench.metrics.slices import (
    WITHIN,
    Slice,
    SliceValues,
    chances_by_query,
    measure_slices,
    perfect_ranks,
)
from workbench.progress import each
from workbench.records import Array, Mask, Measurement, MetricKey, Split, Values, require
from workbench.registry import require_known
from workbench.runs.fields import AllFields, field_extractors
from workbench.runs.lists import NothingDeterminedError, SavedLists, known_numbers
from workbench.runs.measure import evaluate_split
from workbench.runs.result import Result
from workbench.runs.saved_slices import slices_with_queries
from workbench.runs.slices import CROSS, is_value_slice, read_term, slices_of
from workbench.runs.ways import WAYS

Gallery = Literal["whole", "slice"]
Numbers = Mapping[str, tuple[Measurement, Values]]


def slice_specs(by: str | Sequence[str]) -> list[str]:
    """Return what cuts as a list, each once.

    >>> slice_specs("language"), slice_specs(["language", "words:median", "language"])
    (['language'], ['language', 'words:median'])
    """
    return list(dict.fromkeys([by] if isinstance(by, str) and by else by))


def slicing_of(split: Split, by: str | Sequence[str], gallery: str) -> dict[str, Any]:
    """Return what cuts a split and what a slice is ranked among, as the fields of ``Evaluation``.

    Args:
        split: whose queries.
        by: see ``slices``.
        gallery: ``"whole"`` or ``"slice"``.

    Raises:
        KeyError: no such field. ValueError: no such gallery, or one without slices.
    """
    specs = slice_specs(by)
    whole = f"{split.name} is measured by the scores that it declares, and by its own kinds; leave out by"
    require(not (specs and split.benchmark), whole)
    require_known("gallery: no", gallery, get_args(Gallery), ValueError)
    require(specs or gallery == "whole", f"gallery={gallery!r} belongs to slices; say by which field, by=...")
    names = list(dict.fromkeys([*split.fields, *field_extractors(), *slices_with_queries(split)]))
    for spec in specs:
        for term in spec.removeprefix(WITHIN).split(CROSS):
            read_term(names, term.strip())
    return {"by": tuple(specs), "gallery": gallery if specs else ""}


def metrics_of(runs: Sequence[Result]) -> dict[str, Metric]:
    """Return all metrics by name, those of the registry and those that runs were measured by."""
    more: set[str] = set()
    for run in runs:
        more.update(run.config.get("metrics", ()))
    rows = [*(row() for row in registry.all_metrics().values()), *map(registry.load, sorted(more))]
    return {row.name: row for row in rows}


def with_slices(result: Result, by: Sequence[str], gallery: str, *, rounds: int = ROUNDS) -> Result:
    """Return a result with its numbers in each slice beside those of the whole.

    Args:
        result: that was just measured.
        by: what cuts; nothing = as it is.
        gallery: see ``numbers_by_slice``.
        rounds: likewise.
    """
    if not by:
        return result
    measured = {m.label: (m, result.values[m.label]) for m in result.measurements if m.label in result.values}
    of_slices = [m for m, _ in _measure_by_slice(result, measured, by, gallery, rounds)]
    # two ways to cut may have a slice in common, whose numbers are those of the last
    numbers = {m.label: m for m in of_slices}
    return replace(result, measurements=[*result.measurements, *numbers.values()])


def numbers_by_slice(
    run: Result, measured: Numbers, by: Sequence[str], gallery: str = "whole", *, rounds: int = ROUNDS
) -> dict[str, tuple[Measurement, Values]]:
    """Measure numbers in each slice, and their mean over slices.

    Args:
        run: an open result.
        measured: its numbers by key, with the values by query that they are made of. Those of folds and of
            subsets are left out, since they have galleries or queries of their own.
        by: what cuts, see ``slices``; ``"within language"`` takes each slice as a gallery of its own.
        gallery: what the queries of all slices are ranked among.
        rounds: bootstrap rounds of the intervals.

    Returns:
        Key -> measurement, and ``(queries,)`` values, NaN outside the slice; of means over slices see
        ``measure_slices``.

    Raises:
        KeyError: no such field. ValueError: a field that cannot be cut so, or ranked lists that determine no
            number in the gallery of any slice.
    """
    numbers = _measure_by_slice(run, measured, by, gallery, rounds)
    return {measurement.label: (measurement, values()) for measurement, values in numbers}


def _measure_by_slice(
    run: Result, measured: Numbers, by: Sequence[str], gallery: str, rounds: int
) -> Iterator[tuple[Measurement, Callable[[], Values]]]:
    """Yield what ``numbers_by_slice`` returns, with what makes the values."""
    whole = {label: pair for label, pair in measured.items() if _is_whole(pair[0].key)}
    split = run.split
    draws = Draws(split.own, len(split.image_ids), rounds)
    metrics = metrics_of([run])
    fields = AllFields(split, run)
    columns = _with_references(split, whole, metrics) if by else {}
    for written in by:
        spec = written.removeprefix(WITHIN)
        masks = {way: slices_of(split, spec, way, fields=fields) for way in WAYS}
        if gallery == "whole" and written == spec:
            parts = _among_all(whole, columns, _slices(masks["i2t"], masks["t2i"], draws))
        else:
            parts = _among_themselves(run, whole, masks["t2i"], metrics, draws)
        for key, slices in parts:
            yield from measure_slices(metrics.get(key.metric, Metric()), key, spec, slices)


def _slices(images: Mapping[str, Mask], captions: Mapping[str, Mask], draws: Draws) -> list[Slice]:
    """Return the slices of both directions, of which one may have no queries."""
    slices = []
    for label in dict.fromkeys([*captions, *images]):
        rows, others = (np.flatnonzero(masks.get(label, ())) for masks in (images, captions))
        slices.append(Slice(label, rows, others, draws, is_value_slice(label)))
    return slices


def _is_whole(key: MetricKey) -> bool:
    """Return whether a number is of all queries in the whole gallery."""
    return not key.subset and key.folds == 1


def _with_references(split: Split, measured: Numbers, metrics: Mapping[str, Metric]) -> dict[str, Array]:
    """Return by number ``(3, queries)`` its values, and what a random and what the best order gives those
    that count.
    """
    columns = {}
    ranks_of = cache(lambda name, way: perfect_ranks(split.judgements[name], way))
    for label, (measurement, values) in measured.items():
        key, unknown = measurement.key, np.full((2, len(values)), np.nan)
        metric = metrics.get(key.metric, Metric())
        references = unknown
        ways = [key.direction] if key.direction else metric.directions
        if key.metric in metrics and key.judgements in split.judgements and set(ways) <= set(WAYS):
            sides = [chances_by_query(metric, key.k, ranks_of(key.judgements, way)) for way in ways]
            known = np.concatenate(sides, axis=1)
            references = known if known.shape == unknown.shape else unknown
        columns[label] = np.stack([values, *np.where(np.isnan(values), 0.0, references)])
    return columns


def _among_all(
    measured: Numbers, columns: Mapping[str, Array], slices: Sequence[Slice]
) -> Iterator[tuple[MetricKey, list[SliceValues]]]:
    """Yield each number's values in each slice, every query being ranked among all items."""
    for label, (measurement, _) in measured.items():
        direction = measurement.key.direction
        parts = []
        for part in slices:
            own = part.take(columns[label], direction)
            chance_and_best = np.zeros(2)
            for side in part.split(own, direction):
                known = np.count_nonzero(~np.isnan(side[0]))
                chance_and_best += side[1:].sum(axis=1) / max(1, known)
            parts.append(SliceValues(part, own[0], measurement.gallery, *chance_and_best.tolist()))
        yield measurement.key, parts


def _among_themselves(
    run: Result,
    measured: Numbers,
    masks: Mapping[str, Mask],
    metrics: Mapping[str, Metric],
    draws: Draws,
) -> Iterator[tuple[MetricKey, list[SliceValues]]]:
    """Yield each number's values in each slice, the queries of a slice being ranked among its items."""
    keys = {label: measurement.key for label, (measurement, _) in measured.items()}
    names = dict.fromkeys(key.metric for key in keys.values())
    table = [metrics[name] for name in names if name in metrics]
    scores = by_rows(run.any_scores())
    slices: dict[str, list[SliceValues]] = {label: [] for label in keys}
    for label, mask in each(masks.items(), "measuring slices", "slices"):
        captions = np.flatnonzero(mask)
        images = np.unique(run.split.own[captions])
        part = run.split.restrict(images, captions)
        own = scores.select(images, captions)
        queries = Slice(f"{WITHIN}{label}", images, captions, draws, is_value_slice(label))
        measurements, values = evaluate_split(own, part, table=table, rounds=0, strict=False)
        if isinstance(run.model, SavedLists):
            measurements = _determined(run, run.model, own, part, (measurements, values))
        for measurement in measurements:
            whole = measurement.label
            if whole in keys and whole in values:
                chance = np.nan if measurement.chance is None else measurement.chance
                slices[whole].append(SliceValues(queries, values[whole], measurement.gallery, chance))
    yield from ((keys[label], parts) for label, parts in slices.items() if parts)


def _determined(
    run: Result,
    model: SavedLists,
    scores: RowScores,
    part: Split,
    measured: tuple[Sequence[Measurement], Mapping[str, Values]],
) -> list[Measurement]:
    """Return the numbers of a slice that ranked lists determine, maybe none."""
    asked = run.config.get("metrics", ()), run.config.get("judge", "")
    measurements, values = measured
    with suppress(NothingDeterminedError):
        return known_numbers(model, scores, part, ([*measurements], {**values}), *asked)[0]
    return []
