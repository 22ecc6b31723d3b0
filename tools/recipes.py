"""The recipes of the objectives: the best settings of the recorded searches.

``python -m tools.recipes`` prints them; ``python -m tools.recipes GRID ...`` prints those of other grids.
"""

import sys
from collections.abc import Mapping
from typing import Any

import pandas as pd
from paper_tables.search import FIELDS, GRIDS, shared_values

from workbench import assets
from workbench.execution.grid import read_grid
from workbench.execution.library import find_file
from workbench.formatting import format_number


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


def recipes(*names: str) -> dict[str, dict[str, Any]]:
    """The best settings of each objective by some recorded searches.

    Args:
        names: of the grids; each has its table beside the other recorded results. A later search of an
            objective, which has more epochs or more seeds, goes before an earlier one.

    Returns:
        Objective -> what is swept, epochs and warm-up, and ``value``.
    """
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        grid = read_grid(find_file(name, "grid"))
        same = shared_values(grid)
        for objective, row in best(grid, assets.read_recorded(name)).to_dict("index").items():
            given: dict[str, Any] = {field: same[field] for field in FIELDS if field in same}
            found[str(objective)] = given | {str(field): value for field, value in row.items()}
    return found


def main(*names: str) -> None:
    """Print the best settings of each objective."""
    for objective, row in recipes(*(names or GRIDS)).items():
        value = row.pop("value")
        settings = ", ".join(f"{field}={setting}" for field, setting in row.items())
        sys.stdout.write(f"{objective}: {settings} ({format_number(value, 3)})\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
