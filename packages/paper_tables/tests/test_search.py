"""The best settings of a search: by hand, and the recipes are those of the recorded one."""

from __future__ import annotations

import pandas as pd
import pytest
from paper_tables import search

from tools import recipes
from workbench import assets, objectives
from workbench.execution import grid, library

KEY = "val/exact:t2i/map_at_r"
SEARCH = grid.read_grid(library.find_file(search.GRIDS[0], "grid"))


def test_the_best_mean_over_seeds_is_found_for_each_objective():
    described = {"grid": {"objective": ["a", "b"], "lr": [1, 2], "seed": [0, 1]}, "record": ["val/rsum"]}
    values = {("a", 1): (0.2, 0.4), ("a", 2): (0.5, 0.0), ("b", 1): (0.1, 0.1), ("b", 2): (0.2, 0.2)}
    rows = []
    for (name, lr), by_seed in values.items():
        for seed, value in enumerate(by_seed):
            about = {"objective": name, "lr": lr, "seed": seed}
            rows.append({**about, "key": "val/rsum", "value": value})
            rows.append({**about, "key": "steps", "value": -value})
    best = recipes.best(described, pd.DataFrame(rows))
    # of "a" (.2 + .4) / 2 = .3 is more than (.5 + 0) / 2
    assert best["lr"].to_dict() == {"a": 1, "b": 2}
    assert best["value"].to_dict() == pytest.approx({"a": 0.3, "b": 0.2})


# younger than the recorded searches
LATER = {"hrem", "rince", "three_ranks"}
SEARCHED = [name for name in objectives.names() if name not in LATER]


def test_the_search_has_every_objective_and_what_it_sweeps_stands_in_the_recipes():
    assert SEARCH["grid"]["objective"] == SEARCHED
    swept = SEARCH["grid"].keys() - {"objective", "seed"}
    for name in SEARCHED:
        assert swept <= objectives.member(name).recipe.keys()


def test_the_recipes_are_the_best_settings_of_the_recorded_searches(capsys):
    chosen = recipes.recipes(*search.GRIDS)
    assert list(chosen) == SEARCHED
    for name, row in chosen.items():
        assert row.pop("value") > 0
        assert {field: objectives.member(name).recipe[field] for field in row} == row, name
    recipes.main()
    assert len(capsys.readouterr().out.splitlines()) == len(SEARCHED)
    longer = recipes.recipes(search.GRIDS[1])["pcmepp"]
    assert (longer["epochs"], longer["warmup_epochs"]) == (6, 5)


def test_what_lies_around_a_recipe_is_what_was_recorded():
    changes = search.recipe_table()
    assert changes.index.tolist() == SEARCHED
    assert not changes.drop(index=["cora", "pcme", "pcmepp"]).isna().any(axis=None)
    rates = assets.read_recorded("search_rates_scenes").query("objective == 'vsepp' and key == @KEY")
    chosen = recipes.recipes(*search.GRIDS)["vsepp"]
    above = rates.set_index("lr").value[2 * chosen["lr"]]
    assert changes["value"]["vsepp"] == pytest.approx(chosen["value"])
    assert changes["twice the rate"]["vsepp"] == pytest.approx(above - chosen["value"])
    longer = assets.read_recorded("search_longer_scenes").query(
        "objective == 'pcme' and lr == 0.004 and key == @KEY"
    )
    assert changes["twice the rate"]["pcme"] == pytest.approx(longer.value.item() - changes["value"]["pcme"])
