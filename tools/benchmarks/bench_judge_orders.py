"""How NCS by each judge orders the recorded objectives: ``python -m tools.benchmarks.bench_judge_orders
[ROOT]``, where ``ROOT`` holds the runs of the grid ``comparison_scenes`` (default ``runs``).

Every run of the comparison is opened and its NCS at 10 measured with each judge as phi, in both directions,
with a query's own items in the lists and without them. The captions of the embedded world are judged; which
of them are true is known and not asked. ``08_relevance`` holds the orders against the truth's.
"""

from __future__ import annotations

import sys

import pandas as pd
from paper_tables.table import runs_of

from workbench import assets, data, text
from workbench import runs as experiment
from workbench.execution import grid
from workbench.execution.library import find_file
from workbench.io import write_recorded
from workbench.metrics import Evidence, evaluate, load
from workbench.runs import store as runs

JUDGES = {"CIDEr-D": "cider", "tuple F1": "tuple_f1", "symbolic": "symbolic", "sentence": "sentence"}
K = 10


def main(root: str = "runs") -> None:
    """Measure every run of the comparison and record its numbers by judge."""
    arms = grid.plan("03_train", grid.read_grid(find_file("comparison_scenes", "grid")))
    found = runs_of(arms, runs.list_runs(root, "03_train"))
    there = {label: str(run.folder) for label, run in found.items() if run and run.status == "ok"}
    if missing := [label for label in arms if label not in there]:
        raise SystemExit(f"{len(missing)} of {len(arms)} runs are not below {root}, first {missing[0]!r}")
    split = data.load("scenes", split="test")
    pool = (split.captions, split.own)
    # grades that lie in memory: a relevance that computes them again for every run takes minutes a run
    phis = {title: text.load(name).fit(*pool).transform(*pool).dense() for title, name in JUDGES.items()}
    rows = []
    for label, values in arms.items():
        space = experiment.open_runs([there[label]])[0]
        about = {name: values[name] for name in ("objective", "seed")}
        about |= {"positives": values["config"]["positives"]}
        for title, phi in phis.items():
            for apart in (False, True):
                evidence = Evidence(space.scores, phi, split.own, name=title, without_own=apart)
                found = evaluate(evidence, [load("ncs", ks=(K,))], rounds=0)
                numbers = {m.key.local: float(f"{m.value:.4g}") for m in found}
                rows += [
                    about | {"judge": title, "key": key, "value": value} for key, value in numbers.items()
                ]
        sys.stdout.write(f"{len(rows)} numbers, {label}\n")
        sys.stdout.flush()
    file = assets.path("results") / "judge_orders.tsv"
    write_recorded(file, pd.DataFrame(rows), "python -m tools.benchmarks.bench_judge_orders")


if __name__ == "__main__":
    main(*sys.argv[1:])
