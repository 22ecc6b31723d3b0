"""How often a caption scores above its twin, for each objective: ``python -m tools.benchmarks.bench_twins
[ROOT]``, where ``ROOT`` holds the runs of the grids ``comparison_scenes`` and ``released_scenes`` (default
``runs``).

A twin is the caption with two attributes, two things or the sides of a relation exchanged; one that is true
of the image is left out. Every run with binary labels is measured on the images of its test split.
"""

import sys

import pandas as pd
from paper_tables.table import runs_of

from workbench import assets
from workbench.execution import grid
from workbench.execution.library import find
from workbench.io import write_recorded
from workbench.runs import Target, evaluate_on
from workbench.runs import store as runs

GRIDS = ("comparison_scenes", "released_scenes")
TWINS = Target("scenes", {"texts": "swaps"})


def main(root: str = "runs") -> None:
    """Measure every run with binary labels, and record its numbers by kind of twin."""
    rows = []
    for name in GRIDS:
        described = grid.read_grid(find(name, "grid"))
        described["grid"]["settings.positives"] = ["own"]
        arms = grid.plan("03_train", described)
        for label, run in runs_of(arms, runs.list_runs(root, "03_train")).items():
            if not run or run.status != "ok":
                raise SystemExit(
                    f"{label}: no finished run below {root}; workbench grid 03_train {name} makes it"
                )
            where = {
                "objective": label.partition(",")[0].removeprefix("objective="),
                "seed": arms[label]["seed"],
            }
            found = evaluate_on(run.folder, TWINS).measurements
            numbers = {str(m.key): float(f"{m.value:.6g}") for m in found if m.key.metric == "twin_accuracy"}
            rows += [{**where, "key": key, "value": value} for key, value in numbers.items()]
            sys.stdout.write(f"{label}: {numbers}\n")
            sys.stdout.flush()
    file = assets.path("results") / "twins_scenes.tsv"
    write_recorded(file, pd.DataFrame(rows), "python -m tools.benchmarks.bench_twins")


if __name__ == "__main__":
    main(*sys.argv[1:])
