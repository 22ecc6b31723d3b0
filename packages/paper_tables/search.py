"""What lies around the recipes of the objectives, by the recorded searches."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from workbench import assets, objectives
from workbench.execution.grid import read_grid
from workbench.execution.library import find_file

GRIDS = ("search_scenes", "search_longer_scenes", "search_cora_scenes", "search_seeds_scenes")
FIELDS = ("epochs", "warmup_epochs", "lr")
# made after the recipes were chosen, to see what lies around them
WIDER = ("search_rates_scenes", "search_epochs_scenes")
AROUND = {"half the rate": ("lr", 0.5), "twice the rate": ("lr", 2), "twice the epochs": ("epochs", 2)}


def shared_values(grid: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a grid holds equal, parameters of its notebook and fields of its configuration alike."""
    return dict(grid.get("fixed", {}))


def tried_settings(*names: str) -> pd.DataFrame:
    """Return what was tried, in the mean over seeds.

    Args:
        names: of recorded searches.

    Returns:
        One row an objective, epochs, warm-up epochs and learning rate (the index): ``value`` on the
        validation split, the larger the better, and ``steps``. What a grid leaves out is as in the recipe.
    """
    tables = []
    for name in names:
        grid, recorded = read_grid(find_file(name, "grid")), assets.read_recorded(name)
        same = shared_values(grid)
        axes = [axis for axis in recorded if axis not in ("key", "value")]
        table = recorded.pivot(index=axes, columns="key", values="value").reset_index()
        for field in [field for field in FIELDS if field not in axes]:
            table[field] = [
                same.get(field, objectives.member(objective).recipe[field]) for objective in table.objective
            ]
        tables.append(table.rename(columns={grid["record"][0]: "value"}))
    return pd.concat(tables).groupby(["objective", *FIELDS])[["value", "steps"]].mean()


def recipe_table() -> pd.DataFrame:
    """Return the recipe of each objective, the number by which it was chosen, how far that changes with half
    and twice the learning rate and with twice the epochs (NaN where that was not tried), and ``scatter``: the
    standard deviation over seeds that the number has on the test split of the recorded comparison.
    """
    every, recorded = tried_settings(*GRIDS, *WIDER), assets.read_recorded("comparison_scenes")
    key = read_grid(find_file(GRIDS[0], "grid"))["record"][0].removeprefix("val/")
    recorded = recorded[(recorded["positives"] == "own") & (recorded["key"] == key)]
    scatter = recorded.groupby("objective")["value"].std()
    values: dict[Any, float] = every["value"].to_dict()
    steps: dict[Any, float] = every["steps"].to_dict()
    # one from elsewhere, or one that came later, is registered and was not searched
    rows, names = [], [name for name in objectives.names() if name in scatter and name in every.index]
    for name in names:
        own = {field: float(objectives.member(name).recipe[field]) for field in FIELDS}
        at = (name, *own.values())
        other = {change: own | {field: own[field] * times} for change, (field, times) in AROUND.items()}
        changes = {
            change: values.get((name, *to.values()), np.nan) - values[at] for change, to in other.items()
        }
        rows.append({**own, "steps": steps[at], "scatter": scatter[name], "value": values[at], **changes})
    return pd.DataFrame(rows, index=names)
