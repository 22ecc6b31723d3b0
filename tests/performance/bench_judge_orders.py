"""How NCS by each judge orders the recorded objectives: ``python -m tests.performance.bench_judge_orders
[ROOT]``, where ``ROOT`` holds the runs of the grid ``comparison_scenes`` (default ``runs``).

Every run of the comparison is opened and its NCS at 10 measured with each judge as phi, in both directions,
with a query's own items in the lists and without them. The captions of the embedded world are judged; which
of them are true is known and not asked. ``08_relevance`` holds the orders against the truth's.
"""

from __future__ import annotations

import json
import sys

import pandas as pd

from workbench import assets, data, experiment, text
from workbench.execution import grid
from workbench.execution.library import find
from workbench.experiment import runs
from workbench.metrics import load, table

JUDGES = {"CIDEr-D": "cider", "tuple F1": "tuple_f1", "symbolic": "symbolic", "sentence": "sentence"}
K = 10


def main(root: str = "runs") -> None:
    """Measure every run of the comparison and record its numbers by judge."""
    arms = grid.plan("03_train", grid.read_grid(find("comparison_scenes", "grid")))
    asked = {label: json.dumps(runs.plain(values, label), sort_keys=True) for label, values in arms.items()}
    good = [run for run in runs.list_runs(root, "03_train") if run.status == "ok"]
    there = {json.dumps(run.params, sort_keys=True): run.folder for run in good}
    if missing := [label for label, params in asked.items() if params not in there]:
        raise SystemExit(f"{len(missing)} of {len(asked)} runs are not below {root}, first {missing[0]!r}")
    split = data.load("scenes", split="test")
    pool = (split.captions, split.own)
    phis = {title: text.load(name).fit(*pool).of(*pool) for title, name in JUDGES.items()}
    rows = []
    for label, values in arms.items():
        space = experiment.open_runs([str(there[asked[label]])])[0]
        about = {name: values[name] for name in ("objective", "seed")}
        about |= {"positives": values["settings"]["positives"]}
        for title, phi in phis.items():
            for apart in (False, True):
                evidence = table.Evidence(space.scores, phi, split.own, without_own=apart)
                found = table.measure(evidence, [load("ncs", ks=(K,))], rounds=0)
                numbers = {m.key.local: float(f"{m.value:.4g}") for m in found}
                rows += [
                    about | {"judge": title, "key": key, "value": value} for key, value in numbers.items()
                ]
        sys.stdout.write(f"{len(rows)} numbers, {label}\n")
        sys.stdout.flush()
    lines = pd.DataFrame(rows).to_csv(sep="\t", index=False)
    command = "# python -m tests.performance.bench_judge_orders"
    (assets.path("results") / "judge_orders.tsv").write_text(f"{command}\n{lines}", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
