"""How much of mAP@R on photographs a caption-only offset closes: ``python -m tools.benchmarks.bench_offset
[ROOT]``, where ``ROOT`` keeps the runs (default ``runs/offset``), so that a measurement that was stopped goes
on.

InfoNCE is trained as the arm ``infonce`` of the grid ``objectives_flickr8k``. It is measured by the crowd's
judgements of Flickr8k and on the chains of HierarCaps, as it is and with a multiple of one number of each
caption added to its scores.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from workbench import assets, data
from workbench.english import join_words
from workbench.execution import grid, library
from workbench.formatting import format_count, format_number, format_value
from workbench.io import write_recorded
from workbench.records import MetricKey, Split
from workbench.runs import Config
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate
from workbench.runs.spellings import fields
from workbench.runs.train import train

GRID, ARM = "objectives_flickr8k", "infonce"
SEEDS = 1
DATA = ("flickr8k", "hierarcaps")
METRICS = ["map_at_r", "same_list", "added_map_at_r", "offset_map_at_r"]
# judgements that say which captions are right, by data
JUDGES = {"flickr8k": "human", "hierarcaps": "chain"}
TITLES = {
    "flickr8k": ("Flickr8k", "what the crowd calls right"),
    "hierarcaps": ("HierarCaps", "the four texts of its chain"),
}
COLUMNS = ("words", "descriptiveness", "level")


def configuration(seed: int) -> Config:
    """The training of one seed."""
    arms = grid.plan("03_train", grid.read_grid(library.find_file(GRID, "grid")))
    return Config(**fields(arms[f"{ARM}, seed={seed}"]))


def judged(name: str) -> Split:
    """The test split of some data, with judgements of what is right; of chains all texts of the image."""
    split = data.load(name, split="test")
    judge = JUDGES[name]
    known = split.judgements.get(judge) or replace(split.judgements["own"], name=judge)
    return replace(split, judgements={**split.judgements, judge: known})


def rows_of(folder: Path, seed: int) -> Iterator[dict[str, Any]]:
    """Yield the numbers of one run, trained where it is not there, on both data sets."""
    if not (folder / runs.RESULTS).is_file():
        train(configuration(seed), folder=folder, progress=False).save(folder)
    for name in DATA:
        for row in evaluate(folder, judged(name), metrics=METRICS, rounds=0).measurements:
            key = MetricKey.parse(row.label)
            if key.metric in METRICS and (key.direction, key.judgements) == ("i2t", JUDGES[name]):
                yield {"data": name, "seed": seed, "key": row.label, "value": float(f"{row.value:.6g}")}


def table() -> str:
    """Say what an offset of captions adds to mAP@R, as a table and in words."""
    rows = assets.read_recorded("offset_photographs")
    means = rows.groupby(["data", "key"]).value.mean()
    lines = [
        "| data | right are | mAP@R i2t, % | one list | + words | + descriptiveness | + level |",
        "|---|---|---|---|---|---|---|",
    ]
    gains = []
    for name, (title, right) in TITLES.items():
        numbers = {MetricKey.parse(key): value for key, value in means[name].items()}
        by_name = {(key.metric, key.subset): value for key, value in numbers.items()}
        plain = by_name["map_at_r", ""]
        added = [by_name.get(("added_map_at_r", f"by {column}")) for column in COLUMNS]
        cells = [format_value(value) for value in (plain, by_name["same_list", ""], *added)]
        lines.append(f"| {title} | {right} | {' | '.join(cells)} |")
        best = max(value for value in added if value is not None)
        share = format_value((best - plain) / (1 - plain))
        gains.append(
            f"{format_number(100 * (best - plain), 1)} points on {title}, {share} percent of what is missing"
        )
    about = (
        f"InfoNCE on frozen features, {format_count(rows.seed.nunique(), 'seed')}; pairs that nobody judged "
        "count as wrong. The last columns add the best multiple of one number of each caption to its scores, "
        f"found on other images. The best of them brings {join_words(gains)}."
    )
    return "\n".join([*lines, "", *textwrap.wrap(about, 130)])


def main(root: str = "runs/offset") -> None:
    """Train and measure every seed, and record the numbers."""
    rows: list[dict[str, Any]] = []
    for seed in range(SEEDS):
        rows += rows_of(Path(root) / f"{ARM}-{seed}", seed)
        sys.stdout.write(f"seed {seed} of {SEEDS}\n")
        sys.stdout.flush()
    table = pd.DataFrame(rows)
    write_recorded(
        assets.path("results") / "offset_photographs.tsv", table, "python -m tools.benchmarks.bench_offset"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
