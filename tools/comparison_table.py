"""The comparison of objectives as a table: from the arms that ``tools.comparison`` has trained so far.

``python -m tools.comparison_table FOLDER`` writes the means and intervals of what lies in FOLDER to
``packages/paper_tables/assets/results/fair_scenes.tsv``, and ``python -m tools.numbers`` the page from it. An
interval is for other seeds and other test images; of numbers that are not kept by image, for other seeds.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator, Mapping, Sequence
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
from workbench.english import join_words
from workbench.formatting import format_count, format_interval, format_value
from workbench.io import write_recorded
from workbench.metrics.crossed import crossed_interval
from workbench.metrics.seeds import t_interval
from workbench.records import Values
from workbench.tour import finding
from workbench.tour.finding import DIFFERENCE, TABLE
from workbench.tour.finding import WAYS as TRAINED

COLUMNS = ("objective", "title", "positives", "selected", "key", "seeds", "mean", "low", "high")
SELECTED = {"labels": "RSUM", "truth": "mAP@R"}
LEVELS = [*finding.LEVELS.values()]
FIGURE = "![mAP@R within each level, a row an objective, trained in two ways](../finding.png)"


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
            yield from _rows((objective, way, by), *_stacked(epochs, sorted(epochs)))
    shared = sorted(set.intersection(*map(set, ways.values())))
    if len(shared) > 1:
        own, exact = (_stacked(ways[way], shared) for way in WAYS)
        yield from _rows((objective, DIFFERENCE, by), own[0] - exact[0], own[1] - exact[1])


def _stacked(
    epochs: Mapping[int, tuple[dict[str, float], Values]], seeds: Sequence[int]
) -> tuple[Values, Values]:
    """Return ``(seeds, keys, images)`` values, and ``(seeds, levels)`` numbers within levels."""
    within = [[epochs[seed][0].get(key, np.nan) for key in LEVELS] for seed in seeds]
    return np.stack([epochs[seed][1] for seed in seeds]), np.array(within)


def _rows(where: tuple[str, str, str], by_image: Values, by_level: Values) -> Iterator[dict[str, Any]]:
    """Yield a row a number; images without a query are left out."""
    for number, key in enumerate(BY_IMAGE):
        values = by_image[:, number]
        counting = values[:, ~np.isnan(values).any(axis=0)]
        yield _row(where, key, len(values), float(counting.mean()), crossed_interval(counting))
    for key, numbers in zip(LEVELS, by_level.T, strict=True):
        yield _row(where, key, len(numbers), float(numbers.mean()), t_interval(numbers))


def _row(
    where: tuple[str, str, str], key: str, seeds: int, mean: float, ends: tuple[float, float]
) -> dict[str, Any]:
    objective, way, by = where
    low, high = ends
    values = (objective, TITLES[objective], way, by, key, seeds, mean, low, high)
    return dict(zip(COLUMNS, values, strict=True))


def record(folder: Path) -> pd.DataFrame:
    """Return the table of what lies in a folder."""
    rows: list[dict[str, Any]] = []
    for objective, by in product((*FIRST, *REST), SELECTED):
        rows += rows_of(folder, objective, by)
    return pd.DataFrame(rows, columns=list(COLUMNS)).round({"mean": 5, "low": 5, "high": 5})


def table() -> str:
    """Return the recorded comparison as a table with its figure and sentences, and what is open."""
    rows = finding.recorded_rows()
    lines = _table_lines(rows)
    figure = [FIGURE] if finding.describe_levels(rows) else []
    found = [*finding.sentences(rows), *filter(None, [describe_limit(rows)])]
    parts = [*map(_fill, found), *figure, "\n".join(lines), _fill(" ".join(_conditions(rows)))]
    return "\n\n".join(filter(None, parts))


def _fill(text: str) -> str:
    return textwrap.fill(text, 130)


def _table_lines(rows: pd.DataFrame) -> list[str]:
    heads = ("objective", "trained with", "epoch by", "seeds", "RSUM, of 600", "mAP@R i2t, %", "mAP@R t2i, %")
    keys = rows.set_index(["objective", "positives", "selected", "key"])
    lines = []
    for objective, way, by in product((*FIRST, *REST), WAYS, SELECTED):
        if (objective, way, by, LABELS) in keys.index:
            cells = [TITLES[objective], TRAINED[way], SELECTED[by]]
            cells.append(str(keys.loc[(objective, way, by, LABELS), "seeds"]))
            cells += [_cell(keys.loc[(objective, way, by, key)], key) for key in (LABELS, I2T, T2I)]
            levels = [format_value(keys.loc[(objective, way, by, key), "mean"]) for key in LEVELS]
            lines.append(f"| {' | '.join([*cells, ', '.join(levels)])} |")
    head = f"| {' | '.join((*heads, 'i2t within levels 1 to 5, %'))} |"
    return [head, "|---" * (len(heads) + 1) + "|", *lines] if lines else []


def _cell(row: Mapping[str, float], key: str) -> str:
    return format_interval(row["mean"], row["low"], row["high"], "sum" if key == LABELS else "share")


def _conditions(rows: pd.DataFrame) -> Iterator[str]:
    """Yield how objectives were trained, then what is open."""
    yield (
        "Learning rate and epochs are searched for each objective and way of training, on the validation "
        "split. One training serves both choices of the epoch. Brackets hold the interval for other seeds "
        "and other test images; within levels a difference counts for other seeds alone. Several positives "
        "share the target (`extra_positives` is `uniform`), where an objective has this option."
    )
    yield from _open(rows)


def describe_limit(rows: pd.DataFrame) -> str:
    """Describe within which level three ranks are furthest behind a training that keeps both; empty where
    none does, or they do too.
    """
    reaching = finding.reach_bar(finding.means_by_training(rows)).index.tolist()
    ranked = (finding.RANKED[0], "exact", "truth")
    names = ["objective", "positives", "selected", "key"]
    means = rows.set_index(names)["mean"]
    if (
        not reaching
        or any(name == ranked[0] for name, *_ in reaching)
        or (*ranked, LEVELS[0]) not in means.index
    ):
        return ""
    objective, title, positives, selected = reaching[0]
    behind = {key: means[objective, positives, selected, key] - means[(*ranked, key)] for key in LEVELS}
    widest = max(behind, key=behind.__getitem__)
    level = LEVELS.index(widest) + 1
    other, own = means[objective, positives, selected, widest], means[(*ranked, widest)]
    return (
        f"Three ranks are furthest behind {title} with {TRAINED[positives]} at level {level}, with "
        f"{format_value(own)} against {format_value(other)} percent."
    )


def _open(rows: pd.DataFrame) -> Iterator[str]:
    """Yield how much is trained of the objectives that come first, and which have no result yet."""
    arms = rows[(rows.key == LABELS) & (rows.selected == "labels") & (rows.positives != DIFFERENCE)]
    done = arms.groupby("objective").seeds.sum().to_dict()
    whole = len(WAYS) * len(SEEDS)
    there, wanted = sum(int(done.get(name, 0)) for name in FIRST), whole * len(FIRST)
    objectives = join_words([TITLES[name] for name in FIRST])
    yield f"{objectives} come first, with {format_count(len(SEEDS), 'seed')} each way."
    if there < wanted:
        yield f"Of these {there} of {format_count(wanted, 'training')} are in the table."
    partly = [
        f"{TITLES[name]} ({done[name]} of {whole})"
        for name in (*FIRST, *REST)
        if 0 < done.get(name, 0) < whole
    ]
    missing = [TITLES[name] for name in (*FIRST, *REST) if not done.get(name)]
    if partly:
        yield f"Seeds are missing of {join_words(partly)}."
    if missing:
        yield f"Open, with fewer than two seeds so far: {join_words(missing)}."


if __name__ == "__main__":
    place = sys.argv[1]
    file = assets.path("results") / f"{TABLE}.tsv"
    write_recorded(file, record(Path(place)), "python -m tools.comparison_table FOLDER")
