"""How often a caption scores above its counterfactual, for each objective.

``python -m tools.benchmarks.bench_counterfactual [ROOT]``, where ``ROOT`` holds the runs of the grid
``counterfactual_scenes`` (default ``runs``).

A counterfactual is the caption with two attributes, two things or the sides of a relation exchanged; one that
is true of the image is left out. Every run with annotated pairs is measured on the images of its test split.
"""

from __future__ import annotations

import sys

import pandas as pd
from paper_tables.table import runs_of

from workbench import assets
from workbench.execution import grid
from workbench.execution.library import find_file
from workbench.io import write_recorded
from workbench.runs import Target
from workbench.runs import store as runs
from workbench.runs.evaluate import evaluate

GRID = "counterfactual_scenes"
COUNTERFACTUALS = Target(data={"name": "scenes", "texts": "swaps"})
BESIDE = ("rsum", "exact:i2t/map_at_r", "exact:t2i/map_at_r")


def main(root: str = "runs") -> None:
    """Measure every run with annotated pairs, and record its numbers by kind of counterfactual."""
    rows, arms = [], grid.plan("03_train", grid.read_grid(find_file(GRID, "grid")), {})
    for label, run in runs_of(arms, runs.list_runs(root, "03_train")).items():
        if not run or run.status != "ok":
            raise SystemExit(f"{label} is not below {root}; workbench grid 03_train {GRID} trains it")
        if COUNTERFACTUALS.name not in run.evaluations:
            evaluate(run.folder, COUNTERFACTUALS).save(run.folder / runs.EVALUATIONS / COUNTERFACTUALS.name)
        found = runs.read(run.folder).evaluations[COUNTERFACTUALS.name]["metrics"]
        numbers = {key: value for key, value in found.items() if "counterfactual_accuracy" in key}
        numbers |= {key: run.results["metrics"][key] for key in BESIDE}
        of = {
            "objective": label.partition(",")[0].removeprefix("objective="),
            "seed": arms[label]["seed"],
        }
        rows += [of | {"key": key, "value": float(f"{value:.6g}")} for key, value in numbers.items()]
        sys.stdout.write(f"{len(rows)} numbers, {label}\n")
        sys.stdout.flush()
    file = assets.path("results") / "counterfactual_scenes.tsv"
    write_recorded(file, pd.DataFrame(rows), "python -m tools.benchmarks.bench_counterfactual")


if __name__ == "__main__":
    main(*sys.argv[1:])
