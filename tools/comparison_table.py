"""The comparison of objectives as a table: from the arms that ``tools.comparison`` has trained so far.

``python -m tools.comparison_table FOLDER`` writes the means and intervals of what lies in FOLDER to
``packages/paper_tables/assets/results/fair_scenes.tsv``, and ``python -m tools.numbers`` the page from it. An
interval is for other seeds and other test images; of numbers that are not kept by image, for other seeds.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from paper_tables.claims_told import TITLES

from tools.comparison import (
    BY_IMAGE,
    FIRST,
    I2T,
    LABELS,
    REST,
    SEEDS,
    T2I,
    WAYS,
    Arm,
    best,
    facts_of,
    values_of,
)
from workbench import assets
from workbench.english import listed
from workbench.formatting import format_count, format_interval, format_value
from workbench.io import write_recorded
from workbench.metrics.crossed import crossed_interval
from workbench.metrics.seeds import t_interval
from workbench.records import Values

NAME = "fair_scenes"
COLUMNS = ("objective", "positives", "selected", "key", "seeds", "mean", "low", "high")
SELECTED = {"labels": "RSUM", "truth": "mAP@R"}
TRAINED = {"own": "annotated pairs", "exact": "every true pair"}
DIFFERENCE = "own - exact"
LEVELS = [f"exact:i2t/within_map_at_r[level {level}]" for level in range(1, 6)]
# what was said of the first comparison: number, what chooses the epoch, and which training was ahead in all
BEFORE = ((LABELS, "labels", "own"), (I2T, "truth", "exact"), (T2I, "truth", "own"))
NUMBERS = {LABELS: "RSUM", I2T: "image-to-text mAP@R", T2I: "text-to-image mAP@R"}


def chosen(
    folder: Path, objective: str, positives: str, by: str
) -> dict[int, tuple[dict[str, float], Values]]:
    """Return by seed the numbers of the epoch that a number chose, and the ``(keys, images)`` values."""
    epochs: dict[int, tuple[dict[str, float], Values]] = {}
    for seed in SEEDS:
        arm = Arm(objective, positives, seed)
        facts = facts_of(folder, arm)
        if facts and facts["history"]:
            epoch = best(facts, by)[0]
            epochs[seed] = facts["history"][epoch]["test"], values_of(folder, arm)[:, epoch]
    return epochs


def rows_of(folder: Path, objective: str, by: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an objective by the epochs that one number chose: both ways, and their difference."""
    ways = {way: chosen(folder, objective, way, by) for way in WAYS}
    for way, epochs in ways.items():
        if len(epochs) > 1:
            yield from _rows(objective, way, by, list(epochs.values()))
    shared = sorted(set.intersection(*map(set, ways.values())))
    if len(shared) > 1:
        own, exact = (np.stack([ways[way][seed][1] for seed in shared]) for way in WAYS)
        for number, key in enumerate(BY_IMAGE):
            yield _row((objective, DIFFERENCE, by, key), own[:, number] - exact[:, number])


def _rows(
    objective: str, way: str, by: str, epochs: list[tuple[dict[str, float], Values]]
) -> Iterator[dict[str, Any]]:
    values = np.stack([of_images for _, of_images in epochs])
    for number, key in enumerate(BY_IMAGE):
        yield _row((objective, way, by, key), values[:, number])
    for key in LEVELS:
        numbers = np.array([test[key] for test, _ in epochs])
        low, high = t_interval(numbers)
        where = dict(zip(COLUMNS, (objective, way, by, key, len(numbers)), strict=False))
        yield where | {"mean": numbers.mean(), "low": low, "high": high}


def _row(where: tuple[str, str, str, str], values: Values) -> dict[str, Any]:
    """Return a row of ``(seeds, images)`` values; images without a query are left out."""
    counting = values[:, ~np.isnan(values).any(axis=0)]
    low, high = crossed_interval(counting)
    ends = {"mean": counting.mean(), "low": low, "high": high}
    return dict(zip(COLUMNS, (*where, len(values)), strict=False)) | ends


def record(folder: Path) -> pd.DataFrame:
    """Return the table of what lies in a folder."""
    rows: list[dict[str, Any]] = []
    for objective, by in product((*FIRST, *REST), SELECTED):
        rows += rows_of(folder, objective, by)
    return pd.DataFrame(rows, columns=list(COLUMNS)).round({"mean": 5, "low": 5, "high": 5})


def table() -> str:
    """Return the recorded comparison as a table, and how much of it is there."""
    rows = assets.recorded(NAME)
    heads = ("objective", "trained with", "epoch by", "RSUM, of 600", "mAP@R i2t, %", "mAP@R t2i, %")
    lines = [f"| {' | '.join((*heads, 'i2t within levels 1 to 5, %'))} |", "|---" * (len(heads) + 1) + "|"]
    keys = rows.set_index(["objective", "positives", "selected", "key"])
    for objective, way, by in product((*FIRST, *REST), WAYS, SELECTED):
        if (objective, way, by, LABELS) in keys.index:
            cells = [TITLES[objective], TRAINED[way], SELECTED[by]]
            cells += [_cell(keys.loc[(objective, way, by, key)], key) for key in (LABELS, I2T, T2I)]
            levels = [format_value(keys.loc[(objective, way, by, key), "mean"]) for key in LEVELS]
            lines.append(f"| {' | '.join([*cells, ' '.join(levels)])} |")
    text = "\n".join(textwrap.wrap(" ".join(_sentences(rows)), 130))
    return "\n".join([*lines, "", text]) if len(lines) > 2 else text


def _cell(row: Mapping[str, float], key: str) -> str:
    return format_interval(row["mean"], row["low"], row["high"], "sum" if key == LABELS else "share")


def _sentences(rows: pd.DataFrame) -> Iterator[str]:
    arms = rows[(rows.key == LABELS) & (rows.selected == "labels") & (rows.positives != DIFFERENCE)]
    wanted, there = len(FIRST) * len(WAYS) * len(SEEDS), int(arms[arms.objective.isin(FIRST)].seeds.sum())
    objectives = listed([TITLES[name] for name in FIRST])
    seeds = format_count(len(SEEDS), "seed")
    yield f"{objectives} are trained with annotated pairs and with every true pair, {seeds} each."
    if there < wanted:
        yield f"So far {there} of {format_count(wanted, 'training')} are done."
    yield (
        "Learning rate and epochs are searched for each objective and way of training, on the validation "
        "split. One training serves both choices of the epoch. Brackets hold the interval for other seeds "
        "and other test images. Several positives share the target (`extra_positives` is `uniform`), where "
        "an objective has this option."
    )
    differences = rows[rows.positives == DIFFERENCE]
    for key, by, ahead in BEFORE:
        of_number = differences[(differences.key == key) & (differences.selected == by)]
        if len(of_number):
            yield _held(of_number, key, ahead)


def _held(rows: pd.DataFrame, key: str, ahead: str) -> str:
    """Say of how many objectives a statement about the first comparison holds."""
    sign = 1 if ahead == "own" else -1
    ends = np.sort(sign * rows[["low", "high"]].to_numpy(), axis=1)
    holds, fails = int((ends[:, 0] > 0).sum()), int((ends[:, 1] < 0).sum())
    verdict = "held" if holds == len(rows) else "did not hold for all"
    return (
        f"That {TRAINED[ahead]} are better by {NUMBERS[key]} {verdict}: so for {holds} of "
        f"{format_count(len(rows), 'objective')}, the other way for {fails}, open for the rest."
    )


if __name__ == "__main__":
    place = sys.argv[1]
    file = assets.path("results") / f"{NAME}.tsv"
    write_recorded(file, record(Path(place)), "python -m tools.comparison_table FOLDER")
