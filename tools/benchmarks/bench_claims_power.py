"""How often the ledger's rule finds an effect: ``python -m tools.benchmarks.bench_claims_power``.

Families of claims are simulated with known effects, as normal differences by seed, and judged as the ledger
judges them. A test of the judging uses the same simulation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd
from paper_tables.judging import Evidence, judge

from workbench import assets
from workbench.io import write_recorded

SMALLEST = 3.0  # points of RSUM, the ledger's smallest effect of interest
EFFECT = 8.0
# a paper has about fifteen claims: five with an effect, five without, five with the smallest one reversed
TRUTHS = (EFFECT,) * 5 + (0.0,) * 5 + (-SMALLEST,) * 5
SPREADS = (2.0, 4.0, 8.0)
SEEDS = (3, 5, 10)
FAMILIES = 2000


def simulate(truths: Sequence[float], spread: float, seeds: int, families: int) -> npt.NDArray[np.str_]:
    """``(families, claims)``: the verdicts on claims whose true effects are ``truths``.

    ``spread`` is the standard deviation of a difference between seeds, in the unit of the effects.
    """
    generator = np.random.default_rng(seeds)
    told = []
    for _ in range(families):
        family = [Evidence(generator.normal(truth, spread, seeds), SMALLEST) for truth in truths]
        told.append([one.word for one in judge(family)])
    return np.array(told)


def false(words: npt.NDArray[np.str_], truths: Sequence[float]) -> npt.NDArray[np.bool_]:
    """``(families,)``: whether a family holds a verdict that its truth denies."""
    of = np.array(truths)
    wrong = (words == "replicated") & (of <= 0) | (words == "refuted") & (of >= 0)
    return np.asarray((wrong | (words == "equivalent") & (abs(of) >= SMALLEST)).any(axis=1))


def shares(spread: float, seeds: int, families: int) -> dict[str, float]:
    """Shares of the claims with an effect that are replicated, of those without that are equivalent, and of
    the families that hold a false verdict.
    """
    words, of = simulate(TRUTHS, spread, seeds, families), np.array(TRUTHS)
    return {
        "replicated": float((words[:, of == EFFECT] == "replicated").mean()),
        "equivalent": float((words[:, of == 0] == "equivalent").mean()),
        "false": float(false(words, TRUTHS).mean()),
    }


def main() -> None:
    """Simulate and record all shares."""
    about = {"effect": EFFECT, "smallest": SMALLEST, "claims": len(TRUTHS), "families": FAMILIES}
    rows = [
        {**about, "spread": spread, "seeds": seeds, "key": key, "value": round(value, 4)}
        for spread in SPREADS
        for seeds in SEEDS
        for key, value in shares(spread, seeds, FAMILIES).items()
    ]
    file = assets.path("results") / "claims_power.tsv"
    write_recorded(file, pd.DataFrame(rows), "python -m tools.benchmarks.bench_claims_power")


if __name__ == "__main__":
    main()
