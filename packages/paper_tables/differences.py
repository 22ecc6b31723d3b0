"""Rows of a table against its first row, from the values by query that their runs keep."""

from collections.abc import Mapping, Sequence
from itertools import chain

import numpy as np

from workbench.execution import grid as grids
from workbench.metrics.comparison import Difference, explain_widening, paired_differences
from workbench.metrics.intervals import Draws
from workbench.records import MetricKey, Values
from workbench.records.measurement import FIRST
from workbench.runs import store as runs
from workbench.runs.by_query import ByQuery, usual_numbers

# row -> seed -> values by query of its run
Kept = dict[str, dict[str, ByQuery]]


def differences_from_first(
    by_row: Mapping[str, Sequence[runs.Run]], keys: Sequence[str]
) -> tuple[list[Difference], list[str]]:
    """Compare every row with the first that keeps values by query.

    Args:
        by_row: trained runs, a seed each, by row in the order of the table; the first row that has some is
            the one that others are compared with.
        keys: of the numbers in the table; those that ``by_query.usual_numbers`` chooses are compared.

    Returns:
        The differences, all adjusted together, and the rows that cannot be compared.
    """
    kept = _saved_values(by_row)
    if not kept:
        return [], []
    first = next(iter(kept))
    base = next(iter(kept[first].values()))
    fit = {
        row: of for row, of in kept.items() if of.keys() & kept[first].keys() and _have_same_rows(base, of)
    }
    rest = [row for row, several in by_row.items() if several and row not in fit]
    numbers = [key for key in keys if MetricKey.parse(key).metric in FIRST]
    chosen = [key for key in usual_numbers(numbers) if _is_answered(fit, key)]
    if len(fit) < 2 or not chosen:
        return [], rest
    values = {key: _values_of_rows(fit, key) for key in chosen}
    return paired_differences(values, first, Draws(base.own, len(base.image_ids))), rest


def describe_differences(differences: Sequence[Difference], rest: Sequence[str], seeds: int) -> list[str]:
    """Describe how the differences are made, and which rows have none, in sentences.

    Args:
        differences: from ``differences_from_first``.
        rest: the rows that cannot be compared.
        seeds: of all runs.
    """
    if not differences:
        return []
    scope = "other images and other seeds" if seeds > 1 else "other images, not other seeds"
    mean = ", as means over the seeds that both have" if seeds > 1 else ""
    notes = [f"Differences are paired by image{mean}; their intervals cover {scope}."]
    if widening := explain_widening(len(differences)):
        notes.append(f"{widening[0].upper()}{widening[1:]}.")
    if rest:
        reason = "other images, no seed in common or no values by query"
        notes.append(f"Not compared with {differences[0].against}: {'; '.join(rest)} ({reason}).")
    return notes


def _saved_values(by_row: Mapping[str, Sequence[runs.Run]]) -> Kept:
    """Return what the runs keep, of the rows that keep something."""
    kept = Kept()
    for row, several in by_row.items():
        read = {str(run.params.get(grids.SEED, "")): ByQuery.read(run.folder) for run in several}
        if by_seed := {seed: values for seed, values in read.items() if values is not None}:
            kept[row] = by_seed
    return kept


def _have_same_rows(base: ByQuery, by_seed: Mapping[str, ByQuery]) -> bool:
    return all(map(base.has_same_rows, by_seed.values()))


def _is_answered(kept: Kept, key: str) -> bool:
    """Return whether all runs keep a number, and the same queries count in each."""
    counting: set[bytes] = set()
    for by_query in chain.from_iterable(by_seed.values() for by_seed in kept.values()):
        values = by_query.values.get(key)
        if values is None:
            return False
        counting.add(np.isnan(values).tobytes())
    return len(counting) == 1


def _values_of_rows(kept: Kept, key: str) -> dict[str, Values]:
    """Return ``(seeds, Q)`` values of each row, NaN for a seed that it lacks."""
    seeds = sorted(set(chain.from_iterable(kept.values())))
    out: dict[str, Values] = {}
    for row, by_seed in kept.items():
        values = {seed: by_query.values[key] for seed, by_query in by_seed.items()}
        lacking = np.full_like(next(iter(values.values())), np.nan)
        out[row] = np.stack([values.get(seed, lacking) for seed in seeds])
    return out
