"""The best settings of a recorded search, objective by objective.

``python -m workbench.execution.search`` prints those of ``search_scenes``, by which the recipes of the
objectives are chosen; ``python -m workbench.execution.search GRID TABLE`` those of another.
"""

import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd

from workbench import assets
from workbench.execution.grid import read_grid
from workbench.execution.library import find
from workbench.records.shown import fixed

GRID = "search_scenes"


def best(grid: Mapping[str, Any], table: pd.DataFrame) -> pd.DataFrame:
    """The settings whose number that chooses the epoch is best on the validation split, in the mean over
    seeds.

    Args:
        grid: from ``grid.read_grid``; its first recorded key is the number.
        table: what it recorded.

    Returns:
        One row an objective: the settings that are swept, and ``value``, the larger the better.
    """
    swept = [axis for axis in grid["grid"] if axis not in ("objective", "seed")]
    asked = table[table["key"] == grid["record"][0]]
    means = asked.groupby(["objective", *swept], as_index=False)["value"].mean()
    best_rows: pd.DataFrame = means.loc[means.groupby("objective")["value"].idxmax()]
    return best_rows.set_index("objective")


def main(name: str = GRID, path: str = "") -> None:
    """Print the best settings of each objective."""
    found = best(read_grid(find(name, "grid")), assets.recorded(path or name))
    for objective, row in found.to_dict("index").items():
        value = row.pop("value")
        settings = ", ".join(f"{field}={setting}" for field, setting in row.items())
        sys.stdout.write(f"{objective}: {settings} ({fixed(value, 3)})\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
